// Numbers for new facts, each with a secret that is already durable: taken from blocks made ahead.

import { type Kernel, perKernel } from '../../platform/kernel.ts'
import type { SecretBlock } from '../../platform/keys/keyring.ts'
import { KeyringError } from '../../platform/keys/keyring-error.ts'
import { findHighestRef } from './facts.sql.ts'

/** A number never used before, and the 32 bytes its fact is sealed under. */
export interface RefSecret {
  readonly ref: number
  readonly secret: Buffer
}

const BLOCK = 1_024
/** The next block is made while this many are left, so that a burst never waits for it. */
const REFILL_AT = 256
/** An import cannot push the counter further than this at a time: numbers must not run out. */
const JUMP_MAX = 2 ** 32

/** The process's stock of refs, by tenant. */
export const refStock: (kernel: Kernel) => (tenant_id: string) => RefStock = perKernel((kernel) => {
  const stocks = new Map<string, RefStock>()
  return (tenant_id) => {
    let stock = stocks.get(tenant_id)
    if (!stock) {
      stock = new RefStock(kernel, tenant_id)
      stocks.set(tenant_id, stock)
    }
    return stock
  }
})

export class RefStock {
  readonly #kernel: Kernel
  readonly #tenant_id: string
  readonly #blocks: SecretBlock[] = []
  #next = 0
  #left = 0
  #end = 0
  #reserving: Promise<void> | null = null

  constructor(kernel: Kernel, tenant_id: string) {
    this.#kernel = kernel
    this.#tenant_id = tenant_id
  }

  /** `count` refs, ascending, with gaps where a block ended. */
  async take(count: number): Promise<RefSecret[]> {
    const taken: RefSecret[] = []
    while (taken.length < count) {
      const wanted = count - taken.length
      while (this.#left < wanted) await this.#reserve({ count: Math.max(BLOCK, wanted) })
      const next = this.#takeNext()
      if (next) taken.push(next)
    }
    // A failed refill in advance is tried again, and told, by the take that finds too few.
    if (this.#left < REFILL_AT) this.#reserve({ count: BLOCK }).catch(() => {})
    return taken
  }

  /**
   * For an import: the wanted ref itself when no fact ever had it, else null. `span` numbers from
   * it on are reserved together. Refs before it that were not used stay unused.
   */
  async claim(wanted: number, span: number): Promise<RefSecret | null> {
    if (this.#end === 0) await this.#reserve({ count: BLOCK, from: wanted })
    for (;;) {
      const block = this.#blocks[0]
      const at = block ? this.#next : this.#end
      if (wanted < at || wanted - at > JUMP_MAX) return null
      if (block && wanted < block.first + block.count) {
        if (wanted < block.first) return null
        this.#left -= wanted - this.#next
        this.#next = wanted
        return this.#takeNext()
      }
      if (block) this.#dropBlock(block)
      else await this.#reserve({ count: Math.max(span, 1), from: wanted })
    }
  }

  /** null: the number was erased before any fact had it, as a label of decisions. */
  #takeNext(): RefSecret | null {
    const block = this.#blocks[0]
    if (!block) throw new Error('the stock of refs is empty')
    const ref = this.#next
    this.#next += 1
    this.#left -= 1
    const secret = secretUnlessDestroyed(block, ref)
    if (this.#next === block.first + block.count) this.#dropBlock(block)
    return secret && { ref, secret }
  }

  #dropBlock(block: SecretBlock): void {
    this.#left -= block.first + block.count - this.#next
    this.#blocks.shift()
    this.#next = this.#blocks[0]?.first ?? this.#end
  }

  // One reservation at a time; a caller that still lacks what it needs asks again.
  #reserve(wish: { count: number; from?: number }): Promise<void> {
    this.#reserving ??= this.#reserveNow(wish).finally(() => {
      this.#reserving = null
    })
    return this.#reserving
  }

  async #reserveNow({ count, from = 0 }: { count: number; from?: number }): Promise<void> {
    const { db, keyring } = this.#kernel
    const free = this.#end === 0 ? (await db.read(this.#tenant_id, findHighestRef)) + 1 : this.#end
    const near = from - free <= JUMP_MAX ? from : 0
    const at_least = Math.max(free, near)
    const block = await keyring.reserve(this.#tenant_id, 'fact', { at_least, count })
    if (this.#blocks.length === 0) this.#next = block.first
    this.#blocks.push(block)
    this.#left += block.count
    this.#end = block.first + block.count
  }
}

function secretUnlessDestroyed(block: SecretBlock, ref: number): Buffer | null {
  try {
    return block.secretAt(ref)
  } catch (error) {
    if (error instanceof KeyringError && error.code === 'secret_destroyed') return null
    throw error
  }
}
