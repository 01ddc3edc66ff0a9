// A client of several processes at once: each request goes to any of them, until it is stopped.

import { setTimeout as delay } from 'node:timers/promises'
import { type Answer, Client, Interrupted, type RawSent } from './client.ts'
import { runLoad } from './load.ts'
import type { Promises } from './promises.ts'
import type { Random } from './random.ts'

export interface Spread {
  readonly urls: readonly string[]
  readonly key: string
  readonly random: Random
  /** Whether a 503 with Retry-After is an answer to expect: then the request is in doubt. */
  readonly refusals?: boolean
}

export class SpreadClient extends Client {
  readonly #targets: readonly Client[]
  readonly #random: Random
  readonly #refusals: boolean
  #stopped = false
  /** Requests that were answered. */
  answered = 0
  /** Of them with 503. */
  refused = 0

  constructor({ urls, key, random, refusals = false }: Spread) {
    super(urls[0] ?? '', key)
    this.#targets = urls.map((url) => new Client(url, key))
    this.#random = random
    this.#refusals = refusals
  }

  /** What is under way is answered; every later request is interrupted before it is sent. */
  stop(): void {
    this.#stopped = true
  }

  get stopped(): boolean {
    return this.#stopped
  }

  override async raw(method: string, path: string, sent: RawSent): Promise<Answer> {
    const target = this.#random.pick(this.#targets)
    if (this.#stopped || target === undefined) throw new Interrupted(`${method} ${path}`)
    const answer = await target.raw(method, path, sent)
    this.answered += 1
    if (answer.status !== 503 || !this.#refusals) return answer
    this.refused += 1
    if (answer.retry_after === null) throw new Error(`${method} ${path}: 503 without Retry-After`)
    throw new Interrupted(`${method} ${path}`)
  }
}

interface LoadOptions {
  readonly client: SpreadClient
  readonly store_id: string
  readonly promises: Promises
  readonly random: Random
  readonly first: number
  readonly workers: number
  /** After a refusal: each may leave a request in doubt, which a check asks for again. */
  readonly pause_ms?: number
}

/** One of `workers`. After each refusal it starts again under a new name. */
export async function repeatLoad(options: LoadOptions): Promise<void> {
  const { client, first, workers, pause_ms = 20, ...parts } = options
  for (let round = first; !client.stopped; round += workers) {
    await runLoad({ ...parts, client, round }, 1)
    await delay(pause_ms)
  }
}
