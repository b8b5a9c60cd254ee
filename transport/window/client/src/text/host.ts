// What rendered text is given by this page: the clipboard, and colours and formulas that are loaded when first needed.

import { fileURL } from '../net/api'
import { type Host, picture } from './render'

const MAX_COLOURED = 40_000

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}

const idle = (f: () => void) => ('requestIdleCallback' in window ? requestIdleCallback(f, { timeout: 1000 }) : setTimeout(f, 50))

export const host: Host = {
  copy,
  math(el, source, display) {
    void import('./math').then(m => m.draw(el, source, display)).catch(() => undefined) // the source stays
  },
  code(el, source, language) {
    if (!language || source.length > MAX_COLOURED) return
    idle(() => void import('./colour').then(m => el.isConnected && m.colour(el, source, language)).catch(() => undefined))
  },
  file(el, name) {
    if (!/\.(png|jpe?g|gif|webp|avif|bmp)$/i.test(name)) return
    void fileURL(name).then(url => el.replaceChildren(picture(url, el.textContent ?? name))).catch(() => undefined)
  },
}

export { copy }
