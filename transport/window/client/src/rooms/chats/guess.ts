// How high an item will be, in pixels, before it was ever drawn. It only has to be about right: the page stays put when the
// real height comes.

import type { Item } from '../../core/items'

const cache = new WeakMap<Item, number>()

export function guess(item: Item): number {
  const have = cache.get(item)
  if (have !== undefined) return have
  const g = estimate(item)
  cache.set(item, g)
  return g
}

const lines = (text: string, width: number) => Math.min(60, Math.ceil(text.length / width))

function estimate(item: Item): number {
  if (item.kind === 'mark') return 44
  if (item.kind === 'user') return 50 + lines(item.text, 70) * 26
  let h = 54
  for (const p of item.parts) {
    if (p.type === 'text') h += Math.min(6000, Math.ceil(p.text.length / 88) * 27)
    else if (p.type === 'tool') h += 40
    else h += 36
    if (h > 8000) break
  }
  return h
}
