// rank orders what has a title by how well it fits what was typed: a beginning, then a word's beginning, then anywhere,
// then letters in order.
export function rank<T extends { title: string }>(list: readonly T[], query: string): T[] {
  const q = query.trim().toLocaleLowerCase()
  if (!q) return [...list]
  const scored = list.flatMap((item, i) => {
    const s = score(item.title.toLocaleLowerCase(), q)
    return s > 0 ? [{ item, s, i }] : []
  })
  return scored.sort((a, b) => b.s - a.s || a.i - b.i).map(x => x.item)
}

function score(title: string, q: string): number {
  if (title.startsWith(q)) return 4
  if (title.includes(' ' + q)) return 3
  if (title.includes(q)) return 2
  let at = 0
  for (const c of q) {
    at = title.indexOf(c, at)
    if (at < 0) return 0
    at++
  }
  return 1
}
