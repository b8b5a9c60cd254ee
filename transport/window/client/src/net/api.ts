// The REST calls. A refusal is an Error whose message is the sentence the engine gave.

import { token } from './token'

export class Refused extends Error {
  constructor(readonly status: number, readonly detail: unknown) {
    super(sentence(status, detail))
  }
}

export interface FieldError { loc: string[]; msg: string }

function sentence(status: number, detail: unknown): string {
  if (typeof detail === 'string' && detail) return detail
  if (Array.isArray(detail)) return (detail as FieldError[]).map(d => `${(d.loc ?? []).join('.')}: ${d.msg}`).join('; ')
  if (status === 0) return 'Sentient cannot be reached. Is it still running?'
  return `Sentient refused this (${status}).`
}

export async function call<T>(method: string, path: string, body?: unknown, init: RequestInit = {}): Promise<T> {
  const headers: Record<string, string> = { Authorization: 'Bearer ' + token() }
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  let res: Response
  try {
    res = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), ...init })
  } catch {
    throw new Refused(0, null)
  }
  const value: unknown = await res.json().catch(() => null)
  if (!res.ok) throw new Refused(res.status, (value as { detail?: unknown } | null)?.detail)
  return value as T
}

export const get = <T>(path: string) => call<T>('GET', path)

// path builds an address of parts, each escaped; a file's name keeps its slashes.
export const path = (...parts: string[]) => '/' + parts.map(p => p.split('/').map(encodeURIComponent).join('/')).join('/')

export async function fileBlob(name: string): Promise<Blob> {
  let res: Response
  try {
    res = await fetch(path('api/files/content', name), { headers: { Authorization: 'Bearer ' + token() } })
  } catch {
    throw new Refused(0, null)
  }
  if (!res.ok) throw new Refused(res.status, ((await res.json().catch(() => null)) as { detail?: unknown } | null)?.detail)
  return res.blob()
}

const urls = new Map<string, Promise<string>>()
const URLS_KEPT = 60

// fileURL gives a picture of the files folder an address this page may show. A name never means another file later.
export function fileURL(name: string): Promise<string> {
  const have = urls.get(name)
  if (have) return have
  const made = fileBlob(name).then(b => URL.createObjectURL(b.type.startsWith('image/') ? b : new Blob([b], { type: 'application/octet-stream' })))
  urls.set(name, made)
  made.catch(() => urls.delete(name))
  if (urls.size > URLS_KEPT) {
    const [first, old] = urls.entries().next().value!
    urls.delete(first)
    void old.then(u => URL.revokeObjectURL(u)).catch(() => undefined)
  }
  return made
}

export function saveBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob)
  const a = document.createElement('a')
  a.href = url
  a.download = name.split('/').pop() || 'file'
  a.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

export interface Uploading {
  done: Promise<{ name: string; size: number; mime: string }>
  cancel(): void
}

// upload sends a file and tells how much of it went (0 to 1).
export function upload(file: File, progress: (share: number) => void): Uploading {
  const x = new XMLHttpRequest()
  const done = new Promise<{ name: string; size: number; mime: string }>((resolve, reject) => {
    x.open('POST', '/api/files')
    x.setRequestHeader('Authorization', 'Bearer ' + token())
    x.responseType = 'json'
    x.upload.onprogress = e => e.lengthComputable && progress(e.loaded / e.total)
    x.onload = () => (x.status < 300 ? resolve(x.response) : reject(new Refused(x.status, (x.response as { detail?: unknown } | null)?.detail)))
    x.onerror = () => reject(new Refused(0, null))
    x.onabort = () => reject(new Refused(0, 'The upload was cancelled.'))
    const form = new FormData()
    form.append('source', 'upload')
    form.append('file', file, file.name || 'pasted')
    x.send(form)
  })
  return { done, cancel: () => x.abort() }
}
