// Off-boarding of tenants: handlers, the job that removes rows, what a start resumes.

import type { offboarding } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { destroyKey, destruction } from './destroy-key.ts'
import { TENANT_REMOVE, tenantRemover } from './remove-job.ts'

export { resumeDestructions } from './destruction.ts'
export { type MovePlan, OFFBOARDING_STEPS } from './plan.ts'
export { hasRowsLeft, KEPT_TABLES, removedTables } from './remove-job.ts'

export const offboardingHandlers = {
  destroy_key: destroyKey,
  destruction,
} satisfies HandlersOf<typeof offboarding>

/** Before the worker starts: it resumes a removal that the last stop interrupted. */
export function registerOffboardingJobs(kernel: Kernel): void {
  kernel.jobs.register(TENANT_REMOVE, tenantRemover(kernel))
}
