// Pure: the plane of the first two principal components of vectors, and each vector's position.
// Uses only + − × ÷ and square roots, so the same matrix gives the same bits on every machine.

/** Row-major integer vectors: unit vectors times 127 (platform/embed). */
export interface Vectors {
  readonly rows: Int8Array
  readonly count: number
  readonly dimensions: number
}

export interface Plane {
  /** In row order, and rounded, so that later results can be recomputed from what is shown. */
  readonly xs: Float64Array
  readonly ys: Float64Array
  readonly variance_explained: readonly [number, number]
}

type Pace = () => Promise<void> | undefined

const UNIT = 127
/** The side of a tile of products, in columns, and the rows summed per group. */
const TILE = 4
const GROUP = 64
/** The rows processed between two calls of `pace`. */
const STRETCH = 64
/** A component with a smaller share of the variance is rounding error, and is dropped. */
const NOTHING = 1e-12

/** The most rows for which the integer sums stay exact in a double. */
const ROWS_MAX = 500_000

/**
 * Computes the principal plane. Sums of products are integers, so the rows give the same bits in
 * any order.
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

/** The scatter matrix times the number of rows, in integers below 2^53. */
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

/** Copies a group of rows column by column, padded with zeros, which add nothing. */
function groupAt({ rows, count, dimensions }: Vectors, first: number, width: number): Float64Array {
  const group = new Float64Array(width * GROUP)
  for (let row = 0; row < Math.min(GROUP, count - first); row += 1) {
    const start = (first + row) * dimensions
    for (let at = 0; at < dimensions; at += 1) group[at * GROUP + row] = rows[start + at] ?? 0
  }
  return group
}

// Multiplies two columns by four at once: eight sums in registers are several times as fast.
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

/** The position of each row along the axis, from the mean. All 0 if there is no axis. */
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

/** The sign that makes the axis's largest component positive, since an axis has no direction. */
function signOf(axis: Float64Array): 1 | -1 {
  let largest = 0
  for (const value of axis) if (Math.abs(value) > Math.abs(largest)) largest = value
  return largest < 0 ? -1 : 1
}

/** Rounds to four decimals, and never returns -0. */
export const round4 = (value: number): number => Math.round(value * 10_000) / 10_000 + 0

/** More columns than needed: the speed of convergence depends on the first one left out. */
const WIDTH = 16
const ROUNDS_MAX = 400
const RESIDUAL = 1e-10
/** A column that shrinks below this factor depended on the columns before it. */
const INDEPENDENT = 1e-9
const SWEEPS_MAX = 40

interface EigenPair {
  readonly value: number
  /** A unit vector, or zeros if the matrix has no further direction. */
  readonly vector: Float64Array
}

type Columns = Float64Array[]

/**
 * The first `count` eigenpairs, by descending eigenvalue. If two eigenvalues are too close for the
 * iteration to separate, any plane is equally good, but the result still depends on the matrix
 * only.
 * @param matrix row-major, `size` × `size`
 */
export async function leadingPairs(
  matrix: Float64Array,
  size: number,
  count: number,
  pace: () => Promise<void> | undefined,
): Promise<EigenPair[]> {
  let basis = orthonormal(startColumns(size, Math.min(WIDTH, size)))
  for (let round = 0; ; round += 1) {
    const image: Columns = []
    for (const column of basis) image.push(multiply(matrix, column))
    await pace()
    const { values, rotation } = diagonalise(products(basis, image))
    const vectors = rotate(basis, rotation)
    const images = rotate(image, rotation)
    const pairs = vectors.map((vector, at) => ({ value: values[at] ?? 0, vector }))
    const wanted = pairs.slice(0, count)
    if (round === ROUNDS_MAX || settled(wanted, images)) return wanted
    basis = orthonormal(images)
  }
}

/** Fixed pseudo-random start columns, so that no axis is preferred. */
function startColumns(size: number, width: number): Columns {
  let state = 1
  return Array.from({ length: width }, () =>
    Float64Array.from({ length: size }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return state / 2 ** 32 - 0.5
    }),
  )
}

function multiply(matrix: Float64Array, column: Float64Array): Float64Array {
  const size = column.length
  const image = new Float64Array(size)
  for (let row = 0; row < size; row += 1) {
    let sum = 0
    const start = row * size
    for (let at = 0; at < size; at += 1) sum += (matrix[start + at] ?? 0) * (column[at] ?? 0)
    image[row] = sum
  }
  return image
}

function dot(left: ArrayLike<number>, right: ArrayLike<number>): number {
  let sum = 0
  for (let at = 0; at < left.length; at += 1) sum += (left[at] ?? 0) * (right[at] ?? 0)
  return sum
}

function addTimes(target: Float64Array, factor: number, other: Float64Array): void {
  for (let at = 0; at < target.length; at += 1)
    target[at] = (target[at] ?? 0) + factor * (other[at] ?? 0)
}

/** Gram–Schmidt, applied twice. A column that depends on the others becomes zeros. */
function orthonormal(columns: Columns): Columns {
  const done: Columns = []
  for (const column of columns) {
    const own = column.slice()
    const before = Math.sqrt(dot(own, own))
    for (let pass = 0; pass < 2; pass += 1)
      for (const other of done) addTimes(own, -dot(own, other), other)
    const length = Math.sqrt(dot(own, own))
    const scale = length > before * INDEPENDENT ? 1 / length : 0
    done.push(own.map((value) => value * scale))
  }
  return done
}

function products(basis: Columns, image: Columns): Columns {
  const table = basis.map((left) => Float64Array.from(image, (right) => dot(left, right)))
  return table.map((row, i) => row.map((value, j) => (value + (table[j]?.[i] ?? 0)) / 2))
}

/** Diagonalises by Jacobi rotations. Eigenvalues descend; equal ones keep their order. */
function diagonalise(table: Columns): { values: number[]; rotation: Columns } {
  const size = table.length
  const turned = table.map((_, i) => Float64Array.from({ length: size }, (_, j) => +(i === j)))
  for (let sweep = 0; sweep < SWEEPS_MAX && offDiagonal(table) > 0; sweep += 1)
    for (let p = 0; p < size; p += 1)
      for (let q = p + 1; q < size; q += 1) turn(table, turned, p, q)
  const value = (at: number) => table[at]?.[at] ?? 0
  const order = turned.map((_, at) => at).sort((a, b) => value(b) - value(a) || a - b)
  return { values: order.map(value), rotation: order.map((at) => turned[at] ?? new Float64Array()) }
}

/** The size of the off-diagonal elements, or 0 once it is lost in rounding. */
function offDiagonal(table: Columns): number {
  let [off, all] = [0, 0]
  for (const [i, row] of table.entries())
    for (const [j, value] of row.entries()) {
      all += value * value
      if (i !== j) off += value * value
    }
  return off > all * 1e-30 ? off : 0
}

function turn(table: Columns, turned: Columns, p: number, q: number): void {
  const [rowP, rowQ] = [table[p], table[q]]
  const apart = rowP?.[q] ?? 0
  if (!rowP || !rowQ || apart === 0) return
  const theta = ((rowQ[q] ?? 0) - (rowP[p] ?? 0)) / (2 * apart)
  const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1))
  const cos = 1 / Math.sqrt(t * t + 1)
  const sin = t * cos
  for (const row of table) mix(row, row, { p, q, cos, sin })
  mixRows(rowP, rowQ, cos, sin)
  const [left, right] = [turned[p], turned[q]]
  if (left && right) mixRows(left, right, cos, sin)
}

function mix(
  from: Float64Array,
  into: Float64Array,
  { p, q, cos, sin }: Record<'p' | 'q' | 'cos' | 'sin', number>,
): void {
  const [a, b] = [from[p] ?? 0, from[q] ?? 0]
  into[p] = cos * a - sin * b
  into[q] = sin * a + cos * b
}

function mixRows(left: Float64Array, right: Float64Array, cos: number, sin: number): void {
  for (let at = 0; at < left.length; at += 1) {
    const [a, b] = [left[at] ?? 0, right[at] ?? 0]
    left[at] = cos * a - sin * b
    right[at] = sin * a + cos * b
  }
}

function rotate(columns: Columns, rotation: Columns): Columns {
  return rotation.map((weights) => {
    const sum = new Float64Array(columns[0]?.length ?? 0)
    for (const [at, column] of columns.entries()) addTimes(sum, weights[at] ?? 0, column)
    return sum
  })
}

/** Whether the pairs satisfy the eigenvector equation within the residual. */
function settled(pairs: readonly EigenPair[], images: Columns): boolean {
  const largest = pairs[0]?.value ?? 0
  return pairs.every(({ value, vector }, at) => {
    const rest = Float64Array.from(images[at] ?? [])
    addTimes(rest, -value, vector)
    return Math.sqrt(dot(rest, rest)) <= largest * RESIDUAL
  })
}
