// Which terms each slot has: what removing a fact needs to find every posting of it.

/** Runs of term ids in one flat array; a freed run is closed up once half of the array is free. */
export class SlotTerms {
  #ids = new Uint32Array(64)
  #used = 0
  #freed = 0
  readonly #starts: number[] = []
  readonly #counts: number[] = []

  set(slot: number, termIds: readonly number[]): void {
    this.#reserve(termIds.length)
    while (this.#starts.length <= slot) {
      this.#starts.push(0)
      this.#counts.push(0)
    }
    this.#starts[slot] = this.#used
    this.#counts[slot] = termIds.length
    this.#ids.set(termIds, this.#used)
    this.#used += termIds.length
  }

  /** The term ids of a slot, which it no longer has afterwards. */
  take(slot: number): Uint32Array {
    const start = this.#starts[slot] ?? 0
    const count = this.#counts[slot] ?? 0
    const termIds = this.#ids.slice(start, start + count)
    this.#counts[slot] = 0
    this.#freed += count
    return termIds
  }

  bytes(): number {
    return this.#ids.byteLength + this.#starts.length * 16
  }

  #reserve(extra: number): void {
    if (this.#used + extra <= this.#ids.length) return
    const live = this.#used - this.#freed
    // Closing up in place suffices when at least half was freed: both ways cost one pass.
    const capacity = Math.max(this.#ids.length, 64)
    const needed = live + extra
    const roomy = needed * 2 <= capacity ? capacity : Math.max(capacity * 2, needed * 2)
    this.#repack(new Uint32Array(roomy))
  }

  #repack(ids: Uint32Array<ArrayBuffer>): void {
    let used = 0
    for (let slot = 0; slot < this.#starts.length; slot++) {
      const start = this.#starts[slot] ?? 0
      const count = this.#counts[slot] ?? 0
      ids.set(this.#ids.subarray(start, start + count), used)
      this.#starts[slot] = used
      used += count
    }
    this.#ids = ids
    this.#used = used
    this.#freed = 0
  }
}
