// Keeps calls away from a service that has just failed, so that nobody waits for it each time.

const FIRST_MS = 1_000
const LONGEST_MS = 60_000

/**
 * After a failure nothing is let through for a second, then one call to try; each further failure
 * doubles the time, up to a minute. A call that succeeds lets everything through again.
 */
export class Breaker {
  #failures = 0
  #openUntil = 0
  #trying = false

  /** Milliseconds to wait; 0: go on, and tell `succeeded`, `failed` or `gaveUp` how it went. */
  enter(): number {
    if (this.#failures === 0) return 0
    const left = this.#openUntil - performance.now()
    if (left > 0) return left
    if (this.#trying) return FIRST_MS
    this.#trying = true
    return 0
  }

  succeeded(): void {
    this.#failures = 0
    this.#trying = false
  }

  /** Stopped by the caller: nothing was learned. */
  gaveUp(): void {
    this.#trying = false
  }

  /** `wished_ms`: what the service asked for. Returns how long nothing is let through. */
  failed(wished_ms: number | null): number {
    this.#trying = false
    this.#failures += 1
    const doubled = FIRST_MS * 2 ** Math.min(this.#failures - 1, 10)
    const wait = Math.min(LONGEST_MS, Math.max(doubled, wished_ms ?? 0))
    this.#openUntil = performance.now() + wait
    return wait
  }
}
