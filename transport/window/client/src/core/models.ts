// What Settings > Models shows: the check-up as it comes, downloads, presets and plans. Pure: shapes in, words out.

export type Status = 'pass' | 'warn' | 'fail' | 'skip'

export type Action =
  | { kind: 'use_model'; role: string; model: string; label: string }
  | { kind: 'pull_model'; name: string; label: string }
  | { kind: 'set_reasoning'; role: string; value: string; label: string }
  | { kind: 'set_context_length'; value: number; role: string | null; label: string }
  | { kind: 'add_key'; provider: string; label: string }

export interface Check { id: string; label: string; status: Status; detail: string; fix?: string | null; action?: Action | null }

export interface RoleResult { role: string; model: string | null; provider?: string; local?: boolean; inherits?: string | null; status: Status; checks: Check[] }

export interface Recommendation {
  tier: string
  model: string
  name: string
  context_length: number
  cloud_first: boolean
  summary: string
  note: string
  multilingual_embedding?: { model: string; name: string; size: string; note: string } | null
}

export interface Hardware { summary: string; recommendation: Recommendation }

export type CheckupLine =
  | { type: 'start'; roles: { role: string; model: string | null }[]; hardware?: Hardware }
  | { type: 'step'; role: string; label: string }
  | ({ type: 'role' } & RoleResult)
  | { type: 'done'; status: Status; roles: RoleResult[] }
  | { type: 'error'; message: string } // it could not go on

export interface CheckupRow { role: string; model: string | null; state: 'waiting' | 'running' | 'done'; step: string; result: RoleResult | null }

export interface CheckupState { rows: CheckupRow[]; status: Status | null; hardware: string; error: string }

export const newCheckup = (): CheckupState => ({ rows: [], status: null, hardware: '', error: '' })

// checked takes one line of the check-up.
export function checked(s: CheckupState, line: CheckupLine): CheckupState {
  const patch = (role: string, change: Partial<CheckupRow>): CheckupRow[] => {
    const rows = s.rows.some(r => r.role === role) ? s.rows : [...s.rows, { role, model: null, state: 'waiting' as const, step: '', result: null }]
    return rows.map(r => (r.role === role ? { ...r, ...change } : r))
  }
  switch (line.type) {
    case 'start': return { rows: line.roles.map(r => ({ ...r, state: 'waiting', step: '', result: null })), status: null, hardware: line.hardware?.summary ?? '', error: '' }
    case 'step': return { ...s, rows: patch(line.role, { state: 'running', step: line.label }) }
    case 'role': return { ...s, rows: patch(line.role, { state: 'done', step: '', result: line, model: line.model }) }
    case 'done': return { ...s, status: line.status }
    case 'error': return { ...s, error: line.message }
  }
  return s
}

export const ROLES: [role: string, label: string, about: string][] = [
  ['primary', 'Answers chats', 'The main model.'], ['fast', 'Small jobs', 'Titles, summaries and checks: quick and cheap is best.'],
  ['vision', 'Looks at pictures', 'Used when a message has a picture.'], ['voice', 'Speaks', 'Used for spoken turns.'],
  ['planner', 'Plans tasks', ''], ['executor', 'Does tasks', ''], ['embedding', 'Searches by meaning', 'Finds chats and files by what they mean.'],
]

// emptied says what an emptied role becomes: null uses the main model, a model is written instead, undefined refuses. The engine
// keeps a model of its own for small jobs and for searching.
export function emptied(role: string, primary: string | null | undefined): string | null | undefined {
  return role === 'primary' ? undefined : role === 'fast' ? primary ?? undefined : null
}

export const roleName = (role: string) => ROLES.find(([r]) => r === role)?.[1] ?? role

export interface TestResult { ok: boolean; latency_ms?: number; dim?: number; error?: string; supports_tools?: boolean }

// testText says what came of trying a model.
export function testText(r: TestResult): string {
  if (!r.ok) return r.error ?? 'Does not work.'
  if (r.dim !== undefined) return `Works, with ${r.dim} numbers for a text.`
  return `Works, answered in ${((r.latency_ms ?? 0) / 1000).toFixed(1)} s${r.supports_tools === false ? ', but cannot use tools' : ''}.`
}

export interface PullLine { status: string; completed?: number; total?: number; error?: string }

// pullShare is how much of a download is here, 0 to 1; null while that is not known.
export function pullShare(l: PullLine | null): number | null {
  return l?.total ? Math.min(1, (l.completed ?? 0) / l.total) : null
}

export function pullText(l: PullLine | null): string {
  if (!l) return 'Starting…'
  const share = pullShare(l)
  return share === null ? l.status : `${l.status}: ${size(l.completed ?? 0)} of ${size(l.total!)} (${Math.floor(share * 100)}%)`
}

function size(n: number): string {
  for (const [unit, by] of [['GB', 1e9], ['MB', 1e6], ['KB', 1e3]] as const) if (n >= by) return `${(n / by).toFixed(n >= 10 * by ? 0 : 1)} ${unit}`
  return `${n} bytes`
}

export interface Preset { name: string; builtin: boolean; available: boolean; reason: string | null; description: string; cloud: boolean; blocked_by: string | null; active: boolean; roles: Record<string, string | null> }

export interface Presets { active: string | null; modified: boolean; can_undo: boolean; undo_preset: string | null; presets: Preset[] }

export interface Missing { kind: string; roles: string[]; model: string; detail: string; fix: string; action: Action | null }

export interface Applied { preset: string | null; changed: { role: string; from: string | null; to: string | null }[]; missing: Missing[]; can_undo: boolean; local_only: boolean }

// appliedText says what a switch of presets changed.
export function appliedText(a: Applied): string {
  if (!a.changed.length) return 'Nothing changed: it was set up like that already.'
  return a.changed.map(c => `${roleName(c.role)}: ${c.to ?? 'the main model'}`).join('; ') + '.'
}

export interface Busy { busy: boolean; job: string | null; model: string | null; since: string | null; waiting: number; deferred: number; deferred_reason: string | null }

const JOBS: Record<string, string> = { chat: 'a chat', interactive: 'something you wait for', task: 'a task', suggestions: 'suggestions', memory: 'memory', skills: 'skills', titles: 'titles', background: 'upkeep' }
const HELD: Record<string, string> = { chat: 'while you chat', battery: 'until there is power', battery_low: 'because the battery is low' }

// busyText says what the local model is doing now.
export function busyText(b: Busy | null): string {
  if (!b) return ''
  const name = b.model?.split('/').slice(1).join('/') || 'The local model'
  const doing = b.busy ? `${name} is working on ${JOBS[b.job ?? ''] ?? 'something'}` : 'The local model is free'
  const parts = [doing]
  if (b.waiting) parts.push(b.waiting === 1 ? 'one call waits' : `${b.waiting} calls wait`)
  if (b.deferred) parts.push(`${b.deferred === 1 ? 'one job is' : `${b.deferred} jobs are`} held back ${HELD[b.deferred_reason ?? ''] ?? ''}`.trim())
  return parts.join('; ') + '.'
}

// lines reads a body of JSON lines as they come. What is no JSON is left out.
export async function lines<T>(body: ReadableStream<Uint8Array>, take: (line: T) => void): Promise<void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    rest += done ? decoder.decode() : decoder.decode(value, { stream: true })
    const parts = rest.split('\n')
    rest = done ? '' : parts.pop()!
    for (const p of parts) {
      if (!p.trim()) continue
      try {
        take(JSON.parse(p) as T)
      } catch (e) {
        if (!(e instanceof SyntaxError)) throw e
      }
    }
    if (done) return
  }
}
