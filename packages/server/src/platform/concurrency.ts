// Optimistic retries, queues by key, semaphores, shared calls and bounded waits.

import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from './refusal.ts'

/** What may change between the read that prepares a unit of work and the unit itself. */
type ConflictSubject =
  | 'agent'
  | 'approver'
  | 'decision_id'
  | 'erasure_plan'
  | 'erasure_under_way'
  | 'idempotency_key'
  | 'policies'
  | 'policy'
  | 'record'
  | 'store'

/**
 * Something changed since it was read, so the work must be prepared again. Thrown inside or before
 * a unit of work and caught by `retryOnConflict` of the same subject: retries nest, and each takes
 * only the conflicts that its own preparation can resolve.
 */
export class Conflict extends Error {
  readonly subject: ConflictSubject

  constructor(subject: ConflictSubject) {
    super(`${subject} changed since it was read`)
    this.name = 'Conflict'
    this.subject = subject
  }
}

interface RetryOptions {
  readonly on: ConflictSubject
  /** The most times that `act` runs. */
  readonly attempts: number
  /** Text of the refusal after the last attempt. */
  readonly message?: string
  /** Default: 1. */
  readonly retry_after_s?: number
  /** Pause between attempts; default: none. */
  readonly pause_ms?: number
}

/** Retries `act` on conflicts of the subject; refuses `unavailable` after the last attempt. */
export async function retryOnConflict<T>(
  act: () => Promise<T>,
  { on, attempts, message, retry_after_s = 1, pause_ms }: RetryOptions,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await act()
    } catch (error) {
      if (!(error instanceof Conflict) || error.subject !== on) throw error
      if (attempt === attempts) throw new Refusal('unavailable', message, { retry_after_s })
    }
    if (pause_ms !== undefined) await sleep(pause_ms)
  }
}

interface KeyedQueue {
  /** Runs `act` once all earlier work of the key has ended, whether it failed or not. */
  run<T>(key: string, act: () => Promise<T>): Promise<T>
  /** Whether work of the key is running or waiting. */
  has(key: string): boolean
  /** Resolves when all work queued so far, of every key, has ended. Never rejects. */
  idle(): Promise<void>
}

/** Runs the work of one key in the order of the calls; keys do not wait for each other. */
export function keyedQueue(): KeyedQueue {
  /** For each key, a promise that resolves when its last work ends. */
  const last = new Map<string, Promise<void>>()
  return {
    async run(key, act) {
      const result = (last.get(key) ?? Promise.resolve()).then(act)
      const ended = result.then(ignore, ignore)
      last.set(key, ended)
      try {
        return await result
      } finally {
        if (last.get(key) === ended) last.delete(key)
      }
    },
    has: (key) => last.has(key),
    async idle() {
      await Promise.all(last.values())
    },
  }
}

const ignore = (): void => {}

/** Runs at most `permits` calls at a time; the others wait in the order of the calls. */
export function semaphore(permits: number): { run<T>(act: () => Promise<T>): Promise<T> } {
  let free = permits
  const waiting: (() => void)[] = []
  return {
    async run(act) {
      if (free > 0) free -= 1
      else await new Promise<void>((resolve) => waiting.push(resolve))
      try {
        return await act()
      } finally {
        const next = waiting.shift()
        if (next) next()
        else free += 1
      }
    },
  }
}

/**
 * Shares one run of `act` between equal calls within one iteration of the event loop. The run
 * begins after all of them.
 */
export function shareCalls<A extends readonly string[], T>(
  act: (...args: A) => Promise<T>,
): (...args: A) => Promise<T> {
  const next = new Map<string, Promise<T>>()
  return (...args) => {
    const key = args.join('\0')
    const known = next.get(key)
    if (known) return known
    const shared = new Promise((resolve) => setImmediate(resolve)).then(() => {
      next.delete(key)
      return act(...args)
    })
    next.set(key, shared)
    return shared
  }
}

/** The result of `work`, or of `otherwise` if `work` takes longer than `ms`. */
export async function waitAtMost<T>(work: Promise<T>, ms: number, otherwise: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, ms))
  }).then(otherwise)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Returns a function that runs `load` on its first call and then returns the same promise. After a
 * rejection the next call loads again, because what was missing (a file descriptor, memory) may be
 * available by then.
 */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined
  return () => {
    loaded ??= load().catch((error: unknown) => {
      loaded = undefined
      throw error
    })
    return loaded
  }
}
