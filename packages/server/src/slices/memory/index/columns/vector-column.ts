// The vectors of a partition by slot, and their dot products with a query: with SIMD in a small
// WebAssembly module, or in JavaScript. Sums of integers within 32 bits do not depend on their
// order, so both give the same results. The WebAssembly memories hold the vectors of all indexes of
// the process, in blocks, and the dot products are computed where the vectors are.

import assert from 'node:assert/strict'
import { EarlyDots } from './early-dots.ts'
import { DOTS_MODULE } from './generated/wasm-modules.ts'
import type { PieceReader, PieceWriter } from './pieces.ts'
import type { Steps } from './steps.ts'

/** Vectors are padded with zeros to a multiple of this number of dimensions. */
const STEP = 16

/** The part of the WebAssembly API that is used here; Node's types lack it. */
declare namespace WebAssembly {
  class Memory {
    constructor(descriptor: { initial: number; maximum: number; shared: true })
    readonly buffer: SharedArrayBuffer
    grow(pages: number): number
  }
  class Module {
    constructor(bytes: Uint8Array)
  }
  class Instance {
    constructor(module: Module, imports: { m: { m: Memory } })
    readonly exports: {
      readonly dots: (...addresses: readonly number[]) => void
      readonly dotsOfTwo: (...addresses: readonly number[]) => void
    }
  }
  function validate(bytes: Uint8Array): boolean
}

const PAGE_BYTES = 0x10000
/** Maximum pages of a memory, as declared in `dots.wat`: 256 MiB. */
const PAGES_MAX = 4_096
/** An empty memory that has grown beyond this is returned to the system. */
const PAGES_KEPT = 64
/** Block sizes are powers of two in this range. */
const BLOCK_BYTES_MIN = 4_096
const BLOCK_BYTES_MAX = PAGE_BYTES
const CLASSES = Math.log2(BLOCK_BYTES_MAX / BLOCK_BYTES_MIN) + 1

/** The number of queries whose dot products are computed together, an even number. */
const QUERIES_MAX = 4
/**
 * The first pages of a memory are working memory: the queries, each in two parts, then the results
 * of a block for each.
 */
const QUERY_DIMENSIONS_MAX = 8_192
const QUERY_BYTES = QUERY_DIMENSIONS_MAX * 2
const RESULTS_AT = QUERY_BYTES * QUERIES_MAX
/** The number of vectors that fit into a block, a multiple of four. */
const RESULTS_MAX = BLOCK_BYTES_MAX / STEP
const RESULTS_BYTES = RESULTS_MAX * Int32Array.BYTES_PER_ELEMENT
const WORKING_PAGES = (RESULTS_AT + RESULTS_BYTES * QUERIES_MAX) / PAGE_BYTES

/** Room for vectors. It is zeroed when it is allocated, and again when it is freed. */
export interface VectorBlock {
  readonly bytes: Int8Array
  /** Position in a memory; `null` for an ordinary array, which is searched without SIMD. */
  readonly place: { readonly memory: VectorMemory; readonly offset: number } | null
}

/**
 * A memory never shrinks, and each reserves gigabytes of addresses. So the process has few memories
 * and allocates blocks within them (buddy allocation: free neighbours are joined).
 */
class VectorMemory {
  readonly #memory = new WebAssembly.Memory({
    initial: WORKING_PAGES,
    maximum: PAGES_MAX,
    shared: true,
  })
  /** They take addresses, the parameters in `dots.wat`. */
  readonly #exports: WebAssembly.Instance['exports']
  readonly #queries: Uint8Array
  readonly #results: readonly Int32Array[]
  /** Offsets of free blocks of BLOCK_BYTES_MIN * 2 ** class bytes, by class. */
  readonly #free = Array.from({ length: CLASSES }, () => new Set<number>())
  #pages = WORKING_PAGES
  #blocks = 0

  constructor(module: WebAssembly.Module) {
    const { exports } = new WebAssembly.Instance(module, { m: { m: this.#memory } })
    this.#exports = exports
    const { buffer } = this.#memory
    this.#queries = new Uint8Array(buffer, 0, RESULTS_AT)
    this.#results = Array.from(
      { length: QUERIES_MAX },
      (_, i) => new Int32Array(buffer, RESULTS_AT + i * RESULTS_BYTES, RESULTS_MAX),
    )
  }

  get isWorthKeeping(): boolean {
    return this.#blocks > 0 || this.#pages <= PAGES_KEPT
  }

  /** Returns undefined if there is no room. */
  allocate(size: number): VectorBlock | undefined {
    const offset = this.#take(size)
    if (offset === undefined) return undefined
    this.#blocks++
    const bytes = new Int8Array(this.#memory.buffer, offset, BLOCK_BYTES_MIN * 2 ** size)
    return { bytes, place: { memory: this, offset } }
  }

  free(offset: number, size: number): void {
    this.#blocks--
    let [at, joined] = [offset, size]
    for (; joined < CLASSES - 1; joined++) {
      const neighbour = at ^ (BLOCK_BYTES_MIN * 2 ** joined)
      if (!this.#free[joined]?.delete(neighbour)) break
      at = Math.min(at, neighbour)
    }
    this.#free[joined]?.add(at)
  }

  /** Call this before `run`, in the same search. No number of a query may be below -127. */
  setQueries(queries: readonly Int8Array[]): void {
    for (const [i, query] of queries.entries()) {
      // The functions in `dots.wat` read two queries that alternate, or a last one alone.
      const isAlone = i % 2 === 0 && i === queries.length - 1
      const step = STEP * 2 * (isAlone ? 1 : 2)
      const first = (i - (i % 2)) * QUERY_BYTES + (i % 2) * STEP * 2
      for (let from = 0, to = first; from < query.length; from += STEP, to += step)
        for (let at = 0; at < STEP; at++) {
          this.#queries[to + at] = Math.max(0, query[from + at] ?? 0)
          this.#queries[to + STEP + at] = Math.max(0, -(query[from + at] ?? 0))
        }
    }
  }

  /**
   * Writes the dot products of each query with `count` vectors of a block into its `out`, from `at`
   * on. The vectors are as long as the queries, a multiple of STEP.
   */
  run(
    offset: number,
    stride: number,
    { outs, at, count }: { outs: readonly Int32Array[]; at: number; count: number },
  ): void {
    const { dots, dotsOfTwo } = this.#exports
    const end = offset + count * stride
    for (let i = 0; i < outs.length; i += 2) {
      const addresses = [offset, end, i * QUERY_BYTES, stride, RESULTS_AT + i * RESULTS_BYTES]
      if (i === outs.length - 1) dots(...addresses)
      else dotsOfTwo(...addresses, RESULTS_AT + (i + 1) * RESULTS_BYTES)
    }
    for (const [i, out] of outs.entries()) {
      const results = this.#results[i]
      if (results) out.set(results.subarray(0, count), at)
    }
  }

  /** Wipes the queries and their results. */
  wipe(): void {
    this.#queries.fill(0)
    for (const results of this.#results) results.fill(0)
  }

  #take(size: number): number | undefined {
    for (let larger = size; larger < CLASSES; larger++) {
      const offset = this.#free[larger]?.values().next().value
      if (offset === undefined) continue
      this.#free[larger]?.delete(offset)
      return this.#split(offset, larger, size)
    }
    if (this.#pages === PAGES_MAX) return undefined
    this.#memory.grow(1)
    return this.#split(this.#pages++ * PAGE_BYTES, CLASSES - 1, size)
  }

  /** Frees the upper halves of a block until its lower part has the wanted class. */
  #split(offset: number, from: number, to: number): number {
    for (let half = from - 1; half >= to; half--)
      this.#free[half]?.add(offset + BLOCK_BYTES_MIN * 2 ** half)
    return offset
  }
}

/** Compiled on first use, so a process without vectors compiles no module. `null` without SIMD. */
let module: WebAssembly.Module | null | undefined
const memories: VectorMemory[] = []

/** Allocates a block of at least `bytes`, which must be at most BLOCK_BYTES_MAX. */
export function allocateBlock(bytes: number): VectorBlock {
  const size = classOf(bytes)
  assert(size < CLASSES, 'a block of vectors has a bounded size')
  for (const memory of memories) {
    const block = memory.allocate(size)
    if (block !== undefined) return block
  }
  const block = openMemory()?.allocate(size)
  return block ?? { bytes: new Int8Array(BLOCK_BYTES_MIN * 2 ** size), place: null }
}

const classOf = (bytes: number): number =>
  Math.max(0, Math.ceil(Math.log2(bytes / BLOCK_BYTES_MIN)))

/** Returns undefined if the machine has no SIMD or no addresses are left. */
function openMemory(): VectorMemory | undefined {
  if (module === undefined)
    module = WebAssembly.validate(DOTS_MODULE) ? new WebAssembly.Module(DOTS_MODULE) : null
  if (module === null) return undefined
  try {
    const memory = new VectorMemory(module)
    memories.push(memory)
    return memory
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** Overwrites a block with zeros, so that an erased fact leaves nothing here. */
export function freeBlock({ bytes, place }: VectorBlock): void {
  bytes.fill(0)
  if (place === null) return
  const { memory, offset } = place
  memory.free(offset, classOf(bytes.length))
  if (!memory.isWorthKeeping) memories.splice(memories.indexOf(memory), 1)
}

/** Blocks processed per step. */
const BLOCKS_A_STEP = 128

/** The dot product of `query` and the vector at `start` in `block`. */
function dotProduct(block: Int8Array, start: number, query: Int8Array): number {
  // Four independent sums, so that additions do not wait for each other.
  const whole = query.length & ~3
  let [first, second, third, fourth] = [0, 0, 0, 0]
  for (let dimension = 0, at = start; dimension < whole; dimension += 4, at += 4) {
    first = (first + Math.imul(block[at] ?? 0, query[dimension] ?? 0)) | 0
    second = (second + Math.imul(block[at + 1] ?? 0, query[dimension + 1] ?? 0)) | 0
    third = (third + Math.imul(block[at + 2] ?? 0, query[dimension + 2] ?? 0)) | 0
    fourth = (fourth + Math.imul(block[at + 3] ?? 0, query[dimension + 3] ?? 0)) | 0
  }
  for (let dimension = whole; dimension < query.length; dimension++)
    first = (first + Math.imul(block[start + dimension] ?? 0, query[dimension] ?? 0)) | 0
  return first + second + third + fourth
}

/** Frees the blocks of columns that were garbage collected. */
const collected = new FinalizationRegistry(freeAll)

function freeAll(blocks: (VectorBlock | undefined)[]): void {
  for (const block of blocks) if (block !== undefined) freeBlock(block)
  blocks.length = 0
}

/**
 * Holds int8 vectors of one length; the vector of an empty slot is zero. All blocks but the first
 * have BLOCK_BYTES_MAX bytes. The first block grows on demand, as most namespaces are small.
 */
export class VectorColumn {
  #dimensions = 0
  /** Bytes from one vector to the next: the dimensions rounded up to a multiple of STEP. */
  #stride = 0
  #slotsPerBlock = 1
  readonly #early = new EarlyDots(QUERIES_MAX - 1)
  readonly #blocks: (VectorBlock | undefined)[] = []
  readonly #allocate: (bytes: number) => VectorBlock

  constructor(allocate: (bytes: number) => VectorBlock = allocateBlock) {
    this.#allocate = allocate
    collected.register(this, this.#blocks)
  }

  /** Asserts that all vectors have one length: another length means another embedding space. */
  set(slot: number, vector: Int8Array): void {
    if (this.#dimensions === 0) {
      this.#dimensions = vector.length
      this.#stride = Math.ceil(vector.length / STEP) * STEP
      this.#slotsPerBlock = Math.floor(BLOCK_BYTES_MAX / this.#stride)
    }
    assert.equal(vector.length, this.#dimensions, 'a vector of another space')
    this.#early.change(slot)
    this.#blockFor(slot).set(vector, this.#startOf(slot))
  }

  /** Removes all vectors. The next vector may be of another space. */
  clearAll(): void {
    this.#dimensions = 0
    this.#stride = 0
    this.#early.release()
    freeAll(this.#blocks)
  }

  clear(slot: number): void {
    const start = this.#startOf(slot)
    this.#early.change(slot)
    this.#blockOf(slot)?.fill(0, start, start + this.#stride)
  }

  /** Returns a copy of the vector of a slot that has one. */
  read(slot: number): Int8Array {
    const start = this.#startOf(slot)
    return (this.#blockOf(slot) ?? new Int8Array(0)).slice(start, start + this.#dimensions)
  }

  /** 0 if there are no vectors. */
  get dimensions(): number {
    return this.#dimensions
  }

  save(writer: PieceWriter, slot: number, dimensions: number): void {
    writer.array(this.read(slot), 0, dimensions)
  }

  load(reader: PieceReader, slot: number, scratch: Int8Array): void {
    reader.array(scratch, 0, scratch.length)
    if (scratch.some((value) => value !== 0)) this.set(slot, scratch)
  }

  /** Call this once in each search: `dot` and `denseScores` do not check again. */
  assertSameSpace(query: Int8Array): void {
    assert(!query.includes(-128), 'a query is scaled to length 127')
    if (this.#dimensions === 0) return
    assert.equal(query.length, this.#dimensions, 'a query of another space')
  }

  /** The dot product, an integer; 0 for a slot without a vector. */
  dot(slot: number, query: Int8Array): number {
    const block = this.#blockOf(slot)
    const start = this.#startOf(slot)
    if (block === undefined || start >= block.length) return 0
    return dotProduct(block, start, query)
  }

  /**
   * Announces a search: one that runs before it may compute its dot products too. Returns what ends
   * the announcement.
   */
  expect(query: Int8Array): () => void {
    // Without SIMD, multiplying takes longer than reading.
    const hasSimd = this.#blocks.some((block) => block !== undefined && block.place !== null)
    return hasSimd ? this.#early.expect(query) : () => {}
  }

  /**
   * Writes the dot products of slots 0 to `slots` - 1 into `out`, equal to those of `dot`. With
   * SIMD, 100,000 vectors of 256 dimensions take 1 ms for a query and 2 ms for four; without, 20
   * ms for each.
   */
  *denseScores(query: Int8Array, slots: number, out: Int32Array): Steps<void> {
    if (this.#dimensions === 0) return void out.fill(0, 0, slots)
    const known = this.#early.take(query, { slots, out })
    // A change of a vector between two steps empties the map, and so does another search.
    const others = known > 0 ? null : this.#early.begin(slots)
    const blocks = Math.ceil(slots / this.#slotsPerBlock)
    const first = Math.floor(known / this.#slotsPerBlock)
    for (let from = first; from < blocks; from += BLOCKS_A_STEP) {
      const queries = [query, ...(others?.keys() ?? [])].map((one) => this.#pad(one))
      const outs = [out, ...(others?.values() ?? [])]
      this.#multiply(queries, { slots, outs, from, to: Math.min(blocks, from + BLOCKS_A_STEP) })
      yield
    }
    if (others) this.#early.complete(others)
  }

  #pad(query: Int8Array): Int8Array {
    const padded = new Int8Array(this.#stride)
    padded.set(query)
    return padded
  }

  #multiply(
    queries: readonly Int8Array[],
    {
      slots,
      outs,
      from,
      to,
    }: { slots: number; outs: readonly Int32Array[]; from: number; to: number },
  ): void {
    const used = new Set<VectorMemory>()
    for (let index = from; index < to; index++) {
      const block = this.#blocks[index]
      const at = index * this.#slotsPerBlock
      const end = Math.min(slots, at + this.#slotsPerBlock)
      const held = Math.floor((block?.bytes.length ?? 0) / this.#stride)
      const count = Math.min(end - at, held)
      for (const out of outs) out.fill(0, at + count, end)
      if (block === undefined) continue
      const results = { outs, at, count }
      if (block.place === null) plainDots(block.bytes, queries, results)
      else {
        const { memory, offset } = block.place
        if (!used.has(memory)) memory.setQueries(queries)
        used.add(memory)
        memory.run(offset, this.#stride, results)
      }
    }
    for (const memory of used) memory.wipe()
  }

  bytes(): number {
    const blocks = this.#blocks.reduce((sum, block) => sum + (block?.bytes.length ?? 0), 0)
    return blocks + this.#early.bytes()
  }

  #startOf(slot: number): number {
    return (slot % this.#slotsPerBlock) * this.#stride
  }

  #blockOf(slot: number): Int8Array | undefined {
    return this.#blocks[Math.floor(slot / this.#slotsPerBlock)]?.bytes
  }

  #blockFor(slot: number): Int8Array {
    const at = Math.floor(slot / this.#slotsPerBlock)
    const known = this.#blocks[at]
    const length = this.#startOf(slot) + this.#stride
    if (known !== undefined && known.bytes.length >= length) return known.bytes
    const block = this.#allocate(at > 0 ? BLOCK_BYTES_MAX : length)
    if (known !== undefined) {
      block.bytes.set(known.bytes)
      freeBlock(known)
    }
    while (this.#blocks.length <= at) this.#blocks.push(undefined)
    this.#blocks[at] = block
    return block.bytes
  }
}

function plainDots(
  block: Int8Array,
  queries: readonly Int8Array[],
  { outs, at, count }: { outs: readonly Int32Array[]; at: number; count: number },
): void {
  for (const [i, query] of queries.entries())
    for (let index = 0; index < count; index++) {
      const out = outs[i]
      if (out) out[at + index] = dotProduct(block, index * query.length, query)
    }
}
