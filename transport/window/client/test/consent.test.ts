import { describe, expect, it } from 'vitest'
import { apply, newChat, undoing, view } from '../src/core/chat'
import { fold, handOff, resultState } from '../src/core/items'
import { approvalsOf, originText, plain, table } from '../src/core/rules'
import type { ChatEvent, Row } from '../src/core/wire'
import { copyText, mailAddress } from '../src/rooms/chats/handoff'

const play = (...events: ChatEvent[]) => events.reduce((s, e) => apply(s, e, 1000), { ...newChat('s'), loaded: true })
const T = { session_id: 's', turn_id: 't' }
const call: ChatEvent = { ...T, type: 'tool_call', call_id: 'c', name: 'mail_send', arguments: {} }
const window = { ...T, type: 'undo_window', call_id: 'c', name: 'mail_send', undo_id: 'u', seconds: 10, until: '2026-01-01T00:00:10Z' } as ChatEvent
const parts = (s: ReturnType<typeof play>) => view(s).flatMap(i => (i.kind === 'reply' ? i.parts : [])).map(p => (p.type === 'tool' ? p.state : p.type))

describe('undo windows', () => {
  it('shows one bar for a window, also when it is told again', () => {
    expect(parts(play({ ...T, type: 'session' }, call, window, { ...window, replay: true }))).toEqual(['waiting', 'undo'])
  })
  it('ends with the result of the call', () => {
    expect(parts(play(call, window, { ...T, type: 'tool_result', call_id: 'c', name: 'mail_send', result: { error: 'NOT SENT.', undone: true }, is_error: true }))).toEqual(['undone'])
  })
  it('gives way to a question about the same call, and the other way round', () => {
    const asked = { ...T, type: 'approval_request', call_id: 'c', name: 'mail_send', approval_id: 'a' } as ChatEvent
    expect(parts(play(call, window, asked))).toEqual(['waiting', 'ask'])
    expect(parts(play(call, asked, window))).toEqual(['waiting', 'undo'])
  })
  it('is taken back when it was too late, and ends with the reply', () => {
    const s = undoing(play(call, window), 'u', 'undo')
    expect(s.live!.parts.find(p => p.type === 'undo')).toMatchObject({ answered: 'undo' })
    const late = apply(s, { type: 'undo.ack', undo_id: 'u', action: 'undo', done: false })
    expect(late.live!.parts.find(p => p.type === 'undo')).toMatchObject({ answered: undefined })
    expect(parts(apply(late, { ...T, type: 'done', content: '', cancelled: true }))).toEqual(['stopped'])
  })
})

describe('what calls came to', () => {
  it('is read from results', () => {
    expect(resultState({ handed_off: true }, false)).toBe('handed')
    expect(resultState({ error: 'x', undone: true }, true)).toBe('undone')
    expect(handOff('no')).toBeNull()
  })
  it('keeps the checks of a stored reply', () => {
    const row = (r: Partial<Row>): Row => ({ id: '1', role: 'assistant', content: 'Sent.', created_at: '', ...r })
    const [item] = fold([row({ checks: [{ tool: 'mail_send', action: 'email sent', ok: true }] })])
    expect(item).toMatchObject({ checks: [{ action: 'email sent' }] })
  })
})

describe('hand-offs', () => {
  const email = { handed_off: true as const, preview: { kind: 'email', title: 'Email', fields: [{ label: 'To', value: 'a@x.example, b@x.example' }, { label: 'Subject', value: 'Hi\r\nBcc: evil@x.example' }], body: 'One & two\nthree' } }
  it('make an address for the email app that adds nothing', () => {
    const url = mailAddress(email)
    expect(url).toBe('mailto:a%40x.example,b%40x.example?subject=Hi%20Bcc%3A%20evil%40x.example&body=One%20%26%20two%0D%0Athree')
    expect(new URL(url).searchParams.get('bcc')).toBeNull()
    expect(mailAddress({ handed_off: true, preview: { kind: 'post', title: 'Post' } })).toBe('')
  })
  it('are copied as people read them', () => {
    expect(copyText(email)).toContain('To: a@x.example')
    expect(copyText({ handed_off: true, preview: { kind: 'post', title: 'Post', body: 'Hello' } })).toBe('Hello')
    expect(copyText({ handed_off: true, details: [{ label: 'door', value: 'front' }] })).toBe('door: front')
  })
})

describe('rules', () => {
  const apps = [{ id: 'mail', display_name: 'Mail', description: 'Email', tools: [{ name: 'mail_send', description: 'Send', risk: 'send' }, { name: 'mail_read', description: 'Read', risk: 'read' }] },
    { id: 'home', display_name: 'Home', description: 'Doors', tools: [{ name: 'home_lock', description: 'Lock', risk: 'write' }] }]
  it('are listed with those that are set first', () => {
    expect(table(apps, { home_lock: 'never' }, '').map(r => [r.key, r.set])).toEqual([['home', 1], ['mail', 0]])
    expect(table(apps, { mail: 'ask' }, '')[0]!.tools.map(t => t.inForce)).toEqual(['ask', 'ask'])
  })
  it('are found by words', () => {
    expect(table(apps, {}, 'send').map(r => r.tools.map(t => t.label))).toEqual([['Send']])
    expect(table(apps, {}, 'nothing')).toEqual([])
  })
  it('say where they came from, while they are as they came', () => {
    expect(originText({ rule: 'never', at: '2026-10-13T07:00:00Z', source: 'chat' }, 'never')).toMatch(/^From your message on /)
    expect(originText({ rule: 'allow', at: '2026-10-13T07:00:00Z', source: 'approval' }, 'allow')).toMatch(/^From your answer on /)
    expect(originText({ rule: 'never', at: '2026-10-13T07:00:00Z' }, 'ask')).toBe('')
  })
  it('read what is missing as nothing', () => {
    expect(approvalsOf(null)).toEqual({ mode: 'ask', rules: {}, rule_origins: {} })
    expect(plain('mail_send_draft', 'mail')).toBe('Send draft')
  })
})
