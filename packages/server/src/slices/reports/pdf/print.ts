// Makes PDFs in threads of their own: setting a few dozen pages takes about a second.

import { Worker } from 'node:worker_threads'
import type { Report } from '@custos/contract'
import { type Kernel, perKernel } from '../../../platform/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'

export interface Printing {
  readonly tenant_id: string
  readonly report: Report
  /** Aborted: nobody waits for the file any more. */
  readonly gone: AbortSignal
}

/** Refuses `unavailable` where too many wait, and where whoever asked has gone. */
export const printReport = (kernel: Kernel, printing: Printing): Promise<Uint8Array> =>
  printer(kernel).print(printing)

const printer = perKernel(() => new Printer(printed))

/** Of one tenant and of all, waiting or under way; each waits for a second at most per file. */
export const TENANT_MAX = 8
export const ALL_MAX = 24
const RETRY_AFTER_S = 5
/** The longest reports, with every sample and day there may be, take a third of it. */
const THREAD_LIMITS = { maxYoungGenerationSizeMb: 32, maxOldGenerationSizeMb: 256 }

type Print = (report: Report, gone: AbortSignal) => Promise<Uint8Array>

/** One file after another: however many are asked for, one processor makes them. */
export class Printer {
  readonly #print: Print
  readonly #open = new Map<string, number>()
  #all = 0
  #last: Promise<unknown> = Promise.resolve()

  constructor(print: Print) {
    this.#print = print
  }

  async print({ tenant_id, report, gone }: Printing): Promise<Uint8Array> {
    const open = this.#open.get(tenant_id) ?? 0
    if (open >= TENANT_MAX || this.#all >= ALL_MAX)
      throw new Refusal('unavailable', 'too many PDFs are being made', {
        retry_after_s: RETRY_AFTER_S,
      })
    this.#open.set(tenant_id, open + 1)
    this.#all += 1
    const turn = this.#last.then(() => {
      // The others do not wait for a file that nobody will read.
      if (gone.aborted) throw new Refusal('unavailable')
      return this.#print(report, gone)
    })
    this.#last = turn.catch(() => undefined)
    try {
      return await turn
    } finally {
      this.#leave(tenant_id)
    }
  }

  #leave(tenant_id: string): void {
    const open = this.#open.get(tenant_id) ?? 0
    if (open > 1) this.#open.set(tenant_id, open - 1)
    else this.#open.delete(tenant_id)
    this.#all -= 1
  }
}

/** A thread for each file gives back what its fonts and pages took. */
function printed(report: Report, gone: AbortSignal): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
  const worker = new Worker(new URL('./pdf-worker.ts', import.meta.url), {
    workerData: report,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    resourceLimits: THREAD_LIMITS,
  })
  worker.once('message', resolve)
  worker.once('error', reject)
  const stop = () => {
    reject(new Refusal('unavailable'))
    void worker.terminate()
  }
  gone.addEventListener('abort', stop)
  // After a message this says nothing any more.
  worker.once('exit', () => {
    gone.removeEventListener('abort', stop)
    reject(new Error('the thread that makes a PDF stopped'))
  })
  return promise
}
