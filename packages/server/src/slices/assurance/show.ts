// Converts rows of assurance to members of replies.

import type {
  AssuranceRun,
  AssuranceRunSummary,
  AssuranceSchedule,
  DriftEvent,
} from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { RunRow, ScheduleRow } from './assurance.sql.ts'
import { type CheckName, type Results, resultsByName } from './checks.ts'

// Parses texts that this slice wrote from values of the contract.

export function namesOf({ checks }: { readonly checks: string }): CheckName[] {
  const names: CheckName[] = JSON.parse(checks)
  return names
}

export const showSchedule = (row: ScheduleRow): AssuranceSchedule => ({
  schedule_id: row.schedule_id,
  interval_min: row.interval_min,
  checks: namesOf(row),
  enabled: row.enabled === 1,
  alert_webhook: null,
  next_due_at: row.enabled === 1 ? formatTime(row.next_due_us) : null,
  last_run_id: row.last_run_id,
  created_at: formatTime(row.created_us),
})

export const showSummary = (row: RunRow): AssuranceRunSummary => ({
  run_id: row.run_id,
  status: row.status,
  trigger: row.begun_by,
  schedule_id: row.schedule_id,
  checks: namesOf(row),
  drift_events_count: row.drift_count,
  error: row.error,
  started_at: formatTime(row.started_us),
  completed_at: row.completed_us === null ? null : formatTime(row.completed_us),
})

export function driftOf({ drift }: RunRow): DriftEvent[] {
  const events: DriftEvent[] = drift === null ? [] : JSON.parse(drift)
  return events
}

export function showRun(row: RunRow): AssuranceRun {
  const results: Results | null = row.results === null ? null : JSON.parse(row.results)
  return {
    ...showSummary(row),
    checks_results: results === null ? {} : resultsByName(namesOf(row), results),
    drift_events: driftOf(row),
    baseline_id: row.baseline_id,
    seed: row.seed,
    log_seq: row.log_seq,
  }
}
