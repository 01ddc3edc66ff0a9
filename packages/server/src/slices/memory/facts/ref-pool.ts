// A pool of refs for new facts, each with a durable secret, taken from reserved blocks.

import { BlockSize } from '../../../platform/kernel/block-size.ts'
import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'
import type { SecretBlock } from '../../../platform/keys/keyring.ts'
import { KeyringError } from '../../../platform/keys/keyring-error.ts'
import { findHighestRef } from './facts.sql.ts'

/** A ref that was never used before, and the 32-byte secret that its fact is sealed under. */
export interface RefSecret {
  readonly ref: number
  readonly secret: Buffer
}

/** Large, for tenants that write much: a reservation waits for the disk, and so do all writers. */
const BLOCK_MAX = 8_192
/** The next block is reserved when this share of a block is left, so that bursts do not wait. */
const REFILL_AT = 1 / 4
/** Maximum that one import can advance the counter by: refs must not run out. */
const JUMP_MAX = 2 ** 32

/** The refs that this process has reserved, by tenant. */
export const refPool: (kernel: Kernel) => (tenant_id: string) => RefPool = perKernel((kernel) => {
  const pools = new Map<string, RefPool>()
  return (tenant_id) => {
    let pool = pools.get(tenant_id)
    if (!pool) {
      pool = new RefPool(kernel, tenant_id)
      pools.set(tenant_id, pool)
    }
    return pool
  }
})

export class RefPool {
  readonly #kernel: Kernel
  readonly #tenant_id: string
  readonly #blocks: SecretBlock[] = []
  readonly #size = new BlockSize(BLOCK_MAX)
  #next = 0
  #left = 0
  #end = 0
  #reserving: Promise<void> | null = null

  constructor(kernel: Kernel, tenant_id: string) {
    this.#kernel = kernel
    this.#tenant_id = tenant_id
  }

  /** Returns `count` ascending refs, with gaps at block ends and at refs that were erased. */
  async take(count: number): Promise<RefSecret[]> {
    const taken: RefSecret[] = []
    while (taken.length < count) {
      const missing = count - taken.length
      while (this.#left < missing) await this.#reserve({ count: missing })
      const next = this.#takeNext()
      if (next) taken.push(next)
    }
    // The next call that finds too few refs retries a failed refill and reports its error.
    if (this.#left < this.#size.count * REFILL_AT) this.#reserve({ count: 0 }).catch(() => {})
    return taken
  }

  /**
   * For imports: returns the given ref if no fact ever had it, else null. Reserves `span` refs from
   * it on in one block. Skipped refs stay unused.
   */
  async claim(ref: number, span: number): Promise<RefSecret | null> {
    if (this.#end === 0) await this.#reserve({ count: Math.max(span, 1), from: ref })
    for (;;) {
      const block = this.#blocks[0]
      const at = block ? this.#next : this.#end
      if (ref < at || ref - at > JUMP_MAX) return null
      if (block && ref < block.first + block.count) {
        if (ref < block.first) return null
        this.#left -= ref - this.#next
        this.#next = ref
        return this.#takeNext()
      }
      if (block) this.#dropBlock(block)
      else await this.#reserve({ count: Math.max(span, 1), from: ref })
    }
  }

  /** Returns `null` if the ref was erased, as a label of decisions, before any fact had it. */
  #takeNext(): RefSecret | null {
    const block = this.#blocks[0]
    if (!block) throw new Error('the ref pool is empty')
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

  // Runs one reservation at a time; a caller that still lacks refs calls again. Without `from` the
  // block has at least `count` refs.
  #reserve(block: { count: number; from?: number }): Promise<void> {
    this.#reserving ??= this.#reserveNow(block).finally(() => {
      this.#reserving = null
    })
    return this.#reserving
  }

  async #reserveNow({ count: asked, from = 0 }: { count: number; from?: number }): Promise<void> {
    const { db, keyring } = this.#kernel
    const count = from === 0 ? Math.max(asked, this.#size.next()) : asked
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
