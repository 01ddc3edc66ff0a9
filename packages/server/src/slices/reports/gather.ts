// Gathers the evidence in a thread of its own: a long log never holds up other requests.

import { Worker } from 'node:worker_threads'
import { type Kernel, perKernel } from '../../platform/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import type { Subject } from './content.ts'
import type { Gathered, GatherReply, GatherRequest } from './gather-worker.ts'

/** `beyond`: the log is shorter than `log_seq`. */
export function gather(
  kernel: Kernel,
  subject: Subject,
  log_seq: number | null,
): Promise<Gathered | 'beyond'> {
  return gatherer(kernel).gather({
    source: kernel.db.source,
    subject,
    log_seq,
    keys: kernel.keyring.publishedKeys(),
    origin: kernel.settings.origin,
  })
}

const gatherer = perKernel(() => new Gatherer())

/** One thread, started at the first report: starting it costs more than most logs do. */
class Gatherer {
  #worker: Worker | undefined
  #last: Promise<unknown> = Promise.resolve()

  /** One after another: each reads a whole log, and takes a connection. */
  gather(request: GatherRequest): Promise<Gathered | 'beyond'> {
    const turn = this.#last.then(() => this.#run(request))
    this.#last = turn.catch(() => undefined)
    return turn
  }

  async #run(request: GatherRequest): Promise<Gathered | 'beyond'> {
    this.#worker ??= this.#start()
    const worker = this.#worker
    worker.ref()
    try {
      return readReply(await replyOf(worker, request))
    } finally {
      // An idle thread does not keep the process alive.
      worker.unref()
    }
  }

  #start(): Worker {
    const worker = new Worker(new URL('./gather-worker.ts', import.meta.url), {
      execArgv: ['--disable-warning=ExperimentalWarning'],
    })
    // The next report starts another.
    worker.once('exit', () => {
      this.#worker = undefined
    })
    return worker
  }
}

function replyOf(worker: Worker, request: GatherRequest): Promise<GatherReply> {
  return new Promise((resolve, reject) => {
    const stopped = () => reject(new Error('the thread that gathers evidence stopped'))
    worker.once('error', reject)
    worker.once('exit', stopped)
    worker.once('message', (reply: GatherReply) => {
      worker.off('error', reject)
      worker.off('exit', stopped)
      resolve(reply)
    })
    worker.postMessage(request)
  })
}

function readReply({ gathered, error, refusal }: GatherReply): Gathered | 'beyond' {
  if (gathered) return gathered
  if (refusal) throw new Refusal(refusal.code, undefined, refusal.extras)
  throw new Error(`the evidence could not be gathered: ${error}`)
}
