// Everything breaks in the middle: the page is loaded again, the engine is killed, the connection goes. Nothing is lost or
// doubled.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { box, closeBrowser, eventually, replies, say, words, world } from './harness.mjs'

after(closeBrowser)

test('reload in the middle of a reply', async t => {
  const w = await world(t)
  const page = await w.open()
  let go
  w.model.next('Looking. ', { tools: [{ name: 'current_datetime' }] })
  w.model.next({ say: 'one two three ' }, { wait: new Promise(r => { go = r }) }, { say: 'four five six' })
  await say(page, 'Count')
  await words(page).getByText('one two three').waitFor()
  await page.reload()
  await words(page).getByText('one two three').waitFor()
  assert.equal(await page.locator('article.user').count(), 1)
  assert.equal(await page.locator('details.tool').count(), 1)
  assert.equal(await page.getByText('Looking.').count(), 1)
  await page.getByRole('button', { name: 'Stop the reply' }).waitFor()
  go()
  await words(page).getByText('one two three four five six').waitFor()
  assert.equal(await replies(page).count(), 1)
  await page.getByRole('button', { name: 'Stop the reply' }).waitFor({ state: 'detached' })
  assert.deepEqual(w.problems, [])
})

test('kill -9 of the engine in the middle of a reply', async t => {
  const w = await world(t)
  const page = await w.open()
  const port = w.engine.port
  w.model.next({ say: 'steady '.repeat(2000), every: 20 })
  await say(page, 'Go on')
  await words(page).getByText(/steady steady/).waitFor()
  await new Promise(r => setTimeout(r, 3000)) // what streams is written to disk about once a second
  await w.engine.kill('SIGKILL')
  await page.getByText(/does not answer/).waitFor()
  await page.getByText(/sentient serve/).waitFor()
  // What is written meanwhile is kept, and sent once when it is back.
  await say(page, 'are you back?')
  await page.getByText('Will be sent when Sentient is back').waitFor()
  w.model.next('Back again.')
  await w.engine.start(port)
  await words(page).getByText('Back again.').waitFor()
  await page.getByText(/does not answer/).waitFor({ state: 'detached' })
  await page.locator('.end').getByText(/Interrupted/).waitFor()
  assert.match(await words(page).first().innerText(), /^steady/)
  assert.equal(await page.locator('article.user').count(), 2)
  assert.equal(await replies(page).count(), 2)
  const id = decodeURIComponent(page.url().split('/chat/')[1])
  const rows = await w.engine.api('GET', `/api/sessions/${id}/messages`)
  assert.deepEqual(rows.map(r => r.role), ['user', 'assistant', 'user', 'assistant'], 'never doubled')
  assert.match(rows[1].content, /\(interrupted\)$/)
})

test('the engine restarts again and again while messages are sent', async t => {
  const w = await world(t)
  const page = await w.open()
  const port = w.engine.port
  w.model.script(ask => [{ say: 'You said ' + ask.messages.at(-1).content }])
  await say(page, 'number 0')
  await words(page).getByText('You said number 0').waitFor()
  for (let i = 1; i <= 4; i++) {
    await say(page, `number ${i}`)
    if (i % 2) await new Promise(r => setTimeout(r, 20 * i))
    await w.engine.kill('SIGKILL')
    await w.engine.start(port)
    await eventually('the connection', async () => (await page.getByText(/does not answer/).count()) === 0 && (await page.getByText(/Sending|Will be sent/).count()) === 0)
  }
  await say(page, 'number 5')
  await words(page).getByText('You said number 5').waitFor()
  const id = decodeURIComponent(page.url().split('/chat/')[1])
  const rows = await w.engine.api('GET', `/api/sessions/${id}/messages`)
  const mine = rows.filter(r => r.role === 'user').map(r => r.content)
  assert.deepEqual(mine, [0, 1, 2, 3, 4, 5].map(n => `number ${n}`), 'each message once, in order')
  assert.deepEqual(await page.locator('article.user .bubble').allInnerTexts(), mine)
})

test('two windows in step', async t => {
  const w = await world(t, { config: 'tools:\n  approvals:\n    mode: always\n' })
  const a = await w.open()
  w.model.next('First answer.')
  await say(a, 'From the first window')
  await words(a).getByText('First answer.').waitFor()
  const b = await w.open()
  await b.locator('nav.list').getByText('From the first window').click()
  await words(b).getByText('First answer.').waitFor()

  let go
  w.model.next('Streaming ', { wait: new Promise(r => { go = r }) }, 'to both.')
  await say(b, 'From the second window')
  await a.locator('article.user').getByText('From the second window').waitFor()
  await words(a).getByText('Streaming').waitFor()
  await words(b).getByText('Streaming').waitFor()
  go()
  await words(a).getByText('Streaming to both.').waitFor()
  for (const page of [a, b]) {
    assert.deepEqual(await page.locator('article.user .bubble').allInnerTexts(), ['From the first window', 'From the second window'])
    assert.equal(await replies(page).count(), 2)
  }

  // A question is in both, and answered in one.
  w.model.next({ tools: [{ name: 'file_write', args: { name: 'x.md', content: 'x' } }] })
  w.model.next('Written.')
  await say(a, 'Write it')
  const ask = page => page.getByRole('region', { name: /asks for your permission/ })
  await ask(a).waitFor()
  await ask(b).getByRole('button', { name: 'Allow once' }).click()
  await words(a).getByText('Written.').waitFor()
  await words(b).getByText('Written.').waitFor()
  assert.equal(await ask(a).count() + await ask(b).count(), 0)

  await a.keyboard.press('F2')
  await a.getByRole('textbox', { name: 'Rename chat' }).fill('Both')
  await a.keyboard.press('Enter')
  await b.locator('.view h1').getByText('Both').waitFor()
  const id = decodeURIComponent(a.url().split('/chat/')[1])
  await w.engine.api('DELETE', '/api/sessions/' + id)
  await a.getByText('This chat was deleted.').waitFor()
  await b.getByText('This chat was deleted.').waitFor()
  assert.deepEqual(w.problems, [])
})

test('a question survives a reload', async t => {
  const w = await world(t, { config: 'tools:\n  approvals:\n    mode: always\n' })
  const page = await w.open()
  w.model.next('Careful. ', { tools: [{ name: 'file_write', args: { name: 'x.md', content: 'x' } }] })
  w.model.next('Done.')
  await say(page, 'Write')
  const ask = page.getByRole('region', { name: /asks for your permission/ })
  await ask.waitFor()
  await page.reload()
  await ask.waitFor()
  await page.getByText('Careful.').waitFor()
  assert.equal(await page.getByText('Careful.').count(), 1)
  await ask.getByText(/within 10 minutes/).waitFor()
  await ask.getByRole('button', { name: 'Allow once' }).click()
  await words(page).getByText('Done.').waitFor()
  assert.equal(await page.locator('details.tool').count(), 1)
})

test('a wrong token asks for the right one', async t => {
  const w = await world(t)
  const page = await w.open()
  await box(page).waitFor()
  await page.evaluate(() => sessionStorage.setItem('sentient.token', 'wrong'))
  await page.reload()
  await page.getByRole('heading', { name: 'Open Sentient' }).waitFor()
  await page.getByLabel('Token').fill('token-for-the-window-tests')
  await page.keyboard.press('Enter')
  await box(page).waitFor()
  const kept = await page.evaluate(() => JSON.stringify(localStorage) + document.cookie)
  assert.ok(!kept.includes('token-for-the-window-tests'), 'the token is kept for this tab only')
})
