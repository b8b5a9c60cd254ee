// What models cost, as Settings shows it.

export interface ModelCost { model: string; billing: 'local' | 'plan' | 'paid'; calls: number; prompt_tokens: number; completion_tokens: number; cost_usd: number | null; unpriced_calls: number }
export interface RoleCost { role: string; calls: number; prompt_tokens: number; completion_tokens: number; cost_usd: number | null }
export interface Period { key: string; label: string; cost_usd: number; calls: number; tokens: number; paid_calls: number; unpriced_calls: number; plan_calls: number; local_calls: number; by_model: ModelCost[]; by_role: RoleCost[] }
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

export const BILLING: Record<string, string> = { local: 'on this computer', plan: 'on your plan', paid: '' }
