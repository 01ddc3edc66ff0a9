// Sends numbered requests to a worker thread, which answers each with its number.

import { parentPort, Worker } from 'node:worker_threads'
import { Refusal } from './refusal.ts'

/** One thread, started on the first request, because most processes never need it. */
export class WorkerRequests<Task, Result> {
  readonly #url: URL
  readonly #waiting = new Map<number, PromiseWithResolvers<Result>>()
  #worker: Worker | undefined
  #next = 0

  /** @param url of a file that calls `answerRequests` */
  constructor(url: URL) {
    this.#url = url
  }

  /** Refuses `unavailable` if the thread cannot start, or ends before it has answered. */
  async ask(task: Task): Promise<Result> {
    const worker = this.#start()
    const number = this.#next++
    worker.postMessage([number, task])
    const waiting = Promise.withResolvers<Result>()
    this.#waiting.set(number, waiting)
    worker.ref()
    return waiting.promise
  }

  /** Ends the thread and rejects the requests that it has not answered. */
  async close(): Promise<void> {
    await this.#worker?.terminate()
  }

  #start(): Worker {
    if (this.#worker) return this.#worker
    const worker = startThread(this.#url)
    worker.on('message', ([number, result]: [number, Result]) => this.#settle(number, result))
    // The exit event follows an error; no second thread starts before it.
    worker.on('error', () => {})
    worker.on('exit', () => this.#fail())
    this.#worker = worker
    return worker
  }

  #settle(number: number, result: Result): void {
    this.#waiting.get(number)?.resolve(result)
    this.#waiting.delete(number)
    // An idle thread must not keep the process alive.
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

// The cause is a lack of memory or threads on the machine, since `act` itself does not throw.
const noThread = () => new Refusal('unavailable', undefined, { retry_after_s: 5 })

/**
 * Call it in the thread. Answers requests one after another, since the thread has one core.
 * @param act must not throw; a failure is part of its result
 */
export function answerRequests<Task, Result>(act: (task: Task) => Promise<Result> | Result): void {
  let last: Promise<unknown> = Promise.resolve()
  parentPort?.on('message', ([number, task]: [number, Task]) => {
    last = last.then(async () => parentPort?.postMessage([number, await act(task)]))
  })
}
