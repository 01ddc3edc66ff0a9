// One signal for an attempt: aborted by the caller or by a time-out, without handles left behind.

import { TimeoutError } from './errors.ts'

/** A timer with more than this fires at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

export class Limit {
  readonly #controller = new AbortController()
  readonly #caller: AbortSignal | undefined
  readonly #what: string
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Whether headers arrived: what times out later is not repeated. */
  answered = false
  timedOut = false

  constructor(what: string, ms: number, caller: AbortSignal | undefined) {
    this.#what = what
    this.#caller = caller
    caller?.addEventListener('abort', this.#abort, { once: true })
    if (caller?.aborted) this.#abort()
    else this.restart(ms)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  readonly #abort = () => this.#controller.abort(this.#caller?.reason)

  /** Gives it another `ms` from now. */
  restart(ms: number): void {
    this.pause()
    if (ms <= TIMER_MS_MAX)
      this.#timer = setTimeout(() => {
        this.timedOut = true
        this.#controller.abort(new TimeoutError(`${this.#what}: no answer within ${ms} ms`))
      }, ms)
  }

  pause(): void {
    clearTimeout(this.#timer)
  }

  end(): void {
    this.pause()
    this.#caller?.removeEventListener('abort', this.#abort)
  }
}
