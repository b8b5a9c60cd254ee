// Markdown in blocks. A reply that grows is parsed from its last unfinished block on, so the work of a frame does not grow
// with the reply.

import { Marked, type Token, type TokensList } from 'marked'

export interface MathToken {
  type: 'math'
  raw: string
  text: string
  display: boolean
}

const inlineMath = {
  name: 'math',
  level: 'inline' as const,
  start: (src: string) => {
    const i = src.search(/\$|\\\(|\\\[/)
    return i < 0 ? undefined : i
  },
  tokenizer(src: string): MathToken | undefined {
    const m = /^\\\(([^\n]{1,2000}?)\\\)/.exec(src) ?? /^\$(?![\s$])((?:\\.|[^$\\\n]){1,500}?)(?<!\s)\$(?![\d$])/.exec(src)
    if (m) return { type: 'math', raw: m[0], text: m[1]!, display: false }
    const d = /^\$\$([^$]{1,2000}?)\$\$/.exec(src) ?? /^\\\[([^]{1,2000}?)\\\]/.exec(src)
    return d ? { type: 'math', raw: d[0], text: d[1]!.trim(), display: true } : undefined
  },
}

const blockMath = {
  name: 'mathBlock',
  level: 'block' as const,
  start: (src: string) => {
    const i = src.search(/^ {0,3}(?:\$\$|\\\[)/m)
    return i < 0 ? undefined : i
  },
  tokenizer(src: string): MathToken | undefined {
    const m = /^ {0,3}\$\$([^]{1,8000}?)\$\$[ \t]*(?:\n+|$)/.exec(src) ?? /^ {0,3}\\\[([^]{1,8000}?)\\\][ \t]*(?:\n+|$)/.exec(src)
    return m ? { type: 'math', raw: m[0], text: m[1]!.trim(), display: true } : undefined
  },
}

const marked = new Marked({ gfm: true, breaks: true, extensions: [inlineMath as never, { ...blockMath, name: 'math2' } as never] })

// WHOLE_BLOCK is how long a block may be to be parsed at all: what is longer is shown as it is.
export const WHOLE_BLOCK = 40_000

export function lex(text: string): Token[] {
  try {
    return marked.lexer(text) as TokensList
  } catch {
    return [{ type: 'paragraph', raw: text, text, tokens: [{ type: 'text', raw: text, text }] } as Token]
  }
}

// parse is lex for text of any size. Text with an endless block is cut into plain pieces.
export function parse(text: string): Token[] {
  if (text.length <= WHOLE_BLOCK) return lex(text)
  const tokens: Token[] = []
  for (const piece of pieces(text)) {
    if (piece.length <= WHOLE_BLOCK) tokens.push(...lex(piece))
    else tokens.push(...plainTokens(piece))
  }
  return tokens
}

export interface PlainToken {
  type: 'plain'
  raw: string
}

function plainTokens(text: string): Token[] {
  const out: PlainToken[] = []
  for (let i = 0; i < text.length; i += WHOLE_BLOCK) out.push({ type: 'plain', raw: text.slice(i, i + WHOLE_BLOCK) })
  return out as unknown as Token[]
}

// pieces cuts long text at blank lines outside code fences, into parts of about WHOLE_BLOCK / 2 where it can.
export function pieces(text: string): string[] {
  const out: string[] = []
  let start = 0
  let fence = ''
  let at = 0
  while (at < text.length) {
    let end = text.indexOf('\n', at)
    end = end < 0 ? text.length : end + 1
    const head = text.slice(at, Math.min(end, at + 80))
    const m = /^ {0,3}(`{3,}|~{3,})/.exec(head)
    if (m && (fence === '' || (m[1]![0] === fence[0] && m[1]!.length >= fence.length))) fence = fence === '' ? m[1]! : ''
    const blank = head.trim() === '' && end - at < 80
    if (blank && fence === '' && end - start >= WHOLE_BLOCK / 2) {
      out.push(text.slice(start, end))
      start = end
    }
    at = end
  }
  if (start < text.length) out.push(text.slice(start))
  return out
}

// Stream parses text that grows. Blocks before the last one are settled: nothing that follows changes them.
export class Stream {
  private text = ''
  private settledTo = 0
  settled: Token[] = []
  tail: Token[] = []
  // rebuilt counts how often settled blocks were thrown away.
  rebuilt = 0

  // update takes the whole text so far.
  update(text: string): void {
    if (text === this.text) return
    if (!text.startsWith(this.text)) {
      this.settled = []
      this.settledTo = 0
      this.rebuilt++
    }
    this.text = text
    const rest = text.slice(this.settledTo)
    this.tail = parse(rest)
    const keep = this.tail.findLastIndex(t => t.type !== 'space')
    if (keep > 0) {
      const done = this.tail.slice(0, keep)
      if (done.every(t => t.type !== 'def')) {
        this.settledTo += done.reduce((n, t) => n + t.raw.length, 0)
        this.settled = this.settled.concat(done)
        this.tail = this.tail.slice(keep)
      }
    }
  }
}
