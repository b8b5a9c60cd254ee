// Plans people already pay for: what each is, what it needs, and how a sign-in or a check went. Pure.

import type { Provider } from './wire'

export interface ChatGPT { available: boolean; reason: string | null; signed_in: boolean; email: string | null; manage_usage_url: string; welcome: boolean }

export interface PlanKind {
  id: string
  title: string
  how: 'sign-in' | 'key'
  about: string
  button: string // what starts a sign-in
  steps?: string[] // to get a key
  hint?: string // how a key looks
}

export const PLANS: PlanKind[] = [
  { id: 'chatgpt', title: 'ChatGPT Plus or Pro', how: 'sign-in', about: 'Answers count against your plan, not against a bill.', button: 'Continue with ChatGPT' },
  { id: 'openrouter', title: 'OpenRouter', how: 'sign-in', about: 'One account for many models, some of them free.', button: 'Connect OpenRouter' },
  { id: 'anthropic', title: 'Claude Max or Team', how: 'key', about: 'These plans include credits for apps every month, spent through a key.', button: '', hint: 'sk-ant-…',
    steps: ['Open the Claude Console and sign in with the account of your plan.', 'Claim the credits that come with the plan.', 'Make a key there and paste it here.'] },
  { id: 'nous', title: 'Nous Portal', how: 'key', about: 'Nous has no sign-in for other apps, so it takes a key.', button: '', steps: ['Open the Nous Portal and sign in.', 'Make a key there and paste it here.'] },
]

export interface Plan extends PlanKind { connected: boolean; off: string; who: string; docs: string }

// plansOf says how each plan stands. off is why it cannot be connected here; who is whose it is, as far as that is known.
export function plansOf(providers: readonly Provider[], gpt: ChatGPT | null): Plan[] {
  return PLANS.map(k => {
    const p = providers.find(x => x.id === k.id)
    const mine = k.id === 'chatgpt'
    const connected = mine ? gpt?.signed_in ?? false : p?.key_set ?? false
    return { ...k, connected, docs: p?.docs_url ?? '', off: mine && gpt && !gpt.available ? gpt.reason ?? 'The sign-in is turned off.' : '', who: mine && connected ? gpt?.email ?? '' : '' }
  })
}

export function planText(p: Plan): string {
  if (p.off) return p.off
  if (!p.connected) return p.about
  return `Connected${p.who ? ` as ${p.who}` : ''}. Its models start with ${p.id}/.`
}

export interface SignInStatus { status: string; error: string | null }

export type SignInEnd = { done: false; text: string } | { done: true; ok: boolean; text: string }

// signInStep says what a status means for who waits. A state the engine does not know (null) is a sign-in that is over.
export function signInStep(s: SignInStatus | null): SignInEnd {
  switch (s?.status) {
    case 'waiting': return { done: false, text: 'Waiting for the sign-in in your browser…' }
    case 'exchanging': return { done: false, text: 'Signing in…' }
    case 'connected': return { done: true, ok: true, text: 'Connected.' }
    case 'failed': return { done: true, ok: false, text: s.error || 'The sign-in did not work. Start it again.' }
  }
  return { done: true, ok: false, text: s ? 'The sign-in ended in a way this window does not know. Look whether it is connected.' : 'The sign-in ended. Start it again.' }
}

export interface CheckResult { ok: boolean; detail?: string; error?: string }

export const checkText = (r: CheckResult) => (r.ok ? r.detail || 'It works.' : r.error || 'It does not work.')
