// The window: the list of chats on the left, one conversation on the right, and what connects them to the engine.

import { call, el, newID, say, takeToken } from './api.js'
import { Live } from './live.js'
import { askToken, setup } from './setup.js'
import { Reply, noteLine, sources, userBubble } from './turn.js'
import { parse, render } from './markdown.js'

const app = document.getElementById('app')
const THEME = 'sentient.theme'

function theme(next) {
  if (next) localStorage.setItem(THEME, next)
  const t = localStorage.getItem(THEME)
  if (t) document.documentElement.dataset.theme = t
}

async function start() {
  theme()
  if (!takeToken()) return askToken(app, start)
  let boot
  try { boot = await call('GET', '/api/bootstrap') } catch (e) {
    if (e.status === 401) { sessionStorage.clear(); return askToken(app, start) }
    app.replaceChildren(el('main.center', null, el('div.card', null, el('h1', null, 'Sentient'), el('p', { role: 'alert' }, e.message),
      el('button.primary', { onclick: start }, 'Try again'))))
    return
  }
  if (!boot.assistant.onboarding_complete) return setup(app, boot, start)
  new Window(boot)
}

class Window {
  constructor(boot) {
    this.chat = null // id of the open chat, null for a new one
    this.turns = new Map() // turn_id → Reply, of the open chat
    this.running = new Map() // chat → turn_id
    this.pending = new Map() // client_id → {bubble, chat}
    this.steers = [] // bubbles that the running reply has not read yet
    this.attached = []
    this.build(boot)
    this.list()
    this.live = new Live(e => this.hear(e), s => this.state(s))
    addEventListener('hashchange', () => this.openHash())
    addEventListener('keydown', e => this.key(e))
    this.openHash()
  }

  build(boot) {
    this.name = boot.assistant.name || 'Sentient'
    document.title = this.name
    this.chats = el('ul.chats')
    this.log = el('div.log', { role: 'log', 'aria-label': 'Conversation', tabIndex: 0 })
    this.pinned = true
    this.log.addEventListener('scroll', () => { this.pinned = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 80 })
    this.box = el('textarea', { id: 'message', rows: 1, placeholder: `Message ${this.name}`, 'aria-label': 'Message', oninput: () => this.grow() })
    this.sendButton = el('button.primary', { type: 'submit' }, 'Send')
    this.stopButton = el('button', { type: 'button', hidden: true, onclick: () => this.stop() }, 'Stop')
    this.offline = el('p.offline', { role: 'status', hidden: true }, 'Not connected. Trying again…')
    this.chips = el('p.files')
    const file = el('input', { type: 'file', multiple: true, hidden: true, onchange: () => this.attach(file) })
    app.replaceChildren(
      el('nav.side', { 'aria-label': 'Chats' },
        el('header', null, el('b', null, this.name), el('button.quiet', { onclick: () => this.flip(), title: 'Light or dark', 'aria-label': 'Switch between light and dark' }, '◐')),
        el('button.new', { onclick: () => this.go(null), title: 'Ctrl+Shift+O' }, 'New chat'), this.chats,
        el('p.line', null, 'This is the small window. For the whole one install Node.js 20 or newer and run “make run”.')),
      el('main.talk', null, this.offline, this.log,
        el('form.compose', { onsubmit: e => { e.preventDefault(); this.submit() } }, this.chips,
          el('div.row', null, el('button.quiet', { type: 'button', onclick: () => file.click(), 'aria-label': 'Attach files', title: 'Attach files' }, '+'), file,
            this.box, this.stopButton, this.sendButton))))
    this.box.addEventListener('keydown', e => {
      if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) { e.preventDefault(); this.submit() }
    })
    this.box.focus()
  }

  key(e) {
    if (e.key === 'Escape' && this.running.has(this.chat)) { e.preventDefault(); this.stop() }
    if (e.key.toLowerCase() === 'o' && e.shiftKey && (e.ctrlKey || e.metaKey)) { e.preventDefault(); this.go(null) }
  }

  flip() {
    const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
    theme(dark ? 'light' : 'dark')
  }

  state(s) { this.offline.hidden = s === 'online' }

  grow() { this.box.rows = Math.min(10, this.box.value.split('\n').length) }

  openHash() {
    const m = /^#chat=([\w.:-]+)$/.exec(location.hash)
    this.show(m ? m[1] : null)
  }

  go(id) {
    const hash = id ? '#chat=' + encodeURIComponent(id) : ''
    if (location.hash === hash) return this.show(id)
    if (hash) location.hash = hash
    else { history.pushState(null, '', location.pathname); this.show(null) }
  }

  async list() {
    try { this.rows = (await call('GET', '/api/sessions?limit=100')).filter(r => !r.incognito) } catch { return }
    this.chats.replaceChildren(...this.rows.map(r => this.row(r)))
  }

  row(r) {
    const title = r.title || 'New chat'
    return el('li', null,
      el('a', { href: '#chat=' + encodeURIComponent(r.id), 'aria-current': r.id === this.chat ? 'page' : null }, title),
      el('button.quiet', { 'aria-label': `Delete “${title}”`, title: 'Delete', onclick: () => this.remove(r.id, title) }, '×'))
  }

  async remove(id, title) {
    if (!confirm(`Delete “${title}” for good?`)) return
    try { await call('DELETE', '/api/sessions/' + encodeURIComponent(id)) } catch (e) { this.problem(e.message) }
  }

  // show opens a chat: its transcript, then whatever is live.
  async show(id, again = false) {
    if (id === this.chat && !again && this.shown) return
    this.shown = true
    this.asked = null
    this.chat = id
    this.turns.clear()
    this.log.replaceChildren()
    this.steers = []
    for (const a of this.chats.querySelectorAll('a')) {
      if (decodeURIComponent(a.hash.slice(6)) === id) a.setAttribute('aria-current', 'page')
      else a.removeAttribute('aria-current')
    }
    this.buttons()
    this.box.focus()
    if (!id) { this.log.append(el('p.empty', null, 'What can I do for you?')); return }
    // The stored rounds come from the transcript, the running one as its state.
    if (this.running.has(id) && !again) this.live.restart()
    const asked = this.asked = {}
    let rows
    try { rows = await call('GET', `/api/sessions/${encodeURIComponent(id)}/messages`) } catch (e) {
      if (this.asked === asked) this.problem(e.message)
      return
    }
    if (this.asked !== asked) return
    this.log.prepend(transcript(rows))
    for (const p of this.pending.values()) if (p.chat === id) this.log.append(p.bubble)
    this.pinned = true
    this.follow()
  }

  submit() {
    const text = this.box.value.trim(), files = this.attached
    if (!text && !files.length) return
    this.box.value = ''
    this.attached = []
    this.chips.replaceChildren()
    this.grow()
    this.say(text, files)
  }

  // say sends a message. A new chat is made first, so that a message that has to be sent again finds the same chat.
  async say(text, attachments) {
    const client_id = newID()
    const bubble = userBubble(text, attachments)
    this.log.querySelector('.empty')?.remove()
    this.append(bubble)
    bubble.classList.add('waiting')
    const waiting = { bubble, chat: this.chat }
    this.pending.set(client_id, waiting)
    let id = this.chat
    if (!id) {
      try { id = (await call('POST', '/api/sessions')).session_id } catch (e) { return this.unsent(client_id, e.message) }
      this.chat = waiting.chat = id
      history.replaceState(null, '', '#chat=' + encodeURIComponent(id))
    }
    const message = { type: 'chat.send', session_id: id, text, client_id }
    if (attachments.length) message.attachments = attachments
    this.live.send(message)
  }

  sent(client_id, steered) {
    const p = this.pending.get(client_id)
    if (!p) return
    p.bubble.classList.remove('waiting')
    this.pending.delete(client_id)
    if (steered && !p.read) this.steers.push(p.bubble)
  }

  // takeSteer finds the bubble of an addition that the model has read now; it may not be acknowledged yet.
  takeSteer(text) {
    const same = b => b.querySelector('.text').textContent === text
    const i = this.steers.findIndex(same)
    if (i >= 0) return this.steers.splice(i, 1)[0]
    const p = [...this.pending.values()].find(p => p.chat === this.chat && !p.read && same(p.bubble))
    if (p) p.read = true
    return p && p.bubble
  }

  unsent(client_id, why) {
    const p = this.pending.get(client_id)
    if (!p) return
    this.pending.delete(client_id)
    p.bubble.classList.replace('waiting', 'failed')
    p.bubble.append(noteLine('Not sent. ' + why, 'bad'))
    say('The message was not sent. ' + why)
  }

  async attach(input) {
    for (const f of input.files) {
      const form = new FormData()
      form.append('source', 'upload')
      form.append('file', f)
      try {
        const saved = await call('POST', '/api/files', form)
        this.attached.push(saved.name)
        this.chips.append(el('span.file', null, saved.name))
      } catch (e) { this.problem(`${f.name}: ${e.message}`) }
    }
    input.value = ''
    this.box.focus()
  }

  stop() { if (this.chat) this.live.send({ type: 'chat.cancel', session_id: this.chat }) }

  answer(approval_id, decision) { this.live.send({ type: 'approval.respond', approval_id, decision }) }

  buttons() {
    const busy = this.running.has(this.chat)
    this.stopButton.hidden = !busy
    this.sendButton.textContent = busy ? 'Add' : 'Send'
    this.box.placeholder = busy ? 'Add to the reply…' : `Message ${this.name}`
  }

  append(node) {
    this.log.append(node)
    this.follow()
  }

  // follow keeps the newest words in sight, unless the reader has scrolled up.
  follow() { if (this.pinned) this.log.scrollTop = this.log.scrollHeight }

  problem(text) { this.append(noteLine(text, 'bad')); say(text) }

  reply(e) {
    let r = this.turns.get(e.turn_id)
    if (!r) {
      r = new Reply((id, decision) => this.answer(id, decision))
      r.ondraw = () => this.follow()
      this.turns.set(e.turn_id, r)
      this.append(r.node)
    }
    return r
  }

  hear(e) {
    switch (e.type) {
      case 'hello': case 'pong': return
      case 'resync': this.running.clear(); this.list(); this.show(this.chat, true); return
      case 'session.updated': case 'session.deleted':
        this.list()
        if (e.type === 'session.deleted' && e.data.session_id === this.chat) this.go(null)
        return
      case 'approval.ack':
        for (const r of this.turns.values()) r.answered(e.approval_id)
        return
    }
    if (e.type.includes('.') || !('session_id' in e || e.type === 'error')) return
    if (e.client_id) e.type === 'done' && e.error ? this.unsent(e.client_id, e.error) : e.type !== 'error' && this.sent(e.client_id, e.type === 'steer_ack' && e.queued)
    if (e.type === 'session') { this.running.set(e.session_id, e.turn_id); if (!this.rows?.some(r => r.id === e.session_id)) this.list() }
    if (e.type === 'done' && this.running.get(e.session_id) === e.turn_id) this.running.delete(e.session_id)
    if (e.session_id === this.chat) this.onChat(e)
    else if (e.type === 'error' && !e.session_id && !e.client_id) this.problem(e.message)
    this.buttons()
  }

  onChat(e) {
    switch (e.type) {
      case 'session': { const r = this.reply(e); if (e.replay) r.reset(); say(`${this.name} is answering.`); return }
      case 'user_interjection': {
        return this.reply(e).interject(this.takeSteer(e.text) || userBubble(e.text))
      }
      case 'thinking_delta': return this.reply(e).thinking(e.text)
      case 'text_delta': return this.reply(e).text(e.text)
      case 'tool_call': return this.reply(e).tool(e.call_id, e.name, e.arguments)
      case 'tool_progress': return this.reply(e).progress(e.call_id, e.text)
      case 'tool_result': return this.reply(e).result(e.call_id, e.name, e.result, e.is_error, e.duration_ms)
      case 'approval_request': this.reply(e).ask(e); return say(`${this.name} asks for your permission.`)
      case 'notice': return this.reply(e).note(e.message)
      case 'usage': if (e.context_warning && this.turns.has(e.turn_id)) this.reply(e).note(e.context_warning); return
      case 'error': if (!e.client_id && e.turn_id) this.reply(e).note(e.message, e.recoverable ? '' : 'bad'); return
      case 'done': {
        const r = this.turns.get(e.turn_id)
        if (r) { r.end(e); say(e.cancelled ? 'Stopped.' : e.error ? 'The reply failed.' : 'The reply is finished.') }
        for (const t of e.dropped || []) this.append(noteLine('Not sent: ' + t, 'bad'))
      }
    }
  }
}

// transcript makes the page of stored messages: an assistant's calls and their results become cards of its reply.
function transcript(rows) {
  const f = document.createDocumentFragment()
  const calls = new Map()
  let reply = null
  for (const m of rows) {
    if (m.role === 'user' || m.role === 'other') {
      reply = null
      f.append(userBubble(m.content, m.attachments || [], m.role === 'other' ? m.name : ''))
    } else if (m.role === 'assistant') {
      if (!reply) { reply = new Reply(() => {}); reply.end(null); f.append(reply.node) }
      if (m.thinking) reply.thinking(m.thinking)
      if (m.content) { const node = el('div.text'); node.append(render(parse(m.content))); reply.node.append(node) }
      for (const c of m.tool_calls || []) calls.set(c.id, c.function) // a card when there is a result
      if (m.sources && m.sources.length) reply.node.append(sources(m.sources))
    } else if (m.role === 'tool' && reply) {
      let result = m.content
      try { result = JSON.parse(m.content) } catch { /* a plain text */ }
      const made = calls.get(m.tool_call_id)
      if (made) reply.tool(m.tool_call_id, made.name, made.arguments)
      reply.result(m.tool_call_id, m.name || 'tool', result, false, 0)
    } else if (m.role === 'event') {
      reply = null
      f.append(noteLine('You said this chat can be trusted again.'))
    }
  }
  return f
}

start()
