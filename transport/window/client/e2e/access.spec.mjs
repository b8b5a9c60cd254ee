// For everybody: keyboard only, screen readers, narrow and wide, right to left, dark and light.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, test } from 'node:test'
import { box, closeBrowser, eventually, picture, say, words, world } from './harness.mjs'

after(closeBrowser)

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

// serious are the findings that keep people out. The script is given to the page past its policy, as an extension would.
async function serious(page, where) {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Runtime.evaluate', { expression: axe })
  const { result } = await cdp.send('Runtime.evaluate', {
    expression: `axe.run(document, { resultTypes: ['violations'] }).then(r => JSON.stringify(r.violations.filter(v => v.impact === 'serious' || v.impact === 'critical').map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + (n.any[0]?.message ?? '')).join(' | '))))`,
    awaitPromise: true, returnByValue: true,
  })
  assert.deepEqual(JSON.parse(result.value), [], `${where}: axe`)
}

test('keyboard only', async t => {
  const w = await world(t, { config: 'tools:\n  approvals:\n    mode: always\n' })
  const page = await w.open()
  await box(page).waitFor()
  const focused = () => page.evaluate(() => document.activeElement?.id || document.activeElement?.getAttribute('aria-label') || document.activeElement?.tagName)
  await eventually('the box to have the focus', async () => (await focused()) === 'message')
  await page.keyboard.type('Save it')
  w.model.next({ tools: [{ name: 'file_write', args: { name: 'k.md', content: 'k' } }] })
  w.model.next('It is saved.')
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: /asks for your permission/ }).waitFor()
  assert.equal(await focused(), 'message', 'a question does not take the focus')
  for (let i = 0; i < 30 && !/Allow once/.test(await page.evaluate(() => document.activeElement.textContent)); i++) await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Enter')
  await words(page).getByText('It is saved.').waitFor()

  await page.keyboard.press('Control+K')
  await page.getByRole('combobox', { name: 'Command' }).waitFor()
  await page.keyboard.type('engine')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Engine' }).waitFor()
  await page.getByText('Everything works.').waitFor()
  await page.keyboard.press('Control+K')
  await page.getByRole('combobox', { name: 'Command' }).waitFor()
  await page.keyboard.type('new chat')
  await page.keyboard.press('Enter')
  await eventually('the box again', async () => (await focused()) === 'message')
  await eventually('the box to be left', async () => { await page.keyboard.press('Escape'); return (await focused()) !== 'message' })
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  await picture(page, 'shortcuts')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('/')
  await eventually('the box a third time', async () => (await focused()) === 'message')
  await page.keyboard.press('Control+Shift+F')
  await eventually('the search', async () => (await focused()) === 'chat-search')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await words(page).getByText('It is saved.').waitFor()
  await page.locator('#message').focus()
  await page.keyboard.press('ArrowUp')
  assert.equal(await box(page).inputValue(), 'Save it')
  assert.deepEqual(w.problems, [])
})

test('what happens is announced', async t => {
  const w = await world(t)
  const page = await w.open()
  let go
  w.model.next('Almost ', { wait: new Promise(r => { go = r }) }, 'there.')
  await say(page, 'Tell me')
  const status = page.locator('p[role=status][aria-live=polite]')
  await status.getByText('Sentient is answering.').waitFor({ state: 'attached' })
  await page.locator('[role=feed][aria-busy=true]').waitFor()
  go()
  await status.getByText('Sentient says: Almost there.').waitFor({ state: 'attached' })
  await page.locator('[role=feed][aria-busy=false]').waitFor()
})

test('axe finds nothing serious, dark and light', async t => {
  const w = await world(t, { config: 'tools:\n  approvals:\n    mode: always\n' })
  const page = await w.open()
  w.model.next({ think: 'hm' }, 'Some **words**, `code` and a [link](https://example.com).\n\n```js\nlet a = 1 // one\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] done\n')
  await say(page, 'Hello')
  await page.locator('.md td').first().waitFor()
  w.model.next('May I?', { tools: [{ name: 'file_write', args: { name: 'a.md', content: 'x' } }] })
  await say(page, 'Write')
  await page.getByRole('region', { name: /asks for your permission/ }).waitFor()
  for (const theme of ['light', 'dark']) {
    await w.engine.api('PATCH', '/api/config', { ui: { theme } })
    await page.locator(`html[data-theme=${theme}]`).waitFor()
    await page.evaluate(() => { location.hash = location.hash })
    await serious(page, 'chat, ' + theme)
    for (const [name, ready] of [['Files', 'No files yet.'], ['Engine', 'Everything works.'], ['Notifications', 'Nothing yet.'], ['Settings', 'Which model does what']]) {
      await page.getByRole('navigation', { name: 'Rooms' }).getByRole('link', { name }).click()
      await page.getByText(ready).first().waitFor()
      await serious(page, `${name}, ${theme}`)
    }
    await page.goto(page.url().split('#')[0] + '#/settings/chat')
    await page.getByText('History window', { exact: false }).first().waitFor()
    await serious(page, 'settings of chats, ' + theme)
    for (const [where, ready] of [['roles', 'Check the models'], ['plans', 'Continue with ChatGPT'], ['cost', 'Show a table'], ['approvals', 'Allowed for now']]) {
      await page.goto(page.url().split('#')[0] + '#/settings/' + where)
      await page.getByText(ready).first().waitFor()
      await serious(page, `settings, ${where}, ${theme}`)
    }
    await page.goto(page.url().split('#')[0] + '#/settings/roles')
    await page.getByRole('combobox', { name: 'Small jobs' }).click()
    await page.getByRole('option').first().waitFor()
    await serious(page, 'picking a model, ' + theme)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+K')
    await page.getByRole('dialog').getByRole('listbox').waitFor()
    await serious(page, 'commands, ' + theme)
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Chats' }).click()
    await page.locator('nav.list li a').first().click()
    await page.getByRole('region', { name: /asks for your permission/ }).waitFor()
  }
  await picture(page, 'dark')
  const first = await world(t, { onboarded: false })
  const welcome = await first.open()
  await welcome.getByRole('button', { name: 'Continue' }).waitFor()
  await serious(welcome, 'first run')
  await welcome.getByRole('button', { name: 'Continue' }).click()
  await serious(welcome, 'first run, models')
  assert.deepEqual(w.problems, [])
})

test('a narrow screen', async t => {
  const w = await world(t)
  const page = await w.open({ width: 360, height: 720, hasTouch: true, isMobile: true })
  w.model.next('A wide table:\n\n| a | b | c | d | e | f |\n|---|---|---|---|---|---|\n| long words here | long words here | long words here | long words here | long words here | x |\n\n```\n' + 'a very long line of code '.repeat(10) + '\n```\n\nAnd ' + 'averylongwordwithoutend'.repeat(12))
  await say(page, 'Show me ' + 'x'.repeat(200))
  await page.locator('.md td').first().waitFor()
  const wide = () => page.evaluate(() => document.documentElement.scrollWidth > innerWidth || [...document.querySelectorAll('.slot, .compose, .view > header, nav.rail *')].some(e => e.getBoundingClientRect().right > innerWidth + 1))
  assert.equal(await wide(), false, 'nothing sticks out')
  await picture(page, 'narrow')
  await page.getByRole('button', { name: 'Chats', exact: true }).tap()
  await page.locator('nav.list.open').waitFor()
  await page.locator('nav.list li a').first().tap()
  await eventually('the list to close', async () => (await page.locator('nav.list.open').count()) === 0)
  for (const room of ['Files', 'Notifications', 'Engine', 'Settings']) {
    await page.getByRole('navigation', { name: 'Rooms' }).getByRole('link', { name: room }).tap()
    await page.getByRole('heading', { name: room, exact: true }).waitFor()
    assert.equal(await wide(), false, room)
  }
  for (const part of ['roles', 'plans', 'cost', 'keys']) {
    await page.goto(page.url().split('#')[0] + '#/settings/' + part)
    await page.waitForTimeout(500)
    assert.equal(await page.evaluate(() => document.querySelector('main.page').scrollWidth > innerWidth), false, part)
  }
  await serious(page, 'narrow settings')
})

test('an ultra-wide screen keeps lines readable', async t => {
  const w = await world(t)
  const page = await w.open({ width: 3440, height: 1200 })
  w.model.next('words '.repeat(200))
  await say(page, 'Hello')
  await words(page).waitFor()
  const width = await words(page).first().evaluate(e => e.getBoundingClientRect().width)
  assert.ok(width < 900, `lines are ${width} px wide`)
})

test('right-to-left text stands right', async t => {
  const w = await world(t)
  const page = await w.open()
  w.model.next('مرحبا، كيف حالك؟\n\n- أولا\n- ثانيا\n\nAnd English.')
  await say(page, 'שלום')
  await words(page).getByText('مرحبا').waitFor()
  const direction = sel => page.locator(sel).first().evaluate(e => getComputedStyle(e).direction)
  assert.equal(await direction('article.user .bubble'), 'rtl')
  assert.equal(await direction('.md p'), 'rtl')
  assert.equal(await direction('.md ul'), 'rtl')
  assert.equal(await page.locator('.md p').last().evaluate(e => getComputedStyle(e).direction), 'ltr')
})

test('reduced motion is heeded', async t => {
  const w = await world(t)
  const page = await w.open()
  w.model.next({ wait: 3000 }, 'x')
  await say(page, 'Hello')
  await page.locator('.typing i').first().waitFor()
  const ms = await page.locator('.typing i').first().evaluate(e => parseFloat(getComputedStyle(e).animationDuration))
  assert.ok(ms < 0.01)
})
