// What was on record of a store at a time: read in pages, none of which holds up the database.

import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../../platform/kernel.ts'
import { makePacer } from '../../../platform/pacer.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { seqAt } from '../../gcrumbs/index.ts'
import { listVersionsOnRecord, type ValidityRow } from '../facts/validity.sql.ts'

const PAGE = 1_000
/** Held so at once: each is as much memory as its store has memories. */
const AT_ONCE = 2
const RETRY_AFTER_S = 1

/** Versions on record at a log position, by ref. */
export interface RecordedVersions {
  readonly us: number
  readonly seq: number
  readonly rows: Map<number, ValidityRow>
}

interface Wanted {
  readonly tenant_id: string
  readonly store_id: string
  readonly us: number
}

/**
 * Runs `act` with what was on record at `us`; the log maps it to a position. Each page is a look
 * of its own: what was on record at a position of the log is the same in all of them. Its place is
 * given back after `act`, which then holds on to it no longer. Refuses `unavailable` when too many
 * others are at it for as long as a read waits for an index.
 */
export function withVersionsKnownAt<T>(
  kernel: Kernel,
  { tenant_id, store_id, us }: Wanted,
  act: (known: RecordedVersions) => Promise<T>,
): Promise<T> {
  return places(kernel).within(kernel.settings.index_wait_ms, async () => {
    const seq = await kernel.db.read(tenant_id, (db) => seqAt(db, us))
    const known: RecordedVersions = { us, seq, rows: new Map() }
    const read = (after: After) =>
      kernel.db.read(tenant_id, (db) =>
        listVersionsOnRecord(db, store_id, { seq, after, limit: PAGE }),
      )
    await collect(known, START, read)
    return act(known)
  })
}

/** The same at `us` in this snapshot: a time that had not passed may stand further on by now. */
export async function completeVersions(
  db: TenantDb,
  store_id: string,
  { us, seq: from_seq, rows }: RecordedVersions,
): Promise<ReadonlyMap<number, ValidityRow>> {
  const seq = await seqAt(db, us)
  if (seq <= from_seq) return rows
  // A later version of a memory takes the place of the one that was known.
  const known: RecordedVersions = { us, seq, rows: new Map(rows) }
  await collect(known, { from_seq, ref: Number.MAX_SAFE_INTEGER }, (after) =>
    listVersionsOnRecord(db, store_id, { seq, after, limit: PAGE }),
  )
  return known.rows
}

interface After {
  readonly from_seq: number
  readonly ref: number
}

const START: After = { from_seq: -1, ref: -1 }

async function collect(
  { rows: known }: RecordedVersions,
  start: After,
  read: (after: After) => Promise<ValidityRow[]>,
): Promise<void> {
  const pace = makePacer()
  for (let after = start; ; ) {
    const rows = await read(after)
    for (const row of rows) known.set(row.ref, row)
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return
    after = { from_seq: last.from_seq, ref: last.ref }
    await pace()
  }
}

const places = perKernel(() => new Places())

/** So many at once; who comes then waits for the first place that is free. */
class Places {
  #free = AT_ONCE
  readonly #waiting = new Set<() => void>()

  async within<T>(wait_ms: number, act: () => Promise<T>): Promise<T> {
    await this.#take(wait_ms)
    try {
      return await act()
    } finally {
      this.#giveBack()
    }
  }

  #take(wait_ms: number): Promise<void> | undefined {
    if (this.#free > 0) {
      this.#free -= 1
      return undefined
    }
    return new Promise((resolve, reject) => {
      const taken = () => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        this.#waiting.delete(taken)
        reject(new Refusal('unavailable', undefined, { retry_after_s: RETRY_AFTER_S }))
      }, wait_ms)
      this.#waiting.add(taken)
    })
  }

  #giveBack(): void {
    const [next] = this.#waiting
    if (next) {
      this.#waiting.delete(next)
      next()
    } else this.#free += 1
  }
}
