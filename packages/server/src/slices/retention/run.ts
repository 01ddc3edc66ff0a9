// retention.run, and the timer that does the same: a job for a store with memories that are due.

import type { retention } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { listTenantIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { erasureSigner } from '../erasure/index.ts'
import { admit } from '../governance/index.ts'
import { findStore, heldStores, refuseHeldStore } from '../memory/index.ts'
import { meter } from '../tenants/index.ts'
import { cutoffOf } from './due.ts'
import {
  countDue,
  findRetention,
  listDue,
  listWithoutRun,
  NO_RUN,
  tenantsWithRetention,
  updateRun,
} from './retention.sql.ts'

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

interface Run {
  readonly job_id: string
  readonly retain_days: number
  readonly cutoff_us: number
}

/** The run under way, or one that begins now. The store must have a retention. */
async function startRun(kernel: Kernel, tx: Tx, store_id: string): Promise<Run> {
  const row = await findRetention(tx, store_id)
  if (!row || row.retain_days === null) throw new Refusal('retention_not_set')
  const { job_id, run_days, run_cutoff_us } = row
  if (job_id !== null && run_days !== null && run_cutoff_us !== null)
    return { job_id, retain_days: run_days, cutoff_us: run_cutoff_us }
  const { retain_days } = row
  const now_us = tx.now()
  const cutoff_us = cutoffOf(retain_days, now_us)
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
 * Begins a run at every store that has something due and is not held; how many. What fails at one
 * tenant keeps no other one from its own.
 */
export async function runDueRetention(kernel: Kernel): Promise<number> {
  const all = await kernel.db.read(PLATFORM, listTenantIds)
  let begun = 0
  for (const tenant_id of await tenantsWithRetention(kernel.db, all))
    try {
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
    const held = await heldStores(db, now_us)
    const due: string[] = []
    for (const { store_id, retain_days } of await listWithoutRun(db)) {
      if (retain_days === null || held.has(store_id)) continue
      if ((await findStore(db, store_id))?.state !== 'active') continue
      const cutoff_us = cutoffOf(retain_days, now_us)
      if ((await listDue(db, { store_id, cutoff_us, limit: 1 })).length > 0) due.push(store_id)
    }
    return due
  })
