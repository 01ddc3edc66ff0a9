// Estimates how likely a fact is evidence, from its words and its cosine with the query.

/** The highest dot product of two unit vectors that are both multiplied by 127. */
export const DOT_MAX = 127 * 127

/**
 * Coefficients of a logistic function, which estimates the probability that a fact is evidence. It
 * has two inputs: the weight of the query's terms that the fact contains, divided by the weight of
 * the query's heaviest terms; and the cosine of fact and query. The coefficients were fitted on one
 * half of three data sets and tested on the other half, see docs/evaluation.md.
 */
const CONFIDENCE = { base: -6.5, terms: 2.5, cosine: 6.3 }
const CONFIDENCE_BY_TERMS = { base: -4.9, terms: 3.8 }
/** Maximum of terms to expect in one fact: a long query names more things than one fact does. */
const HEAVIEST = 8

/** The sum of the weights of a query's heaviest terms. */
export const sumHeaviest = (weights: readonly number[]): number =>
  weights
    .toSorted((left, right) => right - left)
    .slice(0, HEAVIEST)
    .reduce((sum, weight) => sum + weight, 0)

/**
 * Estimates the highest cosine of a query with any of `facts` unrelated texts. It rises with their
 * number. The confidences that result are 0.002 for one text, 0.006 for 20 and 0.01 for 600.
 */
const unrelatedCosine = (facts: number): number => 0.05 + 0.07 * Math.sqrt(2 * Math.log(facts))

/** `share`: weight of the query's terms that the fact has, divided by that of the heaviest ones. */
export function logitOf(share: number, dot: number): number {
  // A fact without a vector is judged by its terms alone.
  if (dot === 0) return CONFIDENCE_BY_TERMS.base + CONFIDENCE_BY_TERMS.terms * share
  const { base, terms, cosine } = CONFIDENCE
  return base + terms * share + (dot > 0 ? (cosine * dot) / DOT_MAX : 0)
}

/** Estimates the highest logit among a number of unrelated facts. */
export const unrelatedLogit = (facts: number): number =>
  CONFIDENCE.base + CONFIDENCE.cosine * unrelatedCosine(Math.max(1, facts))

/** Rounds to thousandths: the estimate is not more precise, and all machines return the same. */
export const confidenceOf = (logit: number): number =>
  Math.round(1_000 / (1 + Math.exp(-logit))) / 1_000
