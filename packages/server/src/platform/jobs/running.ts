// Runs one job: renews its lease, and notices when it is cancelled or taken by another process.

import type { Clock } from '../clock.ts'
import type { Database } from '../db/database.ts'
import {
  findJob,
  type JobChange,
  NEVER_US,
  pauseJob,
  updateHeldJob,
  updateJob,
} from '../db/jobs.sql.ts'
import type { Tx } from '../db/tenant-db.ts'
import { type Job, type JobContext, JobEnded, type JobPause } from './queue.ts'

const DONE = { state: 'done', error: null, lease_until_us: 0 } as const
/** Renewals per lease duration. */
const RENEWALS = 3
/** Poll interval for the row of a cancellable job, which any process may write. */
const POLL_MS = 500

interface RunningParts {
  readonly db: Database
  readonly clock: Clock
  readonly lease_ms: number
  readonly cancellable: boolean
  /** End of the lease that the job starts with. */
  readonly held_us: number
}

export class Running implements JobContext {
  readonly job: Job
  readonly #parts: RunningParts
  readonly #abort = new AbortController()
  #stopping = false
  #cancelled = false
  #pausing = false
  /** End of this process's lease. If the row has another one, another process has the lease. */
  #held_us: number
  /** Serialises changes: each needs the lease end that the one before has written. */
  #changing: Promise<unknown> = Promise.resolve()

  constructor(job: Job, parts: RunningParts) {
    this.job = job
    this.#parts = parts
    this.#held_us = parts.held_us
  }

  get stopping(): boolean {
    return this.#stopping
  }

  get cancelled(): boolean {
    return this.#cancelled
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Call it when the process is stopping. */
  stop(): void {
    this.#stopping = true
    this.#abort.abort()
  }

  cancel(): void {
    this.#cancelled = true
    this.#abort.abort()
  }

  // Properties and not methods, because runners destructure the context.
  readonly progress = (done: number, total: number): Promise<void> =>
    this.save({ progress_done: done, progress_total: total, ...this.#lease() })

  readonly finishIn = async (tx: Tx): Promise<void> => {
    const ended = await updateJob(tx, this.job.job_id, { ...DONE, updated_us: tx.now() })
    if (ended !== 1) throw new JobEnded()
  }

  finish(): Promise<void> {
    return this.save(DONE)
  }

  /** Runs `act` while renewing the lease, so that no other process can start the job. */
  async during<T>(act: () => Promise<T>): Promise<T> {
    const { lease_ms, cancellable } = this.#parts
    const renewing = every(lease_ms / RENEWALS, () => this.save(this.#lease()))
    const polling = cancellable ? every(POLL_MS, () => this.#poll()) : null
    try {
      return await act()
    } finally {
      // A lease renewed after this would overwrite what is saved about the end.
      await renewing.end()
      await polling?.end()
    }
  }

  /** Whether the runner asked to pause: an error in saving that does not end the job. */
  get pausing(): boolean {
    return this.#pausing
  }

  /** Pauses the job. Without an error, its failure count is reset. */
  pause({ again_ms, error }: JobPause): Promise<void> {
    this.#pausing = true
    const { db, clock } = this.#parts
    const { job_id, tenant_id } = this.job
    const updated_us = clock.now()
    const until_us = again_ms === null ? NEVER_US : updated_us + Math.ceil(again_ms * 1_000)
    return this.#inTurn(() =>
      db.transact(tenant_id, (tx) =>
        pauseJob(tx, job_id, { held_us: this.#held_us, until_us, updated_us, error }),
      ),
    )
  }

  /**
   * Does nothing if the job has ended or another process has taken it.
   * @param also runs in the same unit of work if the job was changed
   */
  save(change: Partial<JobChange>, also?: (tx: Tx) => Promise<void>): Promise<void> {
    const { db, clock } = this.#parts
    const { job_id, tenant_id } = this.job
    return this.#inTurn(async () => {
      const held = { ...change, held_us: this.#held_us, updated_us: clock.now() }
      const changed = await db.transact(tenant_id, async (tx) => {
        const rows = await updateHeldJob(tx, job_id, held)
        if (rows === 1) await also?.(tx)
        return rows
      })
      if (changed === 1) this.#held_us = change.lease_until_us ?? this.#held_us
      else await this.#lost()
    })
  }

  #inTurn(act: () => Promise<void>): Promise<void> {
    const done = this.#changing.then(act)
    this.#changing = done.catch(() => {})
    return done
  }

  /** Stops as at shutdown: if work is left, the process that has the lease continues it. */
  async #lost(): Promise<void> {
    await this.#poll()
    if (!this.#cancelled) this.stop()
  }

  async #poll(): Promise<void> {
    const { job_id, tenant_id } = this.job
    const row = await this.#parts.db.read(tenant_id, (db) => findJob(db, job_id))
    if (row?.state === 'cancelled') this.cancel()
  }

  #lease(): { lease_until_us: number } {
    const { clock, lease_ms } = this.#parts
    return { lease_until_us: clock.now() + lease_ms * 1_000 }
  }
}

/** Repeats `act`. The next run makes up for a failed one; an expired lease only repeats work. */
function every(ms: number, act: () => Promise<void>): { end(): Promise<void> } {
  let under_way: Promise<void> | null = null
  const timer = setInterval(() => {
    under_way ??= act()
      .catch(() => {})
      .finally(() => {
        under_way = null
      })
  }, ms)
  timer.unref()
  return {
    async end() {
      clearInterval(timer)
      await under_way
    },
  }
}
