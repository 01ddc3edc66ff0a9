// How much searching one request may ask for, with pauses in it for other requests.

import { yieldBetweenChunks } from '../../platform/yield-between-chunks.ts'
import { Fault } from './outcome.ts'

/** Instructions of patterns times characters of text: seconds of one core at the worst. */
const WORK_MAX = 2 ** 30
/** What recognisers cost a character, in the same measure. */
export const RECOGNISER_SIZE = 20

export interface Work {
  /**
   * To await before a search. Throws once the request asked for more than it may: the count, not
   * the clock, decides, so that the same request always gets the same answer.
   */
  spend(units: number): Promise<void> | undefined
  /** To await between items. */
  pause(): Promise<void> | undefined
}

export function makeWork(): Work {
  const pace = yieldBetweenChunks()
  let left = WORK_MAX
  return {
    spend(units) {
      left -= units
      if (left < 0) throw new Fault({ reason: 'work_exceeded' })
      return pace()
    },
    pause: pace,
  }
}
