// The live channel: one socket that comes back by itself, asks for what it missed (?after), and sends again what was not
// acknowledged. A message keeps its client_id, so sending it twice is sending it once.

import { type ChatEvent, decode } from '../core/wire'

export type Link = 'connecting' | 'online' | 'offline'

export interface LiveOptions {
  open(after: string): WebSocket
  hear(e: ChatEvent): void
  // link: the state changed. fresh on 'online' says that everything must be read again.
  link(state: Link, fresh: boolean): void
  resent(clientId: string): void
  active(): boolean
  random?(): number
}

interface Outgoing {
  type: string
  client_id?: string
  [field: string]: unknown
}

const FIRST_WAIT = 300
const LONGEST_WAIT = 8000
const PING_EVERY = 25_000

// waitFor is how long to wait before the nth try again, in milliseconds, spread so that windows do not come in step.
export function waitFor(n: number, random: number): number {
  return Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** n) * (0.75 + random / 2)
}

export class Live {
  private ws: WebSocket | null = null
  private seq: number | null = null
  private waiting = new Map<string, { message: Outgoing; sent: boolean }>()
  private tries = 0
  private timer: ReturnType<typeof setTimeout> | undefined
  private pinger: ReturnType<typeof setInterval> | undefined
  private heard = 0
  private closed = false
  nextTry = 0
  latency = 0
  private pinged = 0
  private pongs: (() => void)[] = [] // who waits for the answer to which ping, in order

  constructor(private o: LiveOptions) {
    this.open()
  }

  private open(): void {
    if (this.closed) return
    clearTimeout(this.timer)
    this.o.link('connecting', false)
    // At first everything is read anyway: only the state of running replies is asked for.
    const ws = (this.ws = this.o.open(this.seq === null ? 'now' : String(this.seq)))
    ws.onmessage = m => { if (this.ws === ws) this.receive(decode(m.data)) }
    ws.onclose = () => { if (this.ws === ws) this.lost() }
    ws.onerror = () => undefined // close follows
  }

  private receive(e: ChatEvent | null): void {
    this.heard = Date.now()
    if (!e) return
    if (typeof e.seq === 'number') this.seq = e.seq
    if (e.type === 'hello') return this.hello(e)
    if (e.type === 'pong') {
      this.latency = Date.now() - this.pinged
      return this.pongs.shift()?.()
    }
    if (e.client_id && ACKS.has(e.type)) this.waiting.delete(e.client_id)
    if (e.type === 'resync') return this.o.link('online', true)
    this.o.hear(e)
  }

  private hello(e: ChatEvent): void {
    this.tries = 0
    this.o.hear(e)
    this.o.link('online', false)
    this.presence()
    this.ping()
    clearInterval(this.pinger)
    this.pinger = setInterval(() => this.ping(), PING_EVERY)
    for (const [id, w] of this.waiting) {
      if (w.sent) this.o.resent(id)
      w.sent = this.raw(w.message) || w.sent
    }
  }

  // ping finds out whether a silent connection is still one.
  private ping(): void {
    if (this.pinged > this.heard && this.ws) {
      this.ws.close()
      return this.lost()
    }
    this.pinged = Date.now()
    if (this.raw({ type: 'ping' })) this.pongs.push(() => undefined)
  }

  // barrier waits until every event that the engine had for us when it was asked has been heard; false without a connection.
  barrier(): Promise<boolean> {
    return new Promise(resolve => {
      if (!this.raw({ type: 'ping' })) return resolve(false)
      this.pongs.push(() => resolve(this.up))
    })
  }

  private release(): void {
    const waiting = this.pongs
    this.pongs = []
    for (const w of waiting) w()
  }

  private lost(): void {
    this.ws = null
    this.release()
    clearInterval(this.pinger)
    clearTimeout(this.timer)
    if (this.closed) return
    const wait = waitFor(this.tries++, (this.o.random ?? Math.random)())
    this.nextTry = Date.now() + wait
    this.timer = setTimeout(() => this.open(), wait)
    this.o.link('offline', false)
  }

  // retry does not wait: somebody asked, or the network came back.
  retry(): void {
    if (this.ws || this.closed) return
    this.tries = 0
    this.open()
  }

  get up(): boolean { return this.ws?.readyState === 1 }

  private raw(m: Outgoing): boolean {
    if (!this.up) return false
    this.ws!.send(JSON.stringify(m))
    return true
  }

  // send keeps a message that has a client_id until it is acknowledged. Anything else is sent now or not at all.
  send(m: Outgoing): boolean {
    const sent = this.raw(m)
    if (m.client_id) this.waiting.set(m.client_id, { message: m, sent })
    return sent
  }

  // unsend forgets a message that is not to be sent again.
  unsend(clientId: string): void { this.waiting.delete(clientId) }

  presence(): void { this.raw({ type: 'presence', active: this.o.active() }) }

  close(): void {
    this.closed = true
    clearTimeout(this.timer)
    clearInterval(this.pinger)
    const ws = this.ws
    this.ws = null
    this.release()
    ws?.close()
  }
}

const ACKS = new Set(['session', 'steer_ack', 'done'])
