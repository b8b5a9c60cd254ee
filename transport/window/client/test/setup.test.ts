import { describe, expect, it } from 'vitest'
import { type ClaudeCode, type Known, claudeProblem, contextText, modelProblem, picks, search } from '../src/core/catalog'
import { budgetProblem, budgetText, freeText, modelLines, roleLines, sourceLines } from '../src/core/cost'
import { checked, emptied, newCheckup, testText } from '../src/core/models'
import { type ChatGPT, checkText, planText, plansOf, signInStep } from '../src/core/plans'
import { cloudAdvice, contextLength, localAdvice, preferred, standIn, toDownload } from '../src/core/welcome'
import type { Provider } from '../src/core/wire'

const provider = (id: string, more: Partial<Provider> = {}): Provider => ({ id, label: id.toUpperCase(), kind: 'cloud', key_required: true, key_set: true, api_base: null, docs_url: '', suggested: [], sign_in: false, ...more })
const claude: ClaudeCode = { enabled: true, installed: true, version: '1', detail: '', models: ['claude-code/sonnet'], fast_model: 'claude-code/haiku', everywhere: false, roles: ['primary', 'voice', 'vision'], max_concurrent: 2, running: 0, waiting: 0 }
const known: Known = {
  local: { ollama: { reachable: true, models: [{ name: 'qwen3:8b', parameter_size: '8B', capabilities: ['tools'] }, { name: 'bge-m3', is_embedding: true }] } },
  providers: [provider('openrouter', { suggested: ['openrouter/a/b'] }), provider('groq', { key_set: false, suggested: ['groq/x'] }), provider('ollama', { kind: 'local', suggested: ['ollama/nomic-embed-text'] }), provider('demo', { kind: 'local', suggested: ['demo/guide'] })],
  lists: { openrouter: [{ id: 'openrouter/a/b', label: 'B', free: false, tools: true, context_length: 131072 }, { id: 'openrouter/c/d:free', label: 'D', free: true, tools: false, context_length: null }] },
  claude,
}

describe('picking a model', () => {
  it('offers what would answer, this computer first, each once', () => {
    expect(picks(known, 'primary').map(p => p.id)).toEqual(['ollama_chat/qwen3:8b', 'claude-code/sonnet', 'openrouter/a/b', 'openrouter/c/d:free', 'demo/guide'])
    expect(picks(known, 'planner').map(p => p.id)).not.toContain('claude-code/sonnet')
    expect(picks({ ...known, claude: { ...claude, enabled: false } }, 'primary').map(p => p.id)).not.toContain('claude-code/sonnet')
    expect(picks(known, 'embedding').map(p => p.id)).toEqual(['ollama/bge-m3', 'builtin/use-lite'])
    expect(picks(known, 'primary').slice(2, 4).map(p => p.hint)).toEqual(['tools, reads 131 k', 'free, no tools'])
  })
  it('finds by every word, among many', () => {
    const many = Array.from({ length: 500 }, (_, i) => ({ id: `openrouter/v/m${i}`, where: 'OpenRouter', hint: i % 2 ? 'free' : '' }))
    expect(search(many, '').length).toBe(50)
    expect(search(many, 'FREE m499').map(p => p.id)).toEqual(['openrouter/v/m499'])
    expect(search(many, 'nothing')).toEqual([])
  })
  it('says what is no model', () => {
    expect(['', 'a/b', 'openrouter/a/b:free'].map(modelProblem)).toEqual(['', '', ''])
    expect(['a', 'a/', '/b', 'a/b c'].map(m => modelProblem(m) !== '')).toEqual([true, true, true, true])
    expect([contextText(null), contextText(512), contextText(1_048_576)]).toEqual(['', 'reads 512', 'reads 1 M'])
  })
  it('warns of what Claude Code refuses', () => {
    const models = { primary: 'claude-code/sonnet', planner: null, fast: 'a/b', embedding: null }
    expect(claudeProblem('primary', models, claude)).toBe('')
    expect(claudeProblem('planner', models, claude)).toMatch(/uses the main model/)
    expect(claudeProblem('fast', models, claude)).toBe('')
    expect(claudeProblem('fast', { ...models, fast: 'claude-code/haiku' }, claude)).toMatch(/only answers your chats/)
    expect(claudeProblem('fast', { ...models, fast: 'claude-code/haiku' }, { ...claude, roles: [...claude.roles, 'fast'], everywhere: true })).toBe('')
    expect(claudeProblem('primary', models, { ...claude, enabled: false })).toMatch(/turned off/)
    expect([claudeProblem('embedding', models, claude), claudeProblem('planner', models, null)]).toEqual(['', ''])
  })
  it('keeps a main model, whatever is emptied', () => {
    expect(['primary', 'fast', 'planner', 'embedding'].map(r => emptied(r, 'a/b'))).toEqual([undefined, 'a/b', null, null])
    expect(emptied('fast', null)).toBeUndefined()
  })
  it('says how a try went', () => {
    expect(testText({ ok: true, latency_ms: 1234 })).toBe('Works, answered in 1.2 s.')
    expect(testText({ ok: true, latency_ms: 0, supports_tools: false })).toMatch(/cannot use tools/)
    expect([testText({ ok: true, dim: 512 }), testText({ ok: false, error: 'No.' }), testText({ ok: false })]).toEqual(['Works, with 512 numbers for a text.', 'No.', 'Does not work.'])
  })
  it('shows why a check-up could not go on', () => {
    expect(checked(newCheckup(), { type: 'error', message: 'Stopped.' })).toMatchObject({ error: 'Stopped.', status: null })
  })
})

describe('plans', () => {
  const gpt: ChatGPT = { available: true, reason: null, signed_in: true, email: 'maya@example.com', manage_usage_url: '', welcome: false }
  it('stand as the engine says', () => {
    const list = plansOf([provider('openrouter'), provider('anthropic', { key_set: false, docs_url: 'https://x' })], gpt)
    expect(list.map(p => [p.id, p.connected])).toEqual([['chatgpt', true], ['openrouter', true], ['anthropic', false], ['nous', false]])
    expect(planText(list[0]!)).toBe('Connected as maya@example.com. Its models start with chatgpt/.')
    expect(planText(list[1]!)).toBe('Connected. Its models start with openrouter/.')
    expect([list[2]!.docs, list[2]!.steps!.length]).toEqual(['https://x', 3])
    expect(planText(plansOf([], { ...gpt, available: false, signed_in: false, reason: 'Turned off.' })[0]!)).toBe('Turned off.')
    expect(plansOf([], null)[0]!.connected).toBe(false)
  })
  it('are signed in to step by step', () => {
    expect(['waiting', 'exchanging', 'connected', 'failed', 'new'].map(status => signInStep({ status, error: null }).done)).toEqual([false, false, true, true, true])
    expect(signInStep({ status: 'failed', error: 'You said no.' })).toEqual({ done: true, ok: false, text: 'You said no.' })
    expect(signInStep(null)).toMatchObject({ done: true, ok: false })
  })
  it('are checked', () => {
    expect([checkText({ ok: true }), checkText({ ok: true, detail: 'Fine.' }), checkText({ ok: false, error: 'Bad key.' })]).toEqual(['It works.', 'Fine.', 'Bad key.'])
  })
})

describe('the first run', () => {
  const advice = { tier: 'gpu_8', model: 'ollama_chat/qwen3:8b', name: 'qwen3:8b', context_length: 8192, cloud_first: false, summary: 'qwen3:8b, reading 8,192 tokens at a time', note: 'Fits on the graphics card, so replies stay quick.' }
  const weak = { ...advice, tier: 'low', cloud_first: true, note: 'A cloud model answers better here.' }
  const other = { model: 'lm_studio/x', label: 'x' }
  const fits = { model: advice.model, label: 'qwen3:8b' }
  it('chooses what fits, and nothing where a cloud model should be used', () => {
    expect([preferred([other, fits], advice), preferred([other], advice), preferred([other], null), preferred([], advice)]).toEqual([advice.model, other.model, other.model, ''])
    expect(preferred([fits], weak)).toBe('')
  })
  it('offers to download what is not here', () => {
    expect([toDownload([other], advice, true), toDownload([fits], advice, true), toDownload([], advice, false), toDownload([], weak, true)]).toEqual(['qwen3:8b', '', '', ''])
  })
  it('lets what fits stand in for the cloud', () => {
    expect([standIn([fits], advice), standIn([other], advice), standIn([fits], weak), standIn([fits], null)]).toEqual([advice.model, '', '', ''])
    expect([contextLength(advice.model, advice), contextLength('lm_studio/x', advice), contextLength(advice.model, weak)]).toEqual([8192, null, null])
  })
  it('says why', () => {
    expect(localAdvice({ summary: 'a card with 8 GB', recommendation: advice })).toBe('Recommended for this computer: qwen3:8b, reading 8,192 tokens at a time. Fits on the graphics card, so replies stay quick. It has: a card with 8 GB.')
    expect(localAdvice({ summary: 'unknown', recommendation: advice })).not.toMatch(/It has/)
    expect([localAdvice(null), localAdvice({ summary: 'x', recommendation: weak })]).toEqual(['', 'A cloud model answers better here.'])
    expect([cloudAdvice({ summary: '4 GB of memory', recommendation: weak }), cloudAdvice({ summary: 'x', recommendation: advice })]).toEqual(['Recommended for this computer: it has 4 GB of memory.', ''])
  })
})

describe('cost', () => {
  const counted = { calls: 2, prompt_tokens: 900, completion_tokens: 100 }
  it('is listed by model, role and source', () => {
    expect(modelLines([{ model: 'a/b', billing: 'paid', ...counted, cost_usd: 1, unpriced_calls: 0 }, { model: 'c/d', billing: 'local', ...counted, cost_usd: null, unpriced_calls: 0 }]).map(l => [l.name, l.tokens, l.cost])).toEqual([['a/b', '1 k', '$1.00'], ['c/d', '1 k', 'on this computer']])
    expect(roleLines([{ role: 'fast', ...counted, cost_usd: null }], r => r.toUpperCase())).toEqual([{ name: 'FAST', calls: '2', tokens: '1 k', cost: '' }])
    expect(roleLines([{ role: 'a', ...counted, cost_usd: null, local_calls: 2 }, { role: 'b', ...counted, cost_usd: null, plan_calls: 2 }, { role: 'c', ...counted, cost_usd: null, unpriced_calls: 1 }], r => r).map(l => l.cost)).toEqual(['on this computer', 'on your plan', 'price not known'])
    expect(sourceLines([{ source: 'chat', ...counted, cost_usd: 0.5 }, { source: 'new', ...counted, cost_usd: null }]).map(l => [l.name, l.cost])).toEqual([['Chats', '$0.50'], ['new', '']])
  })
  it('says what was free', () => {
    const p = { key: 'today', label: 'Today', cost_usd: 0, calls: 3, tokens: 0, paid_calls: 0, unpriced_calls: 0, plan_calls: 1, local_calls: 2, by_model: [], by_role: [] }
    expect([freeText(p), freeText({ ...p, plan_calls: 0, local_calls: 0 })]).toEqual(['Without a bill: 2 calls on this computer, 1 call on your plans.', ''])
  })
  it('has a budget', () => {
    expect(['', '10', '7.5', '0'].map(budgetProblem)).toEqual(['', '', '', ''])
    expect(['ten', '-1', '1e999', '5 $'].map(t => budgetProblem(t) !== '')).toEqual([true, true, true, true])
    const b = { monthly_usd: 10, at_limit: 'ask' as const, spent_usd: 1, month: '2026-01', percent: 10, state: 'ok' as const, kept_going: false, message: null }
    expect([budgetText(b), budgetText({ ...b, message: 'You have used much.' })]).toEqual(['$1.00 of $10.00 used (10%).', 'You have used much.'])
  })
})
