// How likely a fact is evidence, from its words and its cosine with the query.

/** The dot product of a unit vector times 127 with itself. */
export const DOT_MAX = 127 * 127

/**
 * How likely a fact is evidence, a logistic function of two numbers: the weight of the query's
 * terms that it has, relative to the heaviest ones, and its cosine with the query. Fitted on one
 * half of three sets and tested on the other, see docs/evaluation.md.
 */
const CONFIDENCE = { base: -6.5, terms: 2.5, cosine: 6.3 }
const CONFIDENCE_BY_TERMS = { base: -4.9, terms: 3.8 }
/** Terms of a query that one fact can be expected to have: a long query names many things. */
const HEAVIEST = 8

/** The weight of a query's heaviest terms. */
export const sumHeaviest = (weights: readonly number[]): number =>
  weights
    .toSorted((left, right) => right - left)
    .slice(0, HEAVIEST)
    .reduce((sum, weight) => sum + weight, 0)

/**
 * The cosine that the most similar of a number of unrelated texts has at most: the more texts, the
 * higher the best of them. As a confidence 0.002 for one, 0.006 for 20, 0.01 for 600.
 */
const unrelatedCosine = (facts: number): number => 0.05 + 0.07 * Math.sqrt(2 * Math.log(facts))

/** `share`: the weight of the query's terms that it has, over that of the heaviest ones. */
export function logitOf(share: number, dot: number): number {
  // A fact whose vector is missing is judged by its terms.
  if (dot === 0) return CONFIDENCE_BY_TERMS.base + CONFIDENCE_BY_TERMS.terms * share
  const { base, terms, cosine } = CONFIDENCE
  return base + terms * share + (dot > 0 ? (cosine * dot) / DOT_MAX : 0)
}

/** The logit that the most similar of a number of unrelated facts has at most. */
export const unrelatedLogit = (facts: number): number =>
  CONFIDENCE.base + CONFIDENCE.cosine * unrelatedCosine(Math.max(1, facts))

/** In thousandths: more is not known, and it is the same on every machine. */
export const confidenceOf = (logit: number): number =>
  Math.round(1_000 / (1 + Math.exp(-logit))) / 1_000
