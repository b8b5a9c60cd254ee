import { expect, test } from 'vitest'
import { isHaltKey, since, told } from '../src/core/halt'

test('when and by what everything was stopped', () => {
  const now = new Date('2026-12-01T15:00:00')
  expect(since({ stopped: true, stopped_at: '2026-12-01T14:05:00', source: 'telegram' }, now)).toMatch(/^ from Telegram at \S*0?2?:?05|14:05/)
  expect(since({ stopped: true, stopped_at: '2026-11-29T14:05:00', source: 'desktop' }, now)).toMatch(/^ in a window on .*29.* at /)
  expect(since({ stopped: true, stopped_at: null, source: null }, now)).toBe('')
  expect(since({ stopped: true, stopped_at: null, source: 'a new one' }, now)).toBe('')
})

test('what a stop did, also what has not ended', () => {
  const s = { stopped: true, stopped_at: null, source: null }
  expect(told({ ...s, cancelled: 0 })).toBe('Stopped. Nothing was running.')
  expect(told({ ...s, cancelled: 1 })).toBe('Stopped. One running job was cancelled.')
  expect(told({ ...s, cancelled: 3, not_ended: ['tool sleep'] })).toBe('Stopped. 3 running jobs were cancelled. Not ended yet: tool sleep.')
})

test('the key, whatever letter Alt makes of it', () => {
  const key = { ctrlKey: true, metaKey: false, altKey: true, shiftKey: true, code: 'KeyS' }
  expect(isHaltKey(key)).toBe(true)
  expect(isHaltKey({ ...key, ctrlKey: false, metaKey: true })).toBe(true)
  for (const off of [{ ctrlKey: false }, { altKey: false }, { shiftKey: false }, { code: 'KeyA' }]) expect(isHaltKey({ ...key, ...off })).toBe(false)
})
