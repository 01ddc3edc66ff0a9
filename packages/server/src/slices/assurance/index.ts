// The face of assurance.

import type { assurance } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { captureBaseline } from './capture-baseline.ts'
import { changeSchedule, createSchedule, removeSchedule } from './change-schedules.ts'
import { baseline, drift, getRun, runs, schedules, stats } from './reads.ts'
import { run } from './run.ts'

export { runsSettled } from './carry-out.ts'
export { assureDue, interruptAbandoned, runDue, stopLooking } from './due.ts'
export {
  type Audited,
  type AuditTask,
  type CountName,
  type DataCheck,
  type Look,
  type Looker,
  LookStopped,
  type LookTask,
  type Observed,
  setLooker,
} from './looker.ts'

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
