// The vectors of a partition by slot, in blocks, and their dot products with a query.
import assert from 'node:assert/strict'
import { type DotProducts, dotProduct, makeDots, STEP } from './simd-dot.ts'

const SLOTS_PER_BLOCK = 256
/** The first block grows from here: most namespaces are small. */
const SLOTS_AT_FIRST = 16

let shared: DotProducts | undefined

/** Made on first use: a process that never searches compiles nothing. */
const sharedDots = (): DotProducts => {
  shared ??= makeDots()
  return shared
}

/** Holds int8 vectors of one length; a slot without a vector reads as zeros. */
export class VectorColumn {
  #dimensions = 0
  /** Places between two vectors: dimensions, up to the next whole STEP. */
  #stride = 0
  readonly #blocks: (Int8Array | undefined)[] = []

  /** Vectors of two lengths are of two spaces: a mistake of ours, never of a caller. */
  set(slot: number, vector: Int8Array): void {
    if (this.#dimensions === 0) {
      this.#dimensions = vector.length
      this.#stride = Math.ceil(vector.length / STEP) * STEP
    }
    assert.equal(vector.length, this.#dimensions, 'a vector of another space')
    this.#blockFor(slot).set(vector, (slot % SLOTS_PER_BLOCK) * this.#stride)
  }

  /** Forgets every vector; the next one may be of another space. */
  clearAll(): void {
    this.#dimensions = 0
    this.#stride = 0
    this.#blocks.length = 0
  }

  clear(slot: number): void {
    const start = (slot % SLOTS_PER_BLOCK) * this.#stride
    this.#blocks[Math.floor(slot / SLOTS_PER_BLOCK)]?.fill(0, start, start + this.#stride)
  }

  /** Checks once per search what `dot` and `denseScores` then rely on. */
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
   * The dot products of slots 0 to `slots` - 1 into `out`, exactly those that `dot` gives: 2 ms
   * for 100,000 vectors of 256 dimensions with SIMD, ten times that without.
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
      const wanted = Math.min(slots - first, block.length / this.#stride)
      dots.run(block.subarray(0, wanted * this.#stride), padded, out, first)
    }
    dots.wipe()
  }

  bytes(): number {
    return this.#blocks.reduce((sum, block) => sum + (block?.byteLength ?? 0), 0)
  }

  #blockFor(slot: number): Int8Array {
    const at = Math.floor(slot / SLOTS_PER_BLOCK)
    const known = this.#blocks[at]
    const wanted = ((slot % SLOTS_PER_BLOCK) + 1) * this.#stride
    if (known !== undefined && known.length >= wanted) return known
    const slots = at > 0 ? SLOTS_PER_BLOCK : roomFor((slot % SLOTS_PER_BLOCK) + 1)
    const block = new Int8Array(slots * this.#stride)
    if (known !== undefined) block.set(known)
    while (this.#blocks.length <= at) this.#blocks.push(undefined)
    this.#blocks[at] = block
    return block
  }
}

function roomFor(slots: number): number {
  let room = SLOTS_AT_FIRST
  while (room < slots) room *= 2
  return Math.min(room, SLOTS_PER_BLOCK)
}
