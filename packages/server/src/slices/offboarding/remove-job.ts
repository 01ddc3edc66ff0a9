// The job that removes the rows of an off-boarded tenant, which nobody can read any more.

import {
  deleteControlRows,
  findDestruction,
  updateDestruction,
} from '../../platform/db/destructions.sql.ts'
import {
  countRows,
  deleteSome,
  tenantTables,
} from '../../platform/db/migrations/tenant-tables.sql.ts'
import type { JobRunner } from '../../platform/jobs/queue.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { LOG_JOBS } from '../gcrumbs/index.ts'

export const TENANT_REMOVE = 'tenant.remove'

/** A unit of this size delays other writers by some milliseconds. */
const ROWS_PER_UNIT = 500

/** Tables that prove the past and contain no text; see REMAINS in certificate.ts. */
export const KEPT_TABLES: readonly string[] = [
  'chain_heads',
  'breadcrumbs',
  'chain_nodes',
  'epochs',
  'cosignatures',
  'epoch_timestamps',
  'certificates',
  'tombstones',
  'usage',
]

/** Tables from which all rows of a tenant are removed. */
export const removedTables = () => tenantTables().filter(({ name }) => !KEPT_TABLES.includes(name))

/** Safe to run again from the start. */
export const tenantRemover =
  (kernel: Kernel): JobRunner =>
  async (context) => {
    const { tenant_id, job_id } = context.job
    const tables = removedTables()
    for (const [done, table] of tables.entries()) {
      for (;;) {
        if (context.stopping) return undefined
        const count = await kernel.db.transact(tenant_id, (tx) =>
          deleteSome(tx, table, ROWS_PER_UNIT),
        )
        await kernel.step('offboarding:removing')
        if (count < ROWS_PER_UNIT) break
      }
      await context.progress(done + 1, tables.length)
    }
    await kernel.db.transact(tenant_id, async (tx) => {
      // The last checkpoint is still offered to witnesses until they have signed it.
      await deleteControlRows(tx, { job_id, kinds: LOG_JOBS })
      const row = await findDestruction(tx, tenant_id)
      if (row && row.removed_us === null) await updateDestruction(tx, { removed_us: tx.now() })
      await context.finishIn(tx)
    })
    return undefined
  }

/** The first table with a row that the job should have removed; for checks of the data. */
export async function hasRowsLeft(kernel: Kernel, tenant_id: string): Promise<string | null> {
  for (const table of removedTables())
    if ((await kernel.db.read(tenant_id, (db) => countRows(db, table, 1))) > 0) return table.name
  return null
}
