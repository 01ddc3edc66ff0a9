// What a rule is: a function of a request, made once from a policy's configuration.

import type { Finding } from './outcome.ts'
import type { GateRequest } from './request.ts'
import type { Work } from './work.ts'

/** What a rule needs to know that is not in the request. */
export interface Surroundings {
  /** Whether the request is one too many for the rate limit being evaluated. */
  readonly rate_exceeded: boolean
  readonly work: Work
}

export interface Replacement {
  readonly field: string
  /** Of the field's searchable text. */
  readonly start: number
  readonly end: number
  /** What stands there instead. */
  readonly by: string
}

/** A finding, and what to put in place of what was found. */
export interface Redacting {
  readonly finding: Finding
  readonly replacements: readonly Replacement[]
}

export type Found = Finding | Redacting

export interface Rule {
  find(request: GateRequest, around: Surroundings): Found | Promise<Found>
}
