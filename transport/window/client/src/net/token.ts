// The token comes once, in the address's fragment, which no server sees. It is taken out of the address and the history at
// once and kept for this tab only.

const KEY = 'sentient.token'

export function takeToken(): string {
  const m = /(?:^#|&)token=([^&]+)/.exec(location.hash)
  if (m) {
    try {
      setToken(decodeURIComponent(m[1]!))
    } catch { /* not a token of ours */ }
    history.replaceState(null, '', location.pathname + location.search)
  }
  return token()
}

export function token(): string { return sessionStorage.getItem(KEY) ?? '' }

export function setToken(t: string): void { sessionStorage.setItem(KEY, t.trim()) }

export function dropToken(): void { sessionStorage.removeItem(KEY) }
