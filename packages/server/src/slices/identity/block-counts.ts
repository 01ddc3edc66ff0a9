// Counts requests per minute and block of addresses, in this process.

import { blockOf } from '../../platform/egress/addresses.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'

const SECOND_US = 1_000_000
const MINUTE_US = 60 * SECOND_US
const BLOCKS_MAX = 10_000

export class BlockCounts {
  readonly #max: number
  readonly #message: string
  readonly #counts = new Map<string, number>()
  #minute = 0

  constructor(max: number, message: string) {
    this.#max = max
    this.#message = message
  }

  /** Counts a request for a subject. Above the limit, refuses until the minute is over. */
  take({ clock }: Kernel, address: string, subject = ''): void {
    const now_us = clock.now()
    const minute = Math.floor(now_us / MINUTE_US)
    if (this.#minute !== minute) this.#counts.clear()
    this.#minute = minute
    const own = `${subject} ${blockOf(address)}`
    const isCounted = this.#counts.has(own) || this.#counts.size < BLOCKS_MAX
    const key = isCounted ? own : 'others'
    const count = (this.#counts.get(key) ?? 0) + 1
    this.#counts.set(key, count)
    if (count <= this.#max) return
    const retry_after_s = 60 - Math.floor((now_us % MINUTE_US) / SECOND_US)
    throw new Refusal('rate_limited', this.#message, { retry_after_s })
  }
}
