// POST /v1/assurance/run: checks the tenant now; who does not wait is told where to look.

import {
  ASSURANCE_CHECKS_DEFAULT,
  ASSURANCE_WAIT_S,
  type assurance as contract,
} from '@custos/contract'
import { accepted, type Handler } from '../../platform/kernel/call.ts'
import { meter } from '../tenants/index.ts'
import type { RunRow } from './assurance.sql.ts'
import { beginRun } from './begin-run.ts'
import { carryOut } from './carry-out.ts'
import { checksOf } from './checks.ts'
import { showRun } from './show.ts'
import { refuseLimited } from './whole-tenant.ts'

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
  const done = carryOut(call.kernel, call.tenant_id, begun)
  const row = await (body.background ? later(done) : within(done, ASSURANCE_WAIT_S))
  return row ? showRun(row) : accepted({ run_id, status: 'running' as const })
}

/** Null: it goes on, and whoever asked looks for it later. */
export async function within(done: Promise<RunRow>, seconds: number): Promise<RunRow | null> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), seconds * 1_000)
  })
  try {
    const row = await Promise.race([done, over])
    if (row === null) void later(done)
    return row
  } finally {
    clearTimeout(timer)
  }
}

async function later(done: Promise<RunRow>): Promise<null> {
  // What could not even be written down is found again when its lease is over.
  done.catch(() => {})
  return null
}
