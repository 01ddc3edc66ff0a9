// Requests to a worker thread, which answers each with its number.

import { parentPort, Worker } from 'node:worker_threads'
import { Refusal } from './refusal.ts'

/** One thread, started with the first request: most processes never need it. */
export class WorkerRequests<Task, Result> {
  readonly #url: URL
  readonly #waiting = new Map<number, PromiseWithResolvers<Result>>()
  #worker: Worker | undefined
  #next = 0

  /** @param url of a file that calls `answerRequests` with the act */
  constructor(url: URL) {
    this.#url = url
  }

  /** Refuses when the thread cannot start, or ends before it has answered. */
  async ask(task: Task): Promise<Result> {
    const worker = this.#start()
    const number = this.#next++
    worker.postMessage([number, task])
    const waiting = Promise.withResolvers<Result>()
    this.#waiting.set(number, waiting)
    worker.ref()
    return waiting.promise
  }

  /** Ends the thread; what it has not answered is rejected. */
  async close(): Promise<void> {
    await this.#worker?.terminate()
  }

  #start(): Worker {
    if (this.#worker) return this.#worker
    const worker = startThread(this.#url)
    worker.on('message', ([number, result]: [number, Result]) => this.#settle(number, result))
    // Its exit follows: until then no second thread is started.
    worker.on('error', () => {})
    worker.on('exit', () => this.#fail())
    this.#worker = worker
    return worker
  }

  #settle(number: number, result: Result): void {
    this.#waiting.get(number)?.resolve(result)
    this.#waiting.delete(number)
    // An idle thread does not keep the process alive.
    if (this.#waiting.size === 0) this.#worker?.unref()
  }

  #fail(): void {
    this.#worker = undefined
    for (const { reject } of this.#waiting.values()) reject(noThread())
    this.#waiting.clear()
  }
}

function startThread(url: URL): Worker {
  try {
    return new Worker(url, { execArgv: ['--disable-warning=ExperimentalWarning'] })
  } catch {
    throw noThread()
  }
}

// The machine has no memory or no thread for it now: the acts themselves do not throw.
const noThread = () => new Refusal('unavailable', undefined, { retry_after_s: 5 })

/**
 * For the thread: answers requests one after another, since it has one core.
 * @param act does not throw: a failure is part of its result
 */
export function answerRequests<Task, Result>(act: (task: Task) => Promise<Result> | Result): void {
  let last: Promise<unknown> = Promise.resolve()
  parentPort?.on('message', ([number, task]: [number, Task]) => {
    last = last.then(async () => parentPort?.postMessage([number, await act(task)]))
  })
}
