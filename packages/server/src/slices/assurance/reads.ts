// Reads of assurance: schedules, runs, the baseline, drift, counts.

import { type assurance as contract, limits } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { Handler } from '../../platform/kernel/call.ts'
import { pageOf } from '../../platform/page.ts'
import {
  countRuns,
  findBaseline,
  findRun,
  listDrifted,
  listRuns,
  listSchedules,
} from './assurance.sql.ts'
import { refuseLimited } from './run.ts'
import { driftOf, showRun, showSchedule, showSummary } from './show.ts'

export const schedules: Handler<typeof contract.schedules> = async (call) => {
  refuseLimited(call)
  return { schedules: (await call.read(listSchedules)).map(showSchedule) }
}

export const runs: Handler<typeof contract.runs> = async (call, { query }) => {
  refuseLimited(call)
  const page = pageOf(query, limits.assurance_runs_page.default)
  const rows = await call.read((db) => listRuns(db, page))
  return page.envelope('runs', rows.map(showSummary))
}

export const getRun: Handler<typeof contract.get_run> = async (call, { params }) => {
  refuseLimited(call)
  const row = await call.read((db) => findRun(db, params.run_id))
  return row ? showRun(row) : call.refuse('run_not_found')
}

export const baseline: Handler<typeof contract.baseline> = async (call) => {
  refuseLimited(call)
  const row = await call.read(findBaseline)
  if (!row) return call.refuse('baseline_not_found')
  const { baseline_id, run_id, captured_us } = row
  // Written by carryOut.
  const snapshot: Record<string, unknown> = JSON.parse(row.snapshot)
  return { baseline_id, run_id, captured_at: formatTime(captured_us), snapshot }
}

export const drift: Handler<typeof contract.drift> = async (call, { query }) => {
  refuseLimited(call)
  const limit = query.limit ?? limits.assurance_drift_page.default
  const rows = await call.read((db) => listDrifted(db, limit))
  const events = rows.flatMap((row) => {
    const detected_at = formatTime(row.completed_us ?? row.started_us)
    return driftOf(row).map((event) => ({ ...event, run_id: row.run_id, detected_at }))
  })
  const drift_events = events.slice(0, limit)
  return { drift_events, count: drift_events.length }
}

export const stats: Handler<typeof contract.stats> = async (call) => {
  refuseLimited(call)
  const { counted, scheduled, last } = await call.read(async (db) => ({
    counted: await countRuns(db),
    scheduled: await listSchedules(db),
    last: await listRuns(db, { limit: 1, offset: 0 }),
  }))
  const of = (wanted: string) => Number(counted.find(({ status }) => status === wanted)?.count ?? 0)
  const [newest] = last
  return {
    total_runs: counted.reduce((sum, { count }) => sum + Number(count), 0),
    passed: of('pass'),
    drifted: of('drift'),
    failed: of('fail'),
    running: of('running'),
    active_schedules: scheduled.filter(({ enabled }) => enabled === 1).length,
    last_run: newest ? showSummary(newest) : null,
  }
}
