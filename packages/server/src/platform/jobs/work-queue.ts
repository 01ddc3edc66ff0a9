// Fills the places of one job queue, and shares them among tenants.

import type { Job, QueueLimits } from './queue.ts'

/** How long a queue may take to notice what became due without a word. */
const POLL_MS = 1_000
/** Tenants of one round; with more of them a round ends before all were served. */
const ROUND_MAX = 500

interface QueueSource {
  /** Takes the leases of `room` jobs that have been due longest, of each tenant at most one. */
  take(room: number, except_tenants: readonly string[]): Promise<readonly Job[]>
  /** Resolves when the job has ended or paused; never rejects. */
  run(job: Job): Promise<void>
  /** Taking failed; it is tried again after a while. */
  failed(error: unknown): void
}

export class WorkQueue {
  readonly #limits: QueueLimits
  readonly #source: QueueSource
  readonly #running = new Set<Promise<void>>()
  /** Jobs that run, by tenant. */
  readonly #places = new Map<string, number>()
  /** Tenants served since the last time nobody else had a job due. */
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

  /** Resolves when nothing runs here. */
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

  async #next(room: number): Promise<readonly Job[]> {
    const { per_tenant } = this.#limits
    const full = [...this.#places].flatMap(([tenant, jobs]) => (jobs < per_tenant ? [] : [tenant]))
    const { size } = this.#served
    let jobs = await this.#source.take(room, [...full, ...this.#served])
    if (jobs.length === 0 && size > 0) {
      this.#served.clear()
      jobs = await this.#source.take(room, full)
    }
    if (this.#served.size + jobs.length > ROUND_MAX) this.#served.clear()
    for (const { tenant_id } of jobs) this.#served.add(tenant_id)
    return jobs
  }

  #begin(job: Job): void {
    const { tenant_id } = job
    this.#places.set(tenant_id, (this.#places.get(tenant_id) ?? 0) + 1)
    const run = this.#source.run(job).finally(() => {
      this.#running.delete(run)
      const left = (this.#places.get(tenant_id) ?? 1) - 1
      if (left === 0) this.#places.delete(tenant_id)
      else this.#places.set(tenant_id, left)
      this.wake()
    })
    this.#running.add(run)
  }
}
