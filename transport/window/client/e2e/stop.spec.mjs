// Stop everything (section 17): one press in any window ends all work, in every window, also over a restart of the engine.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { box, closeBrowser, eventually, picture, say, words, world } from './harness.mjs'

after(closeBrowser)

const banner = page => page.getByText(/Everything was stopped/)
const endless = model => model.script(() => [{ say: Array.from({ length: 2000 }, (_, i) => `word${i}`).join(' '), every: 20 }])

test('the key stops every chat in every window; what waited is marked; Resume; chats work meanwhile', async t => {
  const w = await world(t)
  endless(w.model)
  const one = await w.open()
  const two = await w.open()
  await say(one, 'Tell me something long')
  await say(two, 'And me')
  for (const page of [one, two]) await words(page).getByText(/word3/).waitFor()
  await say(one, 'In French please')
  await one.getByText('Waiting to join the reply').waitFor()
  await two.keyboard.press('Control+Alt+Shift+S')
  for (const page of [one, two]) await banner(page).waitFor()
  await two.getByText('Stopped. 2 running jobs were cancelled.').waitFor()
  await one.getByText('Not sent: the reply was stopped before it was read').waitFor()
  await picture(one, 'stopped')
  const before = w.model.requests.length
  w.model.script(() => ['Still here.'])
  await say(two, 'Are you there?')
  await words(two).getByText('Still here.').waitFor()
  assert.equal(w.model.requests.length, before + 1)
  await w.engine.kill()
  await w.engine.start(w.engine.port)
  await one.reload()
  await banner(one).waitFor()
  await one.getByRole('button', { name: 'Resume' }).click()
  for (const page of [one, two]) await eventually('the banner to go', async () => (await banner(page).count()) === 0)
  assert.equal((await w.engine.api('GET', '/api/stop')).stopped, false)
  assert.deepEqual(w.problems, [])
})

test('the button is there on a phone, and the palette has both', async t => {
  const w = await world(t)
  const page = await w.open({ width: 360, height: 740 })
  await box(page).waitFor()
  await page.getByRole('button', { name: 'Stop all' }).click()
  await page.getByText('Stopped. Nothing was running.').waitFor()
  await banner(page).waitFor()
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false)
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('resume')
  await page.keyboard.press('Enter')
  await eventually('the banner to go', async () => (await banner(page).count()) === 0)
  assert.deepEqual(w.problems, [])
})
