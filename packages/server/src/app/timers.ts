// Work by the clock: checkpoints when there is something new, requests nobody has decided, old
// idempotency records, and erasures that failed half-way.

import { listTenantIds } from '../platform/db/control.sql.ts'
import { PLATFORM } from '../platform/db/database.ts'
import { sweepIdempotency } from '../platform/idempotency.ts'
import type { Kernel } from '../platform/kernel.ts'
import { ifLeased } from '../platform/leases.ts'
import { Refusal } from '../platform/refusal.ts'
import { expireApprovals } from '../slices/approvals/index.ts'
import { assureDue } from '../slices/assurance/index.ts'
import { recoverAbandoned, recoverErasures } from '../slices/erasure/index.ts'
import { rollEpoch } from '../slices/gcrumbs/index.ts'
import { flushRetrievedFacts, purgeErased } from '../slices/memory/index.ts'
import { resumeDestructions } from '../slices/offboarding/index.ts'
import { runDueRetention } from '../slices/retention/index.ts'
import { rewriteWhenDue } from './admin-rewrite.ts'

const SWEEP_MS = 600_000
/** How long after its time a request may still be written down as waiting. */
const EXPIRE_MS = 30_000
/** What is due by its age goes within the hour, also where a service never runs that long. */
const RETENTION_MS = 600_000
const REWRITE_LOOK_MS = 600_000
const RECOVER_MS = 60_000
/** How late a check may begin, and how long a run of a dead process may look alive. */
const ASSURANCE_MS = 10_000
/** How soon what a dead process has held is looked for. */
const ABANDONED_MS = 2_000
/** An erased fact leaves the memory of every process within a second. */
const PURGE_MS = 500
/** How long what a retrieval has returned may count as never retrieved elsewhere. */
const RETRIEVED_MS = 2_000

export interface TimerOptions {
  readonly epoch_seconds: number
  /** 0: never. */
  readonly rewrite_hours: number
}

export interface Timers {
  stop(): Promise<void>
}

export function startTimers(kernel: Kernel, options: TimerOptions): Timers {
  const timers: NodeJS.Timeout[] = []
  const running = new Map<string, Promise<void>>()
  // A tick that finds the last one still at work is left out.
  const every = (ms: number, event: string, work: () => Promise<void>) => {
    const timer = setInterval(() => {
      if (running.has(event)) return
      const done = work()
        .catch((error: unknown) => {
          kernel.logger.error(event, { reason: error instanceof Error ? error.name : 'unknown' })
        })
        .finally(() => running.delete(event))
      running.set(event, done)
    }, ms)
    timer.unref()
    timers.push(timer)
  }
  const inOneProcess = async (name: string, work: () => Promise<void>): Promise<void> => {
    await ifLeased(kernel, `timer/${name}`, work)
  }
  if (options.epoch_seconds > 0)
    every(options.epoch_seconds * 1_000, 'timer.epochs_failed', () =>
      inOneProcess('epochs', () => rollAll(kernel)),
    )
  every(RETRIEVED_MS, 'timer.retrieved_failed', () => flushRetrievedFacts(kernel))
  if (kernel.db.shared) every(PURGE_MS, 'timer.purge_failed', () => purgeErased(kernel))
  if (kernel.db.shared && options.rewrite_hours > 0)
    every(REWRITE_LOOK_MS, 'timer.rewrite_failed', () =>
      rewriteWhenDue(kernel, options.rewrite_hours),
    )
  if (kernel.db.shared) every(ABANDONED_MS, 'timer.takeover_failed', () => recoverAbandoned(kernel))
  every(RECOVER_MS, 'timer.recovery_failed', () =>
    inOneProcess('recovery', async () => {
      await recoverErasures(kernel)
      await resumeDestructions(kernel)
    }),
  )
  every(EXPIRE_MS, 'timer.expiry_failed', () =>
    inOneProcess('expiry', () => expireApprovals(kernel)),
  )
  every(RETENTION_MS, 'timer.retention_failed', () =>
    inOneProcess('retention', async () => {
      await runDueRetention(kernel)
    }),
  )
  every(ASSURANCE_MS, 'timer.assurance_failed', () =>
    inOneProcess('assurance', () => assureDue(kernel)),
  )
  every(SWEEP_MS, 'timer.sweep_failed', () =>
    inOneProcess('sweep', async () => {
      await sweepIdempotency(kernel, kernel.clock.now())
    }),
  )
  return {
    async stop() {
      for (const timer of timers) clearInterval(timer)
      await Promise.all(running.values())
    },
  }
}

/** Signs a checkpoint for every tenant whose log has grown. */
export async function rollAll(kernel: Kernel): Promise<void> {
  const tenants = await kernel.db.read(PLATFORM, listTenantIds)
  for (const tenant_id of tenants) {
    try {
      await rollEpoch(kernel, tenant_id)
    } catch (error) {
      const expected = error instanceof Refusal && error.code === 'chain_empty'
      if (!expected) throw error
    }
  }
}
