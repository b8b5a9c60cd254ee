// One open chat: its state, how it is read, and what the person does in it.

import type { App } from '../../app/app.svelte'
import { type ChatState, answering, apply, failSend, forget, newChat, resent, send, undoing, view } from '../../core/chat'
import { exportMarkdown, exportName, replyText } from '../../core/export'
import type { UserItem } from '../../core/items'
import { titleOf } from '../../core/list'
import { rowsRead } from '../../core/reread'
import type { ChatEvent, ChatRow, Row, RuleProposal } from '../../core/wire'
import { Refused, call, get, path, saveBlob } from '../../net/api'
import { Attachments } from './attachments.svelte'

const FIRST_ROWS = 120
const ALL_ROWS = 100_000
const TRIES = 4

export class Chat {
  state = $state.raw<ChatState>(newChat(''))
  items = $derived(view(this.state))
  model = $state<string | null>(null)
  untrusted = $state<string | null>(null)
  draft = $state('')
  problem = $state('')
  gone = $state(false)
  reading = $state(false)
  find = $state('') // the message to go to
  proposals = $state.raw<RuleProposal[]>([]) // rules it may make of what was said here
  attachments: Attachments
  readonly incognito: boolean
  private limit = FIRST_ROWS
  private queue: ChatEvent[] = []
  private scheduled = false
  private lastFlush = 0
  private again = false
  private closed = false
  private made: Promise<string> | null = null

  constructor(private app: App, id: string, incognito: boolean) {
    this.incognito = incognito
    this.state = newChat(id)
    this.attachments = new Attachments(app)
    const row = app.chats?.row(id)
    this.model = row?.model ?? null
    this.untrusted = row?.untrusted ?? null
    this.draft = sessionStorage.getItem(this.draftKey) ?? ''
  }

  get id(): string { return this.state.id }
  get running(): boolean { return this.state.live !== null }
  get untouched(): boolean { return this.id === '' && this.state.pending.length === 0 }
  private get draftKey(): string { return 'sentient.draft.' + (this.incognito ? 'incognito' : this.state.id) }

  write(text: string): void {
    this.draft = text
    if (this.incognito) return
    if (text && text.length < 200_000) sessionStorage.setItem(this.draftKey, text)
    else sessionStorage.removeItem(this.draftKey)
  }

  close(): void {
    this.closed = true
  }

  patched(change: Partial<ChatRow>): void {
    if ('model' in change) this.model = change.model ?? null
    if ('untrusted' in change) this.untrusted = change.untrusted ?? null
  }

  // connected: rows are read again, for what was missed. After a new start (fresh) what runs is told anew.
  connected(fresh: boolean): void {
    if (!this.id) return
    if (fresh) this.state = { ...this.state, live: null }
    void this.read()
  }

  resent(clientId: string): void { this.state = resent(this.state, clientId) }

  // hear takes events in frames: what came since the last one is applied together.
  hear(e: ChatEvent): void {
    const last = this.queue[this.queue.length - 1]
    if (last && last.type === e.type && last.turn_id === e.turn_id && (e.type === 'text_delta' || e.type === 'thinking_delta') && !e.replay && !last.replay) {
      this.queue[this.queue.length - 1] = { ...e, text: (last.text ?? '') + (e.text ?? '') }
    } else this.queue.push(e)
    if (this.scheduled) return
    this.scheduled = true
    // Drawing may take a quarter of the time, however long the reply is.
    const frame = () => {
      this.scheduled = false
      this.flush()
    }
    if (document.hidden) setTimeout(frame, 100)
    else if (this.lastFlush > 4) setTimeout(frame, Math.min(250, this.lastFlush * 4))
    else requestAnimationFrame(frame)
  }

  private flush(): void {
    const events = this.queue
    this.queue = []
    if (this.closed || !events.length) return
    const began = performance.now()
    const before = this.state
    let s = before
    for (const e of events) s = apply(s, e, Date.now())
    if (s !== before) this.state = s
    for (const e of events) this.tell(e)
    if (s.stale) void this.read()
    // The page is drawn in a microtask: measure after it.
    setTimeout(() => { this.lastFlush = performance.now() - began }, 0)
  }

  // tell says what happened to those who do not see it.
  private tell(e: ChatEvent): void {
    if (e.type === 'rule_proposal.updated') this.proposed(e.data as unknown as RuleProposal)
    if (e.type === 'undo.ack' && e.done === false) this.app.toast('It was too late: that had gone already.', 'bad')
    if (e.replay) return
    const name = this.app.name
    if (e.type === 'session') this.app.announce(`${name} is answering.`)
    if (e.type === 'approval_request') this.app.announce(`${name} asks for your permission: ${e.name ?? ''}.`)
    if (e.type === 'undo_window') this.app.announce('It is sent in a few seconds. Control Z, or the Undo button, stops it.')
    if (e.type !== 'done') return
    const last = this.state.items[this.state.items.length - 1]
    const text = last ? replyText(last) : ''
    this.app.announce(e.error ? 'The reply failed. ' + e.error : e.cancelled ? 'Stopped.' : `${name} says: ${text.slice(0, 400)}`)
  }

  // read fetches the stored rows. Rows that were overtaken by events are fetched again; while events come too fast for that,
  // they are shown as they are and read once more a little later.
  async read(): Promise<void> {
    if (this.reading) {
      this.again = true
      return
    }
    this.reading = true
    try {
      for (let n = 0; n <= TRIES; n++) {
        this.again = false
        const tick = this.state.tick
        const rows = await get<Row[]>(`${path('api/sessions', this.id, 'messages')}?limit=${this.limit}`)
        const heard = (await this.app.live?.barrier()) ?? false
        this.flush() // what waits for the next frame counts
        if (this.closed) return
        const exact = heard && !this.again && this.state.tick === tick
        if (!exact && heard && n < TRIES) continue
        this.state = rowsRead(this.state, rows, tick, rows.length >= this.limit && this.limit < ALL_ROWS, exact)
        if (!exact && heard) setTimeout(() => this.state.stale && !this.closed && void this.read(), 400)
        this.problem = ''
        void this.readProposals()
        break
      }
    } catch (e) {
      if (e instanceof Refused && e.status === 404) this.gone = true
      else this.problem = (e as Error).message
    } finally {
      this.reading = false
    }
  }

  // readAll reads what is older than the first rows.
  async readAll(): Promise<void> {
    if (!this.state.more || this.reading) return
    this.limit = ALL_ROWS
    await this.read()
  }

  // submit sends what is in the box. A new chat is made first, so that a message sent again finds the same chat.
  async submit(): Promise<void> {
    const text = this.draft.trim()
    if ((!text && !this.attachments.ready.length) || this.attachments.busy) return
    const files = this.attachments.take()
    this.write('')
    await this.say(text, files)
  }

  async say(text: string, attachments: string[]): Promise<void> {
    const clientId = crypto.randomUUID()
    this.state = send(this.state, clientId, text, attachments, new Date().toISOString())
    let id = this.id
    if (!id) {
      try {
        id = await (this.made ??= this.make())
      } catch (e) {
        this.made = null
        this.state = failSend(this.state, clientId, (e as Error).message)
        return
      }
    }
    const message: Record<string, unknown> = { session_id: id, text, client_id: clientId }
    if (attachments.length) message.attachments = attachments
    this.app.live?.send({ type: 'chat.send', ...message })
  }

  private async make(): Promise<string> {
    const q = new URLSearchParams()
    if (this.incognito) q.set('incognito', 'true')
    if (this.model) q.set('model', this.model)
    const { session_id } = await call<{ session_id: string }>('POST', '/api/sessions' + (q.size ? '?' + q : ''))
    sessionStorage.removeItem(this.draftKey)
    const first = this.state.pending[0]?.text ?? ''
    if (!this.incognito) this.app.chats.added(session_id, first.split(/\s+/).slice(0, 8).join(' ').slice(0, 60), this.model)
    this.state = { ...this.state, id: session_id, loaded: true }
    // An incognito chat has no address to come back to.
    if (!this.closed && !this.incognito) {
      this.app.route = '/chat/' + encodeURIComponent(session_id)
      history.replaceState(null, '', '#' + this.app.route)
    }
    return session_id
  }

  // redo sends a message that was not sent, as a new one.
  redo(item: UserItem): void {
    if (item.clientId) {
      this.app.live?.unsend(item.clientId)
      this.state = forget(this.state, item.clientId)
    }
    void this.say(item.text, item.attachments)
  }

  discard(item: UserItem): void {
    if (!item.clientId) return
    this.app.live?.unsend(item.clientId)
    this.state = forget(this.state, item.clientId)
  }

  // edit puts a message into the box: what is sent is a new message.
  edit(item: { text: string; attachments: string[] }): void {
    this.write(item.text)
    this.attachments.reuse(item.attachments)
    this.app.chats.focusBox()
  }

  stop(): void {
    if (!this.app.live?.send({ type: 'chat.cancel', session_id: this.id })) this.app.toast('Not connected: the reply cannot be stopped from here right now.', 'bad')
  }

  answer(approval: string, decision: string): void {
    this.state = answering(this.state, approval, decision)
    if (this.app.live?.send({ type: 'approval.respond', approval_id: approval, decision })) return
    this.state = answering(this.state, approval, undefined)
    this.app.toast('Not connected: answer again in a moment.', 'bad')
  }

  undo(id: string, action: 'undo' | 'send_now'): void {
    this.state = undoing(this.state, id, action)
    if (this.app.live?.send({ type: 'undo.respond', undo_id: id, action })) return
    this.state = undoing(this.state, id, undefined)
    this.app.toast('Not connected: try again at once, or stop the reply.', 'bad')
  }

  private async readProposals(): Promise<void> {
    try {
      this.proposals = await get<RuleProposal[]>(path('api/sessions', this.id, 'rule-proposals'))
    } catch { /* they are shown with the next event */ }
  }

  private proposed(p: RuleProposal): void {
    const others = this.proposals.filter(q => q.id !== p.id)
    this.proposals = p.status === 'pending' ? [...others, p] : others
    if (p.status === 'pending') this.app.announce('Make this a rule? ' + p.said)
  }

  async decide(p: RuleProposal, accept: boolean): Promise<void> {
    const done = await this.app.attempt(() => call<RuleProposal>('POST', path('api/rule-proposals', p.id), { decision: accept ? 'accept' : 'decline' }))
    if (done) this.proposed(done)
    else void this.readProposals()
  }

  // putBack undoes what a call did to files, or brings back what it moved to the trash.
  async putBack(id: string): Promise<boolean> {
    const r = await this.app.attempt(() => call<{ ok: boolean; message?: string; error?: string }>('POST', '/api/timeline/restore', { id }))
    if (r) this.app.toast(r.ok ? r.message ?? 'Put back.' : r.error ?? 'It could not be put back.', r.ok ? 'info' : 'bad')
    return r?.ok ?? false
  }

  async setModel(model: string | null): Promise<void> {
    const before = this.model
    this.model = model
    if (!this.id) return
    const ok = await this.app.attempt(() => call('PATCH', path('api/sessions', this.id), { model }))
    if (!ok) this.model = before
  }

  async trust(): Promise<void> {
    const upto = this.state.newest || undefined
    const r = await this.app.attempt(() => call<{ trusted: boolean; untrusted: string }>('POST', path('api/sessions', this.id, 'trust'), { upto }))
    if (!r) return
    this.untrusted = r.untrusted || ''
    if (!r.trusted) this.app.toast('Something new came in meanwhile: have another look.')
    void this.read()
  }

  async save(): Promise<void> {
    if (this.state.more) await this.readAll()
    const title = titleOf(this.app.chats.row(this.id))
    saveBlob(new Blob([exportMarkdown(title, this.app.name, this.app.user, this.items)], { type: 'text/markdown' }), exportName(title))
  }
}
