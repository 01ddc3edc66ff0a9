// The worker: takes one job at a time under a lease and runs it to its end.

import type { Clock } from '../clock.ts'
import { type Database, PLATFORM } from '../db/database.ts'
import {
  countOpenJobs,
  findDueJob,
  findJob,
  insertJob,
  type JobRow,
  leaseJob,
  releaseLeases,
  updateJob,
} from '../db/jobs.sql.ts'
import type { Tx } from '../db/tenant-db.ts'
import type { Ids } from '../ids.ts'
import { loadOnce } from '../load-once.ts'
import type { Logger } from '../logger.ts'
import {
  type CancelResult,
  type Job,
  JobEnded,
  type JobPause,
  type JobQueue,
  type JobRunner,
  type JobState,
  type JobTraits,
} from './queue.ts'
import { Running } from './running.ts'

const POLL_MS = 1_000

class Lane {
  readonly #drain: () => Promise<void>
  #timer: NodeJS.Timeout | undefined
  #current: Promise<void> | undefined
  #stopped = false

  /** @param drain runs what is due until there is nothing, or the process stops */
  constructor(drain: () => Promise<void>) {
    this.#drain = drain
  }

  /** The jobs that are running. */
  get current(): Promise<void> | undefined {
    return this.#current
  }

  wake(): void {
    this.#wakeIn(0)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#current
  }

  #wakeIn(delayMs: number): void {
    if (this.#stopped || this.#current) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#current = this.#drain().finally(() => {
        this.#current = undefined
        this.#wakeIn(POLL_MS)
      })
    }, delayMs)
    this.#timer.unref()
  }
}

const ATTEMPTS_MAX = 10

interface WorkerParts {
  readonly db: Database
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  /** A process that ends at work on a job holds it this long. */
  readonly lease_ms: number
}

interface Kind {
  readonly runner: JobRunner
  readonly traits: JobTraits
}

export const toJob = (row: JobRow): Job => ({
  ...row,
  // Only this module writes the two columns.
  state: row.state as JobState,
  payload: JSON.parse(row.payload) as Readonly<Record<string, unknown>>,
})

export class JobWorker implements JobQueue {
  readonly #parts: WorkerParts
  readonly #kinds = new Map<string, Kind>()
  /** Under way here, by id. */
  readonly #running = new Map<string, Running>()
  readonly #lanes: readonly Lane[]
  #stopping = false
  readonly #releaseLeases: () => Promise<unknown>

  constructor(parts: WorkerParts) {
    this.#parts = parts
    this.#releaseLeases = loadOnce(() => parts.db.transact(PLATFORM, releaseLeases))
    this.#lanes = [
      new Lane(() => this.#drain({ apart: false })),
      new Lane(() => this.#drain({ apart: true })),
    ]
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
    // Of it and the end of the work, one comes first.
    if ((await updateJob(tx, job_id, change)) !== 1) return 'ended'
    await traits.abandon?.(tx, toJob(row))
    tx.afterCommit(() => this.#running.get(job_id)?.cancel())
    return 'cancelled'
  }

  start(): void {
    for (const lane of this.#lanes) lane.wake()
  }

  async stop(): Promise<void> {
    this.#stopping = true
    for (const running of this.#running.values()) running.stop()
    await Promise.all(this.#lanes.map((lane) => lane.stop()))
  }

  async idle(): Promise<void> {
    for (;;) {
      for (const { current } of this.#lanes) await current
      if ((await this.#parts.db.read(PLATFORM, countOpenJobs)) === 0) return
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  async #drain({ apart }: { readonly apart: boolean }): Promise<void> {
    const { db, clock, logger } = this.#parts
    const kinds = [...this.#kinds].filter(([, { traits }]) => traits.apart).map(([kind]) => kind)
    if (apart && kinds.length === 0) return
    const among = apart ? 'in' : 'not in'
    try {
      await this.#takeOver()
      while (!this.#stopping) {
        const row = await db.read(PLATFORM, (r) => findDueJob(r, clock.now(), { among, kinds }))
        if (!row) return
        await this.#takeUp(toJob(row))
      }
    } catch (error) {
      logger.error('jobs.poll_failed', { reason: error instanceof Error ? error.name : 'unknown' })
    }
  }

  // One process at a time works on embedded data: a lease found at its start is a dead one's.
  async #takeOver(): Promise<void> {
    const { db } = this.#parts
    if (db.stats().engine === 'sqlite') await this.#releaseLeases()
  }

  async #takeUp(job: Job): Promise<void> {
    const { db, clock, lease_ms } = this.#parts
    const taken = await db.transact(job.tenant_id, (tx) => {
      const now = clock.now()
      return leaseJob(tx, job.job_id, now, now + lease_ms * 1_000)
    })
    if (taken !== 1) return
    const cancellable = this.traitsOf(job.kind).cancellable === true
    const running = new Running(job, { db, clock, lease_ms, cancellable })
    this.#running.set(job.job_id, running)
    // Stopped in between: nobody told it.
    if (this.#stopping) running.stop()
    try {
      await this.#run(running)
    } catch (error) {
      // It may fail because it was ended: there is nothing to save then.
      const ended = running.cancelled || error instanceof JobEnded
      if (!ended) await this.#failed(running, error)
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
    if (pause) await this.#pause(running, pause)
    else if (this.#stopping) await running.save({ lease_until_us: 0 })
    else await running.finish()
  }

  // No failure: whatever there was of them is forgotten.
  #pause(running: Running, { again_ms }: JobPause): Promise<void> {
    const lease_until_us = this.#parts.clock.now() + Math.ceil(again_ms * 1_000)
    return running.save({ state: 'queued', error: null, attempts: 0, lease_until_us })
  }

  async #failed({ job }: Running, error: unknown): Promise<void> {
    const { db, clock, logger } = this.#parts
    const last = job.attempts + 1 >= ATTEMPTS_MAX
    const reason = error instanceof Error ? error.name : 'unknown'
    logger.error('jobs.failed', { job_id: job.job_id, kind: job.kind, reason, last })
    const now = clock.now()
    const change = {
      state: last ? 'failed' : 'queued',
      error: reason,
      lease_until_us: now + Math.min(60, 2 ** job.attempts) * 1_000_000,
      updated_us: now,
    }
    await db.transact(job.tenant_id, async (tx) => {
      const changed = await updateJob(tx, job.job_id, change)
      if (last && changed === 1) await this.traitsOf(job.kind).abandon?.(tx, job)
    })
  }
}
