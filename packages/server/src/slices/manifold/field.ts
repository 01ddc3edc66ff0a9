// Pure: the field of outcomes over the plane, a Beta(1, 1) posterior under a Gaussian kernel.

import type { ManifoldField } from '@custos/contract'
import { round4 } from './plane.ts'

export interface PlanePoint {
  readonly x: number
  readonly y: number
}

export interface ResolvedPoint extends PlanePoint {
  readonly paid: boolean
}

export const RESOLUTION = 40
const H_FRAC = 0.06
const PADDING = 0.05
/** Weights are summed as integer multiples of 1 / GRAIN, so that their order does not matter. */
const GRAIN = 2 ** 32
const STRETCH = 16

/** Spans the bounding box of all `points`; only the `resolved` points count as evidence. */
export async function outcomeField(
  points: readonly PlanePoint[],
  resolved: readonly ResolvedPoint[],
  pace: () => Promise<void> | undefined,
): Promise<ManifoldField['field']> {
  const x_range = padded(points.map(({ x }) => x))
  const y_range = padded(points.map(({ y }) => y))
  const extent = Math.max(x_range[1] - x_range[0], y_range[1] - y_range[0])
  const bandwidth = H_FRAC * (extent || 1)
  const [columns, lines] = [nodes(x_range), nodes(y_range)]
  const all = new Float64Array(RESOLUTION * RESOLUTION)
  const paid = new Float64Array(RESOLUTION * RESOLUTION)
  for (const [at, point] of resolved.entries()) {
    // exp(-(dx² + dy²) / 2h²) is a product of one factor for each axis.
    const along = kernel(columns, point.x, bandwidth)
    const up = kernel(lines, point.y, bandwidth)
    addWeights({ all, paid: point.paid ? paid : null }, along, up)
    if (at % STRETCH === 0) await pace()
  }
  const table = (value: (at: number) => number) =>
    Array.from({ length: RESOLUTION }, (_, row) =>
      Array.from({ length: RESOLUTION }, (_, column) => value(row * RESOLUTION + column)),
    )
  const weight = (sums: Float64Array, at: number) => (sums[at] ?? 0) / GRAIN
  return {
    ...{ resolution: RESOLUTION, x_range, y_range, bandwidth, h_frac: H_FRAC },
    grid: table((at) => round4((1 + weight(paid, at)) / (2 + weight(all, at)))),
    support: table((at) => Math.round(weight(all, at) * 1_000) / 1_000),
  }
}

/** The field of fewer than three points, which shows nothing. */
export const emptyField = (): ManifoldField['field'] => ({
  resolution: 0,
  x_range: [0, 0],
  y_range: [0, 0],
  bandwidth: 0,
  grid: [],
  support: [],
})

function padded(values: readonly number[]): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const value of values) {
    if (value < low) low = value
    if (value > high) high = value
  }
  const padding = PADDING * (high - low || 1)
  return [low - padding, high + padding]
}

/** The nodes of an axis, including both ends of the range. */
const nodes = ([low, high]: readonly [number, number]): Float64Array =>
  Float64Array.from({ length: RESOLUTION }, (_, at) => low + ((high - low) * at) / (RESOLUTION - 1))

const kernel = (places: Float64Array, centre: number, bandwidth: number): Float64Array =>
  places.map((place) => Math.exp(-((place - centre) ** 2) / (2 * bandwidth * bandwidth)))

function addWeights(
  { all, paid }: { all: Float64Array; paid: Float64Array | null },
  along: Float64Array,
  up: Float64Array,
): void {
  for (let row = 0; row < RESOLUTION; row += 1) {
    const factor = (up[row] ?? 0) * GRAIN
    const start = row * RESOLUTION
    for (let column = 0; column < RESOLUTION; column += 1) {
      const weight = Math.floor(factor * (along[column] ?? 0) + 0.5)
      all[start + column] = (all[start + column] ?? 0) + weight
      if (paid) paid[start + column] = (paid[start + column] ?? 0) + weight
    }
  }
}
