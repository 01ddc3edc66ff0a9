// The vectors of a partition by slot, and their dot products with a query: with SIMD, by a small
// WebAssembly module, or in plain code. Sums of integers within 32 bits do not depend on their
// order, so both give the same results.

import assert from 'node:assert/strict'

/** Vectors are padded with zeros to a multiple of this many dimensions. */
const STEP = 16
const PAGE_BYTES = 0x10000

interface DotProducts {
  /**
   * Writes into `out`, from `at` on, the dot product of `query` with each vector of `block`.
   * Vectors are contiguous and as long as `query`, a multiple of STEP.
   */
  run(block: Int8Array, query: Int8Array, out: Int32Array, at: number): void
  /** Clears copies of vectors that `run` has made: an erased fact must leave nothing here. */
  wipe(): void
}

export const plainDots: DotProducts = {
  run(block, query, out, at) {
    const count = block.length / query.length
    for (let index = 0; index < count; index++)
      out[at + index] = dotProduct(block, index * query.length, query)
  },
  wipe() {},
}

/** The dot product of `query` and the vector in `block` from `start` on. */
function dotProduct(block: Int8Array, start: number, query: Int8Array): number {
  // Four sums do not wait for each other.
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

/** The part of the JavaScript interface that is used here; Node's types lack it. */
declare namespace WebAssembly {
  class Memory {
    constructor(descriptor: { initial: number })
    readonly buffer: ArrayBuffer
    grow(pages: number): number
  }
  class Module {
    constructor(bytes: Uint8Array)
  }
  class Instance {
    constructor(module: Module, imports: { m: { m: Memory } })
    readonly exports: { readonly dots: DotsFunction }
  }
  function validate(bytes: Uint8Array): boolean
}

/** Takes five addresses, the parameters in `dots.wat`. */
type DotsFunction = (...addresses: readonly number[]) => void

/** The module in `dots.wat`; a test holds the two together. */
export const DOTS_MODULE = Buffer.from(
  'AGFzbQEAAAABCQFgBX9/f39/AAIIAQFtAW0CAAEDAgEABwgBBGRvdHMAAAqWAQGTAQICewF/AkADQCAAIAFPDQFBAP0R' +
    'IQVBAP0RIQYgAiEHA0AgAP0BAAAgB/0AAAD9ugEgBf2uASEFIAD9AQAIIAf9AAAQ/boBIAb9rgEhBiAAQRBqIQAgB0Eg' +
    'aiIHIANJDQALIAUgBv2uASEFIAQgBf0bACAF/RsBaiAF/RsCaiAF/RsDajYCACAEQQRqIQQMAAsLCw==',
  'base64',
)

/**
 * Copies a block into its own memory, computes there and copies the results out. Copying doubles
 * the time, but vectors stay in ordinary arrays, which are freed when an index is dropped: a
 * WebAssembly memory only ever grows.
 */
class SimdDots implements DotProducts {
  readonly #memory: WebAssembly.Memory
  readonly #dots: DotsFunction
  #bytes = new Int8Array(0)

  constructor() {
    this.#memory = new WebAssembly.Memory({ initial: 1 })
    const module = new WebAssembly.Module(DOTS_MODULE)
    const { exports } = new WebAssembly.Instance(module, { m: { m: this.#memory } })
    this.#dots = exports.dots
  }

  run(block: Int8Array, query: Int8Array, out: Int32Array, at: number): void {
    const count = block.length / query.length
    const queryBytes = query.length * 2
    const blockEnd = queryBytes + block.length
    this.#reserve(blockEnd + count * 4)
    const bytes = this.#bytes
    new Int16Array(bytes.buffer, 0, query.length).set(query)
    bytes.set(block, queryBytes)
    this.#dots(queryBytes, blockEnd, 0, queryBytes, blockEnd)
    out.set(new Int32Array(bytes.buffer, blockEnd, count), at)
  }

  wipe(): void {
    this.#bytes.fill(0)
  }

  #reserve(bytes: number): void {
    if (this.#bytes.length >= bytes) return
    const missing = bytes - this.#memory.buffer.byteLength
    if (missing > 0) this.#memory.grow(Math.ceil(missing / PAGE_BYTES))
    this.#bytes = new Int8Array(this.#memory.buffer)
  }
}

/** The WebAssembly module where the machine has SIMD, else the plain code. */
export function makeDots(): DotProducts {
  return WebAssembly.validate(DOTS_MODULE) ? new SimdDots() : plainDots
}

const SLOTS_PER_BLOCK = 256
/** Room in the first block at first: most namespaces are small. */
const FIRST_SLOTS = 16

let shared: DotProducts | undefined

/** Made on first use: a process that never searches compiles no module. */
const sharedDots = (): DotProducts => {
  shared ??= makeDots()
  return shared
}

/** Holds int8 vectors of one length; the vector of an empty slot is zero. */
export class VectorColumn {
  #dimensions = 0
  /** Bytes from one vector to the next: the dimensions, rounded up to a multiple of STEP. */
  #stride = 0
  readonly #blocks: (Int8Array | undefined)[] = []

  /** Asserts that all vectors have one length: others are of another embedding space. */
  set(slot: number, vector: Int8Array): void {
    if (this.#dimensions === 0) {
      this.#dimensions = vector.length
      this.#stride = Math.ceil(vector.length / STEP) * STEP
    }
    assert.equal(vector.length, this.#dimensions, 'a vector of another space')
    this.#blockFor(slot).set(vector, (slot % SLOTS_PER_BLOCK) * this.#stride)
  }

  /** Removes all vectors; the next one may be of another space. */
  clearAll(): void {
    this.#dimensions = 0
    this.#stride = 0
    this.#blocks.length = 0
  }

  clear(slot: number): void {
    const start = (slot % SLOTS_PER_BLOCK) * this.#stride
    this.#blocks[Math.floor(slot / SLOTS_PER_BLOCK)]?.fill(0, start, start + this.#stride)
  }

  /** A copy of the vector in a slot that has one. */
  read(slot: number): Int8Array {
    const start = (slot % SLOTS_PER_BLOCK) * this.#stride
    const block = this.#blocks[Math.floor(slot / SLOTS_PER_BLOCK)] ?? new Int8Array(0)
    return block.slice(start, start + this.#dimensions)
  }

  /** To be called once in each search: `dot` and `denseScores` do not check again. */
  assertSameSpace(query: Int8Array): void {
    if (this.#dimensions === 0) return
    assert.equal(query.length, this.#dimensions, 'a query of another space')
  }

  /** The dot product, an integer; 0 for a slot without a vector. */
  dot(slot: number, query: Int8Array): number {
    const block = this.#blocks[Math.floor(slot / SLOTS_PER_BLOCK)]
    const start = (slot % SLOTS_PER_BLOCK) * this.#stride
    if (block === undefined || start >= block.length) return 0
    return dotProduct(block, start, query)
  }

  /**
   * Writes the dot products of slots 0 to `slots` - 1 into `out`, equal to those of `dot`. Takes 2
   * ms for 100,000 vectors of 256 dimensions with SIMD, ten times that without.
   */
  denseScores(
    query: Int8Array,
    slots: number,
    out: Int32Array,
    dots: DotProducts = sharedDots(),
  ): void {
    out.fill(0, 0, slots)
    if (this.#dimensions === 0) return
    const padded = new Int8Array(this.#stride)
    padded.set(query)
    for (const [at, block] of this.#blocks.entries()) {
      const first = at * SLOTS_PER_BLOCK
      if (first >= slots) break
      if (block === undefined) continue
      const count = Math.min(slots - first, block.length / this.#stride)
      dots.run(block.subarray(0, count * this.#stride), padded, out, first)
    }
    dots.wipe()
  }

  bytes(): number {
    return this.#blocks.reduce((sum, block) => sum + (block?.byteLength ?? 0), 0)
  }

  #blockFor(slot: number): Int8Array {
    const at = Math.floor(slot / SLOTS_PER_BLOCK)
    const known = this.#blocks[at]
    const length = ((slot % SLOTS_PER_BLOCK) + 1) * this.#stride
    if (known !== undefined && known.length >= length) return known
    const slots = at > 0 ? SLOTS_PER_BLOCK : roomFor((slot % SLOTS_PER_BLOCK) + 1)
    const block = new Int8Array(slots * this.#stride)
    if (known !== undefined) block.set(known)
    while (this.#blocks.length <= at) this.#blocks.push(undefined)
    this.#blocks[at] = block
    return block
  }
}

function roomFor(slots: number): number {
  let room = FIRST_SLOTS
  while (room < slots) room *= 2
  return Math.min(room, SLOTS_PER_BLOCK)
}
