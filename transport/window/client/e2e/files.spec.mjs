// Files: by picker, drop and paste, in messages and in their room.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { box, closeBrowser, eventually, picture, say, words, world } from './harness.mjs'

after(closeBrowser)

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAFElEQVR4nGNkaGBgwAaYsIoOWgkARVsAkeJx3ToAAAAASUVORK5CYII='

test('attachments by picker, drop and paste', async t => {
  const w = await world(t)
  const page = await w.open()
  await box(page).waitFor()
  await page.locator('.compose input[type=file]').setInputFiles([{ name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('the plan') }])
  const files = page.getByRole('list', { name: 'Attached files' })
  await files.getByText('8 B').waitFor()
  const give = (type, name, mime, base64) => page.evaluate(([type, name, mime, base64]) => {
    const bytes = Uint8Array.from(atob(base64), c => c.charCodeAt(0))
    const dt = new DataTransfer()
    dt.items.add(new File([bytes], name, { type: mime }))
    const box = document.getElementById('message')
    if (type === 'paste') box.dispatchEvent(new ClipboardEvent('paste', { clipboardData: dt, bubbles: true, cancelable: true }))
    else document.querySelector('main.view').dispatchEvent(new DragEvent('drop', { dataTransfer: dt, bubbles: true, cancelable: true }))
  }, [type, name, mime, base64])
  await give('drop', 'picture.png', 'image/png', PNG)
  await give('paste', 'pasted.png', 'image/png', PNG)
  await eventually('three files', async () => (await files.getByRole('listitem').count()) === 3 && (await files.getByText('%').count()) === 0)
  await files.getByRole('button', { name: 'Remove pasted.png' }).click()
  assert.equal(await files.getByRole('listitem').count(), 2)
  await eventually('the removed file to be gone', async () => (await w.engine.api('GET', '/api/files')).length === 2)
  w.model.next('I read them.')
  await say(page, 'Look at these')
  await words(page).getByText('I read them.').waitFor()
  assert.ok(JSON.stringify(w.model.requests.at(-1).messages).includes('the plan'), 'the model was given the text')
  const mine = page.locator('article.user')
  await mine.getByRole('button', { name: 'plan.txt' }).click()
  await page.getByRole('dialog').getByText('the plan').waitFor()
  await page.keyboard.press('Escape')
  await mine.getByRole('button', { name: /picture/ }).locator('img').waitFor()
  await page.reload()
  await mine.getByRole('button', { name: /picture/ }).locator('img').waitFor()
  assert.deepEqual(w.problems, [])
})

test('a long paste becomes a file; an upload that fails says so', async t => {
  const w = await world(t)
  const page = await w.open()
  await box(page).waitFor()
  await page.evaluate(() => {
    const dt = new DataTransfer()
    dt.setData('text/plain', 'long '.repeat(40_000))
    document.getElementById('message').dispatchEvent(new ClipboardEvent('paste', { clipboardData: dt, bubbles: true, cancelable: true }))
  })
  await page.getByText('it was attached as a file').waitFor()
  await page.getByText('200 kB').waitFor()
  await page.route('**/api/files', r => r.request().method() === 'POST' ? r.fulfill({ status: 507, json: { detail: 'The disk is nearly full.' } }) : r.continue())
  await page.locator('.compose input[type=file]').setInputFiles([{ name: 'b.txt', mimeType: 'text/plain', buffer: Buffer.from('b') }])
  await page.getByText('The disk is nearly full.').waitFor()
})

test('the files room', async t => {
  const w = await world(t)
  const page = await w.open()
  await page.getByRole('link', { name: 'Files' }).click()
  await page.getByText('No files yet.').waitFor()
  await page.locator('main input[type=file]').setInputFiles(['a', 'b', 'c'].map(n => ({ name: `notes-${n}.md`, mimeType: 'text/markdown', buffer: Buffer.from(`# ${n}\n\nNotes.`) })))
  await page.getByRole('button', { name: 'uploads/notes-c.md', exact: true }).or(page.getByRole('button', { name: 'notes-c.md', exact: true })).waitFor()
  await picture(page, 'files')
  await page.getByRole('searchbox', { name: 'Find a file' }).fill('notes-b')
  assert.equal(await page.locator('main li').count(), 1)
  await page.locator('main li .name').click()
  await page.getByRole('dialog').getByText('# b').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: /^Delete .*notes-b/ }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText('No file has this in its name.').waitFor()
  assert.equal((await w.engine.api('GET', '/api/files')).length, 2)
  assert.deepEqual(w.problems, [])
})
