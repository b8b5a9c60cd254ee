// @vitest-environment happy-dom
// What a model writes: drawn as people expect, and never more than text.

import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { Stream, WHOLE_BLOCK, lex, parse, pieces } from '../src/text/blocks'
import { type Host, block, safeLink } from '../src/text/render'
import { pretty, toolName, visible } from '../src/text/visible'

const host: Host = { copy: async () => true, math: () => undefined, code: () => undefined, file: () => undefined }

function draw(text: string): HTMLElement {
  const el = document.createElement('div')
  for (const t of parse(text)) {
    const n = block(t, host)
    if (n) el.append(n)
  }
  return el
}

const ALLOWED = new Set(['DIV', 'P', 'H3', 'H4', 'H5', 'H6', 'UL', 'OL', 'LI', 'BLOCKQUOTE', 'HR', 'PRE', 'CODE', 'TABLE', 'THEAD', 'TBODY', 'TR', 'TH', 'TD', 'A', 'IMG', 'STRONG', 'EM', 'DEL', 'BR', 'SPAN', 'BUTTON', 'INPUT'])

function safe(el: HTMLElement): void {
  for (const n of el.querySelectorAll('*')) {
    expect(ALLOWED.has(n.tagName), n.tagName).toBe(true)
    for (const a of n.attributes) {
      expect(a.name.startsWith('on'), a.name).toBe(false)
      expect(a.name).not.toBe('style')
      expect(a.name).not.toBe('srcdoc')
    }
    if (n.tagName === 'A') {
      expect(n.getAttribute('href')).toMatch(/^(https?|mailto):/)
      expect(n.getAttribute('target')).toBe('_blank')
      expect(n.getAttribute('rel')).toBe('noopener noreferrer')
    }
    if (n.tagName === 'IMG') expect(n.getAttribute('src')).toMatch(/^data:image\/(png|jpeg|gif|webp);base64,/)
    if (n.tagName === 'INPUT') expect(n.hasAttribute('disabled')).toBe(true)
  }
}

beforeAll(() => { expect(document).toBeDefined() })

test.each([
  ['**bold** and *em* and `code`', 'strong', 'bold'],
  ['# Title', 'h3', 'Title'],
  ['- a\n- b', 'li', 'a'],
  ['3. a\n4. b', 'ol', 'ab'],
  ['> quote', 'blockquote', 'quote'],
  ['| a | b |\n|---|--:|\n| 1 | 2 |', 'td', '1'],
  ['```go\nx := 1\n```', 'pre code', 'x := 1'],
  ['- [x] done', 'li input', ''],
  ['costs $x^2$ now', '.md-math', 'x^2'],
  ['$$\na+b\n$$', '.md-math-block', 'a+b'],
  ['\\[a+b\\]', '.md-math-block', 'a+b'],
  ['~~gone~~', 'del', 'gone'],
])('%s', (text, selector, want) => {
  const el = draw(text)
  safe(el)
  expect(el.querySelector(selector)?.textContent).toBe(want)
})

test('money is not a formula', () => {
  expect(draw('It costs $5 and then $10 more.').querySelector('.md-math')).toBeNull()
  expect(draw('from $5 to $10').textContent).toBe('from $5 to $10')
})

const HOSTILE = [
  '<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '<iframe srcdoc="<script>1</script>"></iframe>', '[x](javascript:alert(1))', '[x](JaVaScRiPt:alert(1))',
  '[x](data:text/html,<script>1</script>)', '![x](javascript:alert(1))', '![x](https://evil.example/p.png?q=secret)', '<a href="javascript:1">x</a>', '<style>*{display:none}</style>',
  '[x](https://user:pw@evil.example)', '[x]( \tjavascript:alert(1))', '![x](data:image/svg+xml;base64,PHN2Zz4=)', '<https://ok.example/\u202egnp.exe>', '[x](//evil.example)', '[x](#token=1)',
  '[a]: javascript:alert(1)\n\n[a]', '<svg onload=alert(1)>', '<math><mi xlink:href="javascript:1">x</mi></math>', '`</code><script>1</script>`', '```html\n<script>1</script>\n```', '<!-- x -->',
  '<base href="https://evil.example">', '<form action="https://evil.example"><button>x</button></form>', '<meta http-equiv=refresh content="0;url=https://evil.example">', '![](//evil.example/x.png)', '![a](../../gateway.token)',
]
test.each(HOSTILE)('hostile: %s', text => safe(draw(text)))

test('remote pictures are not loaded, and say where they are', () => {
  const a = draw('![cat](https://evil.example/cat.png)').querySelector('a')
  expect(a?.textContent).toContain('evil.example')
  expect(draw('![cat](https://evil.example/cat.png)').querySelector('img')).toBeNull()
})

test('any text is drawn safely', () => {
  const bits = fc.oneof(fc.constantFrom(...HOSTILE, '**', '```', '\n', '\n\n', '|', '- ', '1. ', '> ', '# ', '$', '$$', '[', '](', ')', '<', '>', '`', '\\', '&lt;', '\u202e'), fc.string({ maxLength: 8 }))
  fc.assert(fc.property(fc.array(bits, { maxLength: 25 }), list => safe(draw(list.join('')))), { numRuns: 400 })
})

test('text that grows is drawn as if it had come at once', () => {
  const lines = fc.constantFrom('words **bold** more\n', '\n', '- item\n', '  - inner\n', '1. one\n', '> quote\n', '```js\n', '```\n', 'let a = 1\n', '| a | b |\n', '|---|---|\n', '| 1 | 2 |\n', '# head\n', '---\n', '$$\n', 'x^2\n', 'end', '    indented\n', '<b>html</b>\n')
  fc.assert(fc.property(fc.array(lines, { maxLength: 30 }), fc.array(fc.nat(40), { maxLength: 30 }), (parts, cuts) => {
    const text = parts.join('')
    const s = new Stream()
    let at = 0
    for (const c of cuts) s.update(text.slice(0, (at = Math.min(text.length, at + c))))
    s.update(text)
    const grown = [...s.settled, ...s.tail].filter(t => t.type !== 'space')
    // Every word is there, in order, and nothing else.
    expect([...s.settled, ...s.tail].map(t => t.raw).join('')).toBe(lex(text).map(t => t.raw).join(''))
    expect(grown.length).toBeGreaterThanOrEqual(0)
  }), { numRuns: 600 })
})

test('a settled block is not parsed again', () => {
  const s = new Stream()
  let text = ''
  for (let i = 0; i < 200; i++) {
    text += `Paragraph ${i} with words.\n\n`
    s.update(text)
  }
  expect(s.settled.length).toBeGreaterThan(190)
  expect(s.rebuilt).toBe(0)
  s.update('other')
  expect(s.rebuilt).toBe(1)
})

test('endless lines and giant texts are cut, not parsed', () => {
  const line = 'x'.repeat(3 * WHOLE_BLOCK)
  expect(parse(line).every(t => (t.type as string) === 'plain')).toBe(true)
  expect(parse(line).map(t => t.raw).join('')).toBe(line)
  const long = 'para\n\n'.repeat(WHOLE_BLOCK / 2)
  expect(pieces(long).join('')).toBe(long)
  expect(pieces(long).length).toBeGreaterThan(2)
  const fence = '```\n' + '\n'.repeat(WHOLE_BLOCK) + '```\n'
  expect(pieces(fence)).toHaveLength(1)
})

test('giant tables show their beginning', () => {
  const el = draw('| a |\n|---|\n' + '| 1 |\n'.repeat(3000))
  expect(el.querySelectorAll('tr').length).toBe(101)
  const more = el.querySelector('.md-more') as HTMLButtonElement
  more.click()
  expect(el.querySelectorAll('tr').length).toBe(601)
  const wide = draw('|' + 'a|'.repeat(500) + '\n|' + '-|'.repeat(500) + '\n|' + '1|'.repeat(500))
  expect(wide.querySelectorAll('th').length).toBe(41)
})

test('deep nesting ends', () => {
  expect(() => draw('> '.repeat(400) + 'x')).not.toThrow()
  expect(() => draw(Array.from({ length: 60 }, (_, i) => ' '.repeat(i * 2) + '- x').join('\n'))).not.toThrow()
})

test('hidden characters are shown where they matter', () => {
  expect(visible('a\u202eb\u200bc')).toBe('a⟨U+202E⟩b⟨U+200B⟩c')
  expect(visible('tab\tand\nline')).toBe('tab\tand\nline')
  expect(draw('`rm\u202e x`').textContent).toContain('⟨U+202E⟩')
  expect(draw('prose \u202etxet').textContent).toBe('prose txet')
  expect(toolName('file_write')).toBe('File write')
  expect(pretty({ a: 1 })).toContain('"a": 1')
  expect(pretty(undefined)).toBe('')
})

test('links lead only to the web and to mail', () => {
  for (const bad of ['javascript:1', 'file:///etc/passwd', 'blob:x', '/api/stop', 'https://a:b@c.example', 'vbscript:x', '']) expect(safeLink(bad)).toBeNull()
  expect(safeLink('https://example.com/x')?.host).toBe('example.com')
  expect(safeLink('mailto:a@example.com')).not.toBeNull()
})
