// Makes PDFs in worker threads, because a few dozen pages take about a second of processor time.

import { Worker } from 'node:worker_threads'
import type { Report } from '@custos/contract'
import type { PlainDocument } from '../plain/plain-document.ts'

interface PrintOrder {
  readonly tenant_id: string
  readonly source: Report | PlainDocument
  /** Aborted when the caller no longer waits for the file. */
  readonly gone: AbortSignal
}

/** The most pending PDFs of one tenant and of all tenants. Each takes about a second. */
export const TENANT_MAX = 8
export const ALL_MAX = 24
const RETRY_AFTER_S = 5
/** The longest reports, with the most samples and days, use a third of this memory. */
const THREAD_LIMITS = { maxYoungGenerationSizeMb: 32, maxOldGenerationSizeMb: 256 }

/** Too many PDFs are pending. */
export class PrinterBusy extends Error {
  readonly retry_after_s = RETRY_AFTER_S
}

/** The caller left before the file was made. */
export class PrintingCancelled extends Error {}

/** Makes one file after another, so that queued requests use only one processor. */
export class PdfPrinter {
  readonly #print: typeof printInThread
  readonly #open = new Map<string, number>()
  #all = 0
  #last: Promise<unknown> = Promise.resolve()

  constructor(print = printInThread) {
    this.#print = print
  }

  /** @throws PrinterBusy, PrintingCancelled */
  async print({ tenant_id, source, gone }: PrintOrder): Promise<Uint8Array> {
    const open = this.#open.get(tenant_id) ?? 0
    if (open >= TENANT_MAX || this.#all >= ALL_MAX)
      throw new PrinterBusy('too many PDFs are being made')
    this.#open.set(tenant_id, open + 1)
    this.#all += 1
    const file = this.#last.then(() => {
      // Nobody will read this file, so later ones must not wait for it.
      if (gone.aborted) throw new PrintingCancelled()
      return this.#print(source, gone)
    })
    this.#last = file.catch(() => undefined)
    try {
      return await file
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

/** Makes a PDF in its own thread, whose end frees the memory of fonts and pages. */
function printInThread(source: PrintOrder['source'], gone: AbortSignal): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
  const worker = new Worker(new URL('./pdf-worker.ts', import.meta.url), {
    workerData: source,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    resourceLimits: THREAD_LIMITS,
  })
  worker.once('message', resolve)
  worker.once('error', reject)
  const stop = () => {
    reject(new PrintingCancelled())
    void worker.terminate()
  }
  gone.addEventListener('abort', stop)
  // If a message arrived, the promise is settled and this has no effect.
  worker.once('exit', () => {
    gone.removeEventListener('abort', stop)
    reject(new Error('the thread that makes a PDF stopped'))
  })
  return promise
}
