// The face of off-boarding: handlers, the job that removes rows, what a start goes on with.

import type { offboarding } from '@custos/contract'
import type { HandlersOf } from '../../platform/call.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { destroyKey, destruction } from './destroy-key.ts'
import { TENANT_REMOVE, tenantRemover } from './remove-job.ts'

export { resumeDestructions } from './destruction.ts'
export { OFFBOARDING_STEPS } from './plan.ts'
export { hasRowsLeft, KEPT_TABLES, removedTables } from './remove-job.ts'

export const offboardingHandlers = {
  destroy_key: destroyKey,
  destruction,
} satisfies HandlersOf<typeof offboarding>

/** Before the worker starts: a removal cut off by the last stop goes on. */
export function registerOffboardingJobs(kernel: Kernel): void {
  kernel.jobs.register(TENANT_REMOVE, tenantRemover(kernel))
}
