// The notification center: what came, what was read, how many wait. Pure: events and answers in, the state out.

import type { Budget } from './cost'
import type { ChatEvent } from './wire'

export interface Notice { id: string; kind: string; title: string; message: string; payload: Record<string, unknown>; task_id: string | null; read: boolean; created_at: string }

// Notices: stale says that something happened to one that is not in the list, so only the engine knows the count.
export interface Notices { list: Notice[]; unread: number; stale: boolean }

export const noNotices = (): Notices => ({ list: [], unread: 0, stale: false })

// loaded takes what the engine has; it is the truth.
export const loaded = (list: Notice[], unread: number): Notices => ({ list, unread, stale: false })

// came puts a new one first, or takes what changed of one that is known. The same event may be heard twice.
function came(s: Notices, n: Notice): Notices {
  const was = s.list.find(o => o.id === n.id)
  const unread = Math.max(0, s.unread + Number(!n.read) - Number(was ? !was.read : false))
  return { ...s, unread, list: was ? s.list.map(o => (o.id === n.id ? n : o)) : [n, ...s.list] }
}

function read(s: Notices, id: string | null): Notices {
  if (id === null) return { ...s, unread: 0, list: s.list.map(n => (n.read ? n : { ...n, read: true })) }
  const n = s.list.find(o => o.id === id)
  if (!n) return { ...s, stale: true }
  return n.read ? s : came(s, { ...n, read: true })
}

function gone(s: Notices, id: string | null): Notices {
  if (id === null) return { ...s, unread: 0, list: [] }
  const n = s.list.find(o => o.id === id)
  if (!n) return s.unread ? { ...s, stale: true } : s
  return { ...s, unread: Math.max(0, s.unread - Number(!n.read)), list: s.list.filter(o => o.id !== id) }
}

// heard takes an event of the live channel.
export function heard(s: Notices, e: ChatEvent): Notices {
  const d = e.data as (Partial<Notice> & { id?: string | null }) | undefined
  if (!d || d.id === undefined) return s
  switch (e.type) {
    case 'notification.new': return d.id ? came(s, d as Notice) : s
    case 'notification.updated': return !d.id ? s : s.list.some(n => n.id === d.id) ? came(s, d as Notice) : { ...s, stale: true }
    case 'notification.read': return read(s, d.id)
    case 'notification.deleted': return gone(s, d.id)
  }
  return s
}

export type Doing =
  | { kind: 'open'; label: string; route: string }
  | { kind: 'keep_going'; label: string }
  | { kind: 'answer'; label: string; id: string; decision: 'allow' | 'deny' }

// doings are what a notification lets a person do at once.
export function doings(n: Notice): Doing[] {
  const p = n.payload ?? {}
  const out: Doing[] = []
  if (n.kind === 'approval' && typeof p.approval_id === 'string' && !p.status) {
    out.push({ kind: 'answer', label: 'Allow once', id: p.approval_id, decision: 'allow' }, { kind: 'answer', label: 'Deny', id: p.approval_id, decision: 'deny' })
  }
  if (n.kind === 'budget') {
    const b = p.budget as Partial<Budget> | undefined
    if (b?.state === 'reached' && b.at_limit === 'ask' && !b.kept_going) out.push({ kind: 'keep_going', label: 'Keep going this month' })
    out.push({ kind: 'open', label: 'Cost and budget', route: '/settings/cost' })
  }
  if (p.kind === 'claude_code_roles') out.push({ kind: 'open', label: 'Models', route: '/settings/roles' })
  if (typeof p.session_id === 'string' && p.session_id) out.push({ kind: 'open', label: 'Open the chat', route: '/chat/' + encodeURIComponent(p.session_id) })
  return out
}

const ICONS: Record<string, string> = { approval: 'shield', error: 'alert', budget: 'coin', task: 'check', reminder: 'clock', skill: 'tool', proactive: 'chat', brief: 'sun', backup: 'save' }

export const iconOf = (kind: string) => ICONS[kind] ?? 'bell'

const ANSWERS: Record<string, string> = { allow: 'Allowed.', allow_session: 'Allowed for the chat.', allow_timed: 'Allowed for a while.', allow_always: 'Always allowed.', deny: 'Denied.', expired: 'Nobody answered in time.' }

// endOf says how a question of another app ended; "" while it is open, and for everything else.
export const endOf = (n: Notice) => (n.kind === 'approval' ? ANSWERS[String(n.payload?.status ?? '')] ?? '' : '')

export const badge = (unread: number) => (unread > 99 ? '99+' : String(unread))
