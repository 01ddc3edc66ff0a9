// Requests to a worker thread, which answers each with its number.

import { parentPort, Worker } from 'node:worker_threads'

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

  /** Rejects when the thread ends before it has answered. */
  ask(task: Task): Promise<Result> {
    const waiting = Promise.withResolvers<Result>()
    const number = this.#next++
    this.#waiting.set(number, waiting)
    const worker = this.#start()
    worker.ref()
    worker.postMessage([number, task])
    return waiting.promise
  }

  /** Ends the thread; what it has not answered is rejected. */
  async close(): Promise<void> {
    await this.#worker?.terminate()
  }

  #start(): Worker {
    if (this.#worker) return this.#worker
    const worker = new Worker(this.#url, { execArgv: ['--disable-warning=ExperimentalWarning'] })
    worker.on('message', ([number, result]: [number, Result]) => this.#settle(number, result))
    // After an error too; only then another thread is started, which this end does not concern.
    worker.on('exit', () => this.#fail())
    worker.on('error', () => {})
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
    for (const { reject } of this.#waiting.values()) reject(new Error('the thread has ended'))
    this.#waiting.clear()
  }
}

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
