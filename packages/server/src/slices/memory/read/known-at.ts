// Loads the validity versions of a store that were on record at a given time, in pages, so that no
// read blocks the database for long.

import { semaphore } from '../../../platform/concurrency.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { yieldBetweenChunks } from '../../../platform/yield-between-chunks.ts'
import { seqAt } from '../../gcrumbs/index.ts'
import {
  listVersionsOnRecord,
  type ValidityRow,
  type VersionCursor,
} from '../facts/validity.sql.ts'

const PAGE = 1_000
/** Requests that may hold such versions in memory at once, one for every fact of the store. */
const AT_ONCE = 2
const RETRY_AFTER_S = 1

/** Versions on record at a log position, by ref. */
export interface RecordedVersions {
  readonly us: number
  readonly seq: number
  readonly rows: Map<number, ValidityRow>
}

/**
 * Runs `act` with the versions on record at `us`, which the log maps to a position. Each page is
 * read on its own snapshot; all snapshots agree on what was on record at a log position. `act` must
 * not keep the versions. Refuses `unavailable` if no permit becomes free within the time a read
 * waits for an index.
 */
export function withVersionsKnownAt<T>(
  kernel: Kernel,
  { tenant_id, store_id, us }: { tenant_id: string; store_id: string; us: number },
  act: (known: RecordedVersions) => Promise<T>,
): Promise<T> {
  return runWithPermit(kernel, kernel.settings.index_wait_ms, async () => {
    const seq = await kernel.db.read(tenant_id, (db) => seqAt(db, us))
    const known: RecordedVersions = { us, seq, rows: new Map() }
    const read = (after: VersionCursor) =>
      kernel.db.read(tenant_id, (db) =>
        listVersionsOnRecord(db, store_id, { seq, after, limit: PAGE }),
      )
    await collectVersions(known, START, read)
    return act(known)
  })
}

/**
 * Completes the versions on record at `us` for this snapshot: if `us` is in the future, the log may
 * have grown since.
 */
export async function completeVersions(
  db: TenantDb,
  store_id: string,
  { us, seq: from_seq, rows }: RecordedVersions,
): Promise<ReadonlyMap<number, ValidityRow>> {
  const seq = await seqAt(db, us)
  if (seq <= from_seq) return rows
  // A later version of a fact replaces the earlier one.
  const known: RecordedVersions = { us, seq, rows: new Map(rows) }
  await collectVersions(known, { from_seq, ref: Number.MAX_SAFE_INTEGER }, (after) =>
    listVersionsOnRecord(db, store_id, { seq, after, limit: PAGE }),
  )
  return known.rows
}

const START: VersionCursor = { from_seq: -1, ref: -1 }

async function collectVersions(
  { rows: known }: RecordedVersions,
  start: VersionCursor,
  read: (after: VersionCursor) => Promise<ValidityRow[]>,
): Promise<void> {
  const pace = yieldBetweenChunks()
  for (let after = start; ; ) {
    const rows = await read(after)
    for (const row of rows) known.set(row.ref, row)
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return
    after = { from_seq: last.from_seq, ref: last.ref }
    await pace()
  }
}

const permits = perKernel(() => semaphore(AT_ONCE))

/** Runs `act` under a permit; refuses `unavailable` when none is free for `wait_ms`. */
function runWithPermit<T>(kernel: Kernel, wait_ms: number, act: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let late = false
    const timer = setTimeout(() => {
      late = true
      reject(new Refusal('unavailable', undefined, { retry_after_s: RETRY_AFTER_S }))
    }, wait_ms)
    const run = async () => {
      if (late) return
      clearTimeout(timer)
      resolve(await act())
    }
    permits(kernel).run(run).catch(reject)
  })
}
