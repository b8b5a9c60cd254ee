import type { StopState } from './halt'

// What goes over the wire: the events of /ws and the rows of the REST answers, as the engine writes them.

export type Role = 'user' | 'assistant' | 'tool' | 'other' | 'event'

export interface Source {
  kind: string
  title?: string
  url?: string
  file?: string
  app?: string
  snippet?: string
  from?: string
}

export interface MemorySource {
  kind: string
  id: string | number
  text: string
  source?: string
}

export interface Approved {
  decision: string
  risk_label?: string | null
  target?: string | null
}

export interface Row {
  id: string
  role: Role
  content: string
  thinking?: string | null
  tool_calls?: { id: string; function: { name: string; arguments: string } }[]
  tool_call_id?: string | null
  name?: string | null
  attachments?: string[]
  interjection?: boolean
  sources?: Source[]
  memory_sources?: MemorySource[]
  approval?: Approved | null
  checks?: Check[]
  created_at: string
}

export interface Preview {
  kind: string
  title: string
  fields?: { label: string; value: string }[]
  body?: string
}

// UndoWindow is a call that waits so that it can still be undone.
export interface UndoWindow {
  undo_id: string
  call_id: string
  name: string
  seconds: number
  until: string
  preview?: Preview | null
}

// Check is what the engine found a call really did.
export interface Check {
  tool: string
  app?: string
  action: string
  ok: boolean
  detail?: string
  settled?: boolean
  message?: string
}

// HandOff is the result of a call that was prepared for the person to finish.
export interface HandOff {
  handed_off: true
  label?: string
  title?: string
  preview?: Preview | null
  details?: { label: string; value: string }[]
}

export interface RuleProposal {
  id: string
  session_id: string
  message_id: string
  said: string
  rule: string
  keys: string[]
  targets: { key: string; app: string; tool: string | null; label: string }[]
  status: 'pending' | 'accepted' | 'declined'
}

export interface Grant {
  id: string
  tool: string
  label: string
  app: string
  scope: 'task' | 'timed'
  task_name: string | null
  risk: string
  via: string
  created_at: string
  expires_at: string | null
}

export interface ToolApp {
  id: string
  display_name: string
  description: string
  tools: { name: string; description: string; risk: string }[]
}

export interface Ask {
  approval_id: string
  call_id: string
  name: string
  arguments?: unknown
  risk?: string
  reason?: string
  risk_label?: string | null
  target?: string | null
  untrusted?: string | null
  warning?: string | null
  choices?: string[]
  grant_minutes?: number
  preview?: Preview | null
}

// ChatEvent is any event of one chat. Fields beyond the first few belong to some types only; what is read of them is
// checked where it is read, because an engine may be newer than its window.
export interface ChatEvent {
  type: string
  session_id?: string
  turn_id?: string
  client_id?: string | null
  seq?: number
  replay?: boolean
  text?: string
  call_id?: string
  name?: string
  arguments?: unknown
  result?: unknown
  is_error?: boolean
  duration_ms?: number
  kind?: string
  image?: string
  message?: string
  recoverable?: boolean
  code?: string
  model?: string
  used?: string
  content?: string
  message_id?: string | null
  cancelled?: boolean
  dropped?: string[] | boolean
  error?: string
  sources?: Source[]
  memory_sources?: MemorySource[]
  queued?: boolean
  approval_id?: string
  resolved?: boolean
  undo_id?: string
  action?: string
  done?: boolean
  check?: Check
  checks?: Check[]
  context_used?: number | null
  context_length?: number | null
  context_percent?: number | null
  context_warning?: string | null
  data?: Record<string, unknown>
}

export interface ChatRow {
  id: string
  title: string
  channel: string
  created_at: string
  updated_at: string
  untrusted: string | null
  incognito: boolean
  model: string | null
}

export interface Bootstrap {
  version: string
  home: string
  assistant: { name: string; user_name: string; timezone: string; onboarding_complete: boolean }
  models: Record<string, string | null>
  ui: { theme: string; accent: string }
  unread_notifications?: number
  features?: Record<string, boolean>
  stop?: StopState
}

export interface Provider {
  id: string
  label: string
  kind: 'cloud' | 'local'
  key_required: boolean
  key_set: boolean
  api_base: string | null
  docs_url: string
  suggested: string[]
  sign_in: boolean
}

export interface LocalModels {
  [runtime: string]: { reachable: boolean; models: { name: string; is_embedding?: boolean; capabilities?: string[]; parameter_size?: string }[] }
}

export interface FileRow {
  name: string
  size: number
  mime: string
  modified_at: string
}

// decode reads one message of the socket. Anything that is not an event with a type is nothing.
export function decode(raw: unknown): ChatEvent | null {
  if (typeof raw !== 'string') return null
  try {
    const e: unknown = JSON.parse(raw)
    return e && typeof e === 'object' && typeof (e as ChatEvent).type === 'string' ? (e as ChatEvent) : null
  } catch {
    return null
  }
}
