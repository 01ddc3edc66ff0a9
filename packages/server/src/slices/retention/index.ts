// Retention and legal holds: handlers, the job of a run, and the run that the timer starts.

import type { Retention, retention } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Call, Handler, HandlersOf } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { admit } from '../governance/index.ts'
import {
  countExpired,
  findStore,
  listHolds,
  loadReadableStore,
  retryOnStoreConflict,
} from '../memory/index.ts'
import { meter } from '../tenants/index.ts'
import { EXPIRY_ERASE, expiryEraser } from './expiry.ts'
import { listStoreHolds, placeHold, releaseHold } from './holds.ts'
import { countDue, findRetention, saveRetention } from './retention.sql.ts'
import { abandonRun, computeCutoff, RETENTION_ERASE, retentionEraser, runRetention } from './run.ts'
import { openStoreNotes, prepareStoreTarget } from './store-notes.ts'

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
  // The policies admit it once: from here on the store's memories are erased without a request.
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
  const page = { limit: HOLDS_COUNTED_MAX, offset: 0, active_us: now_us }
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

export { runDueRetention } from './run.ts'
export { retentionTextSources } from './store-notes.ts'

export const retentionHandlers = {
  get: getRetention,
  set: setRetention,
  run: runRetention,
  place_hold: placeHold,
  holds: listStoreHolds,
  release_hold: releaseHold,
} satisfies HandlersOf<typeof retention>

/** Before the worker starts: it resumes a run that the last stop interrupted. */
export function registerRetentionJobs(kernel: Kernel): void {
  kernel.jobs.register(RETENTION_ERASE, retentionEraser(kernel), { abandon: abandonRun })
  kernel.jobs.register(EXPIRY_ERASE, expiryEraser(kernel))
}
