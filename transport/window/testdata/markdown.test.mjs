import test from 'node:test'
import assert from 'node:assert'
import fs from 'node:fs'

// The modules are browser files without a package.json, so they are loaded as text.
const src = fs.readFileSync(new URL('../static/markdown.js', import.meta.url), 'utf8')
const { parse, inline, safe, render } = await import('data:text/javascript;base64,' + Buffer.from(src).toString('base64'))

test('blocks', () => {
  assert.deepEqual(parse('# Hi\n\ntext\nmore').map(b => b.tag), ['h3', 'p'])
  assert.deepEqual(parse('```js\na\n\n# b\n```\nafter'), [{ tag: 'pre', lang: 'js', text: 'a\n\n# b' }, { tag: 'p', inline: ['after'] }])
  assert.equal(parse('```\nnot closed yet').at(0).text, 'not closed yet')
  const list = parse('- a\n- b\n  - c\n\n1. x\n2. y')
  assert.deepEqual(list.map(b => b.tag), ['ul', 'ol'])
  assert.equal(list[0].items.length, 2)
  assert.equal(list[0].items[1][1].tag, 'ul')
  assert.deepEqual(parse('| a | b |\n|---|---|\n| 1 | 2 |')[0].rows, [[['1'], ['2']]])
  assert.equal(parse('> quoted\n> more')[0].blocks[0].tag, 'p')
  assert.equal(parse('a\n\n---')[1].tag, 'hr')
})

test('inline', () => {
  assert.deepEqual(inline('a **b** `c` *d*').map(s => s.tag || s), ['a ', 'strong', ' ', 'code', ' ', 'em'])
  assert.deepEqual(inline('2 * 3 * 4 and snake_case_name'), ['2 * 3 * 4 and snake_case_name'])
  assert.deepEqual(inline('`**not bold**`'), [{ tag: 'code', text: '**not bold**' }])
  assert.equal(inline('[x](https://a.b/c)')[0].href, 'https://a.b/c')
})

test('only the web and mail are links', () => {
  for (const bad of ['javascript:alert(1)', 'JaVaScRiPt:alert(1)', 'data:text/html,x', 'vbscript:x', '//evil', '/local', 'file:///etc/passwd', ' https://x']) {
    assert.equal(safe(bad), false, bad)
    assert.ok(inline(`[x](${bad})`).every(s => typeof s === 'string' || s.href !== bad), bad)
  }
  assert.ok(safe('https://example.org') && safe('mailto:a@b.c'))
})

test('text becomes text', () => {
  class Node {
    constructor(tag) { this.tag = tag; this.kids = []; this.dataset = {} }
    append(...k) { this.kids.push(...k) }
    get all() { return [this.tag, ...this.kids.flatMap(k => k instanceof Node ? k.all : [])] }
  }
  const made = []
  const doc = { createElement: t => { made.push(t); return new Node(t) }, createDocumentFragment: () => new Node('#') }
  render(parse('<img src=x onerror=alert(1)> <script>x</script>\n\n<b>hi</b>\n\n- <i>z</i>'), doc)
  assert.deepEqual([...new Set(made)].sort(), ['li', 'p', 'ul'])
})

test('anything ends', () => {
  const bits = ['*', '_', '`', '```', '\n', '- ', '1. ', '> ', '|', '[', '](', ')', '#', ' ', 'a', '~~', '  ', '---', 'https://x']
  let seed = 7
  const rnd = n => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % n
  for (let i = 0; i < 3000; i++) {
    let s = ''
    for (let j = rnd(30); j >= 0; j--) s += bits[rnd(bits.length)]
    assert.ok(Array.isArray(parse(s)), JSON.stringify(s))
  }
  parse('*'.repeat(20000) + '\n' + '['.repeat(20000) + '\n' + '`'.repeat(20000) + '\n' + '_a'.repeat(10000))
})
