// Verifies the entries of a log, one after another, and hands what holds to a tally.

import { hash } from 'node:crypto'
import type { JsonObject } from '@custos/proof'
import type { EntryRow, EpochRow } from './evidence.sql.ts'
import type { Entry, Tally } from './tally.ts'

const HASH_BYTES = 32
const HASH_HEX = 2 * HASH_BYTES

/**
 * A million entries take two million hashes. As texts they cost a third of what they do as byte
 * arrays, each of which is memory of its own.
 */
export class EntryTree {
  #size = 0
  /** Roots of perfect subtrees of falling size. */
  readonly #nodes: string[] = []
  /** Byte 0x01 and two hashes. */
  readonly #pair = Buffer.alloc(1 + 2 * HASH_BYTES, 1)
  /** Byte 0x00 and an entry. */
  #leaf = Buffer.alloc(4_096)

  get size(): number {
    return this.#size
  }

  /** What an entry is in the tree, and its id on the log. */
  leafOf(record: string): string {
    // UTF-8 takes at most three bytes for each unit of UTF-16.
    if (this.#leaf.length <= 3 * record.length) this.#leaf = Buffer.alloc(4 * record.length)
    const length = this.#leaf.write(record, 1)
    return hash('sha256', this.#leaf.subarray(0, length + 1), 'hex')
  }

  append(leaf: string): void {
    let node = leaf
    // Each trailing 1 bit of the size is a waiting left sibling, as carries are in an addition.
    for (let waiting = this.#size; waiting % 2 === 1; waiting = (waiting - 1) / 2)
      node = this.#join(this.#nodes.pop() ?? '', node)
    this.#nodes.push(node)
    this.#size += 1
  }

  /** Null: there is nothing in it. */
  get root(): string | null {
    return this.#nodes.length === 0
      ? null
      : this.#nodes.reduceRight((right, left) => this.#join(left, right))
  }

  #join(left: string, right: string): string {
    this.#pair.write(left, 1, HASH_HEX, 'hex')
    this.#pair.write(right, 1 + HASH_BYTES, HASH_HEX, 'hex')
    return hash('sha256', this.#pair, 'hex')
  }
}

type LinkedEntry = Entry & { readonly prev_id: string }

/** An epoch whose root the entries reproduce. */
interface VerifiedEpoch {
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
  /** The checkpoints of the period that were verified so far. */
  readonly checkpoints: Checkpoints = { count: 0, last_seq: null }
  readonly #tree = new EntryTree()
  #epochs: readonly EpochRow[] = []
  #reached: VerifiedEpoch[] = []
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
  takeReached(): readonly VerifiedEpoch[] {
    const reached = this.#reached
    this.#reached = []
    return reached
  }

  checked({ epoch, inPeriod }: VerifiedEpoch, valid: boolean): void {
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
    // The leaf was hashed from these bytes; the members that a report needs are checked.
    const entry = JSON.parse(record) as LinkedEntry & { payload: JsonObject }
    return typeof entry.created_at === 'string' && typeof entry.payload === 'object' ? entry : null
  } catch {
    return null
  }
}
