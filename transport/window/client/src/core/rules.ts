// Lasting rules as Settings shows them: by app, and by tool inside it.

import type { ToolApp } from './wire'

export const LEVELS: [value: string, label: string][] = [
  ['', 'As the mode says'], ['allow', 'Always allow'], ['if_asked', 'Only if I asked'], ['ask', 'Ask me first'], ['hand_off', 'Hand it to me'], ['never', 'Never'],
]

export interface Origin { rule: string; said?: string; at?: string; source?: string }

export interface Approvals { mode: string; rules: Record<string, string>; rule_origins: Record<string, Origin> }

export interface ToolRule { key: string; label: string; about: string; risk: string; own: string; inForce: string }

export interface AppRule { key: string; label: string; about: string; own: string; tools: ToolRule[]; set: number }

// MODES are what tools.approvals.mode can be, strictest first.
export const MODES: [string, string, string][] = [
  ['always', 'Before everything that changes something', 'Also notes and files of its own.'],
  ['ask', 'Before what matters', 'Sending, deleting, changing what is in other apps. What only reads runs.'],
  ['off', 'Almost never', 'Purchases, locks and whatever outside content may be behind still ask.'],
]

// approvalsOf reads the rules out of a configuration.
export function approvalsOf(config: unknown): Approvals {
  const a = (config as { tools?: { approvals?: Partial<Approvals> } } | null)?.tools?.approvals
  return { mode: a?.mode ?? 'ask', rules: a?.rules ?? {}, rule_origins: a?.rule_origins ?? {} }
}

// plain is a tool's name without its app's, in words: slack_post_message in slack is "Post message".
export function plain(tool: string, app: string): string {
  const n = (tool.startsWith(app + '_') ? tool.slice(app.length + 1) : tool).replaceAll('_', ' ')
  return n ? n[0]!.toUpperCase() + n.slice(1) : tool
}

// table lists the apps that words find, those with rules first.
export function table(apps: readonly ToolApp[], rules: Record<string, string>, words: string): AppRule[] {
  const q = words.toLowerCase().split(/\s+/).filter(w => w)
  const hit = (...texts: string[]) => q.every(w => texts.join(' ').toLowerCase().includes(w))
  const out: AppRule[] = []
  for (const a of apps) {
    const own = rules[a.id] ?? ''
    const tools = a.tools.map(t => ({ key: t.name, label: plain(t.name, a.id), about: t.description, risk: t.risk, own: rules[t.name] ?? '', inForce: rules[t.name] ?? own }))
    const whole = hit(a.display_name, a.description)
    const shown = q.length && !whole ? tools.filter(t => hit(a.display_name, t.label, t.about, t.key)) : tools
    if (!whole && !shown.length) continue
    out.push({ key: a.id, label: a.display_name, about: a.description, own, tools: shown, set: tools.filter(t => t.own).length + (own ? 1 : 0) })
  }
  return out.sort((x, y) => Number(y.set > 0) - Number(x.set > 0) || x.label.localeCompare(y.label))
}

// originText says where a rule came from.
export function originText(o: Origin | undefined, rule: string): string {
  if (!o || o.rule !== rule || !o.at) return ''
  const day = new Date(o.at).toLocaleDateString(undefined, { year: 'numeric', month: 'long', day: 'numeric' })
  return o.source === 'approval' ? `From your answer on ${day}` : `From your message on ${day}`
}
