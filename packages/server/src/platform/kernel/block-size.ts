// How many secrets a process reserves at once for a tenant: few at first, more where they run out.

/** A block that did not last this long is followed by one of twice its size. */
const SHORT_MS = 1_000
/** A block that lasted longer than this is followed by one of half its size. */
const LONG_MS = 10_000
/** Each secret is sealed and written before its first use, and many tenants write once a day. */
const COUNT_MIN = 64

export class BlockSize {
  readonly #max: number
  #count = COUNT_MIN
  #reserved_ms = Number.NEGATIVE_INFINITY

  /** @param max secrets in the largest block */
  constructor(max: number) {
    this.#max = max
  }

  /** Secrets in the current block. */
  get count(): number {
    return this.#count
  }

  /** Secrets in the next block, which is reserved now. */
  next(now_ms = performance.now()): number {
    const lasted_ms = now_ms - this.#reserved_ms
    this.#reserved_ms = now_ms
    if (lasted_ms < SHORT_MS) this.#count = Math.min(this.#max, this.#count * 2)
    if (lasted_ms > LONG_MS) this.#count = Math.max(COUNT_MIN, this.#count / 2)
    return this.#count
  }
}
