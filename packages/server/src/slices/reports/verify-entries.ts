// Verifies the entries of a log, one after another, and hands what holds to a tally.

import type { JsonObject } from '@custos/proof'
import { EntryTree } from './entry-tree.ts'
import type { EntryRow, EpochRow } from './evidence.sql.ts'
import type { Entry, Tally } from './tally.ts'

type LinkedEntry = Entry & { readonly prev_id: string }

/** An epoch whose root the entries reproduce. */
export interface Reached {
  readonly epoch: EpochRow
  /** The newest entry it covers is of the period. */
  readonly inPeriod: boolean
}

interface Checkpoints {
  count: number
  last_seq: number | null
}

/** Each is hashed, linked to the one before, and the tree compared with what was signed of it. */
export class EntryVerifier {
  readonly tally: Tally
  /** The first thing that does not hold. */
  problem: string | null = null
  /** The first entry that does not. */
  problemAt: number | null = null
  epochsVerified = 0
  lastEpoch: EpochRow | null = null
  /** Of the period, as far as verified. */
  readonly checkpoints: Checkpoints = { count: 0, last_seq: null }
  readonly #tree = new EntryTree()
  #epochs: readonly EpochRow[] = []
  #reached: Reached[] = []
  #lastId = '0'.repeat(64)
  #lastAt = ''
  #next = 0

  constructor(tally: Tally) {
    this.tally = tally
  }

  /** Those over the entries to be taken next, in the order of the sizes of their trees. */
  expect(epochs: readonly EpochRow[]): void {
    this.#epochs = epochs
    this.#next = 0
  }

  fail(problem: string, at: number | null): void {
    this.problem = problem
    this.problemAt = at
  }

  /** Since the last time: their signatures are still to be checked. */
  takeReached(): readonly Reached[] {
    const reached = this.#reached
    this.#reached = []
    return reached
  }

  checked({ epoch, inPeriod }: Reached, valid: boolean): void {
    this.lastEpoch = epoch
    if (!valid) return void this.fail('checkpoint_invalid', null)
    this.epochsVerified += 1
    if (!inPeriod) return
    this.checkpoints.count += 1
    this.checkpoints.last_seq = epoch.tree_size - 1
  }

  get size(): number {
    return this.#tree.size
  }

  /** Lower hex; null: nothing holds, or there is nothing. */
  get root(): string | null {
    return this.#tree.root
  }

  take({ seq, id, record }: EntryRow): void {
    if (seq !== this.size) return void this.fail('entry_missing', this.size)
    const leaf = this.#tree.leafOf(record)
    if (leaf !== id) return void this.fail('entry_changed', seq)
    const entry = entryOf(record)
    if (entry?.seq !== seq) return void this.fail('entry_malformed', seq)
    if (entry.prev_id !== this.#lastId) return void this.fail('chain_broken', seq)
    if (entry.created_at <= this.#lastAt) return void this.fail('time_not_rising', seq)
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
      if (this.root !== Buffer.from(epoch.root_hash).toString('hex'))
        return void this.fail('epoch_root_mismatch', this.size)
      this.#next += 1
      this.#reached.push({ epoch, inPeriod: this.tally.covers(this.#lastAt) })
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
