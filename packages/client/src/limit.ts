// The abort signal of one attempt, fired by the caller or by a timeout; it leaves no timer behind.

import { TimeoutError } from './errors.ts'

/** The longest delay of a timer; a longer one fires at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

export class Limit {
  readonly #controller = new AbortController()
  readonly #caller: AbortSignal | undefined
  readonly #what: string
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Whether the headers arrived. A timeout after that is not retried. */
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

  /** Restarts the timeout, `ms` from now. */
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
