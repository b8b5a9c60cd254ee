// Settings as a flat list of fields, made from the engine's JSON schema, and what was changed in them.

export interface Schema {
  type?: string | string[]
  title?: string
  description?: string
  default?: unknown
  enum?: unknown[]
  minimum?: number
  maximum?: number
  minLength?: number
  properties?: Record<string, Schema>
  items?: Schema
  additionalProperties?: boolean | Schema
  'x-order'?: string[]
  'x-format'?: string
  'x-restart'?: boolean
}

export type FieldKind = 'switch' | 'number' | 'choice' | 'text' | 'lines' | 'json'

export interface Field {
  path: string[]
  key: string // the path with dots
  title: string
  description: string
  kind: FieldKind
  nullable: boolean
  integer: boolean
  choices: string[]
  min?: number
  max?: number
  format: string
  restart: boolean
  fallback: unknown
}

export interface Section { id: string; title: string; description: string; fields: Field[] }

export function sections(schema: Schema): Section[] {
  const props = schema.properties ?? {}
  return ordered(schema).map(id => ({ id, title: props[id]!.title ?? id, description: props[id]!.description ?? '', fields: fieldsOf(props[id]!, [id], '') }))
}

function ordered(s: Schema): string[] {
  const names = Object.keys(s.properties ?? {})
  const first = (s['x-order'] ?? []).filter(n => names.includes(n))
  return [...first, ...names.filter(n => !first.includes(n))]
}

function fieldsOf(s: Schema, path: string[], above: string): Field[] {
  return ordered(s).flatMap(name => {
    const child = s.properties![name]!
    const title = (above ? above + ': ' : '') + (child.title ?? name)
    return child.properties ? fieldsOf(child, [...path, name], title) : [field(child, [...path, name], title)]
  })
}

function field(s: Schema, path: string[], title: string): Field {
  const types = Array.isArray(s.type) ? s.type : [s.type ?? 'string']
  const base = types.find(t => t !== 'null') ?? 'string'
  return {
    path, key: path.join('.'), title, description: s.description ?? '', kind: kindOf(s, base), nullable: types.includes('null'), integer: base === 'integer',
    choices: (s.enum ?? []).map(String), min: s.minimum, max: s.maximum, format: s['x-format'] ?? '', restart: s['x-restart'] === true, fallback: s.default,
  }
}

function kindOf(s: Schema, base: string): FieldKind {
  if (base === 'boolean') return 'switch'
  if (s.enum) return 'choice'
  if (base === 'integer' || base === 'number') return 'number'
  if (base === 'array') return s.items?.type === 'string' || !s.items ? 'lines' : 'json'
  return base === 'object' ? 'json' : 'text'
}

export function valueAt(config: unknown, path: readonly string[]): unknown {
  let v = config
  for (const p of path) v = v && typeof v === 'object' ? (v as Record<string, unknown>)[p] : undefined
  return v
}

// equal compares values as JSON has them, whatever the order of an object's members.
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (!a || !b || typeof a !== 'object' || typeof b !== 'object' || Array.isArray(a) !== Array.isArray(b)) return false
  const x = a as Record<string, unknown>
  const y = b as Record<string, unknown>
  const keys = Object.keys(x)
  return keys.length === Object.keys(y).length && keys.every(k => k in y && equal(x[k], y[k]))
}

// toText is a value as its form field shows it.
export function toText(f: Field, v: unknown): string {
  if (v === null || v === undefined) return ''
  if (f.kind === 'json') return JSON.stringify(v, null, 2)
  if (f.kind === 'lines') return Array.isArray(v) ? v.join('\n') : ''
  return String(v)
}

export type Parsed = { ok: true; value: unknown } | { ok: false; why: string }

// fromText reads what was typed into a form field.
export function fromText(f: Field, text: string): Parsed {
  const t = text.trim()
  switch (f.kind) {
    case 'number': return t === '' && f.nullable ? { ok: true, value: null } : number(f, t)
    case 'lines': return { ok: true, value: text.split('\n').map(l => l.trim()).filter(l => l) }
    case 'json':
      try {
        return { ok: true, value: JSON.parse(t || '{}') }
      } catch {
        return { ok: false, why: 'This is not valid JSON yet.' }
      }
  }
  return { ok: true, value: t === '' && f.nullable ? null : text }
}

function number(f: Field, t: string): Parsed {
  const n = Number(t)
  if (t === '' || !Number.isFinite(n)) return { ok: false, why: 'Write a number.' }
  if (f.integer && !Number.isInteger(n)) return { ok: false, why: 'Write a whole number.' }
  if (f.min !== undefined && n < f.min) return { ok: false, why: `The smallest is ${f.min}.` }
  if (f.max !== undefined && n > f.max) return { ok: false, why: `The largest is ${f.max}.` }
  return { ok: true, value: n }
}

// patchOf is the partial object for PATCH. In free-form maps a member that was taken out is null, which removes it.
export function patchOf(config: unknown, drafts: ReadonlyMap<string, unknown>, fields: ReadonlyMap<string, Field>): Record<string, unknown> {
  const out: Record<string, unknown> = {}
  for (const [key, value] of drafts) {
    const f = fields.get(key)
    if (!f) continue
    let at = out
    for (const p of f.path.slice(0, -1)) at = (at[p] ??= {}) as Record<string, unknown>
    at[f.path[f.path.length - 1]!] = withRemovals(f, valueAt(config, f.path), value)
  }
  return out
}

function withRemovals(f: Field, before: unknown, after: unknown): unknown {
  if (f.kind !== 'json' || !before || !after || typeof before !== 'object' || typeof after !== 'object' || Array.isArray(after)) return after
  const gone = Object.keys(before).filter(k => !(k in after))
  return { ...after, ...Object.fromEntries(gone.map(k => [k, null])) }
}

// found says whether a search finds a field.
export function found(f: Field, section: Section, words: string[]): boolean {
  const text = `${section.title} ${f.title} ${f.description} ${f.key}`.toLowerCase()
  return words.every(w => text.includes(w))
}
