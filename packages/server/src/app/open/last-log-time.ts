// The newest time any log holds: the clock of the next run starts behind it.

import { listTenantIds } from '../../platform/db/control.sql.ts'
import { type Database, PLATFORM } from '../../platform/db/database.ts'
import { findHeads } from '../../slices/gcrumbs/index.ts'

/** Microseconds; 0 where there is no log. */
export async function lastLogTime(db: Database): Promise<number> {
  let last = 0
  const heads = await findHeads(db, await db.read(PLATFORM, listTenantIds))
  for (const { last_us } of heads.values()) last = Math.max(last, last_us)
  return last
}
