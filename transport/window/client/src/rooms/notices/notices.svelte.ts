// The live store of the notification center.

import type { App } from '../../app/app.svelte'
import { type Doing, type Notice, type Notices, heard, loaded, noNotices } from '../../core/notices'
import type { Budget } from '../../core/cost'
import type { ChatEvent } from '../../core/wire'
import { call, get, path } from '../../net/api'

export class NoticeStore {
  state = $state.raw<Notices>(noNotices())
  known = $state(false) // the list was read at least once
  private reading = false
  private again = false // something was heard while the list was read: what was read may be older

  constructor(private readonly app: App) {}

  get unread(): number { return this.known ? this.state.unread : this.app.boot?.unread_notifications ?? 0 }

  connected(): void { void this.load() }

  hear(e: ChatEvent): void {
    if (!e.type.startsWith('notification.')) return
    const fresh = e.type === 'notification.new' && !this.state.list.some(n => n.id === e.data?.id)
    this.state = heard(this.state, e)
    if (fresh && !e.replay) this.tell(e.data as unknown as Notice)
    if (this.reading) this.again = true
    else if (this.state.stale) void this.load()
  }

  // tell says that something came, where the list is not in sight.
  private tell(n: Notice): void {
    if (typeof n?.title !== 'string' || this.app.room.id === 'notices') return
    this.app.toast(n.title, n.kind === 'error' ? 'bad' : 'info', { label: 'Open', act: () => this.app.go('/notifications') })
  }

  async load(): Promise<void> {
    if (this.reading) {
      this.again = true
      return
    }
    this.reading = true
    this.again = false
    try {
      const r = await get<{ notifications: Notice[]; unread: number }>('/api/notifications')
      this.state = loaded(r.notifications, r.unread)
      this.known = true
    } catch { /* the next event or connection asks again */ }
    this.reading = false
    if (this.again) await this.load()
  }

  // change asks the engine, which also tells every other window.
  private async change(method: string, address: string, event: ChatEvent): Promise<void> {
    if (!(await this.app.attempt(() => call(method, address)))) return
    this.state = heard(this.state, event)
    if (this.state.stale) await this.load()
  }

  read(n: Notice): Promise<void> { return n.read ? Promise.resolve() : this.change('POST', path('api/notifications', n.id, 'read'), { type: 'notification.read', data: { id: n.id } }) }
  readAll(): Promise<void> { return this.change('POST', '/api/notifications/read-all', { type: 'notification.read', data: { id: null } }) }
  remove(n: Notice): Promise<void> { return this.change('DELETE', path('api/notifications', n.id), { type: 'notification.deleted', data: { id: n.id } }) }
  removeAll(): Promise<void> { return this.change('DELETE', '/api/notifications', { type: 'notification.deleted', data: { id: null } }) }

  async act(n: Notice, d: Doing): Promise<void> {
    if (d.kind === 'keep_going') {
      if (!(await this.app.attempt(() => call<Budget>('POST', '/api/usage/budget/keep-going', {})))) return
      this.app.toast('Paid models go on until the month ends.')
    } else if (d.kind === 'answer') {
      if (!(await this.app.attempt(() => call('POST', '/api/approvals', { approval_id: d.id, decision: d.decision })))) return
    }
    await this.read(n)
    if (d.kind === 'open') this.app.go(d.route)
  }
}
