// How long a job works before others get their turn: there is one lane for those of all tenants.

import type { JobPause } from './jobs/queue.ts'
import { type Kernel, perKernel } from './kernel.ts'

/** In milliseconds; less in tests. */
export const turnLength: (kernel: Kernel) => { ms: number } = perKernel(() => ({ ms: 2_000 }))

/** Behind every job that is due by now. */
export const NEXT_TURN: JobPause = { again_ms: 0 }

/** To be asked after each batch, so that a turn has at least one: whether it is over. */
export function beginTurn(kernel: Kernel): () => boolean {
  const ends = performance.now() + turnLength(kernel).ms
  return () => performance.now() >= ends
}
