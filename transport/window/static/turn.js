// How a conversation looks: messages, a reply that grows, its thinking, its tools and its questions.

import { el } from './api.js'
import { parse, render } from './markdown.js'

export function userBubble(text, attachments = [], name = '') {
  const b = el('article.user', { 'aria-label': name || 'You' }, name ? el('p.who', null, name) : null, el('p.text', null, text))
  if (attachments.length) b.append(el('p.files', null, attachments.map(a => el('span.file', null, a))))
  return b
}

export function noteLine(text, kind = '') { return el('p.line' + (kind ? '.' + kind : ''), null, text) }

const LABELS = { allow: 'Allow once', allow_session: 'Allow for this chat', allow_task: 'Allow for this task', allow_always: 'Always allow', deny: 'Deny' }
const RISKS = { read: 'Looks something up', write: 'Changes something', send: 'Sends', exec: 'Runs code' }

function label(choice, minutes) {
  if (choice !== 'allow_timed') return LABELS[choice] || choice
  return !minutes || minutes === 60 ? 'Allow for 1 hour' : `Allow for ${minutes} minutes`
}

// Reply is one turn of the assistant on the page.
export class Reply {
  constructor(answer) {
    this.answer = answer // (approval_id, decision) => void
    this.tools = new Map()
    this.asks = new Map()
    this.node = el('article.reply', { 'aria-label': 'Sentient', 'aria-busy': 'true' })
    this.typing = el('p.typing', { 'aria-hidden': 'true' }, el('i'), el('i'), el('i'))
    this.node.append(this.typing)
    this.reset()
  }

  // reset forgets what streamed: the state that follows is whole.
  reset() {
    if (this.part) { this.part.node.remove(); this.part = null }
    if (this.think) { this.think.remove(); this.think = null; this.thought = '' }
  }

  add(node) {
    if (this.typing.parentNode) this.node.insertBefore(node, this.typing)
    else this.node.append(node)
  }

  // interject shows what the user added while the reply ran, at the place where the model read it.
  interject(bubble) { this.endPart(); this.add(bubble) }

  text(t) {
    if (!this.part) { this.part = { raw: '', node: el('div.text') }; this.add(this.part.node) }
    this.part.raw += t
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw())
  }

  // endPart finishes what was written so far: what follows stands below whatever comes between.
  endPart() {
    if (this.frame) { cancelAnimationFrame(this.frame); this.draw() }
    this.part = null
  }

  draw() {
    this.frame = 0
    if (this.part) this.part.node.replaceChildren(render(parse(this.part.raw)))
    this.ondraw && this.ondraw()
  }

  thinking(t) {
    if (!this.think) {
      this.thought = ''
      this.thoughts = el('div.thoughts')
      this.think = el('details.thinking', null, el('summary', null, 'Thinking'), this.thoughts)
      this.node.prepend(this.think)
    }
    this.thought += t
    this.thoughts.textContent = this.thought
  }

  tool(id, name, args) {
    if (this.tools.has(id)) return
    this.endPart()
    const state = el('span.state', null, 'working')
    const out = el('pre.output', { hidden: true, tabIndex: 0 })
    const card = el('details.tool', null, el('summary', null, el('b', null, plain(name)), state), el('pre.args', { tabIndex: 0 }, pretty(args)), out)
    this.tools.set(id, { card, state, out })
    this.add(card)
  }

  progress(id, text) {
    const t = this.tools.get(id)
    if (!t || !text) return
    t.out.hidden = false
    t.out.textContent = (t.out.textContent + text).slice(-4000)
  }

  result(id, name, result, isError, ms) {
    this.tool(id, name, {})
    const t = this.tools.get(id)
    const declined = result && result.declined
    t.card.classList.add(declined ? 'declined' : isError || (result && result.error) ? 'failed' : 'ok')
    t.state.textContent = declined ? 'not done' : isError || (result && result.error) ? 'failed' : ms >= 1000 ? `done in ${(ms / 1000).toFixed(1)} s` : 'done'
    t.out.hidden = false
    t.out.textContent = pretty(result).slice(0, 20000)
    for (const [ask, a] of this.asks) if (a.call === id) this.answered(ask)
  }

  ask(e) {
    if (this.asks.has(e.approval_id)) return
    const buttons = (e.choices && e.choices.length ? e.choices : ['allow', 'deny']).map((c, i) =>
      el(i === 0 ? 'button.primary' : 'button', { type: 'button', onclick: () => this.answer(e.approval_id, c) }, label(c, e.grant_minutes)))
    const card = el('section.ask', { 'aria-label': 'Sentient asks', role: 'group', tabIndex: -1 },
      el('p.what', null, el('b', null, e.risk_label || e.reason || RISKS[e.risk] || 'Asks'), ' ', plain(e.name), e.target ? ': ' + e.target : ''),
      e.untrusted ? el('p.warn', null, `This chat read content from ${e.untrusted}.`) : null,
      e.warning ? el('p.warn', null, e.warning) : null,
      el('pre.args', { tabIndex: 0 }, e.preview && e.preview.text ? e.preview.text : pretty(e.arguments)),
      el('div.buttons', null, buttons))
    this.asks.set(e.approval_id, { card, call: e.call_id })
    this.add(card)
    card.focus({ preventScroll: true })
  }

  answered(id) {
    const a = this.asks.get(id)
    if (!a) return
    this.asks.delete(id)
    a.card.remove()
  }

  note(text, kind) { this.add(noteLine(text, kind)) }

  end(done) {
    cancelAnimationFrame(this.frame)
    this.frame = 0
    this.typing.remove()
    this.node.removeAttribute('aria-busy')
    for (const id of [...this.asks.keys()]) this.answered(id)
    for (const t of this.tools.values()) if (t.state.textContent === 'working') t.state.textContent = 'stopped'
    // What is kept is what done says; what streamed before a tool stays as it is.
    if (done && typeof done.content === 'string' && !done.error) {
      if (this.part) this.part.node.replaceChildren(render(parse(done.content)))
      else if (done.content) { const node = el('div.text'); node.append(render(parse(done.content))); this.node.append(node) }
    } else if (this.part) this.draw()
    if (done && done.sources && done.sources.length) this.node.append(sources(done.sources))
    this.ondraw && this.ondraw()
  }
}

export function sources(list) {
  return el('details.sources', null, el('summary', null, `Sources (${list.length})`),
    el('ul', null, list.map(s => el('li', null, /^https?:\/\//.test(s.url || '')
      ? el('a', { href: s.url, target: '_blank', rel: 'noopener noreferrer' }, s.title || s.url) : s.title || s.file || s.app))))
}

function plain(name) { const s = String(name).replace(/_/g, ' '); return s.charAt(0).toUpperCase() + s.slice(1) }

function pretty(v) {
  if (typeof v === 'string') return v
  try { return JSON.stringify(v, null, 2) ?? '' } catch { return '' }
}
