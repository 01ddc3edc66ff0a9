// retention.run, the timer that does the same, and their job: erases a store's memories that are
// due, each with a certificate.

import type { EventPayload, retention } from '@custos/contract'
import { listServedIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Job, JobContext, JobRunner } from '../../platform/jobs/queue.ts'
import type { Handler } from '../../platform/kernel/call.ts'
import { requireErasureLease } from '../../platform/kernel/erasure-queue.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { erasureSigner } from '../erasure/index.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { admit } from '../governance/index.ts'
import { findStore, loadHeldStores, markErasing, refuseHeldStore } from '../memory/index.ts'
import { meter } from '../tenants/index.ts'
import { BATCH_SIZE, batchEraser, type ErasureBatch, storeOfJob } from './erase-batches.ts'
import { listTenantsWithExpired, startExpiryJobs } from './expiry.ts'
import {
  countDue,
  countErased,
  findRetention,
  listDue,
  listWithoutRun,
  NO_RUN,
  type RetentionRow,
  tenantsWithRetention,
  updateRun,
} from './retention.sql.ts'

const DAY_US = 86_400_000_000

/** Memories written at or before it are due. A day has 24 hours. */
export const computeCutoff = (retain_days: number, now_us: number): number =>
  now_us - retain_days * DAY_US

/** Whether a run may continue: its store keeps memories no longer than when the run began. */
const isStillDue = ({
  run_days,
  retain_days,
}: Pick<RetentionRow, 'run_days' | 'retain_days'>): boolean =>
  run_days !== null && retain_days !== null && retain_days <= run_days

export const RETENTION_ERASE = 'retention.erase'

export const runRetention: Handler<typeof retention.run> = async (call, { params }) => {
  const { kernel } = call
  const { store_id } = params
  erasureSigner(kernel)
  const store = await call.read((db) => findStore(db, store_id))
  if (!store && store_id !== 'default') return call.refuse('store_not_found')
  await admit(call, 'memory.delete', { store_id })
  return call.transact(async (tx) => {
    const found = await findStore(tx, store_id)
    if (found?.state === 'deleting') return call.refuse('store_deleting')
    if (!found && store_id !== 'default') return call.refuse('store_not_found')
    const row = await findRetention(tx, store_id)
    if (!row || row.retain_days === null) return call.refuse('retention_not_set')
    await refuseHeldStore(tx, store_id, tx.now())
    meter(tx, call.operation.id)
    const { job_id, retain_days, cutoff_us } = await startRun(kernel, tx, store_id)
    return { job_id, store_id, retain_days, due: await countDue(tx, store_id, cutoff_us) }
  })
}

/** The current run, or a new one. The store must have a retention. */
async function startRun(kernel: Kernel, tx: Tx, store_id: string) {
  const row = await findRetention(tx, store_id)
  if (!row || row.retain_days === null) throw new Refusal('retention_not_set')
  const { job_id, run_days, run_cutoff_us } = row
  if (job_id !== null && run_days !== null && run_cutoff_us !== null)
    return { job_id, retain_days: run_days, cutoff_us: run_cutoff_us }
  const { retain_days } = row
  const now_us = tx.now()
  const cutoff_us = computeCutoff(retain_days, now_us)
  const job = await kernel.jobs.enqueue(tx, RETENTION_ERASE, { store_id })
  await updateRun(tx, store_id, {
    ...NO_RUN,
    job_id: job.job_id,
    run_days: retain_days,
    run_cutoff_us: cutoff_us,
    run_started_us: now_us,
  })
  return { job_id: job.job_id, retain_days, cutoff_us }
}

/**
 * Starts a run at every store without a hold that has memories due, and a job where some have
 * expired; how many. A failure at one tenant does not affect the others.
 */
export async function runDueRetention(kernel: Kernel): Promise<number> {
  const all = await kernel.db.read(PLATFORM, listServedIds)
  const kept = new Set(await tenantsWithRetention(kernel.db, all))
  const expired = new Set(await listTenantsWithExpired(kernel, all))
  let begun = 0
  for (const tenant_id of all.filter((id) => kept.has(id) || expired.has(id)))
    try {
      if (expired.has(tenant_id)) begun += await startExpiryJobs(kernel, tenant_id)
      if (!kept.has(tenant_id)) continue
      for (const store_id of await listDueStores(kernel, tenant_id)) {
        await kernel.db.transact(tenant_id, (tx) => startRun(kernel, tx, store_id))
        begun += 1
      }
    } catch (error) {
      const reason = error instanceof Error ? error.name : 'unknown'
      kernel.logger.error('retention.not_begun', { tenant_id, reason })
    }
  return begun
}

const listDueStores = (kernel: Kernel, tenant_id: string): Promise<string[]> =>
  kernel.db.read(tenant_id, async (db) => {
    const now_us = kernel.clock.now()
    const held = await loadHeldStores(db, now_us)
    const due: string[] = []
    for (const { store_id, retain_days } of await listWithoutRun(db)) {
      if (retain_days === null || held.has(store_id)) continue
      if ((await findStore(db, store_id))?.state !== 'active') continue
      const cutoff_us = computeCutoff(retain_days, now_us)
      if ((await listDue(db, { store_id, cutoff_us, limit: 1 })).length > 0) due.push(store_id)
    }
    return due
  })

type RunEnd = EventPayload<'retention.erased'>['ended_by']

/** Safe to run again after any failure: what is erased is no longer due, and counted once. */
export const retentionEraser = (kernel: Kernel): JobRunner =>
  batchEraser(kernel, (tx, context) => beginBatch(kernel, tx, context))

/** Ends a run that was given up after many attempts: the timer starts another. */
export async function abandonRun(tx: Tx, job: Job): Promise<void> {
  const row = await findRetention(tx, storeOfJob(job))
  if (row?.job_id !== job.job_id || row.run_days === null) return
  const erased = row.run_erased + (await countErased(tx, parseBatch(row)))
  await endRun(tx, row, { days: row.run_days, erased, ending: 'given_up' })
}

// Counts what the last batch erased, and marks and records the next one, in one unit of work: an
// interrupted run counts each memory once.
async function beginBatch(
  kernel: Kernel,
  tx: Tx,
  context: JobContext,
): Promise<ErasureBatch | null> {
  await requireErasureLease(kernel, tx)
  const { job } = context
  const store_id = storeOfJob(job)
  const row = await findRetention(tx, store_id)
  const { run_days = null, run_cutoff_us: cutoff_us = null } = row ?? {}
  if (row?.job_id !== job.job_id || run_days === null || cutoff_us === null) {
    await context.finishIn(tx)
    return null
  }
  const erased = row.run_erased + (await countErased(tx, parseBatch(row)))
  const refs = await listDue(tx, { store_id, cutoff_us, limit: BATCH_SIZE })
  const ending = await findRunEnd(tx, row, refs)
  if (ending !== null) {
    await endRun(tx, row, { days: run_days, erased, ending })
    await context.finishIn(tx)
    return null
  }
  await markErasing(tx, refs)
  await updateRun(tx, store_id, { run_erased: erased, run_batch: JSON.stringify(refs) })
  return { refs, store_id, legal_basis: `retention: ${run_days} days`, erased }
}

/** Only beginBatch writes it. */
const parseBatch = ({ run_batch }: RetentionRow): number[] =>
  run_batch === null ? [] : JSON.parse(run_batch)

async function findRunEnd(
  tx: Tx,
  row: RetentionRow,
  refs: readonly number[],
): Promise<RunEnd | null> {
  if ((await findStore(tx, row.store_id))?.state !== 'active') return 'store_deleted'
  if ((await loadHeldStores(tx, tx.now())).has(row.store_id)) return 'legal_hold'
  if (!isStillDue(row)) return 'retention_changed'
  return refs.length === 0 ? 'nothing_left' : null
}

async function endRun(
  tx: Tx,
  { store_id, job_id }: RetentionRow,
  { days, erased, ending }: { days: number; erased: number; ending: RunEnd },
): Promise<void> {
  const { created_us } = await appendCrumb(tx, {
    event_type: 'retention.erased',
    subject: store_id,
    payload: { job_id: job_id ?? '', retain_days: days, erased, ended_by: ending },
  })
  await updateRun(tx, store_id, { ...NO_RUN, last_us: created_us, last_erased: erased })
}
