// Jobs that erase memories of a store in batches, each memory with a certificate.

import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Job, JobContext, JobRunner } from '../../platform/jobs/queue.ts'
import { runErasure } from '../../platform/kernel/erasure-queue.ts'
import { beginJobChunk, type Kernel, NEXT_CHUNK } from '../../platform/kernel/kernel.ts'
import {
  eraseMarkedFacts,
  erasureSigner,
  finishPendingErasures,
  UnprovenErasure,
} from '../erasure/index.ts'

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
