// Estimates how likely a fact is evidence, from its words and its cosine with the query.

/** The dot product of a unit vector times 127 with itself. */
export const DOT_MAX = 127 * 127

/**
 * A logistic function estimates how likely a fact is evidence from two numbers: the weight of the
 * query's terms in the fact, relative to the heaviest ones, and its cosine with the query. Fitted
 * on one half of three sets and tested on the other, see docs/evaluation.md.
 */
const CONFIDENCE = { base: -6.5, terms: 2.5, cosine: 6.3 }
const CONFIDENCE_BY_TERMS = { base: -4.9, terms: 3.8 }
/** Number of query terms that one fact can be expected to have: long queries name many things. */
const HEAVIEST = 8

/** The sum of the weights of a query's heaviest terms. */
export const sumHeaviest = (weights: readonly number[]): number =>
  weights
    .toSorted((left, right) => right - left)
    .slice(0, HEAVIEST)
    .reduce((sum, weight) => sum + weight, 0)

/**
 * Upper bound of the highest cosine among a number of unrelated texts, which rises with the number.
 * As a confidence: 0.002 for one text, 0.006 for 20, 0.01 for 600.
 */
const unrelatedCosine = (facts: number): number => 0.05 + 0.07 * Math.sqrt(2 * Math.log(facts))

/** `share` is the weight of the query's terms in the fact over that of the heaviest terms. */
export function logitOf(share: number, dot: number): number {
  // A fact without a vector is judged by its terms alone.
  if (dot === 0) return CONFIDENCE_BY_TERMS.base + CONFIDENCE_BY_TERMS.terms * share
  const { base, terms, cosine } = CONFIDENCE
  return base + terms * share + (dot > 0 ? (cosine * dot) / DOT_MAX : 0)
}

/** Upper bound of the highest logit among a number of unrelated facts. */
export const unrelatedLogit = (facts: number): number =>
  CONFIDENCE.base + CONFIDENCE.cosine * unrelatedCosine(Math.max(1, facts))

/** Rounded to thousandths: it is no more precise, and is then the same on every machine. */
export const confidenceOf = (logit: number): number =>
  Math.round(1_000 / (1 + Math.exp(-logit))) / 1_000
