// The list of chats: its order, its groups by day, and what is found in it.

import type { ChatRow } from './wire'

export interface Group { title: string; chats: ChatRow[] }

const DAY = 86_400_000

// groups puts chats, newest first, under the words people use for days. now is local time in milliseconds. A clock that was
// changed leaves days out of order: each still stands once, where its first chat does.
export function groups(chats: readonly ChatRow[], now: number): Group[] {
  const midnight = new Date(now).setHours(0, 0, 0, 0)
  const name = (at: number) => {
    if (at >= midnight) return 'Today'
    if (at >= midnight - DAY) return 'Yesterday'
    if (at >= midnight - 7 * DAY) return 'The last 7 days'
    if (at >= midnight - 30 * DAY) return 'The last 30 days'
    return new Date(at).toLocaleDateString(undefined, { month: 'long', year: 'numeric' })
  }
  const out: Group[] = []
  for (const c of chats) {
    const title = name(Date.parse(c.updated_at) || 0)
    const group = out.find(g => g.title === title)
    if (group) group.chats.push(c)
    else out.push({ title, chats: [c] })
  }
  return out
}

export const titleOf = (c: { title: string } | undefined) => c?.title || 'New chat'

// matches finds every word of q somewhere in text, whatever the case.
export function matches(text: string, q: string): boolean {
  const t = text.toLocaleLowerCase()
  return q.toLocaleLowerCase().split(/\s+/).every(w => t.includes(w))
}

// patch changes what an event said changed; unknown chats are left to the next reading.
export function patchRow(chats: readonly ChatRow[], id: string, change: Partial<ChatRow>): ChatRow[] {
  return chats.map(c => (c.id === id ? { ...c, ...change } : c))
}

// touch moves a chat to the top.
export function touch(chats: readonly ChatRow[], id: string, at: string): ChatRow[] {
  const c = chats.find(c => c.id === id)
  return c ? [{ ...c, updated_at: at }, ...chats.filter(c => c.id !== id)] : [...chats]
}
