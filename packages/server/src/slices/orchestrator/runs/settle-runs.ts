// What happens to runs by themselves: expiry, deadlines, erased inputs, decisions of people.

import { listServedIds } from '../../../platform/db/control.sql.ts'
import { PLATFORM } from '../../../platform/db/database.ts'
import type { TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import type { TextSource } from '../../../platform/kernel/text-source.ts'
import { boundTextSource, findBoundText } from '../../decisions/index.ts'
import {
  findRun,
  hastenCheck,
  listCalls,
  listRunsToCheck,
  listSteps,
  tenantsWithDueRuns,
} from './orchestrator.sql.ts'
import { RunUnit } from './run-unit.ts'
import { isInputErased } from './run-view.ts'

const PAGE = 100

/** Whether something may have happened to a run by itself: read first, as most often it has not. */
async function isToSettle(db: TenantDb, run_id: string, now_us: number): Promise<boolean> {
  const run = await findRun(db, run_id)
  // Null: it has ended. The deadline is no later than the next look.
  if (!run || run.check_us === null) return false
  if (run.check_us <= now_us) return true
  const steps = await listSteps(db, run_id)
  if (steps.some(({ expires_us }) => expires_us !== null && expires_us <= now_us)) return true
  const waiting = [...steps, ...(await listCalls(db, run_id))]
  if (waiting.some(({ state }) => state === 'waiting_hitl')) return true
  if (run.state === 'compensating') return false
  return isInputErased(db, run_id, steps)
}

/** The texts of runs: once one is redacted, its run is looked at soon, and ends. */
export const runTextSource: TextSource = {
  ...boundTextSource,
  async apply(tx, id, columns, kernel) {
    const text = await findBoundText(tx, id)
    const applied = await boundTextSource.apply(tx, id, columns, kernel)
    if (applied && text) await hastenCheck(tx, text.run_id)
    return applied
  },
}

/** Does nothing to a run that has ended, or that is not there. */
export async function settleRun(kernel: Kernel, tenant_id: string, run_id: string): Promise<void> {
  const now_us = kernel.clock.now()
  const due = await kernel.db.read(tenant_id, (db) => isToSettle(db, run_id, now_us))
  if (due) await settleDue(kernel, tenant_id, run_id)
}

async function settleDue(kernel: Kernel, tenant_id: string, run_id: string): Promise<void> {
  await kernel.db.transact(tenant_id, async (tx: Tx) => {
    const unit = await RunUnit.load(kernel, tx, run_id)
    await unit?.settle()
  })
}

/** Each run in a unit of its own, so that one that fails holds up no other. */
export async function settleDueRuns(kernel: Kernel, stopping?: AbortSignal): Promise<void> {
  const now_us = kernel.clock.now()
  const tenants = await kernel.db.read(PLATFORM, listServedIds)
  for (const tenant_id of await tenantsWithDueRuns(kernel.db, tenants, now_us)) {
    if (stopping?.aborted) return
    // The tenant's keys are destroyed, so nothing can be signed.
    if (!(await kernel.keyring.hasTenant(tenant_id))) continue
    const find = (db: TenantDb) => listRunsToCheck(db, now_us, PAGE)
    for (const { run_id } of await kernel.db.read(tenant_id, find)) {
      try {
        await settleDue(kernel, tenant_id, run_id)
      } catch (error) {
        const reason = error instanceof Error ? error.name : 'unknown'
        kernel.logger.error('run.not_settled', { tenant_id, run_id, reason })
      }
    }
  }
}
