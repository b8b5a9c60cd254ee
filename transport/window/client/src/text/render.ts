// Markdown tokens to DOM. There is no HTML anywhere on the way: text only ever becomes text nodes, elements come from the
// short list below, and attributes are set one by one. HTML that a model writes is shown as the text it is.

import type { Token, Tokens } from 'marked'
import type { MathToken } from './blocks'
import { direction, plainBidi, visible } from './visible'

// Host is what rendered text needs from the page it is on.
export interface Host {
  // copy puts text on the clipboard and says whether that worked.
  copy(text: string): Promise<boolean>
  // math draws a formula into el; it comes later, and el shows the source until then.
  math(el: HTMLElement, source: string, display: boolean): void
  // code colours a finished code block.
  code(el: HTMLElement, source: string, language: string): void
  // file shows a picture of the files folder in el.
  file(el: HTMLElement, name: string): void
}

const ROWS_SHOWN = 100
const COLUMNS_SHOWN = 40
const CODE_LINES_SHOWN = 2000
const MAX_DEPTH = 24

export function make<K extends keyof HTMLElementTagNameMap>(tag: K, className = '', text = ''): HTMLElementTagNameMap[K] {
  const el = document.createElement(tag)
  if (className) el.className = className
  if (text) el.textContent = text
  return el
}

// block renders one top-level token; null for what shows nothing. Growing code is neither coloured nor cut.
export function block(t: Token, host: Host, growing = false, depth = 0): Node | null {
  if (depth > MAX_DEPTH) return paragraph(t.raw)
  switch (t.type) {
    case 'space': case 'def': return null
    case 'heading': return heading(t as Tokens.Heading, host, depth)
    case 'paragraph': return inlineInto(auto(make('p')), (t as Tokens.Paragraph).tokens, host, depth)
    case 'text': {
      const text = t as Tokens.Text
      return text.tokens ? inlineInto(auto(make('p')), text.tokens, host, depth) : paragraph(text.text)
    }
    case 'code': return code(t as Tokens.Code, host, growing)
    case 'blockquote': return blocksInto(toward(make('blockquote'), t.raw), (t as Tokens.Blockquote).tokens, host, depth)
    case 'list': return list(t as Tokens.List, host, depth)
    case 'table': return table(t as Tokens.Table, host, depth)
    case 'hr': return make('hr')
    case 'math': return math(t as unknown as MathToken, host)
    case 'plain': return auto(make('div', 'md-plain', plainBidi(t.raw)))
  }
  return paragraph(t.raw) // html, and whatever a newer parser knows
}

// toward gives a box the direction of its words: "auto" would not look into the boxes inside.
function toward<T extends HTMLElement>(el: T, text: string): T {
  el.dir = direction(text.slice(0, 2000))
  return el
}

function auto<T extends HTMLElement>(el: T): T {
  el.dir = 'auto'
  return el
}

function paragraph(text: string): HTMLElement {
  return auto(make('p', 'md-raw', plainBidi(text.trimEnd())))
}

function heading(t: Tokens.Heading, host: Host, depth: number): HTMLElement {
  // The page has its own first two levels.
  const tag = (['h3', 'h4', 'h5', 'h6', 'h6', 'h6'] as const)[t.depth - 1] ?? 'h6'
  return inlineInto(auto(make(tag)), t.tokens, host, depth)
}

function blocksInto<T extends HTMLElement>(el: T, tokens: Token[], host: Host, depth: number): T {
  for (const t of tokens) {
    const n = block(t, host, false, depth + 1)
    if (n) el.append(n)
  }
  return el
}

function inlineInto<T extends HTMLElement>(el: T, tokens: Token[] | undefined, host: Host, depth: number): T {
  for (const t of tokens ?? []) el.append(inline(t, host, depth + 1))
  return el
}

function inline(t: Token, host: Host, depth: number): Node {
  if (depth > MAX_DEPTH) return document.createTextNode(plainBidi(t.raw))
  switch (t.type) {
    case 'text': {
      const text = t as Tokens.Text
      if (text.tokens) return inlineInto(make('span'), text.tokens, host, depth)
      return document.createTextNode(plainBidi(text.text))
    }
    case 'escape': return document.createTextNode((t as Tokens.Escape).text)
    case 'strong': return inlineInto(make('strong'), (t as Tokens.Strong).tokens, host, depth)
    case 'em': return inlineInto(make('em'), (t as Tokens.Em).tokens, host, depth)
    case 'del': return inlineInto(make('del'), (t as Tokens.Del).tokens, host, depth)
    case 'codespan': return make('code', '', visible((t as Tokens.Codespan).text))
    case 'br': return make('br')
    case 'link': return link(t as Tokens.Link, host, depth)
    case 'image': return image(t as Tokens.Image, host)
    case 'math': return math(t as unknown as MathToken, host)
  }
  return document.createTextNode(plainBidi(t.raw))
}

// safeLink is the address a link may lead to, or null. Relative ones lead nowhere: there is no site around a reply.
export function safeLink(href: string): URL | null {
  let url: URL
  try {
    url = new URL(href.trim())
  } catch {
    return null
  }
  if (url.username || url.password) return null
  return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url : null
}

function link(t: Tokens.Link, host: Host, depth: number): Node {
  const url = safeLink(t.href)
  if (!url) return inlineInto(make('span'), t.tokens, host, depth)
  const a = inlineInto(make('a'), t.tokens, host, depth)
  a.href = url.href
  a.target = '_blank'
  a.rel = 'noopener noreferrer'
  a.title = url.href.length > 300 ? url.href.slice(0, 300) + '…' : url.href
  if (a.textContent?.trim() === '') a.textContent = url.host || url.href
  return a
}

const DATA_IMAGE = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/

// image never loads anything from another computer by itself: it says where the picture is and opens it when asked.
function image(t: Tokens.Image, host: Host): Node {
  const alt = plainBidi(t.text || 'Picture')
  if (DATA_IMAGE.test(t.href) && t.href.length < 4_000_000) return picture(t.href, alt)
  const url = safeLink(t.href)
  if (url && url.protocol !== 'mailto:') {
    const a = make('a', 'md-remote', `${alt} (picture at ${url.host})`)
    a.href = url.href
    a.target = '_blank'
    a.rel = 'noopener noreferrer'
    a.title = 'Not loaded. Opens in your browser: ' + url.href.slice(0, 300)
    return a
  }
  const name = fileName(t.href)
  if (!name) return document.createTextNode(plainBidi(t.raw))
  const span = make('span', 'md-file', alt)
  host.file(span, name)
  return span
}

export function picture(src: string, alt: string): HTMLImageElement {
  const img = make('img', 'md-picture')
  img.alt = alt
  img.decoding = 'async'
  img.src = src
  return img
}

// fileName is the name in the files folder that a relative address means, or "".
function fileName(href: string): string {
  if (/^[a-z][a-z0-9+.-]*:/i.test(href) || href.startsWith('//')) return ''
  let name = href
  try {
    name = decodeURIComponent(href)
  } catch { /* a name with a bare % */ }
  name = name.replace(/^\.?\//, '').replace(/^files\//, '')
  return name.split('/').some(p => p === '..' || p === '') ? '' : name
}

function math(t: MathToken, host: Host): Node {
  const el = make('span', t.display ? 'md-math md-math-block' : 'md-math', t.text)
  host.math(el, t.text, t.display)
  return el
}

function code(t: Tokens.Code, host: Host, growing: boolean): HTMLElement {
  const source = t.text
  const language = (t.lang ?? '').split(/\s/)[0]!.slice(0, 30)
  const box = make('div', 'md-code')
  box.dir = 'ltr'
  const bar = make('div', 'md-code-bar')
  bar.append(make('span', '', visible(language) || 'text'), copyButton(source, host))
  const pre = make('pre')
  pre.tabIndex = 0
  pre.setAttribute('aria-label', `Code${language ? ', ' + language : ''}`)
  const inner = make('code')
  pre.append(inner)
  box.append(bar, pre)
  const lines = growing ? null : cutLines(source, CODE_LINES_SHOWN)
  inner.textContent = visible(lines ?? source)
  if (lines !== null) box.append(moreButton('Show all the code', () => { inner.textContent = visible(source) }))
  else if (!growing) host.code(inner, source, language)
  return box
}

// cutLines is the first n lines, or null when there are no more.
function cutLines(s: string, n: number): string | null {
  let at = -1
  for (let i = 0; i < n; i++) {
    at = s.indexOf('\n', at + 1)
    if (at < 0) return null
  }
  return s.slice(0, at)
}

function copyButton(source: string, host: Host): HTMLElement {
  const b = make('button', 'md-copy', 'Copy')
  b.type = 'button'
  b.setAttribute('aria-label', 'Copy this code')
  b.addEventListener('click', () => {
    void host.copy(source).then(ok => {
      b.textContent = ok ? 'Copied' : 'Copying is not allowed here'
      setTimeout(() => { b.textContent = 'Copy' }, 1500)
    })
  })
  return b
}

function moreButton(label: string, act: () => void): HTMLElement {
  const b = make('button', 'md-more', label)
  b.type = 'button'
  b.addEventListener('click', () => {
    b.remove()
    act()
  })
  return b
}

function list(t: Tokens.List, host: Host, depth: number): HTMLElement {
  const el = toward(make(t.ordered ? 'ol' : 'ul'), t.raw)
  if (t.ordered && typeof t.start === 'number' && t.start !== 1) (el as HTMLOListElement).start = t.start
  for (const item of t.items) {
    const li = auto(make('li'))
    if (item.task) {
      const box = make('input')
      box.type = 'checkbox'
      box.disabled = true
      box.checked = !!item.checked
      box.setAttribute('aria-label', item.checked ? 'Done' : 'To do')
      li.className = 'md-task'
      li.append(box)
    }
    for (const inner of item.tokens) {
      if ((inner.type as string) === 'checkbox') continue
      const text = inner as Tokens.Text
      if (inner.type === 'text') li.append(text.tokens ? inlineInto(make('span'), text.tokens, host, depth) : document.createTextNode(plainBidi(text.text)))
      else {
        const n = block(inner, host, false, depth + 1)
        if (n) li.append(n)
      }
    }
    el.append(li)
  }
  return el
}

function table(t: Tokens.Table, host: Host, depth: number): HTMLElement {
  const box = make('div', 'md-table')
  box.tabIndex = 0
  box.setAttribute('role', 'group')
  box.setAttribute('aria-label', 'Table')
  const el = toward(make('table'), t.raw)
  const body = make('tbody')
  const head = make('thead')
  head.append(tableRow(t.header, 'th', t, host, depth))
  el.append(head, body)
  const show = (from: number, to: number) => {
    for (const row of t.rows.slice(from, to)) body.append(tableRow(row, 'td', t, host, depth))
  }
  show(0, ROWS_SHOWN)
  box.append(el)
  let shown = ROWS_SHOWN
  const more = () => {
    if (t.rows.length <= shown) return
    box.append(moreButton(`Show more rows (${t.rows.length - shown} left)`, () => {
      show(shown, shown + 500)
      shown += 500
      more()
    }))
  }
  more()
  return box
}

function tableRow(cells: Tokens.TableCell[], tag: 'th' | 'td', t: Tokens.Table, host: Host, depth: number): HTMLElement {
  const tr = make('tr')
  cells.slice(0, COLUMNS_SHOWN).forEach((c, i) => {
    const cell = auto(inlineInto(make(tag), c.tokens, host, depth))
    if (t.align[i]) cell.className = 'md-' + t.align[i]
    tr.append(cell)
  })
  if (cells.length > COLUMNS_SHOWN) tr.append(make(tag, 'md-cut', `… ${cells.length - COLUMNS_SHOWN} more`))
  return tr
}
