// The epochs of a log in the order of their trees, read a lot at a time while the log is walked.

import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { type EpochPlace, type EpochRow, listEpochs } from './evidence.sql.ts'

/** Two megabytes; each lot costs a look at all epochs. */
const LOT = 4_000

export class EpochFeed {
  readonly #db: TenantDb
  readonly #size: number
  #waiting: EpochRow[] = []
  #last: EpochPlace = { tree_size: -1, epoch_number: 0 }
  #ended = false

  /** @param size only epochs over fewer entries are handed out */
  constructor(db: TenantDb, size: number) {
    this.#db = db
    this.#size = size
  }

  /** Those over at most `entries` that were not handed out before. */
  async upTo(entries: number): Promise<readonly EpochRow[]> {
    while (!this.#ended && this.#last.tree_size <= entries) await this.#load()
    const beyond = this.#waiting.findIndex(({ tree_size }) => tree_size > entries)
    return this.#waiting.splice(0, beyond === -1 ? this.#waiting.length : beyond)
  }

  async #load(): Promise<void> {
    const asked = { after: this.#last, size: this.#size, limit: LOT }
    const rows = await listEpochs(this.#db, asked)
    this.#ended = rows.length < LOT
    this.#last = rows.at(-1) ?? this.#last
    this.#waiting = [...this.#waiting, ...rows]
  }
}
