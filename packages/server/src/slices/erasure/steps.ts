// The steps of an erasure, in order. After a crash at any step the erasure is undone or finished.

import type { Kernel } from '../../platform/kernel/kernel.ts'

/**
 * - `marked`: the memory is hidden from every read and refused by every write;
 * - `planned`: the plan's parts are durable, and no ledger row claims them;
 * - `ledger_recorded`: the ledger row is durable, the secret still there;
 * - `key_destroyed`: the secret is destroyed;
 * - `applied`: decisions are scrubbed, rows replaced by tombstones;
 * - `caches_dropped`: indexes and caches of this process no longer hold the memory;
 * - `verified`: every read path was checked;
 * - `certified`: the certificate is stored;
 * - `completed`: the ledger row is completed with it.
 *
 * Up to `planned` the next start undoes the mark; from `ledger_recorded` on it finishes the
 * erasure.
 */
export const ERASURE_STEPS = [
  'marked',
  'planned',
  'ledger_recorded',
  'key_destroyed',
  'applied',
  'caches_dropped',
  'verified',
  'certified',
  'completed',
] as const

/** Reports a step to crash tests; does nothing in service. */
export async function reportStep(
  kernel: Kernel,
  step: (typeof ERASURE_STEPS)[number],
): Promise<void> {
  await kernel.step(`erasure:${step}`)
}
