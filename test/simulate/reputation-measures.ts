// Rank correlation and calibration: how well scores tell agents apart, and how true they are.

/** Ranks from 1, ties share their mean. */
export function ranksOf(values: readonly number[]): readonly number[] {
  const order = values.map((value, at) => ({ value, at })).sort((a, b) => a.value - b.value)
  const ranks = new Map<number, number>()
  for (let i = 0; i < order.length; ) {
    const tied = order.slice(i).findIndex(({ value }) => value !== order[i]?.value)
    const end = tied < 0 ? order.length : i + tied
    for (const { at } of order.slice(i, end)) ranks.set(at, (i + 1 + end) / 2)
    i = end
  }
  return values.map((_, at) => ranks.get(at) ?? 0)
}

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

function pearson(a: readonly number[], b: readonly number[]): number {
  const [meanA, meanB] = [mean(a), mean(b)]
  const of = (x: readonly number[], y: readonly number[], meanX: number, meanY: number) =>
    mean(x.map((value, at) => (value - meanX) * ((y[at] ?? 0) - meanY)))
  return of(a, b, meanA, meanB) / Math.sqrt(of(a, a, meanA, meanA) * of(b, b, meanB, meanB))
}

/** Spearman's rho. */
export const spearman = (a: readonly number[], b: readonly number[]): number =>
  pearson(ranksOf(a), ranksOf(b))

/** Kendall's tau-b. */
export function kendall(a: readonly number[], b: readonly number[]): number {
  let [agreeing, pairsA, pairsB] = [0, 0, 0]
  for (let i = 0; i < a.length; i++)
    for (let j = 0; j < i; j++) {
      const [signA, signB] = [a, b].map((x) => Math.sign((x[i] ?? 0) - (x[j] ?? 0)))
      agreeing += (signA ?? 0) * (signB ?? 0)
      pairsA += Math.abs(signA ?? 0)
      pairsB += Math.abs(signB ?? 0)
    }
  return agreeing / Math.sqrt(pairsA * pairsB)
}

const BINS = 10

/**
 * The expected calibration error: predictions in ten equal bins, the distance between the mean
 * prediction and the mean truth of each, weighted by how many are in it.
 */
export function calibrationError(predicted: readonly number[], truth: readonly number[]): number {
  const pairs = predicted.map((value, at) => ({ value, truth: truth[at] ?? 0 }))
  const bins = Map.groupBy(pairs, ({ value }) => Math.min(Math.floor(value * BINS), BINS - 1))
  return [...bins.values()].reduce((sum, bin) => {
    const distance = mean(bin.map((pair) => pair.value)) - mean(bin.map((pair) => pair.truth))
    return sum + (Math.abs(distance) * bin.length) / pairs.length
  }, 0)
}
