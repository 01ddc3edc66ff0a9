// Finds the slots of a tenant's secrets, from its blocks in keyring.db.

import type { BlockOwner } from '../core/blocks.sql.ts'
import type { KeyringQueries } from '../core/database.ts'
import { listBlocks, type SlotBlock } from './slots.sql.ts'

export class BlockIndex {
  readonly #db: KeyringQueries
  readonly #blocks = new Map<string, SlotBlock[]>()

  constructor(db: KeyringQueries) {
    this.#db = db
  }

  /** The slot of each number that was ever given out. */
  async locate(owner: BlockOwner, numbers: readonly number[]): Promise<Map<number, number>> {
    const slots = new Map<number, number>()
    let blocks = this.#known(owner)
    let refreshed = false
    for (const number of numbers) {
      let block = blockWith(blocks, number)
      if (!block && !refreshed) {
        blocks = await this.#refresh(owner)
        refreshed = true
        block = blockWith(blocks, number)
      }
      if (block) slots.set(number, block.slot + number - block.first)
    }
    return slots
  }

  /** The blocks are read again: one may have been added before those that are known. */
  forget(owner: BlockOwner): void {
    this.#blocks.delete(keyOf(owner))
  }

  #known(owner: BlockOwner): SlotBlock[] {
    const known = this.#blocks.get(keyOf(owner))
    if (known) return known
    const empty: SlotBlock[] = []
    this.#blocks.set(keyOf(owner), empty)
    return empty
  }

  /** Adds blocks reserved since, through this connection or another. */
  async #refresh(owner: BlockOwner): Promise<SlotBlock[]> {
    const known = this.#known(owner)
    const rows = await listBlocks(this.#db, owner, endOf(known))
    // Another refresh may have added some of them meanwhile.
    const end = endOf(known)
    for (const row of rows) if (row.first >= end) known.push(row)
    return known
  }
}

const keyOf = ({ tenant_id, kind }: BlockOwner): string => `${kind}\n${tenant_id}`

function endOf(blocks: readonly SlotBlock[]): number {
  const last = blocks.at(-1)
  return last ? last.first + last.count : 0
}

function blockWith(blocks: readonly SlotBlock[], number: number): SlotBlock | undefined {
  let low = 0
  let high = blocks.length
  while (low < high) {
    const middle = (low + high) >> 1
    const block = blocks[middle]
    if (!block || number < block.first) high = middle
    else if (number >= block.first + block.count) low = middle + 1
    else return Number.isInteger(number) ? block : undefined
  }
  return undefined
}
