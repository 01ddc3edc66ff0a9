// Sends small requests during a load from another thread, so that the load does not delay them.

import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

const EVERY_MS = 5

/** Sends a small request every few milliseconds, and records the longest wait. */
export class OtherRequests {
  readonly #worker: Worker

  private constructor(worker: Worker) {
    this.#worker = worker
  }

  /** Resolves when its connection is open. */
  static async open(base: string): Promise<OtherRequests> {
    const worker = new Worker(import.meta.filename, { workerData: `${base}/health` })
    await once(worker, 'message')
    return new OtherRequests(worker)
  }

  start(): void {
    this.#worker.postMessage('start')
  }

  /** Stops. Returns the longest wait since the start in milliseconds; 0 if it was not started. */
  async stop(): Promise<number> {
    this.#worker.postMessage('stop')
    const [longest_ms] = await once(this.#worker, 'message')
    await this.#worker.terminate()
    return longest_ms
  }
}

if (!isMainThread) {
  const agent = new Agent({ keepAlive: true })
  const ask = () =>
    new Promise<void>((resolve, reject) => {
      const asked = request(workerData, { agent }, (answer) => {
        answer.resume()
        answer.once('end', resolve)
      })
      asked.once('error', reject)
      asked.end()
    })
  let [isStopped, longest_ms] = [false, 0]
  const run = async () => {
    while (!isStopped) {
      const startedAt = performance.now()
      await ask()
      longest_ms = Math.max(longest_ms, performance.now() - startedAt)
      await delay(EVERY_MS)
    }
  }
  let running: Promise<void> | null = null
  parentPort?.on('message', async (said) => {
    if (said === 'start') running ??= run()
    else {
      isStopped = true
      await running
      parentPort?.postMessage(longest_ms)
    }
  })
  await ask()
  parentPort?.postMessage('open')
}
