// Jobs that erase memories of a store in batches, each memory with a certificate; and those for
// expired memories, which a timer starts for each store that has any.

import { listTenantsWith } from '../../platform/db/engines/first-of-each.ts'
import { findOpenJobs } from '../../platform/db/jobs.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Job, JobContext, JobRunner } from '../../platform/jobs/queue.ts'
import { requireErasureLease, runErasure } from '../../platform/kernel/erasure-queue.ts'
import { beginJobChunk, type Kernel, NEXT_CHUNK } from '../../platform/kernel/kernel.ts'
import {
  eraseMarkedFacts,
  erasureSigner,
  finishPendingErasures,
  UnprovenErasure,
} from '../erasure/index.ts'
import {
  anyExpiredStatement,
  findStore,
  listExpired,
  listStoresWithExpired,
  loadHeldStores,
  markErasing,
} from '../memory/index.ts'

/** Memories per batch; a unit of work of this size delays other writers by less than 0.1 s. */
export const BATCH_SIZE = 200

/** Memories marked for erasure. */
export interface ErasureBatch {
  readonly refs: readonly number[]
  readonly store_id: string
  readonly legal_basis: string
  /** Memories that the job has erased before this batch. */
  readonly erased: number
}

/** Every payload of these jobs has `store_id`. */
export const storeOfJob = ({ payload }: Job): string => String(payload['store_id'])

/** @param begin marks the next batch, or ends the job and returns null */
export const batchEraser =
  (
    kernel: Kernel,
    begin: (tx: Tx, context: JobContext) => Promise<ErasureBatch | null>,
  ): JobRunner =>
  async (context) => {
    const isOver = beginJobChunk(kernel)
    while (!context.stopping) {
      if (await eraseBatch(kernel, context, begin)) return undefined
      if (isOver()) return NEXT_CHUNK
    }
    return undefined
  }

/** Erases one batch. Returns true once the job has ended. */
async function eraseBatch(
  kernel: Kernel,
  context: JobContext,
  begin: Parameters<typeof batchEraser>[1],
): Promise<boolean> {
  const { tenant_id } = context.job
  erasureSigner(kernel)
  return runErasure(kernel, tenant_id, async () => {
    const requested_us = kernel.clock.now()
    await finishPendingErasures(kernel, tenant_id)
    const begun = await kernel.db.transact(tenant_id, (tx) => begin(tx, context))
    if (begun === null) return true
    const { refs, store_id, legal_basis } = begun
    await kernel.step('retention:marked')
    const facts = refs.map((ref) => ({ ref, store_id }))
    const marked = { facts, reasons: { legal_basis, requested_by: 'policy' }, requested_us }
    const unproven = await eraseMarkedFacts(kernel, tenant_id, marked)
    if (unproven.length > 0) throw new UnprovenErasure()
    await kernel.step('retention:erased')
    await context.progress(begun.erased + refs.length, begun.erased + refs.length)
    return false
  })
}

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
