// What the whole window knows: the engine, who is who, which room is open, and how to say something to the person.

import { getContext, setContext } from 'svelte'
import { SvelteMap } from 'svelte/reactivity'
import type { Busy } from '../core/models'
import type { StopState } from '../core/halt'
import type { Bootstrap, ChatEvent } from '../core/wire'
import { Refused, call, get } from '../net/api'
import { type Link, Live } from '../net/live'
import { dropToken, token } from '../net/token'
import { Chats } from '../rooms/chats/chats.svelte'
import { Halt } from './halt.svelte'
import { type Command, type Room, type Store, rooms } from './rooms'

export interface Toast { id: number; text: string; tone: 'info' | 'bad'; action?: { label: string; act: () => void } }

export type Phase = 'opening' | 'token' | 'welcome' | 'ready'

// Question: agree is what has to be ticked before the answer can be yes.
export interface Question { title: string; text: string; yes: string; danger?: boolean; field?: string; agree?: string; answer: (value: string | null) => void }

export class App {
  phase = $state<Phase>('opening')
  boot = $state.raw<Bootstrap | null>(null)
  bootError = $state('')
  link = $state<Link>('connecting')
  linkDown = $state(false) // for long enough to say so
  online = $state(navigator.onLine)
  toasts = $state<Toast[]>([])
  said = $state('') // for screen readers
  route = $state(location.hash.replace(/^#/, ''))
  palette = $state(false)
  shortcuts = $state(false)
  drawer = $state(false)
  question = $state.raw<Question | null>(null)
  preview = $state('') // the file that is shown over the page
  grantsSeen = $state(0) // counts changes of what is allowed for now
  spent = $state(0) // counts changes of the budget's state
  localModel = $state.raw<Busy | null>(null) // what it does now
  chats = new Chats(this)
  halt = new Halt(this)
  stores = new SvelteMap<string, Store>()
  reconnects = 0
  // What this page is to an incognito chat it opened, also over a new connection. It ends with the page.
  private readonly window = crypto.randomUUID() + crypto.randomUUID()
  live: Live | null = null
  private downTimer: ReturnType<typeof setTimeout> | undefined
  private toastID = 0

  get name(): string { return this.boot?.assistant.name || 'Sentient' }
  get user(): string { return this.boot?.assistant.user_name || '' }
  get room(): Room { return rooms.find(r => r.owns(this.route)) ?? rooms[0]! }

  // open starts with the token that the address brought.
  async open(): Promise<void> {
    if (!token()) {
      this.phase = 'token'
      return
    }
    // A window that was ready before shows its message box at once; only the first run has to wait for the answer.
    if (localStorage.getItem(READY)) this.start()
    await this.readBoot()
  }

  async readBoot(): Promise<void> {
    try {
      const boot = await get<Bootstrap>('/api/bootstrap')
      this.boot = boot
      this.bootError = ''
      this.halt.hear(boot.stop)
      this.look(boot.ui.theme, boot.ui.accent)
      if (!boot.assistant.onboarding_complete) {
        localStorage.removeItem(READY)
        this.phase = 'welcome'
      } else this.start()
    } catch (e) {
      if (e instanceof Refused && e.status === 401) this.lock()
      else this.bootError = (e as Error).message
    }
  }

  // lock asks for the token again.
  lock(): void {
    dropToken()
    this.live?.close()
    this.live = null
    this.phase = 'token'
  }

  start(): void {
    localStorage.setItem(READY, '1')
    this.phase = 'ready'
    if (this.live) return
    for (const r of rooms) {
      const store = r.store?.(this)
      if (store) this.stores.set(r.id, store)
    }
    this.live = new Live({
      open: after => {
        const url = new URL('/ws', location.href)
        url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
        url.searchParams.set('token', token())
        url.searchParams.set('after', after)
        url.searchParams.set('window', this.window)
        return new WebSocket(url)
      },
      hear: e => this.hear(e),
      link: (state, fresh) => this.linked(state, fresh),
      resent: id => this.chats.resent(id),
      active: () => document.visibilityState === 'visible' && document.hasFocus(),
    })
  }

  private linked(state: Link, fresh: boolean): void {
    this.link = state
    if (state === 'online') {
      clearTimeout(this.downTimer)
      this.downTimer = undefined
      if (this.linkDown) this.announce('Connected again.')
      this.linkDown = false
      this.reconnects++
      if (!this.boot || fresh) void this.readBoot() // what an engine that was away says now
      this.chats.connected(fresh)
      for (const s of this.stores.values()) s.connected?.()
    } else {
      this.downTimer ??= setTimeout(() => { this.linkDown = true }, 900)
      if (state === 'offline') void this.checkToken()
    }
  }

  // checkToken tells a refused token from an engine that is away: a socket does not say why it was not opened.
  private async checkToken(): Promise<void> {
    try {
      await get('/api/stop')
    } catch (e) {
      if (e instanceof Refused && e.status === 401) this.lock()
    }
  }

  private hear(e: ChatEvent): void {
    if (e.type === 'config.updated') {
      this.timeout = null
      void this.readBoot()
    }
    if (e.type === 'approval_grants.updated') this.grantsSeen++
    if (e.type === 'budget.updated') this.spent++
    if (e.type === 'stop.updated') this.halt.hear(e.data as unknown as StopState)
    if (e.type === 'model.busy') this.localModel = e.data as unknown as Busy
    this.chats.hear(e)
    for (const s of this.stores.values()) s.hear?.(e)
  }

  go(route: string): void {
    this.drawer = false
    if (location.hash !== '#' + route) location.hash = route
    else this.route = route
  }

  look(theme: string, accent: string): void {
    localStorage.setItem(LOOK, JSON.stringify([theme, accent]))
    applyLook(theme, accent)
  }

  async setTheme(theme: string): Promise<void> {
    this.look(theme, this.boot?.ui.accent ?? 'sentient')
    await this.attempt(async () => { await call('PATCH', '/api/config', { ui: { theme } }) })
  }

  toast(text: string, tone: 'info' | 'bad' = 'info', action?: Toast['action']): void {
    const id = ++this.toastID
    this.toasts = [...this.toasts.slice(-3), { id, text, tone, action }]
    setTimeout(() => this.dismiss(id), tone === 'bad' || action ? 9000 : 4000)
  }

  dismiss(id: number): void { this.toasts = this.toasts.filter(t => t.id !== id) }

  // announce is heard by screen readers, not seen.
  announce(text: string): void { this.said = text }

  // attempt does something whose refusal is said as a toast.
  async attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (e) {
      this.toast((e as Error).message, 'bad')
      return undefined
    }
  }

  ask(q: Omit<Question, 'answer'>): Promise<string | null> {
    return new Promise(resolve => { this.question = { ...q, answer: v => { this.question = null; resolve(v) } } })
  }

  private timeout: Promise<number> | null = null

  // approvalTimeout is how long a question waits for an answer, in seconds; 0 when that cannot be read.
  approvalTimeout(): Promise<number> {
    return (this.timeout ??= get<{ tools?: { approvals?: { timeout_s?: number } } }>('/api/config').then(c => c.tools?.approvals?.timeout_s ?? 0).catch(() => 0))
  }

  commands(): Command[] {
    const halt: Command = this.halt.state.stopped
      ? { title: 'Resume', hint: 'Let work start again', group: 'Sentient', run: () => void this.halt.resume() }
      : { title: 'Stop everything', keys: 'Ctrl+Alt+Shift+S', group: 'Sentient', run: () => void this.halt.stop('desktop') }
    return [...rooms.flatMap(r => r.commands?.(this) ?? []), halt]
  }
}

const READY = 'sentient.ready'
const LOOK = 'sentient.look'

export function applyLook(theme: string, accent: string): void {
  const root = document.documentElement
  root.dataset.theme = theme
  root.dataset.accent = accent
}

// rememberedLook is applied before anything is drawn.
export function rememberedLook(): void {
  try {
    const [theme, accent] = JSON.parse(localStorage.getItem(LOOK) ?? '["system","sentient"]') as [string, string]
    applyLook(theme, accent)
  } catch {
    applyLook('system', 'sentient')
  }
}

const CONTEXT = Symbol('app')
export const provide = (app: App) => setContext(CONTEXT, app)
export const useApp = () => getContext<App>(CONTEXT)
