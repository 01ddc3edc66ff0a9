// Where each secret of a tenant lies in the slot file: its blocks, read from keyring.db when needed.

import type { KeyringQueries } from '../shared/database.ts'
import { type BlockOwner, type BlockRow, listBlocks } from './blocks.sql.ts'

export class BlockIndex {
  readonly #db: KeyringQueries
  readonly #blocks = new Map<string, BlockRow[]>()

  constructor(db: KeyringQueries) {
    this.#db = db
  }

  /** Slots by number, of those numbers that were ever given out. */
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

  #known(owner: BlockOwner): BlockRow[] {
    const known = this.#blocks.get(keyOf(owner))
    if (known) return known
    const empty: BlockRow[] = []
    this.#blocks.set(keyOf(owner), empty)
    return empty
  }

  /** Adds blocks reserved since, through this connection or another. */
  async #refresh(owner: BlockOwner): Promise<BlockRow[]> {
    const known = this.#known(owner)
    const rows = await listBlocks(this.#db, owner, endOf(known))
    // Another refresh may have added some of them meanwhile.
    const end = endOf(known)
    for (const row of rows) if (row.first >= end) known.push(row)
    return known
  }
}

const keyOf = ({ tenant_id, kind }: BlockOwner): string => `${kind}\n${tenant_id}`

function endOf(blocks: readonly BlockRow[]): number {
  const last = blocks.at(-1)
  return last ? last.first + last.count : 0
}

function blockWith(blocks: readonly BlockRow[], number: number): BlockRow | undefined {
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
