// Checks the data and audits the service in worker threads, so that no request waits for them.

import { Worker } from 'node:worker_threads'
import type { Config } from '../../config/config.ts'
import {
  type AuditResult,
  type CheckReport,
  CheckStopped,
  type CheckTask,
  type TenantChecker,
} from '../../slices/assurance/index.ts'

type AuditTask = Parameters<TenantChecker['audit']>[0]
export type AuditWork = Pick<AuditTask, 'api_key' | 'seed'> & { readonly url: string }

/** What a thread posts. */
export interface ThreadReply<T> {
  readonly done?: T
  /** Name of what went wrong. */
  readonly error?: string
  /** A store that the audit has made, before the last message. */
  readonly store_id?: string
}

/** Longer than any check of real data takes; a check that hangs must not block the others. */
const LIMITS = { look_ms: 900_000 }

/** A check took too long, and its thread was terminated. */
class CheckTimeout extends Error {
  override readonly name = 'LookTimedOut'
}

const FLAGS = ['--disable-warning=ExperimentalWarning']

export class AssuranceThreads implements TenantChecker {
  readonly #config: Config
  readonly #running = new Set<Worker>()
  #checking: Worker | undefined
  readonly #limits: { readonly look_ms: number }
  #url: string | null = null
  #stopped = false

  /** @param limits time limit of one check, or one audit */
  constructor(config: Config, limits: { readonly look_ms: number } = LIMITS) {
    this.#config = config
    this.#limits = limits
  }

  /** Sets the address of the service, once it listens. */
  listensAt(url: string): void {
    this.#url = loopbackOf(url)
  }

  async look(task: CheckTask): Promise<CheckReport> {
    this.#refuseStopped()
    // One thread, started on the first check, because starting it costs more than most checks.
    const worker = this.#checking ?? this.#start('./check-worker.ts', this.#config)
    this.#checking = worker
    worker.ref()
    try {
      worker.postMessage(task)
      const { done, error } = await this.#next<CheckReport>(worker)
      if (done) return done
      throw named(error)
    } finally {
      // An idle thread must not keep the process alive.
      worker.unref()
    }
  }

  async audit({ api_key, seed, onStore }: AuditTask): Promise<AuditResult | null> {
    this.#refuseStopped()
    if (this.#url === null) return null
    const work: AuditWork = { url: this.#url, api_key, seed }
    const worker = this.#start('./audit-worker.ts', work)
    try {
      const { done, error } = await this.#next<AuditResult>(worker, onStore)
      if (done) return done
      throw named(error)
    } finally {
      await worker.terminate()
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all([...this.#running].map((worker) => worker.terminate()))
  }

  #refuseStopped(): void {
    if (this.#stopped) throw new CheckStopped('the service is stopping')
  }

  #start(file: string, workerData: Config | AuditWork): Worker {
    const url = new URL(file, import.meta.url)
    const worker = new Worker(url, { workerData, execArgv: FLAGS })
    this.#running.add(worker)
    worker.once('exit', () => {
      this.#running.delete(worker)
      if (this.#checking === worker) this.#checking = undefined
    })
    return worker
  }

  /** Resolves with the first message that is not about a store. */
  #next<T>(worker: Worker, onStore?: AuditTask['onStore']): Promise<ThreadReply<T>> {
    return new Promise((resolve, reject) => {
      const read = (reply: ThreadReply<T>) => {
        if (reply.store_id !== undefined) return onStore?.(reply.store_id)
        done()
        resolve(reply)
      }
      const fail = (error: Error) => {
        done()
        reject(error)
      }
      const end = () =>
        fail(this.#stopped ? new CheckStopped('the service is stopping') : new Error('it ended'))
      // Terminates the thread first, so that the next check starts another one.
      const expire = () =>
        worker
          .off('exit', end)
          .terminate()
          .then(() => fail(new CheckTimeout()), fail)
      const timer = setTimeout(expire, this.#limits.look_ms)
      const done = () => {
        clearTimeout(timer)
        worker.off('message', read).off('error', fail).off('exit', end)
      }
      worker.on('message', read).on('error', fail).on('exit', end)
    })
  }
}

function named(name = 'unknown'): Error {
  const error = new Error('the thread could not do it')
  error.name = name
  return error
}

/** Replaces a wildcard listen address by loopback. */
function loopbackOf(url: string): string {
  const at = new URL(url)
  if (at.hostname === '0.0.0.0') at.hostname = '127.0.0.1'
  if (at.hostname === '[::]') at.hostname = '[::1]'
  return at.origin
}
