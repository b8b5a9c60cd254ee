// What a chat looks like: the items on the page, and how stored rows become them.

import type { Approved, Ask, Check, HandOff, MemorySource, Row, Source, UndoWindow } from './wire'

export type ToolState = 'running' | 'waiting' | 'done' | 'failed' | 'declined' | 'undone' | 'handed' | 'stopped'

export interface ToolPart {
  type: 'tool'
  id: string
  name: string
  args: unknown
  state: ToolState
  progress: string
  status: string
  image?: string
  result?: unknown
  ms?: number
  approval?: Approved | null
  row?: string // the stored message that made the call
  resultRow?: string // the stored message that holds the result
}

// Part is a piece of a reply. row names the stored message it came from.
export type Part =
  | { type: 'thinking'; text: string; row?: string }
  | { type: 'text'; text: string; row?: string }
  | { type: 'steer'; text: string; row?: string }
  | { type: 'ask'; ask: Ask; at: number | null; answered?: string; row?: string }
  | { type: 'undo'; window: UndoWindow; answered?: string; row?: string }
  | { type: 'note'; tone: 'info' | 'warn' | 'bad'; text: string; code?: string; row?: string }
  | ToolPart

export type Ending = 'done' | 'stopped' | 'interrupted' | 'failed'

export interface UserItem {
  kind: 'user'
  key: string
  id: string // of the stored row, "" while unknown
  text: string
  attachments: string[]
  name: string // who wrote it, when it was not the owner
  at: string
  local?: Local
  status?: PendingStatus
  error?: string
  clientId?: string
}

export interface ReplyItem {
  kind: 'reply'
  key: string
  ids: string[] // stored rows it is made of
  parts: Part[]
  end: Ending | null // null while it is written
  sources: Source[]
  memories: MemorySource[]
  checks: Check[]
  at: string
  local?: Local
}

export interface MarkItem {
  kind: 'mark'
  key: string
  id: string
  text: string
}

export type Item = UserItem | ReplyItem | MarkItem

// Starter is the message of this window that a turn answers.
export interface Starter {
  text: string
  attachments: string[]
  after: string // newest stored row known when it was sent
}

// Local marks an item that was seen happening, not read from the store: when, and where its stored rows begin: after the
// row of its starter, or after a row.
export interface Local {
  tick: number
  since: string
  starter: Starter | null
}

export type PendingStatus = 'sending' | 'queued' | 'failed' | 'dropped'

const MARKS: [string, Ending][] = [['(stopped)', 'stopped'], ['(interrupted)', 'interrupted']]

// endingOf takes the engine's mark off the end of a reply that was cut.
export function endingOf(text: string): { text: string; end: Ending } {
  const t = text.trimEnd()
  for (const [mark, end] of MARKS) {
    if (t.endsWith(mark)) return { text: t.slice(0, -mark.length).trimEnd(), end }
  }
  return { text, end: 'done' }
}

export function resultState(result: unknown, isError: boolean): ToolState {
  if (result && typeof result === 'object' && !Array.isArray(result)) {
    const r = result as Record<string, unknown>
    if (r.declined === true) return 'declined'
    if (r.undone === true) return 'undone'
    if (r.handed_off === true) return 'handed'
    if (typeof r.error === 'string' && r.error !== '') return 'failed'
  }
  return isError ? 'failed' : 'done'
}

// handOff gives the hand-off a result is, or null.
export function handOff(result: unknown): HandOff | null {
  return result && typeof result === 'object' && (result as HandOff).handed_off === true ? (result as HandOff) : null
}

// parseJSON gives the value of a JSON text, or the text itself.
export function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

// fold turns stored rows, oldest first, into items: an assistant's rounds, their tools and what joined them are one reply.
export function fold(rows: readonly Row[]): Item[] {
  const items: Item[] = []
  let reply: ReplyItem | null = null
  let calls = new Map<string, ToolPart>()
  const open = (row: Row): ReplyItem => {
    if (reply) return reply
    calls = new Map()
    const fresh: ReplyItem = { kind: 'reply', key: 'm:' + row.id, ids: [], parts: [], end: 'done', sources: [], memories: [], checks: [], at: row.created_at }
    items.push(fresh)
    return (reply = fresh)
  }
  for (const row of rows) {
    if (row.role === 'user' && row.interjection && reply) {
      const r: ReplyItem = reply
      r.parts.push({ type: 'steer', text: row.content, row: row.id })
      r.ids.push(row.id)
    } else if (row.role === 'user' || row.role === 'other') {
      reply = null
      items.push(userItem(row))
    } else if (row.role === 'assistant') {
      foldAssistant(open(row), row, calls)
    } else if (row.role === 'tool') {
      foldResult(open(row), row, calls)
    } else if (row.role === 'event') {
      reply = null
      items.push({ kind: 'mark', key: 'm:' + row.id, id: row.id, text: markText(row) })
    }
  }
  return items
}

function userItem(row: Row): UserItem {
  return {
    kind: 'user', key: 'm:' + row.id, id: row.id, text: row.content, attachments: row.attachments ?? [], at: row.created_at,
    name: row.role === 'other' ? row.name || 'Someone else' : row.name || '',
  }
}

function foldAssistant(r: ReplyItem, row: Row, calls: Map<string, ToolPart>): void {
  r.ids.push(row.id)
  r.at = row.created_at
  if (row.thinking) r.parts.push({ type: 'thinking', text: row.thinking, row: row.id })
  const { text, end } = endingOf(row.content)
  if (text) r.parts.push({ type: 'text', text, row: row.id })
  r.end = end
  for (const c of row.tool_calls ?? []) {
    const part: ToolPart = { type: 'tool', id: c.id, name: c.function.name, args: parseJSON(c.function.arguments), state: 'stopped', progress: '', status: '', row: row.id }
    calls.set(c.id, part)
    r.parts.push(part)
  }
  if (row.sources?.length) r.sources = row.sources
  if (row.memory_sources?.length) r.memories = row.memory_sources
  if (row.checks?.length) r.checks = row.checks
}

function foldResult(r: ReplyItem, row: Row, calls: Map<string, ToolPart>): void {
  r.ids.push(row.id)
  let part = calls.get(row.tool_call_id ?? '')
  if (!part) {
    part = { type: 'tool', id: row.tool_call_id ?? row.id, name: row.name || 'tool', args: {}, state: 'done', progress: '', status: '', row: row.id }
    calls.set(part.id, part)
    r.parts.push(part)
  }
  part.resultRow = row.id
  part.result = parseJSON(row.content)
  part.state = resultState(part.result, false)
  part.approval = row.approval ?? null
}

function markText(row: Row): string {
  const TEXTS: Record<string, string> = { trusted: 'You said this chat can be trusted again.', restoring: 'You asked to bring something back.', restored: 'Brought back.' }
  return TEXTS[row.name ?? ''] ?? 'Something happened in this chat.'
}

// dropSince removes the stored parts of a reply that this window saw from its start.
export function dropSince(items: Item[], since: string): Item[] {
  const out: Item[] = []
  for (const i of items) {
    const ids = i.kind === 'reply' ? i.ids.filter(id => id <= since) : []
    if (i.kind !== 'reply' || ids.length === i.ids.length) out.push(i)
    else if (ids.length) out.push({ ...i, ids, parts: i.parts.filter(p => (p.row ?? '') <= since) })
  }
  return out
}
