// Verifies the entries of a log, one after another, and hands what holds to a tally.

import type { JsonObject } from '@custos/proof'
import { EntryTree } from './entry-tree.ts'
import type { EntryRow, EpochRow } from './evidence.sql.ts'
import type { Entry, Tally } from './tally.ts'

type LinkedEntry = Entry & { readonly prev_id: string }

/** Each is hashed, linked to the one before, and the tree compared with what was signed of it. */
export class EntryVerifier {
  readonly tally: Tally
  /** The first thing that does not hold. */
  problem: string | null = null
  epochsVerified = 0
  lastEpoch: EpochRow | null = null
  readonly #tree = new EntryTree()
  readonly #epochs: readonly EpochRow[]
  #lastId = '0'.repeat(64)
  #lastAt = ''
  #next = 0

  /** @param epochs in the order of the sizes of their trees */
  constructor(epochs: readonly EpochRow[], tally: Tally) {
    this.#epochs = epochs
    this.tally = tally
  }

  get size(): number {
    return this.#tree.size
  }

  /** Lower hex; null: nothing holds, or there is nothing. */
  get root(): string | null {
    return this.#tree.root
  }

  take({ seq, id, record }: EntryRow): void {
    if (seq !== this.size) {
      this.problem = 'entry_missing'
      return
    }
    const leaf = this.#tree.leafOf(record)
    if (leaf !== id) {
      this.problem = 'entry_changed'
      return
    }
    const entry = entryOf(record)
    if (entry?.seq !== seq) this.problem = 'entry_malformed'
    else if (entry.prev_id !== this.#lastId) this.problem = 'chain_broken'
    else if (entry.created_at <= this.#lastAt) this.problem = 'time_not_rising'
    if (!entry || this.problem !== null) return
    this.#tree.append(leaf)
    this.#lastId = leaf
    this.#lastAt = entry.created_at
    this.#checkEpochs()
    this.tally.take(entry)
  }

  #checkEpochs(): void {
    for (;;) {
      const epoch = this.#epochs[this.#next]
      if (!epoch || epoch.tree_size > this.size) return
      if (this.root !== Buffer.from(epoch.root_hash).toString('hex')) {
        this.problem = 'epoch_root_mismatch'
        return
      }
      this.#next += 1
      this.epochsVerified += 1
      this.lastEpoch = epoch
    }
  }
}

function entryOf(record: string): LinkedEntry | null {
  try {
    // Its bytes are those the leaf was made of; what a report needs of it is checked.
    const entry = JSON.parse(record) as LinkedEntry & { payload: JsonObject }
    return typeof entry.created_at === 'string' && typeof entry.payload === 'object' ? entry : null
  } catch {
    return null
  }
}
