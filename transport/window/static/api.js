// The token, the REST calls, and the small helpers that build the page. Text only ever becomes text: there is no HTML here.

const KEY = 'sentient.token'

// takeToken reads the token from the address once, and takes it out of the address and the history.
export function takeToken() {
  const m = /(?:^#|&)token=([^&]+)/.exec(location.hash)
  if (m) {
    sessionStorage.setItem(KEY, decodeURIComponent(m[1]))
    history.replaceState(null, '', location.pathname + location.search)
  }
  return sessionStorage.getItem(KEY) || ''
}

export function setToken(t) { sessionStorage.setItem(KEY, t.trim()) }
export function token() { return sessionStorage.getItem(KEY) || '' }

export class Refused extends Error {
  constructor(status, detail) { super(sentence(detail)); this.status = status }
}

function sentence(detail) {
  if (typeof detail === 'string') return detail
  if (Array.isArray(detail)) return detail.map(d => `${(d.loc || []).join('.')}: ${d.msg}`).join('; ')
  return 'Something went wrong.'
}

export async function call(method, path, body) {
  const init = { method, headers: { Authorization: 'Bearer ' + token() } }
  if (body instanceof FormData) init.body = body
  else if (body !== undefined) { init.headers['Content-Type'] = 'application/json'; init.body = JSON.stringify(body) }
  let res
  try { res = await fetch(path, init) } catch { throw new Refused(0, 'Sentient cannot be reached. Is it still running?') }
  let value = null
  try { value = await res.json() } catch { /* no body */ }
  if (!res.ok) throw new Refused(res.status, value && value.detail)
  return value
}

// el makes an element: el('button.primary', {onclick}, 'Send', child, ...).
export function el(spec, props, ...children) {
  const [tag, ...classes] = spec.split('.')
  const node = document.createElement(tag || 'div')
  if (classes.length) node.className = classes.join(' ')
  for (const [k, v] of Object.entries(props || {})) {
    if (k.startsWith('on')) node.addEventListener(k.slice(2), v)
    else if (k in node && k !== 'list' && k !== 'role') node[k] = v
    else if (v !== null && v !== undefined && v !== false) node.setAttribute(k, v)
  }
  for (const c of children.flat()) if (c !== null && c !== undefined) node.append(c)
  return node
}

export function say(text) { document.getElementById('status').textContent = text }

export function newID() {
  const b = crypto.getRandomValues(new Uint8Array(12))
  return Array.from(b, x => x.toString(16).padStart(2, '0')).join('')
}
