// Retention and legal holds: handlers, the job of a run, and the run that the timer starts.

import type { retention } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { EXPIRY_ERASE, expiryEraser } from './expiry.ts'
import { listStoreHolds, placeHold, releaseHold } from './holds.ts'
import { getRetention, setRetention } from './retention.ts'
import { abandonRun, RETENTION_ERASE, retentionEraser, runRetention } from './run.ts'

export { runDueRetention } from './run.ts'
export { retentionTextSources } from './store-notes.ts'

export const retentionHandlers = {
  get: getRetention,
  set: setRetention,
  run: runRetention,
  place_hold: placeHold,
  holds: listStoreHolds,
  release_hold: releaseHold,
} satisfies HandlersOf<typeof retention>

/** Before the worker starts: it resumes a run that the last stop interrupted. */
export function registerRetentionJobs(kernel: Kernel): void {
  kernel.jobs.register(RETENTION_ERASE, retentionEraser(kernel), { abandon: abandonRun })
  kernel.jobs.register(EXPIRY_ERASE, expiryEraser(kernel))
}
