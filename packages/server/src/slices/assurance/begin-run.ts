// Begins a run: a row that says so before anything is looked at. One of a tenant at a time.

import type { AssuranceTrigger } from '@custos/contract'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { insertRun, listRunning, type RunRow } from './assurance.sql.ts'
import type { CheckName } from './checks.ts'

const ID_BYTES = 12
const SEED_BYTES = 16

interface RunRequest {
  readonly checks: readonly CheckName[]
  readonly begun_by: AssuranceTrigger
  readonly requested_by: string
  readonly schedule_id: string | null
}

export const leaseUntil = (kernel: Kernel): number =>
  kernel.clock.now() + kernel.settings.lease_ms * 1_000

/** Null: another one is under way. */
export async function beginRun(kernel: Kernel, tx: Tx, wanted: RunRequest): Promise<RunRow | null> {
  if ((await listRunning(tx)).length > 0) return null
  const row: RunRow = {
    run_id: kernel.ids.hex(ID_BYTES),
    begun_by: wanted.begun_by,
    schedule_id: wanted.schedule_id,
    requested_by: wanted.requested_by,
    checks: JSON.stringify(wanted.checks),
    status: 'running',
    results: null,
    drift: null,
    drift_count: 0,
    baseline_id: null,
    error: null,
    seed: kernel.ids.hex(SEED_BYTES),
    log_seq: null,
    scratch: null,
    started_us: tx.now(),
    completed_us: null,
    lease_until_us: leaseUntil(kernel),
  }
  await insertRun(tx, row)
  return row
}
