// A rule: a function of a request, built once from a policy's configuration.

import { yieldBetweenChunks } from '../../../platform/yield-between-chunks.ts'
import { Fault, type Finding } from './outcome.ts'
import type { GateRequest } from './request.ts'
import type { Replacement } from './searchable.ts'

/** The inputs of a rule that are not in the request. */
export interface Surroundings {
  /** Whether the request exceeds the rate limit being evaluated. */
  readonly rate_exceeded: boolean
  readonly work: Work
}

/** A finding, or one with what to put in place of what was found. */
export type RuleFinding =
  | Finding
  | { readonly finding: Finding; readonly replacements: readonly Replacement[] }

export interface Rule {
  find(request: GateRequest, around: Surroundings): RuleFinding | Promise<RuleFinding>
}

/** Maximum instructions of patterns times characters of text: at worst seconds of one core. */
const WORK_MAX = 2 ** 30
/** Cost of recognisers per character, in the same unit. */
export const RECOGNISER_SIZE = 20

export interface Work {
  /**
   * Await this before a search. Throws once the request exceeds its work limit. Work is counted,
   * not timed, so that the same request always gets the same result.
   */
  spend(units: number): Promise<void> | undefined
  /** Await this between items. */
  pause(): Promise<void> | undefined
}

/** Units of searches between two looks at the clock, well below a millisecond of work. */
const LOOK_UNITS = 2 ** 14

export function makeWork(): Work {
  const pace = yieldBetweenChunks()
  let left = WORK_MAX
  let unseen = 0
  return {
    spend(units) {
      left -= units
      if (left < 0) throw new Fault({ reason: 'work_exceeded' })
      unseen += units
      if (unseen < LOOK_UNITS) return undefined
      unseen = 0
      return pace()
    },
    // A policy that searches no text may still take milliseconds, as for a long list.
    pause: pace,
  }
}
