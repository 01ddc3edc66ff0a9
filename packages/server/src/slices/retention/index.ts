// Retention: its settings, handlers, and the erasure runs that requests and the timer start.

import type { EventPayload, Retention, retention } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import { listServedIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Row } from '../../platform/db/schema/tables.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { Job, JobContext, JobRunner } from '../../platform/jobs/queue.ts'
import type { Call, Handler, HandlersOf } from '../../platform/kernel/call.ts'
import { requireErasureLease } from '../../platform/kernel/erasure-queue.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { erasureSigner } from '../erasure/index.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { admit } from '../governance/index.ts'
import {
  countExpired,
  findStore,
  listHolds,
  loadHeldStores,
  loadReadableStore,
  markErasing,
  refuseHeldStore,
  retryOnStoreConflict,
} from '../memory/index.ts'
import { meter } from '../tenants/index.ts'
import {
  BATCH_SIZE,
  batchEraser,
  type ErasureBatch,
  EXPIRY_ERASE,
  expiryEraser,
  listTenantsWithExpired,
  startExpiryJobs,
  storeOfJob,
} from './expiry.ts'
import { listStoreHolds, placeHold, releaseHold } from './holds.ts'
import {
  countDue,
  countErased,
  findRetention,
  listDue,
  listWithoutRun,
  NO_RUN,
  saveRetention,
  tenantsWithRetention,
  updateRun,
} from './retention.sql.ts'
import { openStoreNotes, prepareStoreTarget } from './store-notes.ts'

const DAY_US = 86_400_000_000

/** Memories written at or before the result are due. A day has 24 hours. */
const computeCutoff = (retain_days: number, now_us: number): number => now_us - retain_days * DAY_US

/** Whether a run may continue: the retention has not become longer since the run began. */
const isStillDue = ({
  run_days,
  retain_days,
}: Pick<Row<'store_retention'>, 'run_days' | 'retain_days'>): boolean =>
  run_days !== null && retain_days !== null && retain_days <= run_days

const RETENTION_ERASE = 'retention.erase'

/** Erases the due memories of a store, each with a certificate. */
const runRetention: Handler<typeof retention.run> = async (call, { params }) => {
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

/** Returns the current run, or starts one. The store must have a retention. */
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
 * Starts a run for every store without a hold that has due memories, and a job for stores with
 * expired ones; returns how many. A failure at one tenant does not affect the others.
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

/** Safe to run again after any failure: erased memories are no longer due and are counted once. */
const retentionEraser = (kernel: Kernel): JobRunner =>
  batchEraser(kernel, (tx, context) => beginBatch(kernel, tx, context))

/** Ends a run that was abandoned after many attempts. The timer starts another. */
async function abandonRun(tx: Tx, job: Job): Promise<void> {
  const row = await findRetention(tx, storeOfJob(job))
  if (row?.job_id !== job.job_id || row.run_days === null) return
  const erased = row.run_erased + (await countErased(tx, parseBatch(row)))
  await endRun(tx, row, { days: row.run_days, erased, ending: 'given_up' })
}

// Counts what the last batch erased, and marks and records the next one, in one unit of work. So an
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

/** Only `beginBatch` writes the column. */
const parseBatch = ({ run_batch }: Row<'store_retention'>): number[] =>
  run_batch === null ? [] : JSON.parse(run_batch)

async function findRunEnd(
  tx: Tx,
  row: Row<'store_retention'>,
  refs: readonly number[],
): Promise<RunEnd | null> {
  if ((await findStore(tx, row.store_id))?.state !== 'active') return 'store_deleted'
  if ((await loadHeldStores(tx, tx.now())).has(row.store_id)) return 'legal_hold'
  if (!isStillDue(row)) return 'retention_changed'
  return refs.length === 0 ? 'nothing_left' : null
}

async function endRun(
  tx: Tx,
  { store_id, job_id }: Row<'store_retention'>,
  { days, erased, ending }: { days: number; erased: number; ending: RunEnd },
): Promise<void> {
  const { created_us } = await appendCrumb(tx, {
    event_type: 'retention.erased',
    subject: store_id,
    payload: { job_id: job_id ?? '', retain_days: days, erased, ended_by: ending },
  })
  await updateRun(tx, store_id, { ...NO_RUN, last_us: created_us, last_erased: erased })
}

const HOLDS_COUNTED_MAX = 1_000

const getRetention: Handler<typeof retention.get> = (call, { params }) =>
  call.read(async (db) => {
    await loadReadableStore(call.kernel, db, params.store_id)
    return showRetention(call, db, params.store_id)
  })

const setRetention: Handler<typeof retention.set> = async (call, { params, body }) => {
  const { kernel, tenant_id, principal } = call
  const { store_id } = params
  const { retain_days, basis = null } = body
  const store = await call.read((db) => findStore(db, store_id))
  if (store?.state === 'deleting') return call.refuse('store_deleting')
  if (!store && store_id !== 'default') return call.refuse('store_not_found')
  // The policies decide once: from here on the store's memories are erased without a request.
  if (retain_days !== null) await admit(call, 'memory.delete', { store_id })
  await retryOnStoreConflict(async () => {
    const target = await prepareStoreTarget(kernel, tenant_id, store_id)
    const before = await call.read((db) => findRetention(db, store_id))
    const note = basis === null ? null : { basis }
    const { secret_no, sealed } = await target.seal(['retention'], note, before)
    await call.transact(async (tx) => {
      await target.enter(tx)
      meter(tx, call.operation.id)
      const { created_us: set_us } = await appendCrumb(tx, {
        event_type: 'retention.set',
        subject: store_id,
        payload: { retain_days, set_by: principal.key_id },
      })
      const set_by = principal.key_id
      await saveRetention(tx, { store_id, retain_days, set_us, set_by, secret_no, sealed })
    })
  })
  return call.read((db) => showRetention(call, db, store_id))
}

async function showRetention(
  { kernel }: Pick<Call, 'kernel' | 'tenant_id'>,
  db: TenantDb,
  store_id: string,
): Promise<Retention> {
  const now_us = kernel.clock.now()
  const row = await findRetention(db, store_id)
  const page = { limit: HOLDS_COUNTED_MAX, offset: 0, after: null, active_us: now_us }
  const holds = (await listHolds(db, store_id, page)).length
  const retain_days = row?.retain_days ?? null
  const dueAt = (cutoff_us: number | null) =>
    cutoff_us === null ? 0 : countDue(db, store_id, cutoff_us)
  const open = await openStoreNotes(kernel, db, store_id)
  const none: { basis: string | null } = { basis: null }
  const shown: Retention = {
    store_id,
    retain_days,
    basis: row ? (await open(['retention'], row, none)).basis : null,
    set_at: row ? formatTime(row.set_us) : null,
    set_by: row?.set_by ?? null,
    due: await dueAt(retain_days === null ? null : computeCutoff(retain_days, now_us)),
    expired: await countExpired(db, store_id, now_us),
    holds,
    run: null,
    last_run:
      row?.last_us == null ? null : { ended_at: formatTime(row.last_us), erased: row.last_erased },
  }
  if (!row || row.job_id === null || row.run_started_us === null) return shown
  const run = {
    job_id: row.job_id,
    started_at: formatTime(row.run_started_us),
    erased: row.run_erased,
    due: await dueAt(row.run_cutoff_us),
  }
  return { ...shown, run }
}

export { retentionTextSources } from './store-notes.ts'

export const retentionHandlers = {
  get: getRetention,
  set: setRetention,
  run: runRetention,
  place_hold: placeHold,
  holds: listStoreHolds,
  release_hold: releaseHold,
} satisfies HandlersOf<typeof retention>

/** Call this before the worker starts: it resumes runs that the last stop interrupted. */
export function registerRetentionJobs(kernel: Kernel): void {
  kernel.jobs.register(RETENTION_ERASE, retentionEraser(kernel), { abandon: abandonRun })
  kernel.jobs.register(EXPIRY_ERASE, expiryEraser(kernel))
}
