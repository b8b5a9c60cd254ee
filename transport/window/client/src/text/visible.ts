// Characters that change how other text looks without being seen themselves. Where text decides something (what a tool is
// about to do, code that will be run), they are shown by their names.

const HIDDEN = /[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g

export function visible(text: string): string {
  return text.replace(HIDDEN, c => `⟨U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`)
}

// plainBidi takes direction overrides out of prose; the direction of each block is found from its words.
export function plainBidi(text: string): string {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '')
}

// direction is that of the first letter that has one (Unicode UAX 9, P2 and P3).
export function direction(text: string): 'ltr' | 'rtl' {
  const m = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]|\p{L}/u.exec(text)
  return m && /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u.test(m[0]) ? 'rtl' : 'ltr'
}

// toolName is a tool's name as people read it.
export function toolName(name: string): string {
  const s = visible(name).replace(/_/g, ' ').trim() || 'tool'
  return s.charAt(0).toUpperCase() + s.slice(1)
}

// pretty is any value as text.
export function pretty(v: unknown): string {
  if (typeof v === 'string') return v
  try {
    return JSON.stringify(v, null, 2) ?? ''
  } catch {
    return ''
  }
}
