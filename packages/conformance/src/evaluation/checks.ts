// The checks of one capability, with evidence that contains ids and no contents.

import { type LeakedFact, type Observation, recallOf, rounded } from './replay.ts'
import type { ConformanceCheck } from './result.ts'

/** Retrieval quality is not tested: half of the expected facts is enough (the protocol's gate). */
const RECALL_MIN = 0.5
const NAMED_MAX = 5
/** Refs come from the server: a prefix is enough to recognise one. */
const NAME_CHARS_MAX = 100

export class Checks {
  readonly list: ConformanceCheck[] = []

  /** @param expected the requirement, for passed and failed checks */
  add(name: string, passed: boolean, expected: string): void {
    this.list.push({ name, passed, detail: expected })
  }

  /** Passes when there is no offender; else names the first few. */
  none(name: string, offenders: readonly string[], expected: string): void {
    const short = offenders.slice(0, NAMED_MAX).map((name) => name.slice(0, NAME_CHARS_MAX))
    const named = short.join(', ')
    const more = offenders.length > NAMED_MAX ? ` and ${offenders.length - NAMED_MAX} more` : ''
    const found = offenders.length === 0 ? '' : `; not so for ${named}${more}`
    this.add(name, offenders.length === 0, `${expected}${found}`)
  }

  recall(name: string, observations: readonly Observation[]): void {
    const recall = recallOf(observations)
    const missed = observations.filter(({ required, found }) => found.length < required.length)
    const first = missed.slice(0, NAMED_MAX).map(({ turn_id }) => turn_id)
    const named = first.length === 0 ? '' : `; missed in ${first.join(', ')}`
    const expected = `recall of ${rounded(recall)}, ${RECALL_MIN} is required`
    this.add(name, recall >= RECALL_MIN, `${expected}${named}`)
  }

  /** No answer may hold a fact for one of these reasons. */
  noLeak(
    name: string,
    observations: readonly Observation[],
    reasons: readonly LeakedFact['wrong'][],
  ) {
    const offenders = observations.flatMap(({ turn_id, leaks }) =>
      leaks
        .filter(({ wrong }) => reasons.includes(wrong))
        .map(({ fact_id, wrong }) => `${fact_id} (${wrong}) in ${turn_id}`),
    )
    this.none(name, offenders, `in none of ${observations.length} answers`)
  }
}
