// POST /v1/assurance/baseline: checks everything, and keeps what a sound state looks like.

import {
  ASSURANCE_CHECKS_DEFAULT,
  ASSURANCE_WAIT_S,
  type assurance as contract,
} from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import { accepted, type Handler } from '../../platform/kernel/call.ts'
import { meter } from '../tenants/index.ts'
import { findBaselineOfRun } from './assurance.sql.ts'
import { beginRun } from './begin-run.ts'
import { carryOut } from './carry-out.ts'
import { within } from './run.ts'
import { refuseLimited } from './whole-tenant.ts'

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
  const row = await within(carryOut(call.kernel, call.tenant_id, begun), ASSURANCE_WAIT_S)
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
