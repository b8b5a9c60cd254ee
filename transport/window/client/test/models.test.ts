import { describe, expect, it } from 'vitest'
import { bars, days, dollars, tokens } from '../src/core/cost'
import { type CheckupLine, appliedText, busyText, checked, lines, newCheckup, pullShare, pullText } from '../src/core/models'

const play = (...ls: CheckupLine[]) => ls.reduce(checked, newCheckup())
const start: CheckupLine = { type: 'start', roles: [{ role: 'primary', model: 'a/b' }, { role: 'vision', model: null }] }

describe('the check-up', () => {
  it('shows each role as it is tried', () => {
    const s = play(start, { type: 'step', role: 'primary', label: 'Trying a tool call' })
    expect(s.rows.map(r => r.state)).toEqual(['running', 'waiting'])
    expect(s.rows[0]!.step).toBe('Trying a tool call')
  })
  it('ends with the worst, and takes roles it was not told of', () => {
    const s = play(start, { type: 'role', role: 'primary', model: 'a/b', status: 'fail', checks: [] }, { type: 'role', role: 'new', model: 'c/d', status: 'pass', checks: [] }, { type: 'done', status: 'fail', roles: [] })
    expect(s.status).toBe('fail')
    expect(s.rows.map(r => [r.role, r.result?.status])).toEqual([['primary', 'fail'], ['vision', undefined], ['new', 'pass']])
  })
  it('starts over', () => {
    expect(play(start, { type: 'done', status: 'pass', roles: [] }, start)).toMatchObject({ status: null, rows: [{ state: 'waiting' }, { state: 'waiting' }] })
  })
})

describe('lines', () => {
  const read = async (...chunks: string[]) => {
    const got: unknown[] = []
    const e = new TextEncoder()
    await lines(new ReadableStream({ start(c) { for (const x of chunks) c.enqueue(e.encode(x)); c.close() } }), l => got.push(l))
    return got
  }
  it('are read however they are cut', async () => {
    const text = '{"a":"é"}\n\n{"a":2}\nnonsense\n{"a":3}'
    const bytes = [...new TextEncoder().encode(text)]
    for (let cut = 0; cut <= bytes.length; cut++) {
      const got: unknown[] = []
      await lines(new ReadableStream({ start(c) { c.enqueue(new Uint8Array(bytes.slice(0, cut))); c.enqueue(new Uint8Array(bytes.slice(cut))); c.close() } }), l => got.push(l))
      expect(got).toEqual([{ a: 'é' }, { a: 2 }, { a: 3 }])
    }
    expect(await read()).toEqual([])
  })
  it('pass on what the taker throws', async () => {
    await expect(lines(new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode('{}\n')); c.close() } }), () => { throw new Error('mine') })).rejects.toThrow('mine')
  })
})

describe('words', () => {
  it('of a download', () => {
    expect(pullText(null)).toBe('Starting…')
    expect(pullText({ status: 'pulling', completed: 1.5e9, total: 5.2e9 })).toBe('pulling: 1.5 GB of 5.2 GB (28%)')
    expect(pullShare({ status: 'verifying' })).toBeNull()
  })
  it('of the local model', () => {
    const b = { busy: true, job: 'chat', model: 'ollama_chat/qwen3:8b', since: null, waiting: 1, deferred: 2, deferred_reason: 'chat' }
    expect(busyText(b)).toBe('qwen3:8b is working on a chat; one call waits; 2 jobs are held back while you chat.')
    expect(busyText({ ...b, busy: false, waiting: 0, deferred: 0 })).toBe('The local model is free.')
  })
  it('of a preset', () => {
    expect(appliedText({ preset: 'x', changed: [], missing: [], can_undo: true, local_only: false })).toMatch(/^Nothing changed/)
    expect(appliedText({ preset: 'x', changed: [{ role: 'fast', from: 'a', to: null }], missing: [], can_undo: true, local_only: false })).toBe('Small jobs: the main model.')
  })
})

describe('cost', () => {
  it('is said as people say it', () => {
    expect([dollars(0), dollars(0.001), dollars(1.234), dollars(null), tokens(999), tokens(1500), tokens(2_500_000)]).toEqual(['$0', 'under $0.01', '$1.23', 'price not known', '999', '2 k', '2.5 M'])
  })
  it('is plotted by day, with the days in which nothing was asked', () => {
    const all = days([{ day: '2026-03-01', prompt_tokens: 10, completion_tokens: 10, calls: 1, cost_usd: 2 }, { day: '2026-02-27', prompt_tokens: 5, completion_tokens: 5, calls: 1, cost_usd: 1 }], 4, new Date(2026, 2, 1))
    expect(all.map(d => d.day)).toEqual(['2026-02-26', '2026-02-27', '2026-02-28', '2026-03-01'])
    expect(bars(all)).toMatchObject({ unit: 'money', top: '$2.00', list: [{ height: 0 }, { height: 0.5 }, { height: 0 }, { height: 1, text: '2026-03-01: $2.00, 1 call' }] })
    expect(bars(all.map(d => ({ ...d, cost_usd: 0 }))).unit).toBe('tokens')
    expect(bars([]).top).toBe('0 tokens')
  })
})
