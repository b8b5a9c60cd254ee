// What models cost, as Settings shows it.

export interface ModelCost { model: string; billing: 'local' | 'plan' | 'paid'; calls: number; prompt_tokens: number; completion_tokens: number; cost_usd: number | null; unpriced_calls: number }
export interface RoleCost { role: string; calls: number; prompt_tokens: number; completion_tokens: number; cost_usd: number | null; unpriced_calls?: number; plan_calls?: number; local_calls?: number }
export interface Period { key: string; label: string; cost_usd: number; calls: number; tokens: number; paid_calls: number; unpriced_calls: number; plan_calls: number; local_calls: number; by_model: ModelCost[]; by_role: RoleCost[]; claude_code_by_role?: { role: string; calls: number; prompt_tokens: number; completion_tokens: number }[] }
export interface SourceCost { source: string; calls: number; prompt_tokens: number; completion_tokens: number; cost_usd: number | null }
export interface Usage { by_day: Day[]; by_source: SourceCost[] }
export interface Budget { monthly_usd: number; at_limit: 'ask' | 'stop'; spent_usd: number; month: string; percent: number; state: 'off' | 'ok' | 'warning' | 'reached'; kept_going: boolean; message: string | null }
export interface Cost { local_only: boolean; periods: Period[]; budget: Budget }
export interface Day { day: string; prompt_tokens: number; completion_tokens: number; calls: number; cost_usd: number | null }

export function dollars(n: number | null): string {
  if (n === null) return 'price not known'
  if (n === 0) return '$0'
  return n < 0.01 ? 'under $0.01' : `$${n.toFixed(2)}`
}

export const tokens = (n: number) => (n >= 1e6 ? `${(n / 1e6).toFixed(1)} M` : n >= 1e3 ? `${Math.round(n / 1e3)} k` : String(n))

const iso = (d: Date) => `${d.getFullYear()}-${String(d.getMonth() + 1).padStart(2, '0')}-${String(d.getDate()).padStart(2, '0')}`

// days fills the days without a call, oldest first, today last.
export function days(rows: readonly Day[], n: number, today: Date): Day[] {
  const by = new Map(rows.map(r => [r.day, r]))
  return Array.from({ length: n }, (_, i) => {
    const d = new Date(today.getFullYear(), today.getMonth(), today.getDate() - (n - 1 - i))
    return by.get(iso(d)) ?? { day: iso(d), prompt_tokens: 0, completion_tokens: 0, calls: 0, cost_usd: 0 }
  })
}

export interface Bar { day: string; height: number; text: string }

// bars are the heights of a plot by day, as shares of its highest: of money when any was spent, else of tokens.
export function bars(rows: readonly Day[]): { unit: 'money' | 'tokens'; top: string; list: Bar[] } {
  const money = rows.some(r => (r.cost_usd ?? 0) > 0)
  const value = (r: Day) => (money ? r.cost_usd ?? 0 : r.prompt_tokens + r.completion_tokens)
  const most = Math.max(0, ...rows.map(value))
  const say = (v: number) => (money ? dollars(v) : `${tokens(v)} tokens`)
  return {
    unit: money ? 'money' : 'tokens', top: say(most),
    list: rows.map(r => ({ day: r.day, height: most ? value(r) / most : 0, text: `${r.day}: ${say(value(r))}, ${r.calls} ${r.calls === 1 ? 'call' : 'calls'}` })),
  }
}

export interface Line { name: string; calls: string; tokens: string; cost: string }

const line = (name: string, r: { calls: number; prompt_tokens: number; completion_tokens: number }, cost: string): Line => ({ name, calls: String(r.calls), tokens: tokens(r.prompt_tokens + r.completion_tokens), cost })

export const modelLines = (rows: readonly ModelCost[]): Line[] => rows.map(m => line(m.model, m, m.billing === 'paid' ? dollars(m.cost_usd) : BILLING[m.billing] ?? m.billing))
export const roleLines = (rows: readonly RoleCost[], name: (role: string) => string): Line[] => rows.map(r => line(name(r.role), r, r.cost_usd === null ? unbilled(r) : dollars(r.cost_usd)))

// unbilled says why there is no sum.
function unbilled(r: RoleCost): string {
  if (r.unpriced_calls) return dollars(null)
  if (r.local_calls === r.calls) return BILLING.local!
  return r.plan_calls === r.calls ? BILLING.plan! : ''
}

const SOURCES: Record<string, string> = { chat: 'Chats', task: 'Tasks', background: 'Upkeep in the background', api: 'Other apps', voice: 'Voice' }
export const sourceLines = (rows: readonly SourceCost[]): Line[] => rows.map(r => line(SOURCES[r.source] ?? r.source, r, r.cost_usd === null ? '' : dollars(r.cost_usd)))

// freeText says what of a period cost nothing.
export function freeText(p: Period): string {
  const calls = (n: number, where: string) => (n ? [`${n} ${n === 1 ? 'call' : 'calls'} ${where}`] : [])
  const parts = [...calls(p.local_calls, 'on this computer'), ...calls(p.plan_calls, 'on your plans')]
  return parts.length ? `Without a bill: ${parts.join(', ')}.` : ''
}

// budgetProblem says why what was typed is no budget; "" when it is one, or none.
export function budgetProblem(text: string): string {
  const t = text.trim()
  if (!t) return ''
  const n = Number(t)
  return Number.isFinite(n) && n >= 0 ? '' : 'A budget is an amount in dollars, such as 10 or 7.50.'
}

export function budgetText(b: Budget): string {
  const used = b.message || `${dollars(b.spent_usd)} of ${dollars(b.monthly_usd)} used (${Math.round(b.percent)}%).`
  return b.kept_going && b.state === 'reached' && !b.message ? used + ' You chose to keep going.' : used
}

export const BILLING: Record<string, string> = { local: 'on this computer', plan: 'on your plan', paid: '' }
