// Dot products for searches that wait for their turn, computed beside those of a search that runs:
// reading the vectors from memory takes longer than multiplying them.

export class EarlyDots {
  /** The most queries that are computed beside the one that runs. */
  readonly #most: number
  /** Queries of searches that wait. */
  readonly #expected = new Set<Int8Array>()
  /** Dot products by query, then by slot. The arrays may be longer than the slots. */
  #dots = new Map<Int8Array, Int32Array>()
  /** The slots from the first on that the dot products are about. */
  #slots = 0
  #isComplete = false
  /** Arrays for the next dot products; kept, because they are large. */
  #spare: Int32Array[] = []

  constructor(most: number) {
    this.#most = most
  }

  /** Announces a query. Returns what ends the announcement. */
  expect(query: Int8Array): () => void {
    this.#expected.add(query)
    return () => {
      this.#expected.delete(query)
      this.#drop(query)
    }
  }

  /**
   * Copies the dot products of a query to `out`, at most `slots`. Returns the number of slots that
   * have them, 0 if none were computed.
   */
  take(query: Int8Array, { slots, out }: { slots: number; out: Int32Array }): number {
    this.#expected.delete(query)
    const dots = this.#isComplete && this.#slots <= slots && this.#dots.get(query)
    if (!dots) return 0
    out.set(dots.subarray(0, this.#slots))
    this.#drop(query)
    return this.#slots
  }

  /**
   * Drops what there is. Returns arrays for the dot products of some expected queries; whatever
   * drops them removes them from the map.
   */
  begin(slots: number): ReadonlyMap<Int8Array, Int32Array> {
    this.#dropAll()
    this.#slots = slots
    this.#dots = new Map()
    for (const query of [...this.#expected].slice(0, this.#most)) {
      const spare = this.#spare.pop()
      const isLongEnough = spare !== undefined && spare.length >= slots
      this.#dots.set(query, isLongEnough ? spare : new Int32Array(Math.ceil(slots * 1.25)))
    }
    return this.#dots
  }

  /** Call it when each array in a map of `begin` has the dot products of its query. */
  complete(dots: ReadonlyMap<Int8Array, Int32Array>): void {
    if (dots === this.#dots) this.#isComplete = true
  }

  /** Call it before the vector of a slot changes. Nothing is left of the old vector. */
  change(slot: number): void {
    if (slot >= this.#slots) return
    this.#dropAll()
    for (const dots of this.#spare) dots.fill(0)
  }

  /** Call it when all vectors are removed: queries that wait are of another space then. */
  release(): void {
    this.#expected.clear()
    this.#dropAll()
    this.#spare = []
  }

  bytes(): number {
    const arrays = [...this.#spare, ...this.#dots.values()]
    return arrays.reduce((sum, { byteLength }) => sum + byteLength, 0)
  }

  #dropAll(): void {
    for (const query of [...this.#dots.keys()]) this.#drop(query)
    this.#slots = 0
    this.#isComplete = false
  }

  #drop(query: Int8Array): void {
    const dots = this.#dots.get(query)
    if (dots) this.#spare.push(dots)
    this.#dots.delete(query)
  }
}
