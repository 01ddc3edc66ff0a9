// The face of retention: handlers, the job of a run, and what the timer begins.

import type { retention } from '@custos/contract'
import type { HandlersOf } from '../../platform/call.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { listStoreHolds, placeHold, releaseHold } from './holds.ts'
import { getRetention, setRetention } from './retention.ts'
import { abandonRun, RETENTION_ERASE, retentionEraser, runRetention } from './run.ts'

export { runDueRetention } from './run.ts'

export const retentionHandlers = {
  get: getRetention,
  set: setRetention,
  run: runRetention,
  place_hold: placeHold,
  holds: listStoreHolds,
  release_hold: releaseHold,
} satisfies HandlersOf<typeof retention>

/** Before the worker starts: a run cut off by the last stop goes on. */
export function registerRetentionJobs(kernel: Kernel): void {
  kernel.jobs.register(RETENTION_ERASE, retentionEraser(kernel), { abandon: abandonRun })
}
