// Random conversations over a connection that breaks at any moment: nothing shows twice, nothing is lost, and in the end the
// window shows what the engine keeps.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ChatState, apply, newChat, resent, send, view } from '../src/core/chat'
import { type Item, fold } from '../src/core/items'
import { rowsRead } from '../src/core/reread'
import type { ChatEvent, Row } from '../src/core/wire'
import { FakeEngine, SESSION } from './engine'

type Op = 'deliver' | 'all' | 'send' | 'other' | 'think' | 'write' | 'call' | 'ask' | 'results' | 'finish' | 'late' | 'stop' | 'fail' | 'break' | 'fetch' | 'same' | 'reload'

class Window {
  state: ChatState = newChat(SESSION)
  inbox: ChatEvent[] = []
  up = false
  seq: number | null = null
  waiting = new Map<string, { text: string; sent: boolean }>()
  outbox: { text: string; id: string }[] = []
  fetching: { tick: number; rows: Row[] | null; tries: number; asked: boolean; heard: boolean } | null = null
  again = false
  everStopped = new Set<string>()

  constructor(private engine: FakeEngine) { this.connect() }

  connect(): void {
    this.inbox = []
    this.up = true
    this.engine.connect(this.seq, e => this.inbox.push(e))
    this.read()
  }

  // What was on its way is lost, in both directions.
  break(): void {
    this.engine.disconnect()
    this.inbox = []
    this.outbox = []
    this.up = false
    if (this.fetching?.asked) this.fetching.heard = true // the wait for the pong ends with the connection
  }

  send(text: string, id: string): void {
    this.state = send(this.state, id, text, [], '')
    this.waiting.set(id, { text, sent: this.up })
    if (this.up) this.outbox.push({ text, id })
  }

  deliver(): void {
    const out = this.outbox.shift()
    if (out && out.id === '') this.inbox.push({ type: 'pong' })
    else if (out) this.engine.send(out.text, out.id)
    const e = this.inbox.shift()
    if (!e) return
    if (typeof e.seq === 'number') this.seq = e.seq
    if (e.type === 'hello') {
      for (const [id, w] of this.waiting) {
        if (w.sent) this.state = resent(this.state, id)
        w.sent = true
        this.outbox.push({ text: w.text, id })
      }
      return
    }
    if (e.type === 'pong') {
      if (this.fetching) this.fetching.heard = true
      this.fetch()
      return
    }
    if (e.type === 'resync') {
      this.state = { ...this.state, live: null }
      this.read()
      return
    }
    if (e.client_id && ['session', 'steer_ack', 'done'].includes(e.type)) this.waiting.delete(e.client_id)
    this.state = apply(this.state, e, 1)
    if (this.state.stale) this.read()
  }

  read(): void {
    if (this.fetching) this.again = true
    else this.fetching = { tick: this.state.tick, rows: null, tries: 0, asked: false, heard: false }
  }

  // The engine answers a fetch, and later the answer comes.
  fetch(): void {
    const f = this.fetching
    if (!f) return
    if (!f.rows) {
      f.rows = this.engine.rows.map(r => ({ ...r }))
      return
    }
    // The rows came: a ping asks whether anything was still on its way.
    if (this.up && !f.asked) {
      f.asked = true
      this.outbox.push({ text: '', id: '' })
      return
    }
    if (this.up && !f.heard) return
    const exact = f.heard && this.up && !this.again && this.state.tick === f.tick
    if (!exact && f.heard && f.tries < 4) {
      this.again = false
      this.fetching = { tick: this.state.tick, rows: null, tries: f.tries + 1, asked: false, heard: false }
      return
    }
    this.state = rowsRead(this.state, f.rows, f.tick, false, exact)
    this.fetching = null
    this.again = false
  }

  // reload is the page loaded anew: only the engine knows what was.
  reload(): void {
    if (this.up) this.break()
    this.state = newChat(SESSION)
    this.seq = null
    this.waiting.clear()
    this.fetching = null
    this.again = false
    this.connect()
  }

  // settle lets everything arrive.
  settle(): void {
    for (let n = 0; n < 300; n++) {
      if (!this.up) this.connect()
      while (this.inbox.length || this.outbox.length) this.deliver()
      if (this.fetching) this.fetch()
      else if (this.state.stale) this.read()
      else if (!this.inbox.length && !this.outbox.length) return
    }
    throw new Error('it does not settle')
  }
}

// shape is an item without what may differ between seen and stored.
function shape(items: readonly Item[]) {
  return items.map(i => {
    if (i.kind === 'user') return ['user', i.text, i.status ?? '']
    if (i.kind === 'mark') return ['mark', i.text]
    return ['reply', i.end, i.parts.filter(p => p.type !== 'note').map(p => (p.type === 'tool' ? `tool ${p.id} ${p.state}` : p.type === 'ask' || p.type === 'undo' ? p.type : `${p.type} ${p.text}`))]
  })
}

// distinct: the page draws no two things under one key, or it would not draw at all.
function distinct(items: readonly Item[]): void {
  const keys = items.map(i => i.key)
  expect(new Set(keys).size, `keys ${keys}`).toBe(keys.length)
  for (const i of items) {
    if (i.kind !== 'reply') continue
    const tools = i.parts.flatMap(p => (p.type === 'tool' ? [p.id] : []))
    expect(new Set(tools).size, `tools ${tools}`).toBe(tools.length)
  }
}

function noDoubles(items: readonly Item[]): void {
  distinct(items)
  const texts = items.flatMap(i => (i.kind === 'user' ? [i.text] : i.kind === 'reply' ? i.parts.flatMap(p => (p.type === 'steer' ? [p.text] : [])) : []))
  expect(new Set(texts).size, `messages: ${texts}`).toBe(texts.length)
  const tools = items.flatMap(i => (i.kind === 'reply' ? i.parts.flatMap(p => (p.type === 'tool' ? [p.id] : [])) : []))
  expect(new Set(tools).size, 'tools').toBe(tools.length)
}

const RUNS = Number(process.env.RUNS ?? 1500)
const OPS: [number, Op][] = [[30, 'deliver'], [4, 'all'], [5, 'send'], [2, 'other'], [6, 'think'], [14, 'write'], [5, 'call'], [2, 'ask'], [8, 'results'], [5, 'finish'], [2, 'late'], [2, 'stop'], [1, 'fail'], [3, 'break'], [14, 'fetch']]
const anOp = fc.oneof(...OPS.map(([weight, op]) => ({ weight, arbitrary: fc.constant(op) })))

function run(ops: Op[], strict: boolean): void {
  const engine = new FakeEngine()
  const w = new Window(engine)
  let n = 0
  const steps: Partial<Record<Op, () => void>> = {
    deliver: () => w.deliver(),
    all: () => { while (w.inbox.length || w.outbox.length) w.deliver() },
    send: () => w.send(`mine ${++n}`, `id${n}`),
    other: () => engine.send(`other ${++n}`, `o${n}`),
    think: () => engine.think(`hm${++n} `),
    write: () => engine.write(`w${++n} `),
    call: () => engine.call(1 + (n % 3), false),
    ask: () => engine.call(1, true),
    results: () => engine.results(),
    finish: () => engine.finish(false),
    late: () => engine.finish(true),
    stop: () => engine.stop(),
    fail: () => engine.fail(),
    break: () => { if (w.up) w.break(); else w.connect() },
    fetch: () => w.fetch(),
    same: () => w.send('go on', `id${++n}`),
    reload: () => w.reload(),
  }
  for (const op of ops) {
    steps[op]!()
    distinct(view(w.state))
    if (strict) noDoubles(view(w.state))
  }
  if (ops.includes('same')) return
  w.settle()
  engine.results()
  engine.write('the end')
  engine.finish(true)
  engine.write('the end')
  engine.finish(true)
  w.settle()
  noDoubles(view(w.state))
  // What was dropped by a stop stays on the page as not sent; the rest is what the engine keeps.
  const seen = view(w.state).filter(i => i.kind !== 'user' || i.status !== 'dropped')
  // A failed reply stays on the page with its reason until the chat is read anew.
  w.state = { ...w.state, tick: w.state.tick + 1 }
  const again = rowsRead(w.state, engine.rows, w.state.tick, false, true)
  expect(shape(view(again).filter(i => i.kind !== 'user' || i.status !== 'dropped'))).toEqual(shape(fold(engine.rows)))
  const kept = shape(seen).filter(s => s[0] !== 'reply' || s[1] !== 'failed')
  expect(kept).toEqual(shape(fold(engine.rows)))
}

test('what the window shows in the end is what the engine keeps', () => {
  fc.assert(fc.property(fc.array(anOp, { minLength: 5, maxLength: 90 }), ops => run(ops, false)), { numRuns: RUNS })
})

test('nothing ever shows twice while the connection holds', () => {
  const steady = OPS.filter(([, op]) => op !== 'break' && op !== 'other')
  const ops = fc.array(fc.oneof(...steady.map(([weight, op]) => ({ weight, arbitrary: fc.constant(op) }))), { minLength: 5, maxLength: 90 })
  fc.assert(fc.property(ops, o => run(o, true)), { numRuns: RUNS })
})

test('no two things have one key, also of messages that are the same, and after a reload in the middle', () => {
  const all: [number, Op][] = [...OPS, [5, 'same'], [2, 'reload']]
  const ops = fc.array(fc.oneof(...all.map(([weight, op]) => ({ weight, arbitrary: fc.constant(op) }))), { minLength: 5, maxLength: 90 })
  fc.assert(fc.property(ops, o => run(['same', ...o], false)), { numRuns: RUNS })
})
