// Reading a chat's stored rows again while it goes on: what was seen happening and what is stored become one.

import type { ChatState, Pending } from './chat'
import { type Item, type ReplyItem, type Starter, type UserItem, dropSince, fold } from './items'
import type { Row } from './wire'

// rowsRead takes what was read from the store. tick is the state's tick when the reading began.
export function rowsRead(s: ChatState, rows: readonly Row[], tick: number, more: boolean, exact: boolean): ChatState {
  let items = fold(rows)
  const newest = rows.length ? rows[rows.length - 1]!.id : ''
  const late = s.items.filter(i => i.kind !== 'mark' && i.local && i.local.tick > tick)
  const known = new Set(rows.map(r => r.id))
  const unseen = late.filter((i): i is ReplyItem => i.kind === 'reply' && !i.ids.some(id => known.has(id)))
  if (s.live?.whole) items = dropSince(items, exact ? lastUser(items) : beginning(items, s.live))
  for (const r of unseen) items = dropSince(items, beginning(items, r.local!))
  const claimed = new Set<string>()
  const lateUsers = late.filter((i): i is UserItem => i.kind === 'user' && !claim(items, claimed, i.text, i.attachments, i.local!.since))
  const early: ChatState['claimed'] = []
  const pending = s.pending.filter(p => {
    if (p.status === 'failed' || p.status === 'dropped') return true
    const row = claim(items, claimed, p.text, p.attachments, p.after)
    if (row) early.push([p.clientId, row])
    return !row && !steered(items, claimed, p)
  })
  items = rekey(s.items, items)
  const locals = late.filter(i => (i.kind === 'reply' ? unseen.includes(i) : lateUsers.includes(i as UserItem)))
  return { ...s, items: [...items, ...locals], pending, newest: newest > s.newest ? newest : s.newest, loaded: true, more, stale: !exact, rowsTick: s.tick, claimed: [...s.claimed, ...early].slice(-50) }
}

// beginning is the row after which the stored rows of a reply come; none when that is not among the items.
function beginning(items: Item[], r: { since: string; starter: Starter | null }): string {
  const m = r.starter
  if (!m) return r.since
  const row = items.findLast(i => i.kind === 'user' && i.id > m.after && i.text === m.text && same(i.attachments, m.attachments))
  return row?.kind === 'user' ? row.id : '\uffff'
}

function lastUser(items: Item[]): string {
  const row = items.findLast(i => i.kind === 'user')
  return row?.kind === 'user' ? row.id : ''
}

function same(a: string[], b: string[]): boolean {
  return a.length === b.length && a.every((x, i) => x === b[i])
}

// claim finds the stored row of a message that this window sent.
function claim(items: Item[], claimed: Set<string>, text: string, attachments: string[], after: string): string {
  const row = items.find(i => i.kind === 'user' && i.id > after && !claimed.has(i.id) && i.text === text && same(i.attachments, attachments))
  if (row?.kind !== 'user') return ''
  claimed.add(row.id)
  return row.id
}

function steered(items: Item[], claimed: Set<string>, p: Pending): boolean {
  for (const i of items) {
    if (i.kind !== 'reply') continue
    const part = i.parts.find(q => q.type === 'steer' && q.text === p.text && (q.row ?? '') > p.after && !claimed.has(q.row!))
    if (part) {
      claimed.add(part.row!)
      return true
    }
  }
  return false
}

// rekey keeps the keys that items had, so that the page keeps its place.
function rekey(before: Item[], after: Item[]): Item[] {
  const keys = new Map<string, string>()
  const users = new Map<string, UserItem[]>()
  for (const i of before) {
    if (i.kind === 'reply') for (const id of i.ids) keys.set(id, i.key)
    else if (i.id) keys.set(i.id, i.key)
    else if (i.kind === 'user') users.set(i.text, [...(users.get(i.text) ?? []), i])
  }
  const taken = new Set<string>()
  return after.map(i => {
    let key = i.kind === 'reply' ? i.ids.map(id => keys.get(id)).find(k => k) : keys.get(i.id)
    if (!key && i.kind === 'user') {
      const twin = users.get(i.text)?.find(u => i.id > u.local!.since && !taken.has(u.key))
      key = twin?.key
    }
    if (!key || taken.has(key)) key = i.key
    while (taken.has(key)) key += "'"
    taken.add(key)
    return key === i.key ? i : { ...i, key }
  })
}
