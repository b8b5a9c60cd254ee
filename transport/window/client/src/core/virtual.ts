// Which items of a long list are drawn. Heights are known once an item was seen and guessed before; positions are sums.

export class Heights {
  private known = new Map<string, number>()
  private keys: string[] = []
  private guesses: number[] = []
  private tops = new Float64Array(1)
  private dirty = true

  constructor(private gap = 0) {}

  // set gives the list anew: keys in order, with a guess of each height in pixels.
  set(keys: string[], guesses: number[]): void {
    this.keys = keys
    this.guesses = guesses
    this.dirty = true
  }

  // measured notes a height; false when it was known already.
  measured(key: string, height: number): boolean {
    const before = this.known.get(key)
    if (before !== undefined && Math.abs(before - height) < 0.5) return false
    this.known.set(key, height)
    this.dirty = true
    return true
  }

  // forgetAll is for a changed width: what was measured is only a guess now.
  forgetAll(): void {
    this.known.clear()
    this.dirty = true
  }

  private sums(): Float64Array {
    if (!this.dirty) return this.tops
    const n = this.keys.length
    const tops = new Float64Array(n + 1)
    for (let i = 0; i < n; i++) tops[i + 1] = tops[i]! + (this.known.get(this.keys[i]!) ?? this.guesses[i]!) + this.gap
    this.tops = tops
    this.dirty = false
    return tops
  }

  get length(): number { return this.keys.length }
  get total(): number { return this.sums()[this.keys.length]! }
  top(i: number): number { return this.sums()[Math.max(0, Math.min(i, this.keys.length))]! }
  index(key: string): number { return this.keys.indexOf(key) }
  key(i: number): string | undefined { return this.keys[i] }

  // at is the item at a distance from the top.
  at(y: number): number {
    const tops = this.sums()
    let lo = 0
    let hi = this.keys.length
    while (lo < hi) {
      const mid = (lo + hi) >> 1
      if (tops[mid + 1]! <= y) lo = mid + 1
      else hi = mid
    }
    return Math.min(lo, Math.max(0, this.keys.length - 1))
  }

  // range is the items between two distances, with some to spare on both sides.
  range(top: number, height: number, spare: number): { from: number; to: number } {
    if (this.keys.length === 0) return { from: 0, to: 0 }
    return { from: this.at(Math.max(0, top - spare)), to: Math.min(this.keys.length, this.at(top + height + spare) + 1) }
  }
}
