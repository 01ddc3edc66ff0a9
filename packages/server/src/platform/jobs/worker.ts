// The worker: takes one job at a time under a lease and runs it to its end.

import type { Clock } from '../clock.ts'
import { type Database, PLATFORM } from '../db/database.ts'
import {
  countOpenJobs,
  findDueJob,
  insertJob,
  type JobRow,
  leaseJob,
  releaseLeases,
  updateJob,
} from '../db/jobs.sql.ts'
import type { Tx } from '../db/tenant-db.ts'
import type { Ids } from '../ids.ts'
import type { Logger } from '../logger.ts'
import type { Job, JobPause, JobQueue, JobRunner, JobState } from './queue.ts'

const POLL_MS = 1_000
const ATTEMPTS_MAX = 10
const DONE = { state: 'done', error: null, lease_until_us: 0 } as const
/** A lease is extended so many times before it could run out. */
const EXTENSIONS = 3

interface WorkerParts {
  readonly db: Database
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  /** A process that ends at work on a job holds it this long. */
  readonly lease_ms: number
}

export const toJob = (row: JobRow): Job => ({
  ...row,
  // Only this module writes the two columns.
  state: row.state as JobState,
  payload: JSON.parse(row.payload) as Readonly<Record<string, unknown>>,
})

export class JobWorker implements JobQueue {
  readonly #parts: WorkerParts
  readonly #runners = new Map<string, JobRunner>()
  #timer: NodeJS.Timeout | undefined
  #current: Promise<void> | undefined
  #stopping = false
  #started = false

  constructor(parts: WorkerParts) {
    this.#parts = parts
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
    tx.afterCommit(() => this.#wake(0))
    return toJob(row)
  }

  register(kind: string, runner: JobRunner): void {
    this.#runners.set(kind, runner)
  }

  start(): void {
    this.#wake(0)
  }

  async stop(): Promise<void> {
    this.#stopping = true
    clearTimeout(this.#timer)
    await this.#current
  }

  async idle(): Promise<void> {
    for (;;) {
      await this.#current
      if ((await this.#parts.db.read(PLATFORM, countOpenJobs)) === 0) return
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  #wake(delayMs: number): void {
    if (this.#stopping || this.#current) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#current = this.#drain().finally(() => {
        this.#current = undefined
        this.#wake(POLL_MS)
      })
    }, delayMs)
    this.#timer.unref()
  }

  async #drain(): Promise<void> {
    const { db, clock, logger } = this.#parts
    try {
      await this.#takeOver()
      while (!this.#stopping) {
        const row = await db.read(PLATFORM, (r) => findDueJob(r, clock.now()))
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
    if (this.#started) return
    if (db.stats().engine === 'sqlite') await db.transact(PLATFORM, releaseLeases)
    this.#started = true
  }

  async #takeUp(job: Job): Promise<void> {
    const { db, clock, logger } = this.#parts
    const taken = await db.transact(job.tenant_id, (tx) => {
      const now = clock.now()
      return leaseJob(tx, job.job_id, now, this.#leaseFrom(now))
    })
    if (taken !== 1) return
    try {
      await this.#run(job)
    } catch (error) {
      const last = job.attempts + 1 >= ATTEMPTS_MAX
      const name = error instanceof Error ? error.name : 'unknown'
      logger.error('jobs.failed', { job_id: job.job_id, kind: job.kind, reason: name, last })
      await this.#save(job, {
        state: last ? 'failed' : 'queued',
        error: name,
        lease_until_us: clock.now() + Math.min(60, 2 ** job.attempts) * 1_000_000,
      })
    }
  }

  async #run(job: Job): Promise<void> {
    const runner = this.#runners.get(job.kind)
    if (!runner) throw new Error('no runner for this kind of job')
    const worker = this
    const running = () =>
      runner({
        job,
        progress: (done, total) =>
          this.#save(job, { progress_done: done, progress_total: total, ...this.#lease() }),
        finishIn: async (tx) => {
          await updateJob(tx, job.job_id, { ...DONE, updated_us: tx.now() })
        },
        get stopping() {
          return worker.#stopping
        },
      })
    const pause = await this.#keepingLease(job, running)
    if (pause) await this.#pause(job, pause)
    else if (this.#stopping) await this.#save(job, { lease_until_us: 0 })
    else await this.#save(job, DONE)
  }

  // No failure: whatever there was of them is forgotten.
  #pause(job: Job, { again_ms }: JobPause): Promise<void> {
    const lease_until_us = this.#parts.clock.now() + Math.ceil(again_ms * 1_000)
    return this.#save(job, { state: 'queued', error: null, attempts: 0, lease_until_us })
  }

  // However long a step takes: nobody else is to begin what is under way here.
  async #keepingLease<T>(job: Job, act: () => Promise<T>): Promise<T> {
    let extending: Promise<void> = Promise.resolve()
    const extend = () => {
      // One that fails is the next one's to make up for; a lease that runs out only costs work.
      extending = this.#save(job, this.#lease()).catch(() => {})
    }
    const timer = setInterval(extend, this.#parts.lease_ms / EXTENSIONS)
    timer.unref()
    try {
      return await act()
    } finally {
      clearInterval(timer)
      // It would undo what is saved about the end.
      await extending
    }
  }

  #lease(): { lease_until_us: number } {
    return { lease_until_us: this.#leaseFrom(this.#parts.clock.now()) }
  }

  #leaseFrom(now_us: number): number {
    return now_us + this.#parts.lease_ms * 1_000
  }

  async #save(job: Job, change: Parameters<typeof updateJob>[2]): Promise<void> {
    const { db, clock } = this.#parts
    await db.transact(job.tenant_id, (tx) =>
      updateJob(tx, job.job_id, { ...change, updated_us: clock.now() }),
    )
  }
}
