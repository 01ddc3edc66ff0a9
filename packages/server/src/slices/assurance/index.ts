// The public interface of the assurance slice.

import type { assurance } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { baseline, drift, getRun, runs, schedules, stats } from './reads.ts'
import { captureBaseline, run } from './run.ts'
import { changeSchedule, createSchedule, removeSchedule } from './schedules.ts'

export { awaitRuns } from './execute-run.ts'
export { assureDue, interruptAbandoned, stopChecking } from './schedules.ts'
export {
  type AuditResult,
  type AuditTask,
  type CheckReport,
  CheckStopped,
  type CheckTask,
  type CountName,
  type DataCheck,
  setChecker,
  type TenantChecker,
  type TenantObservation,
} from './tenant-checker.ts'

export const assuranceHandlers = {
  create_schedule: createSchedule,
  schedules,
  update_schedule: changeSchedule,
  delete_schedule: removeSchedule,
  run,
  runs,
  get_run: getRun,
  capture_baseline: captureBaseline,
  baseline,
  drift,
  stats,
} satisfies HandlersOf<typeof assurance>
