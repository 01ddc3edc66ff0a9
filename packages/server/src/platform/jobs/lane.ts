// A queue of jobs that are run one after another: woken when one is due, and now and then.

const POLL_MS = 1_000

export class Lane {
  readonly #drain: () => Promise<void>
  #timer: NodeJS.Timeout | undefined
  #current: Promise<void> | undefined
  #stopped = false

  /** @param drain runs what is due until there is nothing, or the process stops */
  constructor(drain: () => Promise<void>) {
    this.#drain = drain
  }

  /** What is being run. */
  get current(): Promise<void> | undefined {
    return this.#current
  }

  wake(): void {
    this.#wakeIn(0)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#current
  }

  #wakeIn(delayMs: number): void {
    if (this.#stopped || this.#current) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#current = this.#drain().finally(() => {
        this.#current = undefined
        this.#wakeIn(POLL_MS)
      })
    }, delayMs)
    this.#timer.unref()
  }
}
