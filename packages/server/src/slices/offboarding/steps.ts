// The names of an off-boarding's steps, in order: a crash after any of them is finished.

import type { Kernel } from '../../platform/kernel.ts'

/**
 * marked: the credentials are revoked, the log takes nothing more; ledger: the plan is durable, the
 * keys are there; key: they are destroyed; logged: the log's last entry; checkpoint: it is signed;
 * certified: the certificate is stored; completed: it is in the ledger; removed: the rows are gone.
 */
export const OFFBOARDING_STEPS = [
  'marked',
  'ledger',
  'key',
  'logged',
  'checkpoint',
  'certified',
  'completed',
] as const

export type OffboardingStep = (typeof OFFBOARDING_STEPS)[number]

export async function passed(kernel: Kernel, step: OffboardingStep): Promise<void> {
  await kernel.step(`offboarding:${step}`)
}
