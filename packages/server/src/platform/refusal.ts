// A refusal: what the caller did cannot be done. Declared, rendered once, never a 500.

// Not the face of the package: threads that load this need no schemas.
import { type RefusalCode, refusals } from '@custos/contract/refusals'

export interface RefusalExtras {
  /** Further members of the answer's top level, for example `capability` and `operation`. */
  readonly members?: Readonly<Record<string, unknown>>
  /** An object instead of the text as `detail`. */
  readonly detail?: unknown
  readonly retry_after_s?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** Thrown to end an operation; a transaction it leaves is rolled back. */
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

/** Why something failed, in a word that may be shown: no message, which may quote something. */
export function failureOf(error: unknown): string {
  if (error instanceof Refusal) return error.code
  return error instanceof Error ? error.name : 'unknown'
}
