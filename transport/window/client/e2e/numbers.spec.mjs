// The numbers the window promises.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { box, closeBrowser, root, say, world } from './harness.mjs'

after(closeBrowser)

const dist = join(root, 'transport/window/dist')

test('under 150 kB gzipped to first paint', t => {
  const html = readFileSync(join(dist, 'index.html'), 'utf8')
  const first = [...html.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(m => m[1])
  assert.ok(first.some(f => f.endsWith('.js')) && first.some(f => f.endsWith('.css')), first.join())
  const bytes = [html, ...first.map(f => readFileSync(join(dist, f)))].reduce((n, b) => n + gzipSync(b).length, 0)
  t.diagnostic(`${(bytes / 1000).toFixed(1)} kB gzipped: ${first.join(', ')}`)
  assert.ok(bytes < 150_000, `${bytes} bytes`)
})

test('ready to type', async t => {
  const w = await world(t)
  await w.engine.say('warm')
  const times = []
  for (let i = 0; i < 5; i++) {
    const page = await w.open()
    await page.addInitScript(() => {
      const look = () => (document.activeElement?.id === 'message' ? (window.ready = performance.now()) : requestAnimationFrame(look))
      requestAnimationFrame(look)
    })
    await box(page).waitFor()
    for (let n = 0; n < 2; n++) {
      await page.reload()
      await page.waitForFunction(() => window.ready)
      times.push(await page.evaluate(() => window.ready))
    }
    await page.close()
  }
  times.sort((a, b) => a - b)
  t.diagnostic(`ready to type after ${times.map(Math.round).join(', ')} ms`)
  // The promise is 300 ms; a machine that does many things at once gets some slack.
  assert.ok(times[Math.floor(times.length / 2)] < 600, `the middle one took ${times[Math.floor(times.length / 2)]} ms`)
})

test('200 tokens a second keep the main thread free', async t => {
  const w = await world(t)
  const page = await w.open()
  await box(page).waitFor()
  await say(page, 'warm up')
  await page.locator('article.reply .md').waitFor()
  await page.evaluate(() => {
    window.tasks = []
    new PerformanceObserver(l => { for (const e of l.getEntries()) window.tasks.push(Math.round(e.duration)) }).observe({ type: 'longtask' })
  })
  const word = i => (i % 40 === 39 ? '.\n\n' : i % 97 === 50 ? '\n\n```go\nfunc f() int { return 1 }\n```\n\n' : i % 211 === 7 ? '\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n' : i % 9 === 0 ? `**bold${i}** ` : `word${i} `)
  w.model.next({ tokens: 2400, rate: 200, word })
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Performance.enable')
  const busy = async () => Object.fromEntries((await cdp.send('Performance.getMetrics')).metrics.map(m => [m.name, m.value]))
  const before = await busy()
  await say(page, 'Write a lot')
  await page.getByRole('button', { name: 'Stop the reply' }).waitFor()
  await page.getByRole('button', { name: 'Stop the reply' }).waitFor({ state: 'detached', timeout: 60_000 })
  const after = await busy()
  const tasks = await page.evaluate(() => window.tasks)
  const share = (after.TaskDuration - before.TaskDuration) / (after.Timestamp - before.Timestamp)
  t.diagnostic(`tasks over 50 ms: ${tasks.length ? tasks.join(', ') + ' ms' : 'none'}; the main thread was busy ${Math.round(share * 100)} % of the time`)
  // How long one task takes depends on what else the machine does; that most of the time is free does not.
  assert.ok(share < 0.6, `busy ${share}`)
  assert.ok(tasks.length <= 5, `${tasks.length} tasks over 50 ms`)
  assert.deepEqual(w.problems, [])
})
