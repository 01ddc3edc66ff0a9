// Makes PDFs in threads of their own: setting a few dozen pages takes about a second.

import { Worker } from 'node:worker_threads'
import type { Report } from '@custos/contract'
import { type Kernel, perKernel } from '../../../platform/kernel.ts'

export const printReport = (kernel: Kernel, report: Report): Promise<Uint8Array> =>
  printer(kernel).print(report)

const printer = perKernel(() => new Printer())

/** One file after another: however many are asked for, one processor makes them. */
class Printer {
  #last: Promise<unknown> = Promise.resolve()

  print(report: Report): Promise<Uint8Array> {
    const turn = this.#last.then(() => printed(report))
    this.#last = turn.catch(() => undefined)
    return turn
  }
}

/** A thread for each file gives back what its fonts and pages took. */
function printed(report: Report): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./pdf-worker.ts', import.meta.url), {
      workerData: report,
      execArgv: ['--disable-warning=ExperimentalWarning'],
    })
    worker.once('message', resolve)
    worker.once('error', reject)
    // After a message this says nothing any more.
    worker.once('exit', () => reject(new Error('the thread that makes a PDF stopped')))
  })
}
