// By the clock: runs that are due, and runs whose process has ended.

import { listServedIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import {
  findTenants,
  listDue,
  listRunning,
  type RunRow,
  type ScheduleRow,
  updateSchedule,
} from './assurance.sql.ts'
import { takeAway } from './audit-tenant.ts'
import { beginRun } from './begin-run.ts'
import { executeRun, giveUp } from './execute-run.ts'
import { namesOf } from './show.ts'
import { checkerOf } from './tenant-checker.ts'

const MINUTE_US = 60_000_000

const tenantsOf = (kernel: Kernel): Promise<string[]> => kernel.db.read(PLATFORM, listServedIds)

/** Interrupts abandoned runs, then starts the runs that are due. */
export async function assureDue(kernel: Kernel): Promise<void> {
  await interruptAbandoned(kernel)
  await runDue(kernel)
}

/** Runs each schedule that is due, once however often it was missed. */
export async function runDue(kernel: Kernel): Promise<void> {
  const now_us = kernel.clock.now()
  const tenants = await findTenants(kernel.db, 'due', { tenants: await tenantsOf(kernel), now_us })
  for (const tenant_id of tenants) {
    // The tenant's keys are destroyed, so nothing can be checked.
    if (!(await kernel.keyring.hasTenant(tenant_id))) continue
    for (const due of await kernel.db.read(tenant_id, (db) => listDue(db, now_us))) {
      const run = await beginDue(kernel, tenant_id, due)
      if (run) await executeRun(kernel, tenant_id, run)
    }
  }
}

// The next time is durable before the run begins: a run that ends the process is not begun again
// and again.
function beginDue(
  kernel: Kernel,
  tenant_id: string,
  { schedule_id }: ScheduleRow,
): Promise<RunRow | null> {
  return kernel.db.transact(tenant_id, async (tx) => {
    const row = (await listDue(tx, tx.now())).find((due) => due.schedule_id === schedule_id)
    if (!row) return null
    const run = await beginRun(kernel, tx, {
      checks: namesOf(row),
      begun_by: 'schedule',
      requested_by: row.created_by,
      schedule_id,
    })
    // Another one is under way: it stays due.
    if (run === null) return null
    const next_due_us = tx.now() + row.interval_min * MINUTE_US
    await updateSchedule(tx, schedule_id, { next_due_us, last_run_id: run.run_id })
    return run
  })
}

/**
 * Runs whose process has ended are marked as failed, and what they had made is taken away.
 * @param all at the start of a process that alone serves its data: nobody is at any run
 */
export async function interruptAbandoned(kernel: Kernel, all = false): Promise<void> {
  const now_us = all ? Number.MAX_SAFE_INTEGER : kernel.clock.now()
  const tenants = await tenantsOf(kernel)
  for (const tenant_id of await findTenants(kernel.db, 'abandoned', { tenants, now_us })) {
    const running = await kernel.db.read(tenant_id, listRunning)
    for (const run of running.filter(({ lease_until_us }) => lease_until_us <= now_us)) {
      await takeAway(kernel, tenant_id, run)
      await giveUp(kernel, tenant_id, run.run_id, 'interrupted')
    }
  }
}

/** Before the process stops: what is under way ends as stopped. */
export const stopChecking = (kernel: Kernel): Promise<void> => checkerOf(kernel).stop()
