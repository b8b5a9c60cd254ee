import { expect, test } from 'vitest'
import { type ChatState, answering, apply, failSend, merge, newChat, resent, send, view } from '../src/core/chat'
import { type ReplyItem, type ToolPart, type UserItem, endingOf, fold, resultState } from '../src/core/items'
import { rowsRead } from '../src/core/reread'
import type { ChatEvent, Row } from '../src/core/wire'

const ev = (type: string, more: Partial<ChatEvent> = {}): ChatEvent => ({ type, session_id: 's', turn_id: 't', ...more })
const run = (s: ChatState, ...events: ChatEvent[]) => events.reduce((x, e) => apply(x, e, 1000), s)
const row = (id: string, r: Partial<Row>): Row => ({ id, role: 'user', content: '', created_at: '', ...r })
const fresh = () => ({ ...newChat('s'), loaded: true })
const reply = (s: ChatState) => view(s).findLast(i => i.kind === 'reply') as ReplyItem
const sent = () => run(send(fresh(), 'c1', 'hi', [], ''), ev('session', { client_id: 'c1' }))

test('a message stands at once, and becomes one when it is acknowledged', () => {
  let s = send(fresh(), 'c1', 'hi', ['a.txt'], 'now')
  expect(view(s)).toMatchObject([{ kind: 'user', text: 'hi', status: 'sending', attachments: ['a.txt'], key: 'c:c1' }])
  s = apply(s, ev('session', { client_id: 'c1' }))
  expect(view(s).map(i => i.kind)).toEqual(['user', 'reply'])
  expect((view(s)[0] as UserItem).status).toBeUndefined()
  expect(view(s)[0]!.key).toBe('c:c1')
  s = run(s, ev('text_delta', { text: 'Hel' }), ev('text_delta', { text: 'lo' }), ev('done', { content: 'Hello', message_id: 'm2' }))
  expect(reply(s)).toMatchObject({ end: 'done', ids: ['m2'], parts: [{ type: 'text', text: 'Hello' }] })
  expect(s.live).toBeNull()
})

test('the order of a turn is kept: thinking, words, a call, its result, more words', () => {
  const s = run(sent(), ev('thinking_delta', { text: 'hm' }), ev('text_delta', { text: 'A' }), ev('tool_call', { call_id: 'c', name: 'web_fetch', arguments: { url: 'x' } }),
    ev('tool_progress', { call_id: 'c', name: 'web_fetch', kind: 'stdout', text: 'half' }), ev('tool_progress', { call_id: 'c', kind: 'status', text: 'loading' }),
    ev('tool_result', { call_id: 'c', name: 'web_fetch', result: { ok: true }, duration_ms: 12 }), ev('text_delta', { text: 'B' }))
  expect(reply(s).parts.map(p => p.type)).toEqual(['thinking', 'text', 'tool', 'text'])
  expect(reply(s).parts[2]).toMatchObject({ state: 'done', progress: 'half', status: 'loading', ms: 12 })
})

test('a question waits, is answered, and goes when the engine says so', () => {
  let s = run(sent(), ev('tool_call', { call_id: 'c', name: 'x' }), ev('approval_request', { call_id: 'c', name: 'x', approval_id: 'a' }))
  expect(reply(s).parts).toMatchObject([{ type: 'tool', state: 'waiting' }, { type: 'ask', at: 1000 }])
  s = answering(s, 'a', 'allow')
  expect(reply(s).parts[1]).toMatchObject({ answered: 'allow' })
  s = apply(s, { type: 'approval.ack', approval_id: 'a', resolved: true })
  expect(reply(s).parts).toMatchObject([{ type: 'tool', state: 'running' }])
  s = run(s, ev('approval_request', { call_id: 'c', name: 'x', approval_id: 'b' }), ev('tool_result', { call_id: 'c', result: { error: 'no', declined: true } }))
  expect(reply(s).parts).toMatchObject([{ type: 'tool', state: 'declined' }])
})

test('a steer is queued, joins at its place, or is dropped by a stop', () => {
  let s = send(run(sent(), ev('text_delta', { text: 'A' })), 'c2', 'also', [], '')
  s = apply(s, { type: 'steer_ack', session_id: 's', queued: true, client_id: 'c2' })
  expect(view(s).at(-1)).toMatchObject({ status: 'queued', text: 'also' })
  const joined = run(s, ev('user_interjection', { text: 'also' }), ev('text_delta', { text: 'B' }))
  expect(reply(joined).parts.map(p => p.type)).toEqual(['text', 'steer', 'text'])
  expect(joined.pending).toEqual([])
  const dropped = apply(s, ev('done', { content: 'A (stopped)', cancelled: true, message_id: 'm', dropped: ['also'] }))
  expect(view(dropped).at(-1)).toMatchObject({ status: 'dropped' })
  expect(reply(dropped)).toMatchObject({ end: 'stopped', parts: [{ type: 'text', text: 'A' }] })
})

test('a message queued behind a reply and dropped is marked by its own id', () => {
  let s = send(sent(), 'c2', 'later', ['f'], '')
  s = run(s, ev('error', { turn_id: 't9', message: 'Stopped.', dropped: true, client_id: 'c2' }), ev('done', { turn_id: 't9', cancelled: true, dropped: ['later'], client_id: 'c2' }))
  expect(s.pending[0]).toMatchObject({ status: 'dropped', error: 'Stopped.' })
  expect(s.live?.turn).toBe('t')
})

test('a refused message says why and starts nothing', () => {
  let s = send(fresh(), 'c1', 'hi', [], '')
  s = run(s, ev('error', { message: 'Busy.', recoverable: false, client_id: 'c1' }), ev('done', { error: 'Busy.', client_id: 'c1' }))
  expect(view(s)).toMatchObject([{ kind: 'user', status: 'failed', error: 'Busy.' }])
  expect(failSend(send(fresh(), 'x', 'y', [], ''), 'x', 'No.').pending[0]).toMatchObject({ status: 'failed', error: 'No.' })
})

test('a failed turn keeps its reason; a recoverable error is a note', () => {
  const s = run(sent(), ev('error', { message: 'slow', recoverable: true }), ev('text_delta', { text: 'x' }), ev('error', { message: 'No credits.', recoverable: false }), ev('done', { content: '', error: 'No credits.', message_id: null }))
  expect(reply(s).end).toBe('failed')
  expect(reply(s).parts.filter(p => p.type === 'note')).toMatchObject([{ tone: 'warn' }, { tone: 'bad', text: 'No credits.' }])
})

test('every turn ends once: later events of it are nothing', () => {
  const s = run(sent(), ev('done', { content: 'A', message_id: 'm' }))
  expect(run(s, ev('text_delta', { text: 'ghost' }), ev('done', { content: 'B' }), ev('session'))).toMatchObject({ items: s.items, live: null })
})

test('the acknowledgement of a message sent again starts no ghost', () => {
  let s = resent(send(fresh(), 'c1', 'hi', [], ''), 'c1')
  s = apply(s, ev('session', { client_id: 'c1' }))
  expect(s.live).toBeNull()
  expect(s.stale).toBe(true)
  s = rowsRead(s, [row('1', { content: 'hi' }), row('2', { role: 'assistant', content: 'Hello' })], s.tick, false, true)
  expect(view(s).map(i => i.kind)).toEqual(['user', 'reply'])
})

test('a reload in the middle shows stored rounds and what is written now, once', () => {
  const rows = [row('1', { content: 'go' }), row('2', { role: 'assistant', content: 'First', tool_calls: [{ id: 'c', function: { name: 'x', arguments: '{}' } }] })]
  let s = run(newChat('s'), ev('session', { replay: true }), ev('tool_call', { call_id: 'c', name: 'x', arguments: {}, replay: true }))
  s = rowsRead(s, rows, s.tick, false, true)
  expect(reply(s).parts.map(p => p.type)).toEqual(['text', 'tool'])
  s = run(s, ev('tool_result', { call_id: 'c', result: 1 }), ev('text_delta', { text: 'Second' }), ev('done', { content: 'Second', message_id: '4' }))
  expect(s.stale).toBe(true)
})

test('the context meter', () => {
  const s = apply(sent(), ev('usage', { context_percent: 87, context_length: 8192, context_used: 7000, context_warning: 'long', model: 'm' }))
  expect(s.meter).toMatchObject({ percent: 87, warning: 'long' })
  expect(apply(s, ev('usage', { context_percent: null })).meter).toBeNull()
})

test('rows become turns', () => {
  const items = fold([
    row('1', { content: 'q', attachments: ['f'] }), row('2', { role: 'assistant', content: '', thinking: 'hm', tool_calls: [{ id: 'a', function: { name: 'x', arguments: '{"q":1}' } }, { id: 'b', function: { name: 'y', arguments: 'bad' } }] }),
    row('3', { role: 'tool', tool_call_id: 'a', content: '{"error":"no"}', name: 'x' }), row('4', { role: 'user', content: 'also', interjection: true }),
    row('5', { role: 'assistant', content: 'done (interrupted)', sources: [{ kind: 'web', url: 'https://a.example' }] }), row('6', { role: 'event', name: 'trusted', content: '{}' }),
    row('7', { role: 'other', name: 'Priya', content: 'hey' }), row('8', { role: 'tool', content: 'orphan', tool_call_id: 'z', name: 'w' }),
  ])
  expect(items.map(i => i.kind)).toEqual(['user', 'reply', 'mark', 'user', 'reply'])
  const r = items[1] as ReplyItem
  expect(r.parts.map(p => p.type)).toEqual(['thinking', 'tool', 'tool', 'steer', 'text'])
  expect(r).toMatchObject({ end: 'interrupted', sources: [{ url: 'https://a.example' }] })
  expect((r.parts[1] as ToolPart).state).toBe('failed')
  expect((r.parts[2] as ToolPart)).toMatchObject({ state: 'stopped', args: 'bad' })
  expect(items[3]).toMatchObject({ name: 'Priya' })
})

test('marks at the end of a reply', () => {
  expect(endingOf('x (stopped)')).toEqual({ text: 'x', end: 'stopped' })
  expect(endingOf('(interrupted)')).toEqual({ text: '', end: 'interrupted' })
  expect(endingOf('x')).toEqual({ text: 'x', end: 'done' })
  expect(resultState({ error: '' }, false)).toBe('done')
  expect(resultState('x', true)).toBe('failed')
})

test('stored and live parts overlap without doubling', () => {
  const text = (t: string, r?: string) => ({ type: 'text' as const, text: t, row: r })
  expect(merge([], [text('a')])).toHaveLength(1)
  expect(merge([text('a', '1'), text('b', '2')], [text('b')])).toEqual([text('a', '1'), text('b')])
  expect(merge([text('a', '1'), text('bcd', '2')], [text('bc')])).toEqual([text('a', '1'), text('bc')])
  expect(merge([text('a', '1')], [text('z')])).toEqual([text('a', '1'), text('z')])
  expect(merge([text('a', '1'), text('b', '2')], [text('q')], '2')).toEqual([text('a', '1'), text('q')])
})
