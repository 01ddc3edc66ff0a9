// Pure: the plane in which vectors differ most (principal components), and where each lies on it.

import { dot, leadingPairs } from './eigen.ts'

/** Rows of whole numbers, one behind the other: unit vectors times 127 (platform/embed). */
export interface Vectors {
  readonly rows: Int8Array
  readonly count: number
  readonly dimensions: number
}

export interface Plane {
  /** In the order of the rows, rounded: what follows can be computed again from what is shown. */
  readonly xs: Float64Array
  readonly ys: Float64Array
  readonly variance_explained: readonly [number, number]
}

type Pace = () => Promise<void> | undefined

const UNIT = 127
/** Columns on each side of a tile of products, and rows that are summed in one go. */
const TILE = 4
const GROUP = 64
/** Rows between two looks at the clock. */
const STRETCH = 64
/** Of the variance; a component with less is rounding, and is shown as none. */
const NOTHING = 1e-12

/** With more, sums of products times their number might not be exact any more. */
const ROWS_MAX = 500_000

/**
 * Sums of products are whole numbers, so their order does not matter: the same rows give the same
 * bits in any order.
 */
export async function principalPlane(vectors: Vectors, pace: Pace): Promise<Plane> {
  const { count, dimensions } = vectors
  if (count > ROWS_MAX) throw new Error('more vectors than sums can hold')
  const sums = sumRows(vectors)
  const scatter = await scatterOf(vectors, sums, pace)
  let total = 0
  for (let at = 0; at < dimensions; at += 1) total += scatter[at * dimensions + at] ?? 0
  const pairs = total === 0 ? [] : await leadingPairs(scatter, dimensions, 2, pace)
  const share = (at: number) => Math.max(0, (pairs[at]?.value ?? 0) / (total || 1))
  const axis = (at: number) => (share(at) > NOTHING ? (pairs[at]?.vector ?? null) : null)
  const project = (at: number) => projectRows(vectors, sums, { axis: axis(at), pace })
  const [xs, ys] = [await project(0), await project(1)]
  return { xs, ys, variance_explained: [round4(share(0)), round4(share(1))] }
}

function sumRows({ rows, dimensions }: Vectors): Float64Array {
  const sums = new Float64Array(dimensions)
  for (let at = 0; at < rows.length; at += 1) {
    const column = at % dimensions
    sums[column] = (sums[column] ?? 0) + (rows[at] ?? 0)
  }
  return sums
}

/** The scatter matrix times the number of rows: whole numbers below 2^53. */
async function scatterOf(vectors: Vectors, sums: Float64Array, pace: Pace): Promise<Float64Array> {
  const { count, dimensions } = vectors
  const width = Math.ceil(dimensions / TILE) * TILE
  const gram = new Float64Array(width * width)
  for (let at = 0; at < count; at += GROUP) {
    const group = groupAt(vectors, at, width)
    for (let i = 0; i < width; i += TILE)
      for (let j = i; j < width; j += TILE) addProducts(gram, group, { width, i, j })
    await pace()
  }
  const scatter = new Float64Array(dimensions * dimensions)
  for (let i = 0; i < dimensions; i += 1)
    for (let j = i; j < dimensions; j += 1) {
      const value = count * (gram[i * width + j] ?? 0) - (sums[i] ?? 0) * (sums[j] ?? 0)
      scatter[i * dimensions + j] = value
      scatter[j * dimensions + i] = value
    }
  return scatter
}

/** Column by column; columns and rows of zeros, which add nothing, fill the last group up. */
function groupAt({ rows, count, dimensions }: Vectors, first: number, width: number): Float64Array {
  const group = new Float64Array(width * GROUP)
  for (let row = 0; row < Math.min(GROUP, count - first); row += 1) {
    const start = (first + row) * dimensions
    for (let at = 0; at < dimensions; at += 1) group[at * GROUP + row] = rows[start + at] ?? 0
  }
  return group
}

// Two columns with four: eight sums in registers, several times as fast as one at a time.
function addProducts(
  gram: Float64Array,
  group: Float64Array,
  { width, i, j }: { width: number; i: number; j: number },
): void {
  for (let line = i; line < i + TILE; line += 2) {
    const first = line * GROUP
    let a = 0
    let b = 0
    let c = 0
    let d = 0
    let e = 0
    let f = 0
    let g = 0
    let h = 0
    for (let row = 0, at = j * GROUP; row < GROUP; row += 1, at += 1) {
      const p = group[first + row] ?? 0
      const q = group[first + GROUP + row] ?? 0
      const w = group[at] ?? 0
      const x = group[at + GROUP] ?? 0
      const y = group[at + 2 * GROUP] ?? 0
      const z = group[at + 3 * GROUP] ?? 0
      a += p * w
      b += p * x
      c += p * y
      d += p * z
      e += q * w
      f += q * x
      g += q * y
      h += q * z
    }
    const start = line * width + j
    add(gram, start, [a, b, c, d])
    add(gram, start + width, [e, f, g, h])
  }
}

function add(gram: Float64Array, start: number, sums: readonly number[]): void {
  for (let at = 0; at < TILE; at += 1) gram[start + at] = (gram[start + at] ?? 0) + (sums[at] ?? 0)
}

/** Where the rows lie along an axis, from their mean; 0 for all where there is no axis. */
async function projectRows(
  { rows, count, dimensions }: Vectors,
  sums: Float64Array,
  { axis, pace }: { axis: Float64Array | null; pace: Pace },
): Promise<Float64Array> {
  const places = new Float64Array(count)
  if (axis === null) return places
  const pointed = axis.map((value) => value * signOf(axis))
  const mean = dot(sums, pointed) / count
  for (let at = 0; at < count; at += 1) {
    const start = at * dimensions
    let sum = 0
    for (let i = 0; i < dimensions; i += 1) sum += (rows[start + i] ?? 0) * (pointed[i] ?? 0)
    places[at] = round4((sum - mean) / UNIT)
    if (at % STRETCH === 0) await pace()
  }
  return places
}

/** An axis has no direction of its own: its largest part is made positive. */
function signOf(axis: Float64Array): 1 | -1 {
  let largest = 0
  for (const value of axis) if (Math.abs(value) > Math.abs(largest)) largest = value
  return largest < 0 ? -1 : 1
}

/** Never -0. */
export const round4 = (value: number): number => Math.round(value * 10_000) / 10_000 + 0
