// Keeps calls from a service that fails.

const FIRST_MS = 1_000
const LONGEST_MS = 60_000

/**
 * After `failures` in a row nothing is let through for a second, then one call to try; each further
 * failure doubles the time, up to a minute. A call that succeeds lets everything through again.
 */
export class Breaker {
  readonly #allowed: number
  #failures = 0
  #openUntil = 0
  #trying = false

  /** @param failures in a row, after which calls are held */
  constructor(failures = 1) {
    this.#allowed = failures - 1
  }

  /** Milliseconds that calls are held; 0: one may try. */
  get held_ms(): number {
    if (this.#failures <= this.#allowed) return 0
    const left = this.#openUntil - performance.now()
    return left > 0 ? left : this.#trying ? FIRST_MS : 0
  }

  /** Milliseconds to wait; 0: go on, and tell `succeeded`, `failed` or `gaveUp` how it went. */
  enter(): number {
    const held_ms = this.held_ms
    if (held_ms === 0 && this.#failures > this.#allowed) this.#trying = true
    return held_ms
  }

  succeeded(): void {
    this.#failures = 0
    this.#trying = false
  }

  /** Stopped by the caller: nothing was learned. */
  gaveUp(): void {
    this.#trying = false
  }

  /** `wished_ms`: what the service asked for. Returns how long it is to be left alone. */
  failed(wished_ms: number | null): number {
    this.#trying = false
    this.#failures += 1
    const further = this.#failures - this.#allowed - 1
    const doubled = FIRST_MS * 2 ** Math.min(Math.max(0, further), 10)
    const wait = Math.min(LONGEST_MS, Math.max(doubled, wished_ms ?? 0))
    this.#openUntil = performance.now() + wait
    return wait
  }
}
