// Maps a time to the log position it stood at: transaction time is the log, not a clock.

import { formatTime } from '../../platform/clock.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { findCrumb, findHead } from './chain.sql.ts'

/** The last seq appended at or before `us`; -1 when the log began later. */
export async function seqAt(db: TenantDb, us: number): Promise<number> {
  const at = formatTime(us)
  let [low, high] = [0, (await findHead(db))?.size ?? 0]
  // created_at rises with seq (verified with the log), so a binary search finds the border.
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if ((await createdAt(db, middle)) <= at) low = middle + 1
    else high = middle
  }
  return low - 1
}

async function createdAt(db: TenantDb, seq: number): Promise<string> {
  const row = await findCrumb(db, seq)
  // Written by appendCrumb only.
  return row ? (JSON.parse(row.record) as { created_at: string }).created_at : ''
}
