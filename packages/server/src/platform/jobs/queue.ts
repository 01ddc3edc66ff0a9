// Jobs: long work that survives a restart. Each is a row of `jobs`, run by one worker at a time.

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

/** The job was ended elsewhere: its runner must not write its end. */
export class JobEnded extends Error {
  override readonly name = 'JobEnded'
}

export interface JobContext {
  readonly job: Job
  /** Durable progress; also renews the lease. */
  progress(done: number, total: number): Promise<void>
  /**
   * Ends the job in a unit of work that finds nothing left to do; return after it. Throws JobEnded
   * if the job was cancelled meanwhile, so that the unit is rolled back.
   */
  finishIn(tx: Tx): Promise<void>
  /** True when the process is stopping: return soon; the job is resumed later. */
  readonly stopping: boolean
  /** True once the job was cancelled, by any process: return, and keep nothing of it. */
  readonly cancelled: boolean
  /** Aborted when `stopping` or `cancelled` becomes true. */
  readonly signal: AbortSignal
}

/**
 * The job has not ended. It continues after `again_ms`, after every job that is due by then, or as
 * soon as it is woken. `null`: it continues only once it is woken.
 */
export interface JobPause {
  readonly again_ms: number | null
  /** Why the attempt failed: shown and counted as a failure. Absent if it made progress. */
  readonly error?: string
}

/** Runs a job to its end or a pause; must be safe to run again from the start after a crash. */
export type JobRunner = (context: JobContext) => Promise<JobPause | undefined>

export const QUEUE_NAMES = ['common', 'threads', 'outbound', 'runs'] as const
export type QueueName = (typeof QUEUE_NAMES)[number]

export interface QueueLimits {
  /** Jobs that a process runs at once. */
  readonly width: number
  /** The most of these for one tenant. */
  readonly per_tenant: number
}

/**
 * The queues. Each has its own slots, so that the jobs of one never wait for those of another.
 * Tenants with due jobs take turns at free slots.
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

/** Optional traits of a job kind. Erasures and other jobs that must run to their end have none. */
export interface JobTraits {
  /** A caller who may start the job may cancel it. Its runner checks `cancelled` or `signal`. */
  readonly cancellable?: boolean
  /** Removes what was kept for the job, in the unit that cancels it or makes its failure final. */
  abandon?(tx: Tx, job: Job): Promise<void>
  /** Ids of what the job has created, once it is done. */
  result?(job: Job): { readonly report_id?: string }
  /** Default: `common`. */
  readonly queue?: QueueName
}

export type CancelResult = 'cancelled' | 'ended' | 'not_cancellable' | 'absent'

export interface JobQueue {
  /** Adds a job in the caller's unit of work; it starts after the commit. */
  enqueue(tx: Tx, kind: string, payload: Readonly<Record<string, unknown>>): Promise<Job>
  register(kind: string, runner: JobRunner, traits?: JobTraits): void
  /** The traits of a kind that this process knows. */
  traitsOf(kind: string): JobTraits
  /** Cancels in the caller's unit. After the commit the job has ended, and its process stops it. */
  cancel(tx: Tx, job_id: string): Promise<CancelResult>
  /**
   * Wakes a job in the caller's unit. After the commit, a waiting job is due at once, and a running
   * job is due again as soon as it pauses. Does nothing to a job that has ended.
   */
  wake(tx: Tx, job_id: string): Promise<void>
  /** Starts the worker. Jobs whose lease has expired are resumed. */
  start(): void
  stop(): Promise<void>
  /** Resolves when every job has ended or waits until it is woken (for tests and shutdown). */
  idle(): Promise<void>
}
