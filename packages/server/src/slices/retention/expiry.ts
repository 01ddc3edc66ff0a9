// Erases expired memories: a timer starts a job for each store that has any, and the job erases
// them, each with a certificate.

import { listTenantsWith } from '../../platform/db/engines/first-of-each.ts'
import { findOpenJobs } from '../../platform/db/jobs.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { JobContext, JobRunner } from '../../platform/jobs/queue.ts'
import { requireErasureLease } from '../../platform/kernel/erasure-queue.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import {
  anyExpiredStatement,
  findStore,
  listExpired,
  listStoresWithExpired,
  loadHeldStores,
  markErasing,
} from '../memory/index.ts'
import { BATCH_SIZE, batchEraser, type ErasureBatch, storeOfJob } from './erase-batches.ts'

export const EXPIRY_ERASE = 'retention.expire'

/** Legal basis stated in the certificates. */
const BASIS = 'expiry: set when the memory was written'

/** Returns the `tenants` that have an expired memory. */
export const listTenantsWithExpired = (
  { db, clock }: Kernel,
  tenants: readonly string[],
): Promise<string[]> =>
  listTenantsWith(db, tenants, { statement: anyExpiredStatement, params: { at_us: clock.now() } })

/**
 * Starts a job for every active store that has expired memories, no legal hold and no such job yet.
 * Returns how many it started.
 */
export function startExpiryJobs(kernel: Kernel, tenant_id: string): Promise<number> {
  return kernel.db.transact(tenant_id, async (tx) => {
    const held = await loadHeldStores(tx, tx.now())
    // Only the code below writes these payloads.
    const open = new Set(
      (await findOpenJobs(tx, EXPIRY_ERASE)).map(({ payload }) => JSON.parse(payload).store_id),
    )
    let started = 0
    for (const store_id of await listStoresWithExpired(tx, tx.now())) {
      if (held.has(store_id) || open.has(store_id)) continue
      if ((await findStore(tx, store_id))?.state !== 'active') continue
      await kernel.jobs.enqueue(tx, EXPIRY_ERASE, { store_id })
      started += 1
    }
    return started
  })
}

/** The runner of these jobs. Safe to run again: an erased memory has no expiry. */
export const expiryEraser = (kernel: Kernel): JobRunner =>
  batchEraser(kernel, (tx, context) => beginBatch(kernel, tx, context))

/** Marks the next batch. Ends the job if nothing is left or the store is deleted or held by now. */
async function beginBatch(
  kernel: Kernel,
  tx: Tx,
  context: JobContext,
): Promise<ErasureBatch | null> {
  await requireErasureLease(kernel, tx)
  const store_id = storeOfJob(context.job)
  const isActive = (await findStore(tx, store_id))?.state === 'active'
  const isHeld = (await loadHeldStores(tx, tx.now())).has(store_id)
  const page = { store_id, at_us: tx.now(), limit: BATCH_SIZE }
  const refs = isActive && !isHeld ? await listExpired(tx, page) : []
  if (refs.length === 0) {
    await context.finishIn(tx)
    return null
  }
  await markErasing(tx, refs)
  return { refs, store_id, legal_basis: BASIS, erased: context.job.progress_done }
}
