// Files on their way into a message.

import type { App } from '../../app/app.svelte'
import { type Uploading, call, path, upload } from '../../net/api'

export interface Attachment {
  key: number
  label: string
  size: number
  share: number // of it that went, 0 to 1
  name: string // as the engine knows it, "" until it is there
  error: string
  picture: string // an address to show it by
  kept: boolean // another message has it, so it stays when it is taken off this one
}

const LARGEST = 256 << 20

export class Attachments {
  list = $state<Attachment[]>([])
  private running = new Map<number, Uploading>()
  private next = 0

  constructor(private app: App) {}

  get busy(): boolean { return this.list.some(a => !a.name && !a.error) }
  get ready(): string[] { return this.list.filter(a => a.name).map(a => a.name) }

  add(files: Iterable<File>): void { for (const f of files) void this.one(f) }

  private async one(f: File): Promise<void> {
    const key = ++this.next
    const picture = /^image\/(png|jpeg|gif|webp)$/.test(f.type) ? URL.createObjectURL(f) : ''
    this.list.push({ key, label: f.name || 'Pasted file', size: f.size, share: 0, name: '', error: '', picture, kept: false })
    const at = () => this.list.find(a => a.key === key)
    if (f.size > LARGEST) {
      at()!.error = 'Larger than 256 MB.'
      return
    }
    const up = upload(f, share => { const a = at(); if (a) a.share = share })
    this.running.set(key, up)
    try {
      const saved = await up.done
      const a = at()
      if (a) Object.assign(a, { name: saved.name, share: 1 })
      this.app.announce(`${f.name} is attached.`)
    } catch (e) {
      const a = at()
      if (a) a.error = (e as Error).message
    } finally {
      this.running.delete(key)
    }
  }

  // reuse attaches files that another message has.
  reuse(names: string[]): void {
    for (const name of names) {
      if (this.list.some(a => a.name === name)) continue
      this.list.push({ key: ++this.next, label: name.split('/').pop() ?? name, size: 0, share: 1, name, error: '', picture: '', kept: true })
    }
  }

  // remove takes a file off the message; it was only uploaded for it, so it goes.
  remove(key: number): void {
    const a = this.list.find(a => a.key === key)
    this.running.get(key)?.cancel()
    this.list = this.list.filter(a => a.key !== key)
    if (!a) return
    if (a.picture) URL.revokeObjectURL(a.picture)
    if (a.name && !a.kept) void call('DELETE', path('api/files', a.name)).catch(() => undefined)
  }

  take(): string[] {
    const names = this.ready
    for (const a of this.list) if (a.picture) URL.revokeObjectURL(a.picture)
    this.list = []
    return names
  }
}
