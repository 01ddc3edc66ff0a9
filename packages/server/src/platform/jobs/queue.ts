// Jobs: long work that survives a restart. A row in `jobs`, run by one worker at a time.

import type { JOB_STATES } from '@custos/contract'
import type { Tx } from '../db/tenant-db.ts'

export type JobState = (typeof JOB_STATES)[number]

export interface Job {
  readonly job_id: string
  readonly tenant_id: string
  readonly kind: string
  readonly state: JobState
  readonly payload: Readonly<Record<string, unknown>>
  readonly progress_done: number
  readonly progress_total: number
  readonly attempts: number
  readonly error: string | null
  readonly created_us: number
  readonly updated_us: number
}

/** The job was ended elsewhere: what belongs to its end must not be written. */
export class JobEnded extends Error {
  override readonly name = 'JobEnded'
}

export interface JobContext {
  readonly job: Job
  /** Durable progress; also renews the lease. */
  progress(done: number, total: number): Promise<void>
  /**
   * The end of the job, in a unit of work that finds nothing left to do: return after it. Throws
   * JobEnded where it was cancelled meanwhile, so that the unit is undone.
   */
  finishIn(tx: Tx): Promise<void>
  /** True when the process is stopping: return soon, the job is resumed later. */
  readonly stopping: boolean
  /** True once somebody cancelled it, also at another process: return, nothing of it is to stay. */
  readonly cancelled: boolean
  /** Aborted when either becomes true. */
  readonly signal: AbortSignal
}

/**
 * Not ended: it continues after this time, after every job that is due by then, or sooner once it
 * is woken. Null: only once it is woken.
 */
export interface JobPause {
  readonly again_ms: number | null
  /** Why the attempt failed, which is shown and stays counted; left out: it made progress. */
  readonly error?: string
}

/** Runs a job to its end or a pause; must be safe to run again from the start after a crash. */
export type JobRunner = (context: JobContext) => Promise<JobPause | undefined>

export const QUEUE_NAMES = ['common', 'threads', 'outbound', 'runs'] as const
export type QueueName = (typeof QUEUE_NAMES)[number]

export interface QueueLimits {
  /** Jobs a process runs at once. */
  readonly width: number
  /** Of these, the most of one tenant. */
  readonly per_tenant: number
}

/**
 * The queues: each has places of its own, so that the jobs of one never wait for those of another.
 * Tenants with due jobs take turns at free places.
 * - `common`: jobs that work on the data
 * - `threads`: jobs that work in a thread, however long
 * - `outbound`: jobs that mostly wait for other services
 * - `runs`: runs of agents, which mostly wait for models
 */
export const QUEUES = {
  common: { width: 1, per_tenant: 1 },
  threads: { width: 1, per_tenant: 1 },
  outbound: { width: 32, per_tenant: 4 },
  runs: { width: 16, per_tenant: 4 },
} as const satisfies Record<QueueName, QueueLimits>

/** Optional traits of a job kind; erasures and other jobs that must not stop half way have none. */
export interface JobTraits {
  /** A caller who may start such a job may cancel it. Its runner checks `cancelled` or `signal`. */
  readonly cancellable?: boolean
  /** In the unit that cancels it, or gives it up as failed: removes what was kept for it. */
  abandon?(tx: Tx, job: Job): Promise<void>
  /** Ids of what it has made, once it is done. */
  result?(job: Job): { readonly report_id?: string }
  /** Default: `common`. */
  readonly queue?: QueueName
}

export type CancelResult = 'cancelled' | 'ended' | 'not_cancellable' | 'absent'

export interface JobQueue {
  /** Adds a job in the caller's unit of work; it starts once that is durable. */
  enqueue(tx: Tx, kind: string, payload: Readonly<Record<string, unknown>>): Promise<Job>
  register(kind: string, runner: JobRunner, traits?: JobTraits): void
  /** The traits of a kind that this process knows. */
  traitsOf(kind: string): JobTraits
  /** In the caller's unit: once that is durable, the job has ended and its process stops it. */
  cancel(tx: Tx, job_id: string): Promise<CancelResult>
  /**
   * In the caller's unit: once that is durable, a job that waits is due at once, and one that runs
   * is due again as soon as it pauses. Nothing of a job that has ended changes.
   */
  wake(tx: Tx, job_id: string): Promise<void>
  /** Starts the worker; jobs whose lease has run out are taken up again. */
  start(): void
  stop(): Promise<void>
  /** Resolves when every job has ended or waits until it is woken (for tests and shutdown). */
  idle(): Promise<void>
}
