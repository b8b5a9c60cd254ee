// Settings: made from the schema, saved, refused, and seen by other windows.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { box, closeBrowser, eventually, picture, world } from './harness.mjs'

after(closeBrowser)

test('settings are searched, changed, saved, reset and refused', async t => {
  const w = await world(t)
  const page = await w.open()
  const other = await w.open()
  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByRole('searchbox', { name: 'Search settings' }).fill('theme')
  await page.getByLabel('Theme', { exact: false }).first().selectOption('dark')
  await page.getByRole('region', { name: 'Changes' }).getByText('One change').waitFor()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.locator('html[data-theme=dark]').waitFor()
  await other.locator('html[data-theme=dark]').waitFor()
  assert.match(readFileSync(w.home + '/config.yaml', 'utf8'), /theme: dark/)

  await page.getByRole('searchbox', { name: 'Search settings' }).fill('listening port')
  const port = page.getByRole('spinbutton')
  await page.getByText('needs a restart').waitFor()
  await port.fill('99999999')
  await page.getByText('The largest is 65535.').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Save', exact: true }).isDisabled(), true)
  await port.fill('7790')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText(/used when Sentient is started again: Port/).waitFor()

  await page.getByRole('searchbox', { name: 'Search settings' }).fill('timezone')
  await page.getByRole('textbox', { name: /Timezone/ }).fill('Moon/Base')
  await page.keyboard.press('Control+s')
  await page.locator('.field-row [role=alert]').waitFor()
  await page.getByRole('button', { name: 'Discard' }).click()

  await page.getByRole('searchbox', { name: 'Search settings' }).fill('')
  await page.getByLabel('Only what I changed').check()
  await page.getByText('Port', { exact: false }).first().waitFor()
  await page.getByRole('button', { name: 'Use the default' }).first().click()
  await page.getByRole('region', { name: 'Changes' }).waitFor()
  await page.getByRole('button', { name: 'Discard' }).click()
  await page.getByLabel('Only what I changed').uncheck()
  await page.goto(page.url().split('#')[0] + '#/settings/chat')
  await page.getByText('Show thinking').waitFor()
  await picture(page, 'settings')
  assert.deepEqual(w.problems, [])
})

test('models and keys', async t => {
  const w = await world(t)
  const page = await w.open()
  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByRole('button', { name: 'Test the model for: Answers chats' }).click()
  await page.getByText(/Works, answered in/).waitFor()
  await page.getByRole('combobox', { name: 'Small jobs' }).fill('demo/guide')
  await page.keyboard.press('Tab')
  await eventually('the role', async () => (await w.engine.api('GET', '/api/bootstrap')).models.fast === 'demo/guide')
  await page.getByRole('link', { name: 'Keys' }).click()
  const row = page.locator('li', { hasText: 'Groq' })
  await row.getByRole('button', { name: 'Add a key' }).click()
  await row.getByLabel('Key for Groq').fill('gsk-secret')
  await page.keyboard.press('Enter')
  await row.getByText(/Set, in the/).waitFor()
  assert.ok(!(await page.content()).includes('gsk-secret'))
  assert.ok(!w.engine.log.includes('gsk-secret'))
  await row.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await row.getByText('Not set').waitFor()
  assert.deepEqual(w.problems, [])
})

test('the engine room says what is wrong', async t => {
  const w = await world(t)
  const page = await w.open()
  await box(page).waitFor()
  await page.route('**/api/health', r => r.fulfill({ json: { ok: true, version: '1', name: 'Sentient', detail: { store: { ok: true }, search: { ok: false, error: 'The index is damaged. It is being made again.' } } } }))
  await page.getByRole('link', { name: 'Engine' }).click()
  await page.getByText('One part needs a look.').waitFor()
  await page.getByText('The index is damaged.').waitFor()
})
