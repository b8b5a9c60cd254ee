// The live channel: one socket that comes back by itself, asks for what it missed, and sends again what was not
// acknowledged. A message keeps its client_id, so sending it twice is sending it once.

import { token } from './api.js'

export class Live {
  constructor(hear, state) {
    this.hear = hear // (event) => void
    this.state = state // ('online' | 'offline' | 'refused') => void
    this.seq = null
    this.waiting = new Map() // client_id → message
    this.tries = 0
    this.open()
    document.addEventListener('visibilitychange', () => this.presence())
    addEventListener('focus', () => this.presence())
    addEventListener('blur', () => this.presence())
    addEventListener('online', () => this.retry())
  }

  open() {
    const url = new URL('/ws', location.href)
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
    url.searchParams.set('token', token())
    // At first everything was just fetched: only the state of running replies is missing.
    url.searchParams.set('after', this.seq === null ? 'now' : String(this.seq))
    const ws = this.ws = new WebSocket(url)
    ws.onmessage = m => {
      if (this.ws !== ws) return
      const e = JSON.parse(m.data)
      this.seq = e.seq
      if (e.type === 'hello') this.hello()
      if (e.client_id && (e.type === 'session' || e.type === 'steer_ack' || e.type === 'done')) this.waiting.delete(e.client_id)
      this.hear(e)
    }
    ws.onclose = () => {
      if (this.ws !== ws) return
      this.ws = null
      this.state('offline')
      const wait = Math.min(8000, 400 * 2 ** this.tries++) * (0.75 + Math.random() / 2)
      clearTimeout(this.timer)
      this.timer = setTimeout(() => this.open(), wait)
    }
  }

  // restart comes back for the state of running replies, as if newly opened.
  restart() {
    const ws = this.ws
    this.ws = null
    this.seq = null
    clearTimeout(this.timer)
    if (ws) ws.close()
    this.open()
  }

  retry() { if (!this.ws) { clearTimeout(this.timer); this.tries = 0; this.open() } }

  hello() {
    this.tries = 0
    this.state('online')
    this.presence()
    for (const m of this.waiting.values()) this.raw(m)
  }

  raw(m) { if (this.ws && this.ws.readyState === WebSocket.OPEN) this.ws.send(JSON.stringify(m)) }

  // send keeps a message until it is acknowledged; anything without a client_id is sent once.
  send(m) {
    if (m.client_id) this.waiting.set(m.client_id, m)
    this.raw(m)
  }

  presence() { this.raw({ type: 'presence', active: document.visibilityState === 'visible' && document.hasFocus() }) }
}
