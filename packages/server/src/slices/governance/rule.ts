// What a rule is: a function of a request, made once from a policy's configuration.

import type { Finding } from './outcome.ts'
import type { GateRequest } from './request.ts'

/** What a rule needs to know that is not in the request. */
export interface Surroundings {
  /** Whether the request is one too many for the rate limit being evaluated. */
  readonly rate_exceeded: boolean
}

export interface Replacement {
  readonly field: string
  readonly start: number
  readonly end: number
  /** What stands there instead. */
  readonly by: string
}

export interface Rule {
  find(request: GateRequest, around: Surroundings): Finding
  /** What to replace in the fields, where the rule says so. */
  redact?(request: GateRequest): Replacement[]
}
