// Work by the clock: checkpoints when there is something new, old idempotency records, and
// erasures that failed half-way.

import { listTenants } from '../platform/db/control.sql.ts'
import { PLATFORM } from '../platform/db/database.ts'
import { sweepIdempotency } from '../platform/idempotency.ts'
import type { Kernel } from '../platform/kernel.ts'
import { Refusal } from '../platform/refusal.ts'
import { recoverErasures } from '../slices/erasure/index.ts'
import { rollEpoch } from '../slices/gcrumbs/index.ts'

const SWEEP_MS = 600_000
const RECOVER_MS = 60_000

export interface Timers {
  stop(): Promise<void>
}

export function startTimers(kernel: Kernel, options: { epoch_seconds: number }): Timers {
  const timers: NodeJS.Timeout[] = []
  let running: Promise<unknown> = Promise.resolve()
  const every = (ms: number, event: string, work: () => Promise<void>) => {
    const timer = setInterval(() => {
      running = running.then(work).catch((error: unknown) => {
        kernel.logger.error(event, { reason: error instanceof Error ? error.name : 'unknown' })
      })
    }, ms)
    timer.unref()
    timers.push(timer)
  }
  if (options.epoch_seconds > 0)
    every(options.epoch_seconds * 1_000, 'timer.epochs_failed', () => rollAll(kernel))
  every(RECOVER_MS, 'timer.recovery_failed', () => recoverErasures(kernel))
  every(SWEEP_MS, 'timer.sweep_failed', async () => {
    await sweepIdempotency(kernel, kernel.clock.now())
  })
  return {
    async stop() {
      for (const timer of timers) clearInterval(timer)
      await running
    },
  }
}

/** Signs a checkpoint for every tenant whose log has grown. */
export async function rollAll(kernel: Kernel): Promise<void> {
  const tenants = await kernel.db.read(PLATFORM, listTenants)
  for (const { tenant_id } of tenants) {
    try {
      await rollEpoch(kernel, tenant_id)
    } catch (error) {
      const expected = error instanceof Refusal && error.code === 'chain_empty'
      if (!expected) throw error
    }
  }
}
