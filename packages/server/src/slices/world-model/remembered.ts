// What was made of records that never change: by their id, the most lately used of them.

export class Remembered<T> {
  readonly #max: number
  readonly #kept = new Map<string, T>()

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#kept.size
  }

  find(id: string): T | undefined {
    const known = this.#kept.get(id)
    if (known !== undefined) this.keep(id, known)
    return known
  }

  /** The one that was not used for longest goes. */
  keep(id: string, value: T): T {
    this.#kept.delete(id)
    this.#kept.set(id, value)
    const oldest = this.#kept.keys().next()
    if (this.#kept.size > this.#max && !oldest.done) this.#kept.delete(oldest.value)
    return value
  }
}
