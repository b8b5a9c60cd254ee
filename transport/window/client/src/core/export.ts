// A chat as a Markdown document.

import type { Item } from './items'

export function exportMarkdown(title: string, assistant: string, user: string, items: readonly Item[]): string {
  const out = [`# ${title}`, '']
  for (const i of items) {
    if (i.kind === 'mark') out.push(`*${i.text}*`, '')
    else if (i.kind === 'user') {
      out.push(`## ${i.name || user || 'You'}`, '', i.text, '')
      if (i.attachments.length) out.push(...i.attachments.map(a => `- Attached: ${a}`), '')
    } else {
      out.push(`## ${assistant}`, '')
      for (const p of i.parts) {
        if (p.type === 'text') out.push(p.text, '')
        else if (p.type === 'steer') out.push(`> ${user || 'You'}: ${p.text.replace(/\n/g, '\n> ')}`, '')
        else if (p.type === 'tool') out.push(`*Used ${p.name} (${p.state}).*`, '')
      }
      if (i.end === 'stopped') out.push('*(stopped)*', '')
      if (i.end === 'interrupted') out.push('*(interrupted)*', '')
      if (i.sources.length) out.push('Sources:', '', ...i.sources.map(s => `- ${s.title || s.file || s.app || s.url}${s.url ? ` <${s.url}>` : ''}`), '')
    }
  }
  return out.join('\n').trimEnd() + '\n'
}

// fileName makes a title a file's name.
export function exportName(title: string): string {
  const s = title.replace(/[^\p{L}\p{N} _-]+/gu, '').trim().replace(/\s+/g, '-').slice(0, 60)
  return (s || 'chat') + '.md'
}

// replyText is the words of a reply, for the clipboard and for screen readers.
export function replyText(item: Item): string {
  return item.kind === 'reply' ? item.parts.flatMap(p => (p.type === 'text' ? [p.text] : [])).join('\n\n') : item.kind === 'user' ? item.text : ''
}
