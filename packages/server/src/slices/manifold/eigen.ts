// Pure: leading eigenvectors of a symmetric positive semidefinite matrix, by subspace iteration.
// Only + − × ÷ and square roots are used: the same matrix gives the same bits on every machine.

/** More columns than are wanted: the ratio to the first one left out is what converges. */
const WIDTH = 16
const ROUNDS_MAX = 400
const RESIDUAL = 1e-10
/** A column that loses this much to the ones before it had nothing of its own. */
const INDEPENDENT = 1e-9
const SWEEPS_MAX = 40

interface EigenPair {
  readonly value: number
  /** Of length 1; zeros where the matrix has no such direction. */
  readonly vector: Float64Array
}

type Columns = Float64Array[]

/**
 * The first `count` pairs, by falling value. Where two values are closer than the iteration can
 * tell, any plane is as good as another: what is answered is still a function of the matrix alone.
 * @param matrix row by row, `size` × `size`
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

/** Any columns will do that depend on nothing and lean on no axis. */
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

export function dot(left: ArrayLike<number>, right: ArrayLike<number>): number {
  let sum = 0
  for (let at = 0; at < left.length; at += 1) sum += (left[at] ?? 0) * (right[at] ?? 0)
  return sum
}

function addTimes(target: Float64Array, factor: number, other: Float64Array): void {
  for (let at = 0; at < target.length; at += 1)
    target[at] = (target[at] ?? 0) + factor * (other[at] ?? 0)
}

/** Gram and Schmidt, twice over; a column without a direction of its own becomes zeros. */
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

/** Jacobi's rotations; values fall, and equal ones stay in their order. */
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

/** What is left beside the diagonal; 0 once it is lost in rounding. */
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

interface Turn {
  readonly p: number
  readonly q: number
  readonly cos: number
  readonly sin: number
}

function mix(from: Float64Array, into: Float64Array, { p, q, cos, sin }: Turn): void {
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

/** Whether the matrix does to the vectors what it does to eigenvectors. */
function settled(pairs: readonly EigenPair[], images: Columns): boolean {
  const largest = pairs[0]?.value ?? 0
  return pairs.every(({ value, vector }, at) => {
    const rest = Float64Array.from(images[at] ?? [])
    addTimes(rest, -value, vector)
    return Math.sqrt(dot(rest, rest)) <= largest * RESIDUAL
  })
}
