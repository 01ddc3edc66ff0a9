// BM25 in fixed point: integer contributions sum to the same score in any order, on any machine.

/** One unit of BM25 score as an integer: 2^16. */
export const SCORE_UNIT = 0x10000

// Low on purpose: facts are short, so length and repetition say little about them.
const K1 = 0.9
const B = 0.4

/** What a term is worth by how few of the `facts` have it, in score units; always positive. */
export function inverseFrequency(facts: number, factsWithTerm: number): number {
  const odds = (facts - factsWithTerm + 0.5) / (factsWithTerm + 0.5)
  return Math.round(SCORE_UNIT * Math.log1p(odds))
}

/**
 * One term's contribution to one fact, an integer in score units. `relativeLength` is the fact's
 * length over the average length. Only basic IEEE operations, which round the same everywhere.
 */
export function contribution(weight: number, frequency: number, relativeLength: number): number {
  const saturation = frequency + K1 * (1 - B + B * relativeLength)
  return Math.round((weight * (frequency * (K1 + 1))) / saturation)
}

/** What a neighbour that has a term lends a fact that lacks it: half of its own contribution. */
export function lent(contributed: number): number {
  return Math.floor(contributed / 2)
}
