// Hands out one secret for each record that is sealed on its own: a decision, a store, a policy.

import type { SecretBlock } from '../keys/keyring.ts'
import { BlockSize } from './block-size.ts'
import { type Kernel, perKernel } from './kernel.ts'
import { findHighestRecordSecret } from './record-secrets.sql.ts'

export interface RecordSecret {
  /** The number to keep with the record; unique per tenant, never reused. */
  readonly secret_no: number
  /** 32 bytes, already durable in the keyring. */
  readonly secret: Buffer
}

const BLOCK_MAX = 1_024
/** The next block is reserved while this share of one is left, so that a burst never waits. */
const REFILL_AT = 1 / 4

/** The process's stock of record secrets. Decisions and stores share one numbering. */
export const recordSecrets = perKernel((kernel) => {
  const stocks = new Map<string, Stock>()
  return {
    async take(tenant_id: string): Promise<RecordSecret> {
      let stock = stocks.get(tenant_id)
      if (!stock) {
        stock = new Stock(kernel, tenant_id)
        stocks.set(tenant_id, stock)
      }
      return stock.take()
    },
  }
})

class Stock {
  readonly #kernel: Kernel
  readonly #tenant_id: string
  readonly #blocks: SecretBlock[] = []
  readonly #size = new BlockSize(BLOCK_MAX)
  #used = 0
  #left = 0
  #end = 0
  #refill: Promise<void> | null = null

  constructor(kernel: Kernel, tenant_id: string) {
    this.#kernel = kernel
    this.#tenant_id = tenant_id
  }

  async take(): Promise<RecordSecret> {
    while (this.#left === 0) await this.#startRefill()
    const taken = this.#next()
    // If a refill in advance fails, the `take` that finds nothing left retries and reports it.
    if (this.#left < this.#size.count * REFILL_AT) this.#startRefill().catch(() => {})
    return taken
  }

  #next(): RecordSecret {
    const [block] = this.#blocks
    if (!block) throw new Error('the stock of record secrets is empty')
    const secret_no = block.first + this.#used
    this.#used += 1
    this.#left -= 1
    if (this.#used === block.count) {
      this.#blocks.shift()
      this.#used = 0
    }
    return { secret_no, secret: block.secretAt(secret_no) }
  }

  #startRefill(): Promise<void> {
    this.#refill ??= this.#reserve().finally(() => {
      this.#refill = null
    })
    return this.#refill
  }

  async #reserve(): Promise<void> {
    const at_least = this.#end === 0 ? await this.#firstFree() : this.#end
    const block = await this.#kernel.keyring.reserve(this.#tenant_id, 'decision', {
      at_least,
      count: this.#size.next(),
    })
    this.#blocks.push(block)
    this.#left += block.count
    this.#end = block.first + block.count
  }

  // A keyring restored from an older backup may be behind the data. Skips the numbers in use, with
  // a block's margin for records that were sealed again since the newest decision.
  async #firstFree(): Promise<number> {
    const highest = await this.#kernel.db.read(this.#tenant_id, findHighestRecordSecret)
    return highest === 0 ? 1 : highest + 1 + BLOCK_MAX
  }
}
