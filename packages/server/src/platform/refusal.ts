// A declared error of an operation, which is rendered in one place and is never a 500.

// Not the index of the package: worker threads that load this file need no schemas.
import { type RefusalCode, refusals } from '@custos/contract/refusals'

export interface RefusalExtras {
  /** Further members of the answer's top level, for example `capability` and `operation`. */
  readonly members?: Readonly<Record<string, unknown>>
  /** Replaces the text of `detail` by an object. */
  readonly detail?: unknown
  readonly retry_after_s?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** Thrown to end an operation; a transaction that it leaves is rolled back. */
export class Refusal extends Error {
  readonly code: RefusalCode
  readonly extras: RefusalExtras

  constructor(code: RefusalCode, message?: string, extras: RefusalExtras = {}) {
    super(message ?? refusals[code].title)
    this.name = 'Refusal'
    this.code = code
    this.extras = extras
  }

  get status(): number {
    return refusals[this.code].status
  }
}

/** The reason of a failure in one word that is safe to show: a message could quote input. */
export function failureOf(error: unknown): string {
  if (error instanceof Refusal) return error.code
  return error instanceof Error ? error.name : 'unknown'
}
