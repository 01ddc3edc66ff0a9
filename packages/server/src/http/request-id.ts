// The id of a request in its answer and in the log.

import type { Ids } from '../platform/ids.ts'
import { perKernel } from '../platform/kernel/kernel.ts'

const FORM = /^[A-Za-z0-9._-]{1,64}$/
const COUNT_END = 2 ** 32

/** Ids of one process: eight random hex digits, then a count. Unique, not secret. */
export class RequestIds {
  readonly #prefix: string
  #count = 0

  constructor(ids: Ids) {
    this.#prefix = ids.hex(4)
  }

  /** The caller's id if it is harmless in a log line, else a new one. */
  of(given: string | string[] | undefined): string {
    if (typeof given === 'string' && FORM.test(given)) return given
    this.#count = (this.#count + 1) % COUNT_END
    return this.#prefix + this.#count.toString(16).padStart(8, '0')
  }
}

export const requestIds = perKernel((kernel) => new RequestIds(kernel.ids))
