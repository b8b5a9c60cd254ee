// The state of one chat and what events do to it. Everything here is pure: a new state comes back, the old one stays.
//
// Three sources tell about a chat: stored rows (read now and then), events (as they happen, some missed while away), and
// what this window sent itself. They overlap. The rules that keep anything from showing twice:
//  - A live reply seen from its start ("whole") replaces every stored part newer than its start.
//  - A live reply met midway continues the stored rounds before it, cut where the two share a call, a text or the last row.
//  - A message of this window stands until a stored row or an acknowledgement takes its place; its client_id makes sending
//    it again harmless.
//  - Rows are exact when the socket answered a ping sent after they came and nothing durable happened since they were asked
//    for ("tick"): then rows and events tell of the same moment. Other rows are shown too, and read again.

import { type Ending, type Item, type Part, type PendingStatus, type ReplyItem, type Starter, type ToolPart, type UserItem, dropSince, endingOf, resultState } from './items'
import type { Ask, ChatEvent, UndoWindow } from './wire'

export interface Live {
  turn: string
  whole: boolean // seen from its start
  since: string // its stored rows are newer than this one
  starter: Starter | null // or than the row of this message
  parts: Part[]
  started: number
}

export interface Pending {
  clientId: string
  text: string
  attachments: string[]
  status: PendingStatus
  error: string
  after: string // newest stored row known when it was sent
  at: string
  tries: number
}

export interface Meter {
  used: number
  length: number
  percent: number
  warning: string
  model: string
}

export interface ChatState {
  id: string
  items: Item[]
  live: Live | null
  pending: Pending[]
  claimed: [clientId: string, row: string][] // messages whose row came before their acknowledgement
  ended: string[] // turns that are over
  tick: number // counts durable events
  rowsTick: number // tick when rows were read last
  newest: string // newest stored row known
  meter: Meter | null
  loaded: boolean
  more: boolean // older rows exist than were read
  stale: boolean // rows must be read again
}

export const newChat = (id: string): ChatState => ({
  id, items: [], live: null, pending: [], claimed: [], ended: [], tick: 0, rowsTick: -1, newest: '', meter: null, loaded: false, more: false, stale: false,
})

const PROGRESS_KEPT = 20_000

// send adds a message that this window sends.
export function send(s: ChatState, clientId: string, text: string, attachments: string[], at: string): ChatState {
  const p: Pending = { clientId, text, attachments, status: 'sending', error: '', after: s.newest, at, tries: 1 }
  return { ...s, pending: [...s.pending, p] }
}

// resent notes that a message went out again, so its acknowledgement may be that of a finished turn.
export function resent(s: ChatState, clientId: string): ChatState {
  return patchPending(s, clientId, p => ({ ...p, tries: p.tries + 1 }))
}

export function failSend(s: ChatState, clientId: string, why: string): ChatState {
  return patchPending(s, clientId, p => ({ ...p, status: 'failed', error: why }))
}

export function forget(s: ChatState, clientId: string): ChatState {
  return { ...s, pending: s.pending.filter(p => p.clientId !== clientId) }
}

function patchPending(s: ChatState, clientId: string, f: (p: Pending) => Pending): ChatState {
  return { ...s, pending: s.pending.map(p => (p.clientId === clientId ? f(p) : p)) }
}

const DURABLE = new Set(['session', 'tool_call', 'tool_result', 'user_interjection', 'approval_request', 'undo_window', 'done', 'steer_ack'])

// apply takes one event of this chat.
export function apply(s: ChatState, e: ChatEvent, now = 0): ChatState {
  if (DURABLE.has(e.type)) s = { ...s, tick: s.tick + 1 }
  switch (e.type) {
    case 'session': return onSession(s, e, now)
    case 'steer_ack': return e.client_id && e.queued ? patchPending(s, e.client_id, p => (p.status === 'sending' ? { ...p, status: 'queued' } : p)) : s
    case 'error': return onError(s, e, now)
    case 'done': return onDone(s, e, now)
    case 'usage': return onUsage(s, e)
    case 'approval.ack': return onAck(s, e)
    case 'undo.ack': return e.done === false ? undoing(s, e.undo_id ?? '', undefined) : s
  }
  const turn = e.turn_id
  if (!turn || s.ended.includes(turn)) return s
  if (!PARTS.has(e.type)) return s
  if (s.live?.turn !== turn) s = start(s, turn, false, now)
  if (e.type === 'user_interjection') return onSteer(s, e)
  const live = s.live!
  const parts = onPart(live.parts, e, now)
  return parts === live.parts ? s : { ...s, live: { ...live, parts } }
}

const PARTS = new Set(['thinking_delta', 'text_delta', 'tool_call', 'tool_progress', 'tool_result', 'approval_request', 'undo_window', 'user_interjection', 'notice'])

function start(s: ChatState, turn: string, whole: boolean, now: number, starter: Starter | null = null, since = s.newest): ChatState {
  if (s.live) s = freeze(s, s.live, 'done', '', null)
  return { ...s, live: { turn, whole, since, starter, parts: [], started: now }, stale: s.stale || !whole }
}

function onSession(s: ChatState, e: ChatEvent, now: number): ChatState {
  const turn = e.turn_id ?? ''
  const mine = e.client_id ? s.pending.find(p => p.clientId === e.client_id) : undefined
  const claimed = e.client_id && !e.replay ? s.claimed.find(([id]) => id === e.client_id) : undefined
  let whole = !e.replay && s.loaded && !s.stale && s.rowsTick < s.tick - 1
  let starter: Starter | null = null
  let since = s.newest
  if (mine && (mine.tries > 1 || e.replay)) {
    // It may be the acknowledgement of a turn that is long over. What runs, the engine tells by itself.
    s = { ...s, stale: true }
    if (!e.replay) return s
  } else if (mine) {
    const item: UserItem = { kind: 'user', key: 'c:' + mine.clientId, id: '', text: mine.text, attachments: mine.attachments, name: '', at: mine.at, local: { tick: s.tick, since: mine.after, starter: null } }
    starter = { text: mine.text, attachments: mine.attachments, after: mine.after }
    whole = true
    s = { ...forget(s, mine.clientId), items: [...s.items, item] }
  } else if (claimed && s.live?.turn !== turn && !s.ended.includes(turn)) {
    // Rows were read that are ahead of the events: what they say of this reply comes again.
    whole = true
    since = claimed[1]
    s = { ...s, items: dropSince(s.items, since), claimed: s.claimed.filter(c => c !== claimed) }
  } else if (!e.replay && turn && s.live?.turn !== turn && !s.ended.includes(turn)) {
    s = { ...s, stale: true } // somebody wrote in another window: the words come with the rows
  }
  // Messages that waited start a turn together, also those of other windows; only the first is named.
  if (!e.replay && (mine?.status === 'queued' || s.pending.some(p => p.status === 'queued'))) s = { ...s, stale: true }
  if (!turn || s.ended.includes(turn)) return s
  if (s.live?.turn === turn) return e.replay ? { ...s, live: { ...s.live, whole: false, parts: [] }, stale: true } : s
  return start(s, turn, whole, now, starter, since)
}

function onError(s: ChatState, e: ChatEvent, now: number): ChatState {
  const text = e.message || 'Something went wrong.'
  if (e.client_id) return patchPending(s, e.client_id, p => ({ ...p, status: e.dropped ? 'dropped' : 'failed', error: text }))
  const turn = e.turn_id
  if (!turn || s.ended.includes(turn)) return s
  if (s.live?.turn !== turn) s = start(s, turn, false, now)
  const live = s.live!
  return { ...s, live: { ...live, parts: [...live.parts, { type: 'note', tone: e.recoverable ? 'warn' : 'bad', text, code: e.code }] } }
}

function onUsage(s: ChatState, e: ChatEvent): ChatState {
  if (typeof e.context_percent !== 'number' || typeof e.context_length !== 'number') return { ...s, meter: null }
  return { ...s, meter: { used: e.context_used ?? 0, length: e.context_length, percent: e.context_percent, warning: e.context_warning ?? '', model: e.model ?? '' } }
}

function onAck(s: ChatState, e: ChatEvent): ChatState {
  if (!s.live) return s
  const ask = s.live.parts.find(p => p.type === 'ask' && p.ask.approval_id === e.approval_id)
  if (!ask || ask.type !== 'ask') return s
  return { ...s, live: { ...s.live, parts: answered(s.live.parts, ask.ask.call_id) } }
}

// undoing notes what this window chose in an undo window, until the engine says so too.
export function undoing(s: ChatState, undo: string, action: string | undefined): ChatState {
  if (!s.live) return s
  const parts = s.live.parts.map(p => (p.type === 'undo' && p.window.undo_id === undo ? { ...p, answered: action } : p))
  return { ...s, live: { ...s.live, parts } }
}

// about says whether a part asks something about a call.
const about = (p: Part, call: string) => (p.type === 'ask' && p.ask.call_id === call) || (p.type === 'undo' && p.window.call_id === call)

// answered takes the question about a call away; the call goes on.
function answered(parts: Part[], call: string): Part[] {
  return parts.filter(p => !about(p, call)).map(p => (p.type === 'tool' && p.id === call && p.state === 'waiting' ? { ...p, state: 'running' as const } : p))
}

// answering notes which answer this window gave, until the engine says so too.
export function answering(s: ChatState, approval: string, decision: string | undefined): ChatState {
  if (!s.live) return s
  const parts = s.live.parts.map(p => (p.type === 'ask' && p.ask.approval_id === approval ? { ...p, answered: decision } : p))
  return { ...s, live: { ...s.live, parts } }
}

function onSteer(s: ChatState, e: ChatEvent): ChatState {
  const text = e.text ?? ''
  const waiting = s.pending.find(p => p.text === text && (p.status === 'queued' || p.status === 'sending'))
  if (waiting) s = forget(s, waiting.clientId)
  return { ...s, live: { ...s.live!, parts: [...s.live!.parts, { type: 'steer', text }] } }
}

function onPart(parts: Part[], e: ChatEvent, now: number): Part[] {
  switch (e.type) {
    case 'thinking_delta': return grow(parts, 'thinking', e.text ?? '')
    case 'text_delta': return grow(parts, 'text', e.text ?? '')
    case 'tool_call': return addTool(parts, e.call_id ?? '', e.name ?? 'tool', e.arguments)
    case 'tool_progress': return patchTool(parts, e, progress)
    case 'tool_result': return answered(patchTool(parts, e, result), e.call_id ?? '')
    case 'approval_request': return ask(parts, e as unknown as Ask, e.replay ? null : now)
    case 'undo_window': return undoable(parts, e as unknown as UndoWindow)
    case 'notice': return [...parts, { type: 'note', tone: 'info', text: e.message ?? '', code: e.code }]
  }
  return parts
}

function grow(parts: Part[], type: 'thinking' | 'text', text: string): Part[] {
  if (text === '') return parts
  const last = parts[parts.length - 1]
  if (last?.type === type) return [...parts.slice(0, -1), { ...last, text: last.text + text }]
  return [...parts, { type, text }]
}

function addTool(parts: Part[], id: string, name: string, args: unknown): Part[] {
  if (parts.some(p => p.type === 'tool' && p.id === id)) return parts
  return [...parts, { type: 'tool', id, name, args: args ?? {}, state: 'running', progress: '', status: '' }]
}

function patchTool(parts: Part[], e: ChatEvent, f: (t: ToolPart, e: ChatEvent) => ToolPart): Part[] {
  const all = addTool(parts, e.call_id ?? '', e.name ?? 'tool', {})
  return all.map(p => (p.type === 'tool' && p.id === e.call_id ? f(p, e) : p))
}

function progress(t: ToolPart, e: ChatEvent): ToolPart {
  const next = { ...t, state: t.state === 'waiting' ? ('running' as const) : t.state }
  if (e.image) next.image = e.image
  if (!e.text) return next
  if (e.kind === 'stdout' || e.kind === 'stderr') next.progress = (t.progress + e.text).slice(-PROGRESS_KEPT)
  else next.status = e.text
  return next
}

function result(t: ToolPart, e: ChatEvent): ToolPart {
  return { ...t, result: e.result, state: resultState(e.result, !!e.is_error), ms: e.duration_ms }
}

function ask(parts: Part[], a: Ask, at: number | null): Part[] {
  if (parts.some(p => p.type === 'ask' && p.ask.approval_id === a.approval_id)) return parts
  const all = waiting(answered(parts, a.call_id), a.call_id, a.name, a.arguments)
  return [...all, { type: 'ask', ask: a, at }]
}

function undoable(parts: Part[], w: UndoWindow): Part[] {
  if (parts.some(p => p.type === 'undo' && p.window.undo_id === w.undo_id)) return parts
  return [...waiting(answered(parts, w.call_id), w.call_id, w.name, {}), { type: 'undo', window: w }]
}

function waiting(parts: Part[], call: string, name: string, args: unknown): Part[] {
  return addTool(parts, call, name, args).map(p => (p.type === 'tool' && p.id === call ? { ...p, state: 'waiting' as const } : p))
}

function onDone(s: ChatState, e: ChatEvent, now: number): ChatState {
  const turn = e.turn_id ?? ''
  const mine = e.client_id ? s.pending.find(p => p.clientId === e.client_id) : undefined
  if (mine && (e.error || e.dropped)) s = patchPending(s, mine.clientId, p => ({ ...p, status: e.dropped ? 'dropped' : 'failed', error: p.error || e.error || '' }))
  else if (mine) s = { ...s, stale: true }
  if (Array.isArray(e.dropped)) s = dropQueued(s, e.dropped)
  if (!turn || s.ended.includes(turn)) return s
  if (s.live?.turn === turn) return finish(s, e)
  const newest = e.message_id && e.message_id > s.newest ? e.message_id : s.newest
  s = { ...s, ended: [...s.ended, turn].slice(-100), newest }
  return mine || now < 0 ? s : { ...s, stale: true } // a turn this window saw nothing of
}

function dropQueued(s: ChatState, texts: string[]): ChatState {
  for (const text of texts) {
    const p = s.pending.find(p => p.text === text && (p.status === 'queued' || p.status === 'sending'))
    if (p) s = patchPending(s, p.clientId, p => ({ ...p, status: 'dropped' }))
  }
  return s
}

function finish(s: ChatState, e: ChatEvent): ChatState {
  const live = s.live!
  let parts = close(live.parts)
  let end: Ending = 'done'
  if (e.error) {
    end = 'failed'
    if (!parts.some(p => p.type === 'note' && p.tone === 'bad')) parts = [...parts, { type: 'note', tone: 'bad', text: e.error }]
  } else {
    const said = endingOf(e.content ?? '')
    end = e.cancelled ? (said.end === 'interrupted' ? 'interrupted' : 'stopped') : 'done'
    parts = settleText(parts, e.cancelled ? said.text : e.content ?? '')
  }
  const next = freeze(s, { ...live, parts }, end, e.message_id ?? '', e)
  return live.whole ? next : { ...next, stale: true }
}

// settleText makes the last words those that were kept.
function settleText(parts: Part[], content: string): Part[] {
  const last = parts.findLastIndex(p => p.type !== 'note')
  const p = parts[last]
  if (p?.type === 'text') return p.text === content || content === '' ? parts : parts.map((q, i) => (i === last ? { ...p, text: content } : q))
  return content === '' ? parts : [...parts, { type: 'text', text: content }]
}

// close ends what a reply left open.
function close(parts: Part[]): Part[] {
  return parts.filter(p => p.type !== 'ask' && p.type !== 'undo').map(p => (p.type === 'tool' && (p.state === 'running' || p.state === 'waiting') ? { ...p, state: 'stopped' as const } : p))
}

function freeze(s: ChatState, live: Live, end: Ending, messageId: string, e: ChatEvent | null): ChatState {
  const { head, base } = split(s.items, live)
  const item: ReplyItem = {
    kind: 'reply', key: base?.key ?? 't:' + live.turn, ids: [...(base?.ids ?? []), ...(messageId ? [messageId] : [])],
    parts: merge(base?.parts ?? [], live.parts, messageId), end, sources: e?.sources ?? [], memories: e?.memory_sources ?? [], checks: e?.checks ?? [],
    at: base?.at ?? '', local: live.whole ? { tick: s.tick, since: live.since, starter: live.starter } : undefined,
  }
  const keep = item.parts.length > 0 || end !== 'done'
  return {
    ...s, items: keep ? [...head, item] : head, live: null, ended: [...s.ended, live.turn].slice(-100),
    newest: messageId > s.newest ? messageId : s.newest,
  }
}

// split takes the stored beginning of a reply met midway off the items.
function split(items: Item[], live: Live): { head: Item[]; base: ReplyItem | null } {
  const last = items[items.length - 1]
  if (live.whole || last?.kind !== 'reply' || last.local) return { head: items, base: null }
  return { head: items.slice(0, -1), base: last }
}

// merge continues stored parts with live ones, without what both have.
export function merge(stored: Part[], live: Part[], messageId = ''): Part[] {
  if (stored.length === 0) return live
  const calls = new Set(live.flatMap(p => (p.type === 'tool' ? [p.id] : [])))
  const first = live.find(p => p.type === 'text' || p.type === 'tool')
  const text = first?.type === 'text' ? first.text : ''
  const shared = stored.find(p => (p.row && p.row === messageId) || (p.type === 'tool' && calls.has(p.id)) || (p.type === 'text' && text !== '' && p.text === text))
    ?? stored.findLast(p => p.type === 'text' && text !== '' && p.text.startsWith(text))
  if (!shared) return [...stored, ...live]
  const cut = stored.findIndex(p => p.row === shared.row)
  // Of the round that both have, only its open calls may have been told: what else is stored of it stays.
  const words = live.some(p => p.type === 'text' || p.type === 'thinking') && (first?.type === 'text' || live[0]?.type === 'thinking')
  const rest = stored.filter(p => p.row === shared.row && (p.type === 'tool' ? !calls.has(p.id) : !words))
  return [...stored.slice(0, cut), ...rest, ...live]
}

// view is what the page shows, in order.
export function view(s: ChatState): Item[] {
  const waiting = s.pending.map((p): UserItem => ({
    kind: 'user', key: 'c:' + p.clientId, id: '', text: p.text, attachments: p.attachments, name: '', at: p.at, status: p.status, error: p.error, clientId: p.clientId,
  }))
  if (!s.live) return waiting.length ? [...s.items, ...waiting] : s.items
  const { head, base } = split(s.items, s.live)
  const reply: ReplyItem = {
    kind: 'reply', key: base?.key ?? 't:' + s.live.turn, ids: base?.ids ?? [], parts: merge(base?.parts ?? [], s.live.parts), end: null,
    sources: [], memories: [], checks: [], at: base?.at ?? '',
  }
  // A message that has not been acknowledged and started no turn yet stands before nothing: it is the newest.
  return [...head, reply, ...waiting]
}
