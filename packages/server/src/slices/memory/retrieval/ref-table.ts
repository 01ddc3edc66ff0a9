// A number by ref, in typed arrays: a third of what a map takes.

const FREE = -1
const PLACES_AT_FIRST = 16

/** Open addressing with linear probing; at most two places in three are taken. */
export class RefTable {
  #refs = new Float64Array(PLACES_AT_FIRST).fill(FREE)
  #values = new Uint32Array(PLACES_AT_FIRST)
  #size = 0

  get size(): number {
    return this.#size
  }

  get(ref: number): number | undefined {
    const place = this.#placeOf(ref)
    return this.#refs[place] === ref ? this.#values[place] : undefined
  }

  set(ref: number, value: number): void {
    let place = this.#placeOf(ref)
    if (this.#refs[place] !== ref) {
      if ((this.#size + 1) * 3 > this.#refs.length * 2) {
        this.#grow()
        place = this.#placeOf(ref)
      }
      this.#refs[place] = ref
      this.#size++
    }
    this.#values[place] = value
  }

  delete(ref: number): void {
    const mask = this.#refs.length - 1
    let gap = this.#placeOf(ref)
    if (this.#refs[gap] !== ref) return
    // What stands behind and could stand in the gap moves up, so that no search ends too early.
    for (let place = (gap + 1) & mask; this.#refs[place] !== FREE; place = (place + 1) & mask) {
      const moved = this.#refs[place] ?? 0
      const home = homeOf(moved, mask)
      if (((place - home) & mask) < ((place - gap) & mask)) continue
      this.#refs[gap] = moved
      this.#values[gap] = this.#values[place] ?? 0
      gap = place
    }
    this.#refs[gap] = FREE
    this.#values[gap] = 0
    this.#size--
  }

  bytes(): number {
    return this.#size === 0 ? 0 : this.#refs.length * 12
  }

  /** Where the ref stands, or the free place where it would. */
  #placeOf(ref: number): number {
    const refs = this.#refs
    const mask = refs.length - 1
    let place = homeOf(ref, mask)
    while (refs[place] !== ref && refs[place] !== FREE) place = (place + 1) & mask
    return place
  }

  #grow(): void {
    const [refs, values] = [this.#refs, this.#values]
    this.#refs = new Float64Array(refs.length * 2).fill(FREE)
    this.#values = new Uint32Array(refs.length * 2)
    for (let at = 0; at < refs.length; at++) {
      const ref = refs[at] ?? FREE
      if (ref === FREE) continue
      const place = this.#placeOf(ref)
      this.#refs[place] = ref
      this.#values[place] = values[at] ?? 0
    }
  }
}

/** Fibonacci hashing of both halves: refs are dense, or blocks with gaps between them. */
function homeOf(ref: number, mask: number): number {
  const low = Math.imul(ref | 0, 0x9e3779b1)
  const high = Math.imul((ref / 0x100000000) | 0, 0x85ebca6b)
  const mixed = low ^ high
  return (mixed ^ (mixed >>> 15)) & mask
}
