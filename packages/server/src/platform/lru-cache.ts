// Pure: an LRU cache of bounded size or weight.

export class LruCache<K, V> {
  readonly #max: number
  readonly #weigh: (value: V) => number
  /** Entries in the order of their last use, so that the first is evicted first. */
  readonly #entries = new Map<K, { readonly value: V; readonly weight: number }>()
  #weight = 0

  /**
   * `max`: the sum of the weights kept at most; where nothing is weighed, the number of entries.
   * `weigh`: 1 for each entry by default.
   */
  constructor({
    max,
    weigh = () => 1,
  }: { readonly max: number; readonly weigh?: (value: V) => number }) {
    this.#max = max
    this.#weigh = weigh
  }

  get size(): number {
    return this.#entries.size
  }

  /** Returns the value and marks it as used. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** Like `get`, but does not mark the value as used, which saves a look-up. */
  peek(key: K): V | undefined {
    return this.#entries.get(key)?.value
  }

  has(key: K): boolean {
    return this.#entries.has(key)
  }

  /** Marks the value as used and returns it. A value heavier than the whole cache is not kept. */
  set(key: K, value: V): V {
    this.delete(key)
    const weight = this.#weigh(value)
    if (weight > this.#max) return value
    this.#entries.set(key, { value, weight })
    this.#weight += weight
    if (this.#weight > this.#max) this.#dropOldest()
    return value
  }

  delete(key: K): boolean {
    const entry = this.#entries.get(key)
    if (entry === undefined) return false
    this.#entries.delete(key)
    this.#weight -= entry.weight
    return true
  }

  clear(): void {
    this.#entries.clear()
    this.#weight = 0
  }

  /** Entries, least recently used first. Entries may be deleted during the iteration. */
  *entries(): Generator<[K, V]> {
    for (const [key, { value }] of this.#entries) yield [key, value]
  }

  #dropOldest(): void {
    for (const key of this.#entries.keys()) {
      if (this.#weight <= this.#max) return
      this.delete(key)
    }
  }
}
