// A small engine for tests: it keeps rows and a log of durable events as the real one does, and gives a socket what the real
// one gives it, replays included.

import type { ChatEvent, Row } from '../src/core/wire'

export const SESSION = 'S'

interface Running {
  turn: string
  text: string
  thinking: string
  open: { id: string; name: string }[]
  ask: string
  steers: { text: string; clientId: string }[]
}

export class FakeEngine {
  rows: Row[] = []
  log: ChatEvent[] = []
  running: Running | null = null
  known = new Map<string, { turn: string; steered: boolean }>()
  socket: ((e: ChatEvent) => void) | null = null
  private n = 0

  private id(): string { return 'R' + String(++this.n).padStart(6, '0') }

  private row(r: Partial<Row> & Pick<Row, 'role' | 'content'>): Row {
    const row: Row = { id: this.id(), created_at: '2026-01-01T00:00:00Z', attachments: [], ...r }
    this.rows.push(row)
    return row
  }

  private durable(e: ChatEvent): void {
    const event = { ...e, session_id: SESSION, seq: this.log.length + 1 }
    this.log.push(event)
    this.socket?.(event)
  }

  private passing(e: ChatEvent): void { this.socket?.({ ...e, session_id: SESSION, seq: this.log.length }) }

  // connect opens a socket as ?after=<seq> does; null is a new window.
  connect(after: number | null, hear: (e: ChatEvent) => void): void {
    this.socket = hear
    hear({ type: 'hello', seq: after ?? this.log.length })
    if (after === null) hear({ type: 'resync', seq: this.log.length })
    else for (const e of this.log.slice(after)) hear({ ...e, replay: true })
    const r = this.running
    if (!r) return
    const say = (e: ChatEvent) => hear({ ...e, session_id: SESSION, turn_id: r.turn, seq: this.log.length, replay: true })
    say({ type: 'session' })
    if (r.thinking) say({ type: 'thinking_delta', text: r.thinking })
    if (r.text) say({ type: 'text_delta', text: r.text })
    for (const c of r.open) say({ type: 'tool_call', call_id: c.id, name: c.name, arguments: {} })
    if (r.ask) say({ type: 'approval_request', approval_id: 'a' + r.ask, call_id: r.ask, name: 'tool' })
  }

  disconnect(): void { this.socket = null }

  send(text: string, clientId: string): void {
    const known = this.known.get(clientId)
    if (known) {
      this.passing(known.steered ? { type: 'steer_ack', queued: true, client_id: clientId } : { type: 'session', turn_id: known.turn, client_id: clientId })
      return
    }
    if (this.running) {
      this.running.steers.push({ text, clientId })
      this.known.set(clientId, { turn: '', steered: true })
      this.passing({ type: 'steer_ack', queued: true, client_id: clientId })
      return
    }
    this.begin([{ text, clientId }])
  }

  private begin(messages: { text: string; clientId: string }[]): void {
    const turn = 'T' + this.id()
    for (const m of messages) {
      this.row({ role: 'user', content: m.text })
      if (!this.known.has(m.clientId)) this.known.set(m.clientId, { turn, steered: false })
    }
    this.running = { turn, text: '', thinking: '', open: [], ask: '', steers: [] }
    this.durable({ type: 'session', turn_id: turn, client_id: messages[0]!.clientId || null })
  }

  // The model's side. Each does nothing where it cannot happen.
  think(text: string): void {
    const r = this.running
    if (!r || r.open.length || r.text) return
    r.thinking += text
    this.passing({ type: 'thinking_delta', turn_id: r.turn, text })
  }

  write(text: string): void {
    const r = this.running
    if (!r || r.open.length) return
    r.text += text
    this.passing({ type: 'text_delta', turn_id: r.turn, text })
  }

  private keepRound(calls: { id: string; name: string }[]): Row {
    const r = this.running!
    const row = this.row({ role: 'assistant', content: r.text, thinking: r.thinking || null, tool_calls: calls.map(c => ({ id: c.id, function: { name: c.name, arguments: '{}' } })) })
    r.text = r.thinking = ''
    return row
  }

  call(count: number, ask: boolean): void {
    const r = this.running
    if (!r || r.open.length) return
    const calls = Array.from({ length: count }, () => ({ id: 'c' + this.id(), name: 'tool' }))
    this.keepRound(calls)
    for (const c of calls) this.durable({ type: 'tool_call', turn_id: r.turn, call_id: c.id, name: c.name, arguments: {} })
    r.open = calls
    if (!ask) return
    r.ask = calls[0]!.id
    this.durable({ type: 'approval_request', turn_id: r.turn, approval_id: 'a' + r.ask, call_id: r.ask, name: 'tool' })
  }

  results(): void {
    const r = this.running
    if (!r || !r.open.length) return
    for (const c of r.open) {
      this.row({ role: 'tool', content: '{"ok":1}', tool_call_id: c.id, name: c.name })
      this.durable({ type: 'tool_result', turn_id: r.turn, call_id: c.id, name: c.name, result: { ok: 1 }, is_error: false, duration_ms: 1 })
    }
    r.open = []
    r.ask = ''
    this.takeSteers()
  }

  private takeSteers(): void {
    const r = this.running!
    for (const s of r.steers) {
      this.row({ role: 'user', content: s.text, interjection: true })
      this.durable({ type: 'user_interjection', turn_id: r.turn, text: s.text })
    }
    r.steers = []
  }

  // finish ends the reply; with steers waiting it goes on, or they become a turn of their own.
  finish(late: boolean): void {
    const r = this.running
    if (!r || r.open.length || !r.text) return
    if (r.steers.length && !late) {
      this.keepRound([])
      this.takeSteers()
      return
    }
    const content = r.text
    const row = this.keepRound([])
    this.running = null
    this.durable({ type: 'done', turn_id: r.turn, content, message_id: row.id, sources: [], memory_sources: [] })
    if (r.steers.length) this.begin(r.steers)
  }

  stop(): void {
    const r = this.running
    if (!r) return
    for (const c of r.open) {
      this.row({ role: 'tool', content: '{"error":"stopped"}', tool_call_id: c.id, name: c.name })
      this.durable({ type: 'tool_result', turn_id: r.turn, call_id: c.id, name: c.name, result: { error: 'stopped' }, is_error: true, duration_ms: 1 })
    }
    r.open = []
    const content = (r.text + ' (stopped)').trim()
    const row = this.row({ role: 'assistant', content, thinking: r.thinking || null })
    this.running = null
    this.durable({ type: 'done', turn_id: r.turn, content, message_id: row.id, cancelled: true, dropped: r.steers.map(s => s.text) })
  }

  fail(): void {
    const r = this.running
    if (!r || r.open.length) return
    this.running = null
    // Nothing of a failed reply is kept but what people said.
    const began = this.rows.findLastIndex(m => m.role === 'user' && !m.interjection)
    this.rows = this.rows.filter((m, i) => i <= began || m.role === 'user')
    this.durable({ type: 'error', turn_id: r.turn, message: 'The model is away.', recoverable: false })
    this.durable({ type: 'done', turn_id: r.turn, content: '', message_id: null, error: 'The model is away.' })
    if (r.steers.length) this.begin(r.steers)
  }
}
