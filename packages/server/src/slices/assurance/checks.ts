// Names of checks, what their results amount to, and the members of answers that show them.

import {
  ASSURANCE_ALIASES,
  ASSURANCE_CHECKS,
  type AssuranceAlias,
  type AssuranceCheck,
  type AssuranceRun,
  type AssuranceRunSummary,
  type AssuranceSchedule,
  type AssuranceStatus,
  type CheckResult,
  type DriftEvent,
} from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { RunRow, ScheduleRow } from './assurance.sql.ts'

export type CheckName = AssuranceCheck | AssuranceAlias

const isAlias = (name: CheckName): name is AssuranceAlias => name in ASSURANCE_ALIASES

/** Resolves names and aliases to checks, without duplicates, in the order they run. */
export function checksOf(names: readonly CheckName[]): AssuranceCheck[] {
  const wanted = new Set<AssuranceCheck>()
  for (const name of names)
    for (const check of isAlias(name) ? ASSURANCE_ALIASES[name] : [name]) wanted.add(check)
  return ASSURANCE_CHECKS.filter((check) => wanted.has(check))
}

export type Results = Readonly<Partial<Record<AssuranceCheck, CheckResult>>>

/** `metrics` is the only check that a caller can name and that has no implementation. */
const NOT_MEASURED = notChecked('no error rates or latencies are measured of one tenant')

/** Results by check name, and also by each alias that was asked for. */
function resultsByName(names: readonly CheckName[], results: Results): Record<string, CheckResult> {
  const named: Record<string, CheckResult> = { ...results }
  for (const name of names)
    if (isAlias(name)) named[name] = together(ASSURANCE_ALIASES[name], results)
  return named
}

function together(checks: readonly AssuranceCheck[], results: Results): CheckResult {
  const found = checks.flatMap((check) => results[check] ?? [])
  const worst =
    found.find(({ status }) => status === 'fail') ??
    found.find(({ status }) => status === 'not_checked') ??
    found[0]
  return worst ?? NOT_MEASURED
}

export function notChecked(detail: string): CheckResult {
  const nothing = { counts: {}, findings: [], findings_total: 0 }
  return { status: 'not_checked', passed: false, detail, ...nothing }
}

/** A failure outweighs drift. A requested check that could not be made counts as failed. */
export function decideStatus(results: Results, drift: readonly DriftEvent[]): AssuranceStatus {
  const all = Object.values(results)
  if (all.length === 0 || !all.every(({ passed }) => passed)) return 'fail'
  return drift.length > 0 ? 'drift' : 'pass'
}

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
