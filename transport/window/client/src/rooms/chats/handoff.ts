// What a hand-off gives the person to finish: text to copy, and an address for the email app.

import type { HandOff, Preview } from '../../core/wire'

const field = (p: Preview, label: string) => p.fields?.find(f => f.label === label)?.value ?? ''

// copyText is the prepared thing as plain text.
export function copyText(h: HandOff): string {
  if (!h.preview) return (h.details ?? []).map(d => `${d.label}: ${d.value}`).join('\n')
  const body = h.preview.body ?? ''
  if (h.preview.kind === 'message' || h.preview.kind === 'post') return body
  const head = (h.preview.fields ?? []).map(f => `${f.label}: ${f.value}`).join('\n')
  return [head, body].filter(s => s).join('\n\n')
}

// mailAddress is a mailto: address of a prepared email, "" when it is none. Line breaks in headers are left out.
export function mailAddress(h: HandOff): string {
  const p = h.preview
  if (p?.kind !== 'email') return ''
  const line = (s: string) => s.replace(/[\r\n]+/g, ' ').trim()
  const q: string[] = []
  for (const [label, name] of [['Cc', 'cc'], ['Bcc', 'bcc'], ['Subject', 'subject']] as const) {
    const v = line(field(p, label))
    if (v) q.push(`${name}=${encodeURIComponent(v)}`)
  }
  if (p.body) q.push(`body=${encodeURIComponent(p.body.replace(/\r?\n/g, '\r\n'))}`)
  const to = line(field(p, 'To')).split(/[,;]\s*/).map(encodeURIComponent).join(',')
  const all = `mailto:${to}` + (q.length ? '?' + q.join('&') : '')
  return all.length > 8000 ? `mailto:${to}` : all
}
