// The real engine and a real browser. Each test has a home of its own, and everything it starts ends with it.

import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { startModel } from './model.mjs'

const here = dirname(fileURLToPath(import.meta.url))
export const root = resolve(here, '../../../..')
const bin = process.env.SENTIENT_BIN ?? join(root, 'bin/sentient')
const demo = process.env.SENTIENT_DEMO_BIN ?? join(root, 'bin/sentient-demo') // with a pretend world to act on
const browserPath = process.env.CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(p => existsSync(p))

export const TOKEN = 'token-for-the-window-tests'
const sleep = ms => new Promise(r => setTimeout(r, ms))

// eventually waits for something outside this process; the limit only says that something hangs.
export async function eventually(what, ok, ms = 30_000) {
  const end = Date.now() + ms
  let last
  while (Date.now() < end) {
    try {
      last = await ok()
      if (last) return last
    } catch (e) {
      last = e
    }
    await sleep(25)
  }
  throw new Error(`waited in vain for ${what}: ${last}`)
}

export class Engine {
  constructor(home, program = bin, env = {}) {
    this.home = home
    this.program = program
    this.env = env
  }

  async start(port = 0) {
    rmSync(join(this.home, 'engine-discovery.json'), { force: true })
    this.log = ''
    this.child = spawn(this.program, ['serve', '--port', String(port)], { env: { ...process.env, SENTIENT_HOME: this.home, HOME: this.home, SENTIENT_GATEWAY_TOKEN: TOKEN, DBUS_SESSION_BUS_ADDRESS: '', ...this.env } })
    this.child.stdout.on('data', d => { this.log += d })
    this.child.stderr.on('data', d => { this.log += d })
    this.ended = new Promise(r => this.child.on('exit', r))
    await eventually('the engine to be ready: ' + this.log, async () => {
      const f = join(this.home, 'engine-discovery.json')
      if (!existsSync(f)) return false
      this.url = JSON.parse(readFileSync(f, 'utf8')).address
      return (await fetch(this.url + '/api/health')).ok
    })
    this.port = Number(new URL(this.url).port)
    return this
  }

  async kill(signal = 'SIGKILL') {
    this.child?.kill(signal)
    await this.ended
  }

  async api(method, path, body) {
    const r = await fetch(this.url + path, { method, headers: { Authorization: 'Bearer ' + TOKEN, ...(body ? { 'Content-Type': 'application/json' } : {}) }, body: body ? JSON.stringify(body) : undefined })
    if (!r.ok) throw new Error(`${method} ${path}: ${r.status} ${await r.text()}`)
    return r.json()
  }

  // say sends a message outside the window and waits for the end of its turn.
  async say(text, session_id) {
    const r = await fetch(this.url + '/api/chat', { method: 'POST', headers: { Authorization: 'Bearer ' + TOKEN, 'Content-Type': 'application/json' }, body: JSON.stringify({ text, session_id }) })
    const lines = (await r.text()).trim().split('\n').map(l => JSON.parse(l))
    return lines[0].session_id
  }
}

let browser
export async function launch() {
  browser ??= await chromium.launch({
    executablePath: browserPath,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  })
  return browser
}
export async function closeBrowser() {
  await browser?.close()
  browser = undefined
}

// world starts a model, an engine that uses it, and a browser; t ends them.
export async function world(t, { onboarded = true, config = '', providers = '', pretend = false, env = {} } = {}) {
  const home = mkdtempSync(join(tmpdir(), 'sentient-window-'))
  const model = await startModel()
  writeFileSync(join(home, 'config.yaml'), `assistant:\n  onboarding_complete: ${onboarded}\n  user_name: ${onboarded ? 'Maya' : '""'}\nchat:\n  auto_title: false\nui:\n  theme: light\n` +
    `models:\n  roles:\n    primary: lm_studio/test\n    fast: lm_studio/test\n  providers:\n    lm_studio:\n      api_base: ${model.url}/v1\n    ollama:\n      api_base: ${model.url}\n    ollama_chat:\n      api_base: ${model.url}\n${providers}${config}`)
  const engine = await new Engine(home, pretend ? demo : bin, env).start()
  const contexts = []
  const problems = []
  t.after(async () => {
    for (const c of contexts) await c.close().catch(() => undefined)
    await engine.kill()
    await model.close()
    rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  })
  // open gives a new window, as a person gets it from the address the engine prints.
  async function open({ width = 1200, height = 800, path = '', ...more } = {}) {
    const context = await (await launch()).newContext({ viewport: { width, height }, reducedMotion: 'reduce', acceptDownloads: true, ...more })
    contexts.push(context)
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: engine.url }).catch(() => undefined)
    const page = await context.newPage()
    page.setDefaultTimeout(20_000)
    page.on('pageerror', e => problems.push('error: ' + e.message))
    page.on('console', m => { if (m.type() === 'error' && !/WebSocket|ERR_CONNECTION|Failed to load resource/.test(m.text())) problems.push('console: ' + m.text()) })
    page.on('request', r => { const u = new URL(r.url()); if (/^https?:$/.test(u.protocol) && u.port !== new URL(engine.url).port) problems.push('asked for ' + r.url()) })
    await page.goto(engine.url + '/#token=' + TOKEN + path)
    return page
  }
  return { home, model, engine, open, problems }
}

export const box = page => page.getByRole('textbox', { name: /^Message / })

export async function say(page, text) {
  await box(page).fill(text)
  await page.keyboard.press('Enter')
}

export const replies = page => page.locator('article.reply')
export const words = page => page.locator('article.reply .md')

// picture saves what the page shows for the README, small.
export async function picture(page, name) {
  if (!process.env.PICTURES) return
  const dir = join(root, 'docs/pictures')
  mkdirSync(dir, { recursive: true })
  await page.waitForTimeout(300) // what fades in is there
  await page.screenshot({ path: join(dir, name + '.png') })
}
