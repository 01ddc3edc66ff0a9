// The job of a run: erases what is due in batches, with a certificate each, until nothing is left.

import type { EventPayload } from '@custos/contract'
import type { Tx } from '../../platform/db/tenant-db.ts'
import { inErasureTurn, requireTurn } from '../../platform/erasure-turn.ts'
import { beginTurn, NEXT_TURN } from '../../platform/job-turn.ts'
import type { Job, JobContext, JobRunner } from '../../platform/jobs/queue.ts'
import type { Kernel } from '../../platform/kernel.ts'
import {
  eraseMarked,
  erasureSigner,
  finishPending,
  type Marked,
  UnprovenErasure,
} from '../erasure/index.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { findStore, heldStores, markErasing } from '../memory/index.ts'
import { stillDue } from './due.ts'
import {
  countErased,
  findRetention,
  listDue,
  NO_RUN,
  type RetentionRow,
  updateRun,
} from './retention.sql.ts'

/** A unit of this size keeps other writers waiting under 0.1 s. */
const BATCH = 200

type Ending = EventPayload<'retention.erased'>['ended_by']

/** Safe to run again from anywhere: what is erased is no longer due, and counted once. */
export const retentionEraser =
  (kernel: Kernel): JobRunner =>
  async (context) => {
    const isOver = beginTurn(kernel)
    while (!context.stopping) {
      if (await eraseBatch(kernel, context)) return undefined
      if (isOver()) return NEXT_TURN
    }
    return undefined
  }

/** A run that was given up after many attempts: the next look of the timer begins another. */
export async function abandonRun(tx: Tx, job: Job): Promise<void> {
  const row = await findRetention(tx, storeOf(job))
  if (row?.job_id !== job.job_id || row.run_days === null) return
  const erased = row.run_erased + (await countErased(tx, batchOf(row)))
  await endRun(tx, row, { days: row.run_days, erased, ending: 'given_up' })
}

/** Payloads are written by run.ts only. */
const storeOf = ({ payload }: Job): string => String(payload['store_id'])

/** Whether that was the end. */
async function eraseBatch(kernel: Kernel, context: JobContext): Promise<boolean> {
  const { tenant_id } = context.job
  erasureSigner(kernel)
  return inErasureTurn(kernel, tenant_id, async () => {
    const requested_us = kernel.clock.now()
    await finishPending(kernel, tenant_id)
    const begun = await kernel.db.transact(tenant_id, (tx) => beginBatch(kernel, tx, context))
    if (begun === null) return true
    const { refs, store_id, days } = begun
    await kernel.step('retention:marked')
    const marked = refs.map(
      (ref): Marked => ({ ref, store_id, outcome: 'erased', certificate_id: kernel.ids.hex(16) }),
    )
    const reasons = { legal_basis: `retention: ${days} days`, requested_by: 'policy' }
    const done = await eraseMarked(kernel, tenant_id, { marked, reasons, requested_us })
    if (done.unproven.length > 0) throw new UnprovenErasure()
    await kernel.step('retention:erased')
    await context.progress(begun.erased + refs.length, begun.erased + refs.length)
    return false
  })
}

interface Batch {
  readonly refs: readonly number[]
  readonly store_id: string
  readonly days: number
  /** Of this run, before the batch. */
  readonly erased: number
}

// What the last batch came to is counted, and the next one marked and noted, in one unit: a run
// that is cut off anywhere counts each memory once.
async function beginBatch(kernel: Kernel, tx: Tx, context: JobContext): Promise<Batch | null> {
  await requireTurn(kernel, tx)
  const { job } = context
  const store_id = storeOf(job)
  const row = await findRetention(tx, store_id)
  const { run_days = null, run_cutoff_us: cutoff_us = null } = row ?? {}
  if (row?.job_id !== job.job_id || run_days === null || cutoff_us === null) {
    await context.finishIn(tx)
    return null
  }
  const erased = row.run_erased + (await countErased(tx, batchOf(row)))
  const refs = await listDue(tx, { store_id, cutoff_us, limit: BATCH })
  const ending = await endingOf(tx, row, refs)
  if (ending !== null) {
    await endRun(tx, row, { days: run_days, erased, ending })
    await context.finishIn(tx)
    return null
  }
  await markErasing(tx, refs)
  await updateRun(tx, store_id, { run_erased: erased, run_batch: JSON.stringify(refs) })
  return { refs, store_id, days: run_days, erased }
}

/** Written by beginBatch only. */
const batchOf = ({ run_batch }: RetentionRow): number[] =>
  run_batch === null ? [] : JSON.parse(run_batch)

async function endingOf(
  tx: Tx,
  row: RetentionRow,
  refs: readonly number[],
): Promise<Ending | null> {
  if ((await findStore(tx, row.store_id))?.state !== 'active') return 'store_deleted'
  if ((await heldStores(tx, tx.now())).has(row.store_id)) return 'legal_hold'
  if (!stillDue(row)) return 'retention_changed'
  return refs.length === 0 ? 'nothing_left' : null
}

async function endRun(
  tx: Tx,
  { store_id, job_id }: RetentionRow,
  { days, erased, ending }: { days: number; erased: number; ending: Ending },
): Promise<void> {
  const { created_us } = await appendCrumb(tx, {
    event_type: 'retention.erased',
    subject: store_id,
    payload: { job_id: job_id ?? '', retain_days: days, erased, ended_by: ending },
  })
  await updateRun(tx, store_id, { ...NO_RUN, last_us: created_us, last_erased: erased })
}
