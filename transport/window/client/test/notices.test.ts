import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Notice, badge, doings, endOf, heard, iconOf, loaded, noNotices } from '../src/core/notices'

const note = (id: string, more: Partial<Notice> = {}): Notice => ({ id, kind: 'info', title: id, message: '', payload: {}, task_id: null, read: false, created_at: '2026-01-01T00:00:00Z', ...more })
const event = (type: string, data: unknown) => ({ type: 'notification.' + type, data: data as Record<string, unknown> })

describe('the notification center', () => {
  it('puts what comes first, once', () => {
    let s = heard(heard(noNotices(), event('new', note('a'))), event('new', note('b')))
    s = heard(s, event('new', note('a')))
    expect([s.list.map(n => n.id), s.unread]).toEqual([['b', 'a'], 2])
  })
  it('takes what changed', () => {
    const s = heard(loaded([note('a')], 1), event('updated', note('a', { read: true, payload: { status: 'deny' } })))
    expect([s.unread, s.list[0]!.payload.status]).toEqual([0, 'deny'])
  })
  it('reads and deletes one or all, and asks when one is not in the list', () => {
    const s = loaded([note('a'), note('b', { read: true })], 5)
    expect(heard(s, event('read', { id: 'a' })).unread).toBe(4)
    expect(heard(s, event('read', { id: 'b' }))).toBe(s)
    expect(heard(s, event('read', { id: 'x' })).stale).toBe(true)
    expect(heard(s, event('deleted', { id: 'b' }))).toMatchObject({ unread: 5, list: [{ id: 'a' }] })
    expect(heard(s, event('deleted', { id: 'x' })).stale).toBe(true)
    expect(heard(s, event('read', { id: null }))).toMatchObject({ unread: 0, list: [{ read: true }, { read: true }] })
    expect(heard(s, event('deleted', { id: null }))).toMatchObject({ unread: 0, list: [] })
  })
  it('knows nothing of other events', () => {
    const s = loaded([note('a')], 1)
    expect(heard(s, { type: 'config.updated', data: { sections: [] } })).toBe(s)
    expect(heard(s, event('other', { id: 'a' }))).toBe(s)
    expect(heard(s, { type: 'notification.new' })).toBe(s)
  })
  // Whatever is heard, and however often, the count is that of the unread ones of the list when all are in it.
  it('counts right', () => {
    const ids = fc.constantFrom('a', 'b', 'c')
    const step = fc.oneof(ids.map(id => event('new', note(id))), ids.map(id => event('read', { id })), ids.map(id => event('deleted', { id })), fc.constant(event('read', { id: null })), fc.constant(event('deleted', { id: null })),
      fc.tuple(ids, fc.boolean()).map(([id, read]) => event('updated', note(id, { read }))))
    fc.assert(fc.property(fc.array(step), steps => {
      const s = steps.flatMap(e => [e, e]).reduce(heard, noNotices())
      expect(s.unread).toBe(s.list.filter(n => !n.read).length)
      expect(new Set(s.list.map(n => n.id)).size).toBe(s.list.length)
    }))
  })
  it('offers what can be done at once', () => {
    const budget = (b: object) => doings(note('a', { kind: 'budget', payload: { budget: b } })).map(d => d.kind)
    expect(budget({ state: 'reached', at_limit: 'ask', kept_going: false })).toEqual(['keep_going', 'open'])
    expect(budget({ state: 'reached', at_limit: 'stop', kept_going: false })).toEqual(['open'])
    expect(budget({ state: 'warning', at_limit: 'ask', kept_going: false })).toEqual(['open'])
    const asks = note('a', { kind: 'approval', payload: { approval_id: 'p', session_id: 's/1' } })
    expect(doings(asks)).toEqual([{ kind: 'answer', label: 'Allow once', id: 'p', decision: 'allow' }, { kind: 'answer', label: 'Deny', id: 'p', decision: 'deny' }, { kind: 'open', label: 'Open the chat', route: '/chat/s%2F1' }])
    expect(doings({ ...asks, payload: { approval_id: 'p', status: 'allow' } })).toEqual([])
    // A note that another app wrote is not one of Sentient's own, whatever it carries.
    expect(doings(note('a', { payload: { approval_id: 'p', budget: { state: 'reached', at_limit: 'ask' } } }))).toEqual([])
  })
  it('says how a question ended', () => {
    expect(endOf(note('a', { kind: 'approval', payload: { status: 'expired' } }))).toBe('Nobody answered in time.')
    expect([endOf(note('a')), iconOf('nothing'), badge(3), badge(100)]).toEqual(['', 'bell', '3', '99+'])
  })
})
