// The names of an erasure's steps, in order: a crash after any of them is undone or finished.

import type { Kernel } from '../../platform/kernel.ts'

/**
 * 1 marked; 2 planned, its parts durable and claimed by nothing; 3-ledger the plan is durable, the
 * secret still there; 3 secret destroyed; 4 rows replaced; 5 indexes dropped; 6 read paths checked;
 * 7-main certificate stored; 7 ledger row completed. Up to 2 the next start undoes the mark; from
 * 3-ledger on it finishes the erasure.
 */
export const ERASURE_STEPS = ['1', '2', '3-ledger', '3', '4', '5', '6', '7-main', '7'] as const

export type ErasureStep = (typeof ERASURE_STEPS)[number]

export async function passed(kernel: Kernel, step: ErasureStep): Promise<void> {
  await kernel.step(`erasure:${step}`)
}
