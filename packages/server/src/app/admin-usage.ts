// Counting the governed decisions of tenants again, from their audit logs.

import type { Config } from '../config/config.ts'
import { listTenantIds } from '../platform/db/control.sql.ts'
import { PLATFORM } from '../platform/db/database.ts'
import type { Tx } from '../platform/db/tenant-db.ts'
import { OfflineError } from '../platform/operator-error.ts'
import { type CorrectedCount, correctUsage, GovernedLog } from '../slices/tenants/index.ts'
import { parseRecord } from './checks/check-log.ts'
import { listRecords } from './checks/fsck.sql.ts'
import { openKernel } from './open/open-kernel.ts'

const CHUNK = 1_000

interface RecountedTenant {
  readonly tenant_id: string
  readonly corrected: readonly CorrectedCount[]
}

/**
 * One unit of work a tenant, whose writes wait meanwhile. Throws OfflineError for an unknown
 * tenant, and on the embedded engine while a service runs.
 */
export async function recountUsage(
  config: Config,
  wanted: string | undefined,
): Promise<RecountedTenant[]> {
  const open = await openKernel({ ...config, log_level: 'error' })
  try {
    const { db } = open.kernel
    const all = await db.read(PLATFORM, listTenantIds)
    if (wanted !== undefined && !all.includes(wanted))
      throw new OfflineError(`there is no tenant ${wanted} here`)
    const recounted: RecountedTenant[] = []
    for (const tenant_id of wanted === undefined ? all : [wanted]) {
      const corrected = await db.transact(tenant_id, async (tx) =>
        correctUsage(tx, await readLog(tx)),
      )
      recounted.push({ tenant_id, corrected })
    }
    return recounted
  } finally {
    await open.close()
  }
}

async function readLog(tx: Tx): Promise<GovernedLog> {
  const log = new GovernedLog()
  for (let first = 0; ; first += CHUNK) {
    const rows = await listRecords(tx, first, first + CHUNK)
    for (const { record } of rows) log.add(parseRecord(record))
    if (rows.length < CHUNK) return log
  }
}
