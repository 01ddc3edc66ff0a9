// The worker: takes due jobs of each queue under a lease and runs them to their end.

import type { Clock } from '../clock.ts'
import { loadOnce } from '../concurrency.ts'
import { type Database, PLATFORM } from '../db/database.ts'
import {
  countOpenJobs,
  findJob,
  insertJob,
  type JobRow,
  leaseJobs,
  listDueJobs,
  releaseLeases,
  updateJob,
  wakeJob,
} from '../db/jobs.sql.ts'
import type { Tx } from '../db/tenant-db.ts'
import type { Ids } from '../ids.ts'
import { failureOf } from '../refusal.ts'
import type { Logger } from '../telemetry/logger.ts'
import {
  type CancelResult,
  type Job,
  JobEnded,
  type JobQueue,
  type JobRunner,
  type JobState,
  type JobTraits,
  QUEUE_NAMES,
  QUEUES,
  type QueueLimits,
  type QueueName,
} from './queue.ts'
import { Running } from './running.ts'

const ATTEMPTS_MAX = 10
/** Due jobs to read for each free slot, because several may belong to one tenant. */
const CANDIDATES = 4

interface WorkerParts {
  readonly db: Database
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  /** How long the lease of a process that died at work on a job stays held. */
  readonly lease_ms: number
}

export const toJob = (row: JobRow): Job => ({
  ...row,
  // Only this module writes `state` and `payload`.
  state: row.state as JobState,
  payload: JSON.parse(row.payload) as Readonly<Record<string, unknown>>,
})

/** The first row of each tenant, in the order of the rows. */
function firstOfEach(rows: readonly JobRow[]): JobRow[] {
  const seen = new Set<string>()
  return rows.filter(({ tenant_id }) => !seen.has(tenant_id) && seen.add(tenant_id))
}

export class JobWorker implements JobQueue {
  readonly #parts: WorkerParts
  readonly #kinds = new Map<string, { readonly runner: JobRunner; readonly traits: JobTraits }>()
  /** Jobs that run in this process, by id. */
  readonly #running = new Map<string, Running>()
  readonly #queues: readonly WorkQueue[]
  #stopping = false
  readonly #releaseLeases: () => Promise<unknown>

  constructor(parts: WorkerParts) {
    this.#parts = parts
    this.#releaseLeases = loadOnce(() => parts.db.transact(PLATFORM, releaseLeases))
    this.#queues = QUEUE_NAMES.map(
      (name) =>
        new WorkQueue(QUEUES[name], {
          take: (room, except_tenants) => this.#take(name, room, except_tenants),
          run: (leased) => this.#runLeased(leased),
          failed: (error) => this.#logFailure('jobs.poll_failed', error),
        }),
    )
  }

  async enqueue(tx: Tx, kind: string, payload: Readonly<Record<string, unknown>>): Promise<Job> {
    const now = tx.now()
    const row: JobRow = {
      job_id: this.#parts.ids.hex(12),
      tenant_id: tx.tenant_id,
      kind,
      state: 'queued',
      payload: JSON.stringify(payload),
      progress_done: 0,
      progress_total: 0,
      attempts: 0,
      error: null,
      created_us: now,
      updated_us: now,
    }
    await insertJob(tx, row)
    tx.afterCommit(() => this.start())
    return toJob(row)
  }

  register(kind: string, runner: JobRunner, traits: JobTraits = {}): void {
    this.#kinds.set(kind, { runner, traits })
  }

  traitsOf(kind: string): JobTraits {
    return this.#kinds.get(kind)?.traits ?? {}
  }

  async cancel(tx: Tx, job_id: string): Promise<CancelResult> {
    const row = await findJob(tx, job_id)
    if (!row) return 'absent'
    const traits = this.traitsOf(row.kind)
    if (!traits.cancellable) return 'not_cancellable'
    const change = { state: 'cancelled', lease_until_us: 0, updated_us: tx.now() }
    // The cancellation and the end of the work race: whichever updates the row first wins.
    if ((await updateJob(tx, job_id, change)) !== 1) return 'ended'
    await traits.abandon?.(tx, toJob(row))
    tx.afterCommit(() => this.#running.get(job_id)?.cancel())
    return 'cancelled'
  }

  async wake(tx: Tx, job_id: string): Promise<void> {
    await wakeJob(tx, job_id)
    tx.afterCommit(() => this.start())
  }

  start(): void {
    for (const queue of this.#queues) queue.wake()
  }

  async stop(): Promise<void> {
    this.#stopping = true
    for (const running of this.#running.values()) running.stop()
    await Promise.all(this.#queues.map((queue) => queue.stop()))
  }

  async idle(): Promise<void> {
    for (;;) {
      for (const queue of this.#queues) await queue.settled()
      if ((await this.#parts.db.read(PLATFORM, countOpenJobs)) === 0) return
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  // Leaves jobs of a kind that this process does not know to a process of a newer version.
  async #take(
    queue: QueueName,
    room: number,
    except_tenants: readonly string[],
  ): Promise<Running[]> {
    const { db, clock } = this.#parts
    const kinds = [...this.#kinds].flatMap(([kind, { traits }]) =>
      (traits.queue ?? 'common') === queue ? [kind] : [],
    )
    if (kinds.length === 0) return []
    await this.#takeOver()
    const limit = room === 1 ? 1 : room * CANDIDATES
    const tried = [...except_tenants]
    while (!this.#stopping) {
      const filter = { kinds, except_tenants: tried, limit }
      const due = await db.read(PLATFORM, (read) => listDueJobs(read, clock.now(), filter))
      if (due.length === 0) break
      const chosen = firstOfEach(due).slice(0, room)
      const leased = await this.#lease(chosen)
      if (leased.length > 0) return leased
      // Other processes have just leased these jobs and will take the other jobs of these tenants.
      tried.push(...chosen.map(({ tenant_id }) => tenant_id))
    }
    return []
  }

  #logFailure(event: string, error: unknown): void {
    this.#parts.logger.error(event, { reason: error instanceof Error ? error.name : 'unknown' })
  }

  // Only one process works on embedded data, so leases found at its start belong to a dead one.
  async #takeOver(): Promise<void> {
    const { db } = this.#parts
    if (db.stats().engine === 'sqlite') await this.#releaseLeases()
  }

  /** Leases those of the rows that no process is working on. */
  async #lease(rows: readonly JobRow[]): Promise<Running[]> {
    const { db, clock, lease_ms } = this.#parts
    // After a suspended machine resumes, leases may have expired before their renewal.
    const left = rows.filter(({ job_id }) => !this.#running.has(job_id))
    if (left.length === 0) return []
    const job_ids = left.map(({ job_id }) => job_id)
    return db.transact(PLATFORM, async (tx) => {
      const now_us = clock.now()
      const held_us = now_us + lease_ms * 1_000
      const lease = { now_us, until_us: held_us, shared: db.shared }
      const taken = await leaseJobs(tx, job_ids, lease)
      return left
        .filter(({ job_id }) => taken.has(job_id))
        .map((row) => {
          const cancellable = this.traitsOf(row.kind).cancellable === true
          return new Running(toJob(row), { db, clock, lease_ms, cancellable, held_us })
        })
    })
  }

  async #runLeased(running: Running): Promise<void> {
    const { job } = running
    this.#running.set(job.job_id, running)
    // The stop may have come between the lease and this line, when `stop` did not know the job yet.
    if (this.#stopping) running.stop()
    try {
      await this.#run(running)
    } catch (error) {
      // It may have failed because the job was ended elsewhere: then there is nothing to save.
      const ended = running.cancelled || error instanceof JobEnded
      // If that cannot be saved either, the lease expires and the job is resumed.
      if (!ended)
        await this.#failed(running, error).catch((e) => this.#logFailure('jobs.save_failed', e))
    } finally {
      this.#running.delete(job.job_id)
    }
  }

  async #run(running: Running): Promise<void> {
    const { kind } = running.job
    const runner = this.#kinds.get(kind)?.runner
    if (!runner) throw new Error('no runner for this kind of job')
    const pause = await running.during(() => runner(running))
    if (running.cancelled) return
    if (pause) await running.pause(pause)
    else if (this.#stopping) await running.save({ lease_until_us: 0 })
    else await running.finish()
  }

  async #failed(running: Running, error: unknown): Promise<void> {
    const { job } = running
    const { clock, logger } = this.#parts
    const last = !running.pausing && job.attempts + 1 >= ATTEMPTS_MAX
    const reason = failureOf(error)
    logger.error('jobs.failed', { job_id: job.job_id, kind: job.kind, reason, last })
    const change = {
      state: last ? 'failed' : 'queued',
      error: reason,
      lease_until_us: clock.now() + Math.min(60, 2 ** job.attempts) * 1_000_000,
    }
    await running.save(change, async (tx) => {
      if (last) await this.traitsOf(job.kind).abandon?.(tx, job)
    })
  }
}

/** Poll interval: the maximum delay before a queue notices a due job that did not wake it. */
const POLL_MS = 1_000
/** Tenants per round; with more tenants than this, a round ends before all are served. */
const ROUND_MAX = 500

interface QueueSource {
  /** Leases up to `room` jobs, those due longest first, and at most one per tenant. */
  take(room: number, except_tenants: readonly string[]): Promise<readonly Running[]>
  /** Resolves when the job has ended or paused; never rejects. */
  run(leased: Running): Promise<void>
  /** Called when taking jobs failed; the queue tries again after `POLL_MS`. */
  failed(error: unknown): void
}

class WorkQueue {
  readonly #limits: QueueLimits
  readonly #source: QueueSource
  readonly #running = new Set<Promise<void>>()
  /** Number of running jobs by tenant. */
  readonly #places = new Map<string, number>()
  /** Tenants served since the last time that no other tenant had a job due. */
  readonly #served = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #filling: Promise<void> | undefined
  #woken = false
  #stopped = false

  constructor(limits: QueueLimits, source: QueueSource) {
    this.#limits = limits
    this.#source = source
  }

  /** Looks for due jobs soon. */
  wake(): void {
    this.#woken = true
    this.#fillIn(0)
  }

  /** Resolves when no job runs here. */
  async settled(): Promise<void> {
    while (this.#filling || this.#running.size > 0)
      await Promise.all([this.#filling, ...this.#running])
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.settled()
  }

  #fillIn(delayMs: number): void {
    if (this.#stopped || this.#filling) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#filling = this.#fill().finally(() => {
        this.#filling = undefined
        this.#fillIn(this.#woken ? 0 : POLL_MS)
      })
    }, delayMs)
    this.#timer.unref()
  }

  async #fill(): Promise<void> {
    this.#woken = false
    try {
      while (!this.#stopped && this.#running.size < this.#limits.width) {
        const jobs = await this.#next(this.#limits.width - this.#running.size)
        if (jobs.length === 0) return
        for (const job of jobs) this.#begin(job)
      }
    } catch (error) {
      this.#source.failed(error)
    }
  }

  async #next(room: number): Promise<readonly Running[]> {
    const { per_tenant } = this.#limits
    const full = [...this.#places].flatMap(([tenant, jobs]) => (jobs < per_tenant ? [] : [tenant]))
    const { size } = this.#served
    let jobs = await this.#source.take(room, [...full, ...this.#served])
    if (jobs.length === 0 && size > 0) {
      this.#served.clear()
      jobs = await this.#source.take(room, full)
    }
    if (this.#served.size + jobs.length > ROUND_MAX) this.#served.clear()
    for (const { job } of jobs) this.#served.add(job.tenant_id)
    return jobs
  }

  #begin(leased: Running): void {
    const { tenant_id } = leased.job
    this.#places.set(tenant_id, (this.#places.get(tenant_id) ?? 0) + 1)
    const run = this.#source.run(leased).finally(() => {
      this.#running.delete(run)
      const left = (this.#places.get(tenant_id) ?? 1) - 1
      if (left === 0) this.#places.delete(tenant_id)
      else this.#places.set(tenant_id, left)
      this.wake()
    })
    this.#running.add(run)
  }
}
