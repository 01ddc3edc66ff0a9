// Applies to runs what happens without a call: expiry, deadlines, erased inputs, people's
// decisions.

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

/** Whether there may be something to settle. A read answers this first, as usually there is not. */
async function isToSettle(db: TenantDb, run_id: string, now_us: number): Promise<boolean> {
  const run = await findRun(db, run_id)
  // `null` means that the run has ended. The next check is never later than the deadline.
  if (!run || run.check_us === null) return false
  if (run.check_us <= now_us) return true
  const steps = await listSteps(db, run_id)
  if (steps.some(({ expires_us }) => expires_us !== null && expires_us <= now_us)) return true
  const waiting = [...steps, ...(await listCalls(db, run_id))]
  if (waiting.some(({ state }) => state === 'waiting_hitl')) return true
  if (run.state === 'compensating') return false
  return isInputErased(db, run_id, steps)
}

/** The texts of runs. A redaction makes the check of its run due, which then ends the run. */
export const runTextSource: TextSource = {
  ...boundTextSource,
  async apply(tx, id, columns, kernel) {
    const text = await findBoundText(tx, id)
    const applied = await boundTextSource.apply(tx, id, columns, kernel)
    if (applied && text) await hastenCheck(tx, text.run_id)
    return applied
  },
}

/** Does nothing if the run has ended or does not exist. */
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

/** Settles each run in its own unit of work, so that a failing run does not block the others. */
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
