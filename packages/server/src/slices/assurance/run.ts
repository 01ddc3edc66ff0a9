// POST /v1/assurance/run: checks the tenant now; without waiting, returns where to read the result.

import {
  ASSURANCE_CHECKS_DEFAULT,
  ASSURANCE_WAIT_S,
  type assurance as contract,
} from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import { waitAtMost } from '../../platform/concurrency.ts'
import { accepted, type Handler, type Principal } from '../../platform/kernel/call.ts'
import { Refusal } from '../../platform/refusal.ts'
import { meter } from '../tenants/index.ts'
import { findBaselineOfRun, type RunRow } from './assurance.sql.ts'
import { checksOf } from './checks.ts'
import { beginRun, executeRun } from './execute-run.ts'
import { showRun } from './show.ts'

export const run: Handler<typeof contract.run> = async (call, { body }) => {
  refuseLimited(call)
  const checks = body.checks ?? ASSURANCE_CHECKS_DEFAULT
  if (checksOf(checks).length === 0)
    return call.refuse('rejected', 'nothing is measured for metrics: name another check too')
  const begun = await call.transact(async (tx) => {
    const row = await beginRun(call.kernel, tx, {
      checks,
      begun_by: 'request',
      requested_by: call.principal.key_id,
      schedule_id: null,
    })
    if (row === null) return call.refuse('run_in_progress')
    meter(tx, call.operation.id)
    return row
  })
  const { run_id } = begun
  const done = executeRun(call.kernel, call.tenant_id, begun)
  const row = await (body.background
    ? later(done)
    : waitAtMost(done, ASSURANCE_WAIT_S * 1_000, () => null))
  return row ? showRun(row) : accepted({ run_id, status: 'running' as const })
}

async function later(done: Promise<RunRow>): Promise<null> {
  // What could not even be written down is found again when its lease is over.
  done.catch(() => {})
  return null
}

export function refuseLimited({ principal }: { readonly principal: Principal }): void {
  if (principal.allowed_stores.length > 0)
    throw new Refusal('scope_missing', 'a check is of all stores; the key is limited to some')
}

export const captureBaseline: Handler<typeof contract.capture_baseline> = async (call) => {
  refuseLimited(call)
  const begun = await call.transact(async (tx) => {
    const row = await beginRun(call.kernel, tx, {
      checks: ASSURANCE_CHECKS_DEFAULT,
      begun_by: 'baseline',
      requested_by: call.principal.key_id,
      schedule_id: null,
    })
    if (row === null) return call.refuse('run_in_progress')
    meter(tx, call.operation.id)
    return row
  })
  const { run_id } = begun
  const done = executeRun(call.kernel, call.tenant_id, begun)
  const row = await waitAtMost(done, ASSURANCE_WAIT_S * 1_000, () => null)
  if (row === null) return accepted({ run_id, status: 'running' as const })
  const kept = await call.read((db) => findBaselineOfRun(db, run_id))
  if (!kept) return call.refuse('wrong_state', `a check failed: see the run ${run_id}`)
  return {
    baseline_id: kept.baseline_id,
    run_id,
    captured_at: formatTime(kept.captured_us),
    snapshot_keys: Object.keys(JSON.parse(kept.snapshot)),
  }
}
