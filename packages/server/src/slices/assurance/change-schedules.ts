// Schedules: made, changed and deleted, each change on the log.

import {
  ASSURANCE_CHECKS_DEFAULT,
  type AssuranceSchedule,
  CONFORMANCE_INTERVAL_MIN,
  type assurance as contract,
  limits,
} from '@custos/contract'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Handler } from '../../platform/kernel/call.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { meter } from '../tenants/index.ts'
import {
  deleteSchedule,
  findSchedule,
  insertSchedule,
  listSchedules,
  type ScheduleRow,
  updateSchedule,
} from './assurance.sql.ts'
import { type CheckName, checksOf } from './checks.ts'
import { refuseLimited } from './run.ts'
import { namesOf, showSchedule } from './show.ts'

const ID_BYTES = 12
const MINUTE_US = 60_000_000
const INTERVAL_MIN = 60

interface ScheduleFields {
  readonly checks?: readonly CheckName[]
  readonly alert_webhook?: string | null
}

function refuseHasty(names: readonly CheckName[], interval_min: number): void {
  if (interval_min >= CONFORMANCE_INTERVAL_MIN || !checksOf(names).includes('conformance')) return
  const least = `${CONFORMANCE_INTERVAL_MIN} minutes`
  throw new Refusal('rejected', `conformance writes to the log: at intervals of ${least} or more`)
}

function refuseEmpty({ checks, alert_webhook }: ScheduleFields): void {
  if (alert_webhook !== undefined && alert_webhook !== null)
    throw new Refusal(
      'rejected',
      'alert_webhook: create a webhook for assurance.drift and assurance.fail instead',
    )
  if (checks !== undefined && checksOf(checks).length === 0)
    throw new Refusal('rejected', 'nothing is measured for metrics: name another check too')
}

export const createSchedule: Handler<typeof contract.create_schedule> = async (call, { body }) => {
  refuseLimited(call)
  refuseEmpty(body)
  const { checks = ASSURANCE_CHECKS_DEFAULT, interval_min = INTERVAL_MIN } = body
  refuseHasty(checks, interval_min)
  return call.once<AssuranceSchedule>({
    async run(tx) {
      if ((await listSchedules(tx)).length >= limits.assurance_schedules)
        return call.refuse('rejected', `a tenant has ${limits.assurance_schedules} at most`)
      const row: ScheduleRow = {
        schedule_id: call.kernel.ids.hex(ID_BYTES),
        interval_min,
        checks: JSON.stringify(checks),
        enabled: 1,
        next_due_us: tx.now() + interval_min * MINUTE_US,
        last_run_id: null,
        created_us: tx.now(),
        created_by: call.principal.key_id,
      }
      await insertSchedule(tx, row)
      meter(tx, call.operation.id)
      await log(tx, 'created', { row, changed_by: call.principal.key_id })
      return { reply: showSchedule(row), ids: { schedule_id: row.schedule_id } }
    },
    async replay(tx, { schedule_id }) {
      const row = await findSchedule(tx, String(schedule_id))
      return row ? showSchedule(row) : call.refuse('rejected', 'it was deleted since')
    },
  })
}

export const changeSchedule: Handler<typeof contract.update_schedule> = async (call, input) => {
  refuseLimited(call)
  const { params, body } = input
  refuseEmpty(body)
  return call.transact(async (tx) => {
    const row = await findSchedule(tx, params.schedule_id)
    if (!row) return call.refuse('schedule_not_found')
    const interval_min = body.interval_min ?? row.interval_min
    refuseHasty(body.checks ?? namesOf(row), interval_min)
    const enabled = body.enabled === undefined ? row.enabled : Number(body.enabled)
    const moved = interval_min !== row.interval_min || enabled > row.enabled
    const change = {
      interval_min,
      enabled,
      checks: body.checks ? JSON.stringify(body.checks) : row.checks,
      next_due_us: moved ? tx.now() + interval_min * MINUTE_US : row.next_due_us,
    }
    await updateSchedule(tx, row.schedule_id, change)
    meter(tx, call.operation.id)
    const changed = { ...row, ...change }
    await log(tx, 'updated', { row: changed, changed_by: call.principal.key_id })
    return showSchedule(changed)
  })
}

export const removeSchedule: Handler<typeof contract.delete_schedule> = async (call, input) => {
  refuseLimited(call)
  const { schedule_id } = input.params
  return call.transact(async (tx) => {
    const row = await findSchedule(tx, schedule_id)
    if (!row) return call.refuse('schedule_not_found')
    await deleteSchedule(tx, schedule_id)
    meter(tx, call.operation.id)
    await log(tx, 'deleted', { row, changed_by: call.principal.key_id })
    return { deleted: true as const, schedule_id }
  })
}

async function log(
  tx: Tx,
  change: 'created' | 'updated' | 'deleted',
  { row, changed_by }: { row: ScheduleRow; changed_by: string },
): Promise<void> {
  const { schedule_id, interval_min, enabled } = row
  await appendCrumb(tx, {
    event_type: 'assurance.schedule_changed',
    subject: schedule_id,
    payload: {
      change,
      interval_min,
      checks: checksOf(namesOf(row)),
      enabled: enabled === 1,
      changed_by,
    },
  })
}
