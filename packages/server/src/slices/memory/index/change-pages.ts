// Reads the changes of a store after a log position, page by page, for an index to catch up with.

import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import { yieldBetweenChunks } from '../../../platform/yield-between-chunks.ts'
import {
  type FactRow,
  listErasedSince,
  listFactsSince,
  type SealPlace,
} from '../facts/facts.sql.ts'
import { listVersionsOnRecord, type ValidityRow } from '../facts/validity.sql.ts'
import { findStore, type StoreRow } from '../stores/stores.sql.ts'

/** Rows read and opened at once. More opened contents at a time would make the heap grow. */
export const CHUNK = 64
/** How long the work runs before it yields to other requests, which also wait for one chunk. */
export const STRETCH_MS = 4
/** The position before the first log entry: everything is newer. */
export const NEVER = -1

/** Changes of a store after a log position, in the order of the log. */
interface ChangePage {
  readonly store: StoreRow | undefined
  readonly rows: readonly FactRow[]
  /** The cursor to continue after; `null` on the last page. */
  readonly next: SealPlace | null
  /** Set on the last page only: changed validity versions and erased refs. */
  readonly changed: readonly ValidityRow[]
  readonly erased: readonly number[]
}

/** Reads the page of changes after a cursor. */
export async function readPage(
  db: TenantDb,
  store_id: string,
  { seq, after }: { seq: number; after: SealPlace },
): Promise<ChangePage> {
  // Both queries take one round trip to a remote database.
  const [store, rows] = await Promise.all([
    findStore(db, store_id),
    listFactsSince(db, store_id, after, CHUNK),
  ])
  const page = { store, rows, next: null, changed: [], erased: [] }
  const last = rows.at(-1)
  if (last && rows.length === CHUNK) return { ...page, next: last }
  // Rows include their current validity, so a first build has no further changes to apply.
  if (seq === NEVER) return page
  const [changed, erased] = await Promise.all([
    listChanged(db, store_id, seq),
    listErasedSince(db, store_id, seq),
  ])
  return { ...page, changed, erased: erased.map(({ ref }) => ref) }
}

/** The current validity versions recorded after log position `seq`. */
async function listChanged(db: TenantDb, store_id: string, seq: number): Promise<ValidityRow[]> {
  const changed: ValidityRow[] = []
  const pace = yieldBetweenChunks(STRETCH_MS)
  for (let after = { from_seq: seq, ref: Number.MAX_SAFE_INTEGER }; ; ) {
    const page = { seq: Number.MAX_SAFE_INTEGER, after, limit: CHUNK }
    const rows = await listVersionsOnRecord(db, store_id, page)
    changed.push(...rows)
    const last = rows.at(-1)
    if (!last || rows.length < CHUNK) return changed
    after = { from_seq: last.from_seq, ref: last.ref }
    await pace()
  }
}
