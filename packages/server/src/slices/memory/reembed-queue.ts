// The job that makes missing vectors, at most one of a store: queued where it is needed.

import { findOpenJobs } from '../../platform/db/jobs.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'

export const STORE_REEMBED = 'store.reembed'

/** The open job of the store, or a new one. Returns its id. */
export async function enqueueReembed(kernel: Kernel, tx: Tx, store_id: string): Promise<string> {
  // Payloads are written below only.
  const open = (await findOpenJobs(tx, STORE_REEMBED)).find(
    ({ payload }) => JSON.parse(payload).store_id === store_id,
  )
  if (open) return open.job_id
  return (await kernel.jobs.enqueue(tx, STORE_REEMBED, { store_id })).job_id
}
