// The chats: their list, the one that is open, and what events mean for them.

import { SvelteSet } from 'svelte/reactivity'
import type { App } from '../../app/app.svelte'
import { patchRow, titleOf, touch } from '../../core/list'
import type { ChatEvent, ChatRow } from '../../core/wire'
import { Refused, call, get, path } from '../../net/api'
import { token } from '../../net/token'
import { Chat } from './chat.svelte'

export interface Hit { session_id: string; message_id: string; role: string; snippet: string; created_at: string }

const LISTED = 200

export class Chats {
  rows = $state.raw<ChatRow[]>([])
  loaded = $state(false)
  all = $state(false) // whether every chat was read
  running = new SvelteSet<string>()
  asking = new SvelteSet<string>()
  query = $state('')
  hits = $state.raw<Hit[]>([])
  open: Chat = $state.raw(null as unknown as Chat)
  private changes = 0
  private timer: ReturnType<typeof setTimeout> | undefined
  private searchTimer: ReturnType<typeof setTimeout> | undefined

  constructor(private app: App) {
    this.open = new Chat(app, '', false)
  }

  // show opens what a route names.
  show(route: string): void {
    const m = /^\/chat\/([^/?]+)(?:\?m=(.+))?$/.exec(route)
    const id = m ? decodeURIComponent(m[1]!) : ''
    const incognito = route === '/incognito'
    if (this.open.id === id && id !== '') {
      if (m?.[2]) this.open.find = decodeURIComponent(m[2])
      return
    }
    if (id === '' && this.open.id === '' && this.open.incognito === incognito && this.open.untouched) return
    this.leave()
    this.open = new Chat(this.app, id, incognito)
    if (m?.[2]) this.open.find = decodeURIComponent(m[2])
    if (id) void this.open.read()
  }

  // leave ends what is only kept while it is looked at.
  private leave(): void {
    const c = this.open
    c.close()
    if (c.incognito && c.id) this.forgetIncognito(c.id)
  }

  // forgetIncognito also works while the window closes.
  forgetIncognito(id: string): void {
    void fetch(path('api/sessions', id), { method: 'DELETE', keepalive: true, headers: { Authorization: 'Bearer ' + token() } }).catch(() => undefined)
  }

  fresh(incognito: boolean): void {
    const route = incognito ? '/incognito' : '/new'
    if (this.app.route === route) {
      this.leave()
      this.open = new Chat(this.app, '', incognito)
    }
    this.app.go(route)
    this.focusBox()
  }

  focusBox(): void { requestAnimationFrame(() => document.getElementById('message')?.focus()) }

  focusSearch(): void {
    this.app.go(this.app.room.id === 'chats' ? this.app.route : '/')
    this.app.drawer = true
    requestAnimationFrame(() => document.getElementById('chat-search')?.focus())
  }

  row(id: string): ChatRow | undefined { return this.rows.find(r => r.id === id) }

  async refresh(): Promise<void> {
    try {
      let rows: ChatRow[] = []
      // What changed while the list was read may not be in it: it is read again.
      for (let n = 0, before = -1; n < 4 && before !== this.changes; n++) {
        before = this.changes
        rows = await get<ChatRow[]>(`/api/sessions?limit=${this.all ? 10_000 : LISTED}`)
      }
      if (rows.length < LISTED) this.all = true
      this.rows = rows.filter(r => !r.incognito)
      this.loaded = true
    } catch { /* the banner says that the engine is away */ }
  }

  // soon reads the list again, once for a burst of reasons.
  private soon(): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => void this.refresh(), 150)
  }

  connected(fresh: boolean): void {
    if (fresh) {
      this.running.clear()
      this.asking.clear()
    }
    void this.refresh()
    this.open.connected(fresh)
  }

  resent(clientId: string): void { this.open.resent(clientId) }

  hear(e: ChatEvent): void {
    const data = e.data ?? {}
    const id = typeof data.session_id === 'string' ? data.session_id : e.session_id
    switch (e.type) {
      case 'session.updated': return this.updated(id ?? '', data)
      case 'session.deleted': return this.deleted(id ?? '', data.reason === 'incognito')
      case 'session':
        if (e.turn_id) this.running.add(id!)
        if (!e.replay) this.moved(id!)
        break
      case 'done':
        this.running.delete(id ?? '')
        this.asking.delete(id ?? '')
        break
      case 'approval_request':
        this.asking.add(id ?? '')
        if (id !== this.open.id) this.elsewhere(id ?? '')
        break
      case 'tool_result':
        this.asking.delete(id ?? '')
        break
    }
    // An answer to this socket alone names what was answered, not the chat.
    if ((id && id === this.open.id) || e.type === 'approval.ack' || e.type === 'undo.ack') this.open.hear(e)
    else if (e.type === 'error' && !e.turn_id && e.message) this.app.toast(e.message, 'bad')
  }

  // added lists a chat that this window made, under its first words until its title is known.
  added(id: string, title: string, model: string | null): void {
    this.changes++
    const at = new Date().toISOString()
    this.rows = [{ id, title, channel: 'desktop', created_at: at, updated_at: at, untrusted: null, incognito: false, model }, ...this.rows.filter(r => r.id !== id)]
    this.soon()
  }

  private moved(id: string): void {
    this.changes++
    if (this.row(id)) this.rows = touch(this.rows, id, new Date().toISOString())
    else this.soon()
  }

  private elsewhere(id: string): void {
    const title = titleOf(this.row(id))
    this.app.toast(`${this.app.name} asks for your permission in “${title}”.`, 'info', { label: 'Show', act: () => this.app.go('/chat/' + encodeURIComponent(id)) })
  }

  private updated(id: string, data: Record<string, unknown>): void {
    this.changes++
    const change: Partial<ChatRow> = {}
    if (typeof data.title === 'string') change.title = data.title
    if ('model' in data) change.model = data.model as string | null
    if ('untrusted' in data) change.untrusted = data.untrusted as string | null
    this.rows = patchRow(this.rows, id, change)
    if (id === this.open.id) this.open.patched(change)
    if (!this.row(id)) this.soon()
  }

  private deleted(id: string, incognito: boolean): void {
    this.changes++
    this.rows = this.rows.filter(r => r.id !== id)
    this.running.delete(id)
    this.hits = this.hits.filter(h => h.session_id !== id)
    if (id !== this.open.id) return
    this.app.toast(incognito ? 'The incognito chat was deleted.' : 'This chat was deleted.')
    this.open = new Chat(this.app, '', false)
    this.app.go('/new')
  }

  search(q: string): void {
    this.query = q
    clearTimeout(this.searchTimer)
    if (q.trim().length < 2) {
      this.hits = []
      return
    }
    this.searchTimer = setTimeout(() => void this.find(q), 180)
  }

  private async find(q: string): Promise<void> {
    try {
      const hits = await get<Hit[]>('/api/sessions/search?q=' + encodeURIComponent(q))
      if (this.query === q) this.hits = hits
    } catch { /* titles are still found */ }
  }

  async rename(id: string): Promise<void> {
    const title = await this.app.ask({ title: 'Rename chat', text: '', yes: 'Rename', field: titleOf(this.row(id)) })
    if (!title?.trim()) return
    await this.app.attempt(() => call('PATCH', path('api/sessions', id), { title: title.trim() }))
  }

  async remove(id: string): Promise<void> {
    const title = titleOf(this.row(id))
    const yes = await this.app.ask({ title: 'Delete this chat?', text: `“${title}” and everything in it will be gone for good.`, yes: 'Delete', danger: true })
    if (yes === null) return
    await this.app.attempt(async () => {
      try {
        await call('DELETE', path('api/sessions', id))
      } catch (e) {
        if (!(e instanceof Refused) || e.status !== 404) throw e
      }
      this.deleted(id, false)
    })
    this.focusBox()
  }
}
