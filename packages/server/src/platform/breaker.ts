// A circuit breaker: stops calls to a service that fails.

const FIRST_MS = 1_000
const LONGEST_MS = 60_000

/**
 * After `failures` consecutive failures, blocks calls for a second and then allows one trial call.
 * Each further failure doubles the pause. If the service asks for a longer pause, that one applies.
 * No pause is longer than a minute. A call that succeeds closes the breaker.
 */
export class Breaker {
  readonly #allowed: number
  #failures = 0
  #openUntil = 0
  #trying = false

  /** @param failures consecutive failures after which calls are blocked */
  constructor(failures = 1) {
    this.#allowed = failures - 1
  }

  /** Milliseconds to wait before a call; a second while a trial call runs; 0 if one is allowed. */
  get held_ms(): number {
    if (this.#failures <= this.#allowed) return 0
    const left = this.#openUntil - performance.now()
    return left > 0 ? left : this.#trying ? FIRST_MS : 0
  }

  /** Returns milliseconds to wait. If 0, call, then report `succeeded`, `failed` or `gaveUp`. */
  enter(): number {
    const held_ms = this.held_ms
    if (held_ms === 0 && this.#failures > this.#allowed) this.#trying = true
    return held_ms
  }

  succeeded(): void {
    this.#failures = 0
    this.#trying = false
  }

  /** The caller stopped the call, so its outcome says nothing about the service. */
  gaveUp(): void {
    this.#trying = false
  }

  /**
   * @param wished_ms the pause that the service asked for; null if it asked for none
   * @returns the pause in milliseconds, which applies only if the breaker now blocks calls
   */
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
