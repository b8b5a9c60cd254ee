// gist is the argument that says best what a call is about, in a few words.

import { visible } from '../../text/visible'

const TELLING = ['query', 'q', 'url', 'path', 'name', 'file', 'title', 'subject', 'to', 'command', 'text']

export function gist(args: unknown): string {
  if (typeof args === 'string') return visible(args.slice(0, 120))
  if (!args || typeof args !== 'object') return ''
  const o = args as Record<string, unknown>
  const keys = [...TELLING.filter(k => k in o), ...Object.keys(o)]
  for (const k of keys) {
    const v = o[k]
    if (typeof v === 'string' && v.trim()) return visible(v.trim().slice(0, 120).replace(/\s+/g, ' '))
  }
  return ''
}
