// The live channel against a pretended socket, with pretended time.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ChatEvent } from '../src/core/wire'
import { Live, waitFor } from '../src/net/live'

class Socket {
  static all: Socket[] = []
  readyState = 0
  sent: Record<string, unknown>[] = []
  onmessage: ((m: { data: string }) => void) | null = null
  onclose: (() => void) | null = null
  onerror: (() => void) | null = null
  constructor(readonly after: string) { Socket.all.push(this) }
  send(s: string): void { this.sent.push(JSON.parse(s)) }
  close(): void {
    this.readyState = 3
    this.onclose?.()
  }
  hello(seq = 1): void {
    this.readyState = 1
    this.hear({ type: 'hello', seq })
  }
  hear(e: ChatEvent): void { this.onmessage?.({ data: JSON.stringify(e) }) }
  of(type: string) { return this.sent.filter(m => m.type === type) }
}

let heard: ChatEvent[]
let links: string[]
let again: string[]
let live: Live
const last = () => Socket.all[Socket.all.length - 1]!

beforeEach(() => {
  vi.useFakeTimers()
  Socket.all = []
  heard = []
  links = []
  again = []
  live = new Live({
    open: after => new Socket(after) as unknown as WebSocket, hear: e => heard.push(e), link: (s, fresh) => links.push(s + (fresh ? '!' : '')),
    resent: id => again.push(id), active: () => true, random: () => 0.5,
  })
})
afterEach(() => {
  live.close()
  vi.useRealTimers()
})

test('it asks for what it missed, by the last number it heard', () => {
  expect(last().after).toBe('now')
  last().hello(7)
  last().hear({ type: 'text_delta', session_id: 's', turn_id: 't', text: 'x', seq: 9 })
  last().close()
  expect(links.at(-1)).toBe('offline')
  vi.advanceTimersByTime(400)
  expect(Socket.all).toHaveLength(2)
  expect(last().after).toBe('9')
})

test('a message is sent again until it is acknowledged, and then never', () => {
  live.send({ type: 'chat.send', client_id: 'a', text: 'hi' }) // before there is a connection
  last().hello()
  expect(last().of('chat.send')).toHaveLength(1)
  expect(again).toEqual([]) // it had never gone out
  last().close()
  vi.advanceTimersByTime(400)
  last().hello()
  expect(last().of('chat.send')).toHaveLength(1)
  expect(again).toEqual(['a'])
  last().hear({ type: 'session', session_id: 's', turn_id: 't', client_id: 'a', seq: 2 })
  last().close()
  vi.advanceTimersByTime(400)
  last().hello()
  expect(last().of('chat.send')).toHaveLength(0)
})

test('what has no client_id is not sent later', () => {
  expect(live.send({ type: 'chat.cancel', session_id: 's' })).toBe(false)
  last().hello()
  expect(last().of('chat.cancel')).toHaveLength(0)
  expect(live.send({ type: 'chat.cancel', session_id: 's' })).toBe(true)
})

test('it waits longer each time, within bounds, and not at all when asked', () => {
  expect(waitFor(0, 0)).toBe(225)
  expect(waitFor(99, 1)).toBe(10_000)
  last().close()
  vi.advanceTimersByTime(300)
  last().close()
  vi.advanceTimersByTime(300)
  expect(Socket.all).toHaveLength(2)
  live.retry()
  expect(Socket.all).toHaveLength(3)
})

test('a silent connection is found out', () => {
  last().hello()
  const first = last()
  expect(first.of('ping')).toHaveLength(1)
  first.hear({ type: 'pong', seq: 1 })
  vi.advanceTimersByTime(25_000)
  expect(first.of('ping')).toHaveLength(2)
  vi.advanceTimersByTime(25_000) // no answer
  expect(links).toContain('offline')
})

test('a barrier passes when its own ping is answered, and when the connection ends', async () => {
  last().hello() // its ping is unanswered yet
  let passed: boolean | null = null
  void live.barrier().then(ok => { passed = ok })
  last().hear({ type: 'pong', seq: 1 })
  await Promise.resolve()
  expect(passed).toBeNull()
  last().hear({ type: 'pong', seq: 1 })
  await Promise.resolve()
  expect(passed).toBe(true)
  void live.barrier().then(ok => { passed = ok })
  last().close()
  await Promise.resolve()
  expect(passed).toBe(false)
  expect(await live.barrier()).toBe(false)
})

test('a resync asks for everything anew; a closed channel stays closed', () => {
  last().hello()
  last().hear({ type: 'resync', seq: 20 })
  expect(links.at(-1)).toBe('online!')
  live.close()
  vi.advanceTimersByTime(60_000)
  expect(Socket.all).toHaveLength(1)
})

test('nonsense on the wire is nothing', () => {
  last().hello()
  const before = heard.length
  for (const data of ['', '{', '[]', 'null', '{"type":1}', '"x"']) last().onmessage?.({ data })
  expect(heard).toHaveLength(before)
})
