// The newest time any log holds: the clock of the next run starts behind it.

import { listTenantIds } from '../platform/db/control.sql.ts'
import { type Database, PLATFORM } from '../platform/db/database.ts'
import { findHead } from '../slices/gcrumbs/index.ts'

/** Microseconds; 0 where there is no log. One tenant at a time, as everything is read. */
export async function lastLogTime(db: Database): Promise<number> {
  let last = 0
  for (const tenant_id of await db.read(PLATFORM, listTenantIds)) {
    const head = await db.read(tenant_id, findHead)
    last = Math.max(last, head?.last_us ?? 0)
  }
  return last
}
