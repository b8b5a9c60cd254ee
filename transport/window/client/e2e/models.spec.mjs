// Settings > Models: what each role's model can do, setups, downloads, and what it all costs.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { box, closeBrowser, eventually, picture, say, words, world } from './harness.mjs'

after(closeBrowser)

test('the check-up tries each role and says what to do', async t => {
  const w = await world(t)
  const page = await w.open()
  await page.goto(w.engine.url + '/#/settings/roles')
  await page.getByRole('button', { name: 'Check the models' }).click()
  await page.locator('.sum').getByText('Something does not work yet.').waitFor() // a model that only says hello calls no tools
  assert.ok((await page.locator('.check').count()) > 0)
  await page.getByText('uses the main model').first().waitFor()
  assert.deepEqual(w.problems, [])
})

test('a preset switches every role, and back', async t => {
  const w = await world(t)
  const page = await w.open()
  await page.goto(w.engine.url + '/#/settings/roles')
  await page.getByRole('button', { name: 'Use Local only' }).click()
  await page.getByRole('button', { name: 'Turn Local only on' }).click()
  await eventually('the roles to change', async () => (await w.engine.api('GET', '/api/bootstrap')).models.primary.startsWith('ollama'))
  assert.equal((await w.engine.api('GET', '/api/config')).models.local_only, true)
  await page.getByRole('button', { name: /^Download / }).first().waitFor() // it is not there yet
  await page.getByRole('button', { name: 'Undo the last switch' }).click()
  await eventually('the roles to come back', async () => (await w.engine.api('GET', '/api/bootstrap')).models.primary === 'lm_studio/test')
  assert.equal((await w.engine.api('GET', '/api/config')).models.local_only, false)
  await page.getByRole('button', { name: 'Save this setup' }).click()
  await page.getByRole('textbox', { name: 'Save this setup' }).fill('Mine')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Delete Mine' }).waitFor()
  assert.deepEqual(w.problems, [])
})

test('a model is downloaded, with its progress', async t => {
  const w = await world(t)
  const page = await w.open()
  await page.goto(w.engine.url + '/#/settings/roles')
  await page.getByLabel('Name of a model in Ollama').fill('tiny:1b')
  await page.getByRole('button', { name: 'Download', exact: true }).click()
  await page.getByText(/of 4\.0 GB \(\d+%\)/).waitFor()
  await page.getByText('tiny:1b is downloaded.').waitFor()
  assert.deepEqual(w.model.pulled, ['tiny:1b'])
  await page.getByLabel('Name of a model in Ollama').fill('tiny:2b')
  await page.getByRole('button', { name: 'Download', exact: true }).click()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Download', exact: true }).waitFor()
})

test('cost by day, as a plot and as a table; a budget; local only', async t => {
  const w = await world(t)
  const page = await w.open()
  await say(page, 'Hello')
  await words(page).getByText('Hello there.').waitFor()
  await page.goto(w.engine.url + '/#/settings/cost')
  await page.getByRole('img', { name: /Use by day/ }).waitFor()
  await page.getByRole('cell', { name: 'lm_studio/test' }).waitFor()
  await page.getByRole('cell', { name: 'on this computer' }).waitFor()
  await page.getByRole('button', { name: 'Show a table' }).click()
  await page.getByRole('columnheader', { name: 'Day' }).waitFor()
  await page.getByRole('button', { name: 'Show the plot' }).click()
  await page.getByLabel('Budget for a month').fill('12.5')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('$0 of $12.50 used (0%).').waitFor()
  await picture(page, 'cost')
  assert.equal((await w.engine.api('GET', '/api/config')).models.monthly_budget_usd, 12.5)
  await page.getByRole('checkbox', { name: /Local only/ }).check()
  await eventually('local only', async () => (await w.engine.api('GET', '/api/config')).models.local_only === true)
  assert.deepEqual(w.problems, [])
})

test('plans say what they need', async t => {
  const w = await world(t)
  const page = await w.open()
  await page.goto(w.engine.url + '/#/settings/plans')
  await page.getByRole('button', { name: 'Continue with ChatGPT' }).waitFor()
  const [popup] = await Promise.all([page.context().waitForEvent('page'), page.getByRole('button', { name: 'Connect OpenRouter' }).click()])
  await popup.close()
  await page.getByText('Waiting for the sign-in in your browser…').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Connect OpenRouter' }).waitFor()
})

//
test('the first run takes what fits this computer', async t => {
  const w = await world(t, { onboarded: false })
  const advice = (await w.engine.api('GET', '/api/system/hardware')).recommendation
  w.model.pulled.push(advice.name)
  const page = await w.open()
  await page.getByRole('button', { name: 'Continue' }).click()
  if (advice.cloud_first) return
  await page.getByText('Recommended for this computer').waitFor()
  await eventually('the recommended model to be chosen', async () => (await page.getByLabel('Model').inputValue()) === advice.model)
  await page.getByRole('button', { name: 'Use it' }).click()
  await box(page).waitFor()
  const config = await w.engine.api('GET', '/api/config')
  assert.equal(config.models.roles.primary, advice.model)
  assert.equal(config.models.context_length, advice.context_length)
})
