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
  /** Ends soon after `stopping`: what is left is for the next run, in whatever process. */
  run(kernel: Kernel, stopping: AbortSignal): Promise<unknown>
}

interface TimerOptions {
  /** 0: never. */
  readonly epoch_seconds: number
  /** 0: never. */
  readonly rewrite_hours: number
}

const MINUTE_MS = 60_000

const timersOf = ({ epoch_seconds, rewrite_hours }: TimerOptions): readonly Timer[] => [
  { name: 'epochs', every_ms: epoch_seconds * 1_000, where: 'one_process', run: rollGrownLogs },
  // How long a returned memory may count as never retrieved in other processes.
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
  // How soon after an outage, or the death of another process, its interrupted erasures go on.
  { name: 'takeover', every_ms: 2_000, where: 'each_process', run: recoverInterrupted },
  { name: 'recovery', every_ms: MINUTE_MS, where: 'one_process', run: recoverAll },
  // How long after its expiry a request may still be stored as pending.
  { name: 'expiry', every_ms: 30_000, where: 'one_process', run: expireApprovals },
  // How late a session that has rested gets its digest.
  { name: 'digests', every_ms: 10_000, where: 'one_process', run: makeDueDigests },
  // How late a permit ends, and a run whose memory was erased.
  { name: 'runs', every_ms: 5_000, where: 'one_process', run: settleDueRuns },
  // Also where a service never runs for an hour, data past its retention goes within the hour.
  { name: 'retention', every_ms: 10 * MINUTE_MS, where: 'one_process', run: runDueRetention },
  // How late a run may begin, and how long the run of a dead process may look alive.
  { name: 'assurance', every_ms: 10_000, where: 'one_process', run: assureDue },
  // How late `last_used_at` of a key is.
  { name: 'key_uses', every_ms: 30_000, where: 'each_process', run: flushKeyUses },
  // How long a key or token with a namespace stays stored after it has ended.
  {
    name: 'credentials',
    every_ms: 10 * MINUTE_MS,
    where: 'one_process',
    run: deleteEndedCredentials,
  },
  // How late usage is told to the payment provider, and a failed payment ends a plan.
  { name: 'billing', every_ms: 15 * MINUTE_MS, where: 'one_process', run: reconcileBilling },
  { name: 'sessions', every_ms: 10 * MINUTE_MS, where: 'one_process', run: sweepSessions },
  { name: 'tickets', every_ms: MINUTE_MS, where: 'one_process', run: sweepTickets },
  // How late an entry is sent after the process that appended it died.
  { name: 'webhooks', every_ms: 30_000, where: 'each_process', run: followEndpoints },
  // How long only the process that made a tenant's first endpoint knows of it.
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
    // A tick during the run of the one before is left out.
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
