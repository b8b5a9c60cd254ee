import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rank } from '../src/app/rank'
import { exportMarkdown, exportName, replyText } from '../src/core/export'
import { groups, matches, patchRow, touch } from '../src/core/list'
import { type Field, type Schema, equal, found, fromText, patchOf, sections, toText, valueAt } from '../src/core/schema'
import { Heights } from '../src/core/virtual'
import { decode } from '../src/core/wire'
import { size } from '../src/ui/format'

const chat = (id: string, title: string, at: string) => ({ id, title, channel: 'desktop', created_at: at, updated_at: at, untrusted: null, incognito: false, model: null })

test('chats stand under the days people use', () => {
  const now = new Date(2026, 5, 15, 12).getTime()
  const at = (days: number) => new Date(now - days * 86_400_000).toISOString()
  const list = [chat('a', 'A', at(0)), chat('b', 'B', at(1)), chat('c', 'C', at(3)), chat('d', 'D', at(20)), chat('e', 'E', at(200))]
  expect(groups(list, now).map(g => g.title).slice(0, 4)).toEqual(['Today', 'Yesterday', 'The last 7 days', 'The last 30 days'])
  expect(groups(list, now)).toHaveLength(5)
  const jumped = groups([list[0]!, list[1]!, { ...list[0]!, id: 'after the clock was changed' }], now)
  expect(jumped.map(g => [g.title, g.chats.length])).toEqual([['Today', 2], ['Yesterday', 1]])
  expect(touch(list, 'c', at(0)).map(c => c.id)).toEqual(['c', 'a', 'b', 'd', 'e'])
  expect(patchRow(list, 'b', { title: 'Z' })[1]!.title).toBe('Z')
  expect(matches('Holiday in Pune', 'pune hol')).toBe(true)
  expect(matches('Holiday', 'x')).toBe(false)
})

test('an export reads as a document', () => {
  const md = exportMarkdown('Trip', 'Sentient', 'Maya', [
    { kind: 'user', key: '1', id: '1', text: 'Where?', attachments: ['map.pdf'], name: '', at: '' },
    { kind: 'reply', key: '2', ids: [], end: 'stopped', sources: [{ kind: 'web', title: 'Maps', url: 'https://m.example' }], memories: [], checks: [], at: '', parts: [
      { type: 'thinking', text: 'secret' }, { type: 'text', text: 'There.' }, { type: 'steer', text: 'and\nback' }, { type: 'tool', id: 'c', name: 'web_search', args: {}, state: 'done', progress: '', status: '' }] },
    { kind: 'mark', key: '3', id: '3', text: 'Trusted.' },
  ])
  expect(md).toBe('# Trip\n\n## Maya\n\nWhere?\n\n- Attached: map.pdf\n\n## Sentient\n\nThere.\n\n> Maya: and\n> back\n\n*Used web_search (done).*\n\n*(stopped)*\n\nSources:\n\n- Maps <https://m.example>\n\n*Trusted.*\n')
  expect(exportName('../a/b: c?')).toBe('ab-c.md')
  expect(exportName('???')).toBe('chat.md')
  expect(replyText({ kind: 'mark', key: '', id: '', text: 'x' })).toBe('')
})

const schema: Schema = { properties: {
  b: { title: 'B', properties: { n: { type: 'integer', title: 'N', minimum: 1, maximum: 5, default: 2, description: 'How many.' }, m: { type: 'object', title: 'M', default: {}, additionalProperties: { type: 'string' } } } },
  a: { title: 'A', properties: { on: { type: 'boolean', title: 'On', default: true }, in: { title: 'In', properties: { deep: { type: ['string', 'null'], title: 'Deep', default: null } } }, pick: { type: 'string', enum: ['x', 'y'], default: 'x' }, l: { type: 'array', items: { type: 'string' }, default: [] } } },
}, 'x-order': ['a', 'b'] }

test('settings are made from the schema', () => {
  const list = sections(schema)
  expect(list.map(s => s.id)).toEqual(['a', 'b'])
  const all = new Map<string, Field>(list.flatMap(s => s.fields.map(f => [f.key, f])))
  expect([...all.values()].map(f => [f.key, f.kind])).toEqual([['a.on', 'switch'], ['a.in.deep', 'text'], ['a.pick', 'choice'], ['a.l', 'lines'], ['b.n', 'number'], ['b.m', 'json']])
  const n = all.get('b.n')!
  expect(fromText(n, '3')).toEqual({ ok: true, value: 3 })
  for (const bad of ['', 'x', '0', '6', '2.5']) expect(fromText(n, bad).ok).toBe(false)
  expect(fromText(all.get('a.in.deep')!, ' ')).toEqual({ ok: true, value: null })
  expect(fromText(all.get('a.l')!, ' p \n\nq')).toEqual({ ok: true, value: ['p', 'q'] })
  expect(fromText(all.get('b.m')!, '{').ok).toBe(false)
  const config = { a: { on: true, in: { deep: 'v' }, l: ['p'] }, b: { n: 2, m: { k: '1', gone: '2' } } }
  expect(valueAt(config, ['a', 'in', 'deep'])).toBe('v')
  expect(valueAt(config, ['a', 'no', 'deep'])).toBeUndefined()
  expect(toText(all.get('a.l')!, ['p', 'q'])).toBe('p\nq')
  expect(patchOf(config, new Map<string, unknown>([['a.in.deep', null], ['b.m', { k: '3' }], ['zz', 1]]), all)).toEqual({ a: { in: { deep: null } }, b: { m: { k: '3', gone: null } } })
  expect(found(n, list[1]!, ['how', 'b'])).toBe(true)
  expect(found(n, list[1]!, ['nope'])).toBe(false)
  expect(equal({ x: [1, { y: 2 }] }, { x: [1, { y: 2 }] })).toBe(true)
  expect(equal({ x: 1 }, { x: 1, y: undefined })).toBe(false)
  expect(equal([], {})).toBe(false)
})

test('positions in a long list are sums of heights', () => {
  fc.assert(fc.property(fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 200 }), fc.nat(60_000), (list, y) => {
    const h = new Heights()
    h.set(list.map((_, i) => 'k' + i), list.map(() => 40))
    list.forEach((v, i) => h.measured('k' + i, v))
    const total = list.reduce((a, b) => a + b, 0)
    expect(h.total).toBe(total)
    const at = h.at(y)
    if (y < total) {
      expect(h.top(at)).toBeLessThanOrEqual(y)
      expect(h.top(at + 1)).toBeGreaterThan(y)
    }
    const r = h.range(y, 300, 100)
    expect(r.from).toBeLessThanOrEqual(r.to)
    expect(h.top(r.from)).toBeLessThanOrEqual(Math.max(0, y - 100))
  }))
  const h = new Heights()
  h.set(['a'], [10])
  expect(h.measured('a', 20)).toBe(true)
  expect(h.measured('a', 20.2)).toBe(false)
  h.forgetAll()
  expect(h.total).toBe(10)
  h.set([], [])
  expect(h.range(0, 100, 0)).toEqual({ from: 0, to: 0 })
})

test('commands are found by how well they fit', () => {
  const list = ['New chat', 'Open files', 'Delete this chat', 'Search chats'].map(title => ({ title }))
  expect(rank(list, 'chat').map(c => c.title)).toEqual(['New chat', 'Delete this chat', 'Search chats'])
  expect(rank(list, 'opf').map(c => c.title)).toEqual(['Open files'])
  expect(rank(list, '')).toHaveLength(4)
  expect(rank(list, 'zzz')).toEqual([])
})

test('sizes and wire texts', () => {
  expect([size(12), size(1500), size(256_000_000)]).toEqual(['12 B', '1.5 kB', '256 MB'])
  expect(decode('{"type":"pong"}')).toEqual({ type: 'pong' })
  for (const bad of ['', 'null', '1', '{}', '{"type":2}', undefined, new ArrayBuffer(1)]) expect(decode(bad)).toBeNull()
})
