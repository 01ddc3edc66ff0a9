// Jobs: long work that survives a restart. A row in `jobs`, run by one worker at a time.

import type { Tx } from '../db/tenant-db.ts'

export type JobState = 'queued' | 'running' | 'done' | 'failed'

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

export interface JobContext {
  readonly job: Job
  /** Durable progress; also renews the lease. */
  progress(done: number, total: number): Promise<void>
  /** The end of the job, in a unit of work that finds nothing left to do: return after it. */
  finishIn(tx: Tx): Promise<void>
  /** True when the process is stopping: return soon, the job is resumed later. */
  readonly stopping: boolean
}

/** Not at its end: it goes on after so long, behind every job that is due by then. */
export interface JobPause {
  readonly again_ms: number
}

/** Runs a job to its end or a pause; must be safe to run again from the start after a crash. */
export type JobRunner = (context: JobContext) => Promise<JobPause | undefined>

export interface JobQueue {
  /** Adds a job in the caller's unit of work; it starts once that is durable. */
  enqueue(tx: Tx, kind: string, payload: Readonly<Record<string, unknown>>): Promise<Job>
  register(kind: string, runner: JobRunner): void
  /** Starts the worker; jobs whose lease has run out are taken up again. */
  start(): void
  stop(): Promise<void>
  /** Resolves when no job is queued or running (for tests and shutdown). */
  idle(): Promise<void>
}
