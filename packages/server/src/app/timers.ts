// The timers of the service: what runs at intervals, and in which processes.

import { sweepIdempotency } from '../platform/kernel/idempotency.ts'
import type { Kernel } from '../platform/kernel/kernel.ts'
import { runIfLeaseFree } from '../platform/kernel/leases.ts'
import { assureDue } from '../slices/assurance/index.ts'
import { reconcileBilling } from '../slices/billing/index.ts'
import { recoverErasures, recoverInterrupted } from '../slices/erasure/index.ts'
import { rollGrownLogs } from '../slices/gcrumbs/index.ts'
import { sweepSessions } from '../slices/identity/index.ts'
import {
  flushRetrievedFacts,
  makeDueDigests,
  purgeErased,
  saveIndexes,
} from '../slices/memory/index.ts'
import { resumeDestructions } from '../slices/offboarding/index.ts'
import { settleDueRuns } from '../slices/orchestrator/index.ts'
import { expireApprovals } from '../slices/records/index.ts'
import { runDueRetention } from '../slices/retention/index.ts'
import { sweepTickets } from '../slices/streams/index.ts'
import { deleteEndedCredentials, flushKeyUses } from '../slices/tenants/index.ts'
import {
  deleteEndedDeliveries,
  followEndpoints,
  followNewEndpoints,
} from '../slices/webhooks/index.ts'
import { rewriteWhenDue } from './admin.ts'

interface Timer {
  /** Part of the lease's name and of the log event of a failure. */
  readonly name: string
  readonly every_ms: number
  /** `shared`: in each process that shares its database; `one_process`: under a lease. */
  readonly where: 'each_process' | 'one_process' | 'shared'
  /** Ends soon after `stopping` is aborted; the next run, in any process, does what is left. */
  run(kernel: Kernel, stopping: AbortSignal): Promise<unknown>
}

interface TimerOptions {
  /** 0 disables the timer. */
  readonly epoch_seconds: number
  /** 0 disables the timer. */
  readonly rewrite_hours: number
}

const MINUTE_MS = 60_000

const timersOf = ({ epoch_seconds, rewrite_hours }: TimerOptions): readonly Timer[] => [
  { name: 'epochs', every_ms: epoch_seconds * 1_000, where: 'one_process', run: rollGrownLogs },
  // The time for which other processes count a returned memory as never retrieved: these two
  // seconds, and as long as it takes to record some thousand memories a second.
  { name: 'retrieved', every_ms: 2_000, where: 'each_process', run: flushRetrievedFacts },
  { name: 'indexes', every_ms: MINUTE_MS, where: 'each_process', run: saveDueIndexes },
  // An erased fact leaves the memory of every process within a second.
  { name: 'purge', every_ms: 500, where: 'shared', run: purgeErased },
  {
    name: 'rewrite',
    every_ms: rewrite_hours > 0 ? 10 * MINUTE_MS : 0,
    where: 'shared',
    run: (kernel) => rewriteWhenDue(kernel, rewrite_hours),
  },
  // Maximum delay before erasures interrupted by an outage or a dead process continue.
  { name: 'takeover', every_ms: 2_000, where: 'each_process', run: recoverInterrupted },
  { name: 'recovery', every_ms: MINUTE_MS, where: 'one_process', run: recoverAll },
  // Maximum time after its expiry for which a request is still stored as pending.
  { name: 'expiry', every_ms: 30_000, where: 'one_process', run: expireApprovals },
  // Maximum delay before an idle session gets its digest.
  { name: 'digests', every_ms: 10_000, where: 'one_process', run: makeDueDigests },
  // Maximum delay before a permit ends, or a run whose memory was erased.
  { name: 'runs', every_ms: 5_000, where: 'one_process', run: settleDueRuns },
  // Deletes data past its retention within the hour, even if a service never runs for an hour.
  { name: 'retention', every_ms: 10 * MINUTE_MS, where: 'one_process', run: runDueRetention },
  // Maximum delay of a run, and maximum time for which the run of a dead process looks alive.
  { name: 'assurance', every_ms: 10_000, where: 'one_process', run: assureDue },
  // Maximum delay of `last_used_at` of a key.
  { name: 'key_uses', every_ms: 30_000, where: 'each_process', run: flushKeyUses },
  // Maximum time for which a key or token with a namespace is stored after it has ended.
  {
    name: 'credentials',
    every_ms: 10 * MINUTE_MS,
    where: 'one_process',
    run: deleteEndedCredentials,
  },
  // Maximum delay before usage is reported to the payment provider or a failed payment ends a plan.
  { name: 'billing', every_ms: 15 * MINUTE_MS, where: 'one_process', run: reconcileBilling },
  { name: 'sessions', every_ms: 10 * MINUTE_MS, where: 'one_process', run: sweepSessions },
  { name: 'tickets', every_ms: MINUTE_MS, where: 'one_process', run: sweepTickets },
  // Maximum delay of an entry whose process died after it had appended it.
  { name: 'webhooks', every_ms: 30_000, where: 'each_process', run: followEndpoints },
  // Maximum time for which only the creating process knows of a tenant's first endpoint.
  { name: 'new_webhooks', every_ms: 2_000, where: 'shared', run: followNewEndpoints },
  {
    name: 'deliveries',
    every_ms: 10 * MINUTE_MS,
    where: 'one_process',
    run: deleteEndedDeliveries,
  },
  {
    name: 'sweep',
    every_ms: 10 * MINUTE_MS,
    where: 'one_process',
    run: (kernel, stopping) => sweepIdempotency(kernel, kernel.clock.now(), stopping),
  },
]

/** `stop` resolves when the work under way has ended. */
export function startTimers(kernel: Kernel, options: TimerOptions): { stop(): Promise<void> } {
  const running = new Map<string, Promise<void>>()
  const stopping = new AbortController()
  const tick = (timer: Timer) => {
    // Skips a tick while the previous run is in flight.
    if (running.has(timer.name)) return
    const run = runTimer(kernel, timer, stopping.signal)
      .catch((error: unknown) => {
        const reason = error instanceof Error ? error.name : 'unknown'
        kernel.logger.error(`timer.${timer.name}_failed`, { reason })
      })
      .finally(() => running.delete(timer.name))
    running.set(timer.name, run)
  }
  const intervals = timersOf(options)
    .filter(({ every_ms, where }) => every_ms > 0 && (where !== 'shared' || kernel.db.shared))
    .map((timer) => setInterval(() => tick(timer), timer.every_ms).unref())
  return {
    async stop() {
      stopping.abort()
      for (const interval of intervals) clearInterval(interval)
      await Promise.all(running.values())
    },
  }
}

async function runTimer(
  kernel: Kernel,
  { name, where, run }: Timer,
  stopping: AbortSignal,
): Promise<void> {
  const work = async () => {
    await run(kernel, stopping)
  }
  if (where === 'one_process') await runIfLeaseFree(kernel, `timer/${name}`, work)
  else await work()
}

const saveDueIndexes = (kernel: Kernel): Promise<void> => saveIndexes(kernel)

async function recoverAll(kernel: Kernel): Promise<void> {
  await recoverErasures(kernel)
  await resumeDestructions(kernel)
}
