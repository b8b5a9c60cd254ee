// A small Markdown: what models write most. parse is pure (text to a tree), render makes elements of the tree. Text becomes
// text nodes only, and links lead to the web or to mail only, so nothing a model or a page wrote can run.

export function parse(text) {
  const lines = text.replace(/\r\n?/g, '\n').split('\n')
  const out = []
  let i = 0
  while (i < lines.length) {
    const line = lines[i]
    let m
    if ((m = /^\s{0,3}(```+|~~~+)\s*([\w+#.-]*)/.exec(line))) {
      const fence = m[1], body = []
      for (i++; i < lines.length && !lines[i].trimStart().startsWith(fence); i++) body.push(lines[i])
      i++
      out.push({ tag: 'pre', lang: m[2], text: body.join('\n') })
    } else if ((m = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line))) {
      out.push({ tag: 'h' + Math.min(6, m[1].length + 2), inline: inline(m[2]) }); i++
    } else if (/^\s{0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) {
      out.push({ tag: 'hr' }); i++
    } else if (/^\s{0,3}>/.test(line)) {
      const body = []
      for (; i < lines.length && /^\s{0,3}>/.test(lines[i]); i++) body.push(lines[i].replace(/^\s{0,3}>\s?/, ''))
      out.push({ tag: 'blockquote', blocks: parse(body.join('\n')) })
    } else if ((m = /^\s{0,3}([-*+]|\d{1,9}[.)])\s+/.exec(line))) {
      const ordered = /\d/.test(m[1]), items = []
      const start = ordered ? parseInt(m[1], 10) : 1
      while (i < lines.length) {
        const item = /^\s{0,3}([-*+]|\d{1,9}[.)])\s+(.*)$/.exec(lines[i])
        if (!item || /\d/.test(item[1]) !== ordered) break
        const body = [item[2]]
        for (i++; i < lines.length && (/^\s{2,}\S/.test(lines[i]) || (lines[i] === '' && /^\s{2,}\S/.test(lines[i + 1] || ''))); i++) {
          body.push(lines[i].replace(/^\s{2,4}/, ''))
        }
        items.push(parse(body.join('\n')))
      }
      out.push({ tag: ordered ? 'ol' : 'ul', items, start })
    } else if (line.includes('|') && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[i + 1] || '') && lines[i + 1].includes('-')) {
      const head = cells(line), rows = []
      for (i += 2; i < lines.length && lines[i].includes('|'); i++) rows.push(cells(lines[i]))
      out.push({ tag: 'table', head, rows })
    } else if (line.trim() === '') {
      i++
    } else {
      const body = []
      for (; i < lines.length && lines[i].trim() !== '' && !/^\s{0,3}(```|~~~|>|#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s)/.test(lines[i]); i++) body.push(lines[i])
      if (body.length === 0) body.push(lines[i++])
      out.push({ tag: 'p', inline: inline(body.join('\n')) })
    }
  }
  return out
}

function cells(line) { return line.trim().replace(/^\||\|$/g, '').split('|').map(c => inline(c.trim())) }

const INLINE = /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|\*\*(\S(?:[\s\S]*?\S)?)\*\*|(?<![\w*])\*(\S(?:[^*]*?\S)?)\*(?!\*)|(?<!\w)_(\S(?:[^_]*?\S)?)_(?!\w)|~~(\S(?:[^~]*?\S)?)~~|\[([^\]\n]{1,500})\]\(([^\s)]{1,2000})\)|\bhttps?:\/\/[^\s<>"')\]]+/

export function inline(text, depth = 0) {
  const out = []
  while (text) {
    const m = depth < 8 ? INLINE.exec(text) : null
    if (!m) { out.push(text); break }
    if (m.index > 0) out.push(text.slice(0, m.index))
    text = text.slice(m.index + m[0].length)
    if (m[1]) out.push({ tag: 'code', text: m[2] })
    else if (m[3]) out.push({ tag: 'strong', inline: inline(m[3], depth + 1) })
    else if (m[4] || m[5]) out.push({ tag: 'em', inline: inline(m[4] || m[5], depth + 1) })
    else if (m[6]) out.push({ tag: 's', inline: inline(m[6], depth + 1) })
    else if (m[7]) out.push(safe(m[8]) ? { tag: 'a', href: m[8], inline: [m[7]] } : m[0])
    else out.push({ tag: 'a', href: m[0], inline: [m[0]] })
  }
  return out
}

// safe says whether a link may be followed: the web and mail, nothing that runs.
export function safe(href) { return /^(https?:\/\/|mailto:)[^\s]+$/i.test(href) }

export function render(blocks, doc = document) {
  const f = doc.createDocumentFragment()
  for (const b of blocks) f.append(block(b, doc))
  return f
}

function block(b, doc) {
  const node = doc.createElement(b.tag)
  switch (b.tag) {
    case 'pre': {
      const code = doc.createElement('code')
      code.textContent = b.text
      if (b.lang) node.dataset.lang = b.lang
      node.tabIndex = 0
      node.append(code)
      break
    }
    case 'ul': case 'ol':
      if (b.tag === 'ol' && b.start !== 1) node.start = b.start
      for (const item of b.items) {
        const li = doc.createElement('li')
        if (item.length === 1 && item[0].tag === 'p') spans(li, item[0].inline, doc)
        else li.append(render(item, doc))
        node.append(li)
      }
      break
    case 'blockquote': node.append(render(b.blocks, doc)); break
    case 'table': {
      const row = (list, tag) => {
        const tr = doc.createElement('tr')
        for (const c of list) { const cell = doc.createElement(tag); spans(cell, c, doc); tr.append(cell) }
        return tr
      }
      node.append(row(b.head, 'th'), ...b.rows.map(r => row(r, 'td')))
      break
    }
    case 'hr': break
    default: spans(node, b.inline, doc)
  }
  return node
}

function spans(node, list, doc) {
  for (const s of list) {
    if (typeof s === 'string') { node.append(s); continue }
    const e = doc.createElement(s.tag)
    if (s.tag === 'code') e.textContent = s.text
    else spans(e, s.inline, doc)
    if (s.tag === 'a') { e.href = s.href; e.target = '_blank'; e.rel = 'noopener noreferrer' }
    node.append(e)
  }
}
