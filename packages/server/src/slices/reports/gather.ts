// Gathers the evidence in a worker thread, so that a long log never delays other requests.

import { Worker } from 'node:worker_threads'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { storePendingEpochs } from '../gcrumbs/index.ts'
import type { Subject } from './content.ts'
import { findLogSize } from './evidence.sql.ts'
import type { GatheredReport, GatherReply, GatherRequest } from './gather-worker.ts'
import { WalkControl, WalkStopped } from './walk-log.ts'

interface WalkOptions {
  /** Aborted: the walk stops, and `gather` throws WalkStopped. */
  readonly signal: AbortSignal
  /** Called at intervals with the number of entries read and their total. */
  readonly progress?: (done: number, total: number) => Promise<void>
}

/** Young garbage of one page after another; what is kept of a log is little. */
const THREAD_LIMITS = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 256 }
/** A thread that waits for a database looks at nothing: after so long it is ended. */
const STOP_MS = 1_000
const PROGRESS_MS = 500

/** `beyond`: the log is shorter than `log_seq`. */
export async function gather(
  kernel: Kernel,
  subject: Subject,
  log_seq: number | null,
  following: WalkOptions,
): Promise<GatheredReport | 'beyond'> {
  const { tenant_id } = subject
  // First the position, then its epochs: no later epoch covers fewer entries, so a repeated
  // request counts the same.
  const at = log_seq ?? (await kernel.db.read(tenant_id, findLogSize)) - 1
  const signed = await storePendingEpochs(kernel, tenant_id)
  const control = new WalkControl()
  const request = {
    source: kernel.db.source,
    subject,
    log_seq: at,
    signed: signed && { generation: signed.generation, tree_size: signed.tree_size },
    keys: kernel.keyring.publishedKeys(),
    origin: kernel.settings.origin,
    control: control.buffer,
  }
  return gatherer(kernel).gather(request, control, following)
}

const gatherer = perKernel(() => new Gatherer())

/** One thread, started at the first report: starting it costs more than most logs do. */
class Gatherer {
  #worker: Worker | undefined
  #last: Promise<unknown> = Promise.resolve()

  /** One after another: each reads a whole log, and takes a connection. */
  gather(
    request: GatherRequest,
    control: WalkControl,
    { signal, progress }: WalkOptions,
  ): Promise<GatheredReport | 'beyond'> {
    let begun = false
    const turn = this.#last.then(async () => {
      begun = true
      const telling = progress ? reportProgress(control, progress) : null
      try {
        return await this.#run(request, control, signal)
      } finally {
        await telling?.end()
      }
    })
    this.#last = turn.catch(() => undefined)
    return unlessAborted(turn, signal, () => !begun)
  }

  async #run(
    request: GatherRequest,
    control: WalkControl,
    signal: AbortSignal,
  ): Promise<GatheredReport | 'beyond'> {
    if (signal.aborted) throw new WalkStopped()
    this.#worker ??= this.#start()
    const worker = this.#worker
    worker.ref()
    let ending: NodeJS.Timeout | undefined
    const stop = () => {
      control.stop()
      ending = setTimeout(() => worker.terminate(), STOP_MS)
    }
    signal.addEventListener('abort', stop)
    try {
      return readReply(await replyOf(worker, request))
    } catch (error) {
      // However it ended: it was to.
      throw signal.aborted ? new WalkStopped() : error
    } finally {
      signal.removeEventListener('abort', stop)
      clearTimeout(ending)
      // An idle thread does not keep the process alive.
      worker.unref()
    }
  }

  #start(): Worker {
    const worker = new Worker(new URL('./gather-worker.ts', import.meta.url), {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      resourceLimits: THREAD_LIMITS,
    })
    // The next report starts another.
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = undefined
    })
    return worker
  }
}

/** Stops waiting in the queue when aborted; work that has begun runs to its end. */
async function unlessAborted<T>(
  turn: Promise<T>,
  signal: AbortSignal,
  isWaiting: () => boolean,
): Promise<T> {
  let stop = () => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => {
      if (isWaiting()) reject(new WalkStopped())
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop)
  })
  try {
    return await Promise.race([turn, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Reports progress at intervals until the returned function ends it. */
function reportProgress(control: WalkControl, progress: NonNullable<WalkOptions['progress']>) {
  let told = 0
  let telling: Promise<void> | null = null
  const timer = setInterval(() => {
    const { done, total } = control.progress
    if (done === told || telling) return
    told = done
    telling = progress(done, total)
      // The next one makes up for it.
      .catch(() => {})
      .finally(() => {
        telling = null
      })
  }, PROGRESS_MS)
  timer.unref()
  return {
    async end() {
      clearInterval(timer)
      await telling
    },
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

function readReply({ gathered, error, refusal }: GatherReply): GatheredReport | 'beyond' {
  if (gathered) return gathered
  if (refusal) throw new Refusal(refusal.code, undefined, refusal.extras)
  throw new Error(`the evidence could not be gathered: ${error}`)
}
