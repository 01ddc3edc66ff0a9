// The vectors of a partition by slot, in blocks, and their dot products with a query.
import assert from 'node:assert/strict'

const SLOTS_PER_BLOCK = 256

/** Holds int8 vectors of one length; a slot without a vector reads as zeros. */
export class VectorColumn {
  #dimensions = 0
  readonly #blocks: (Int8Array | undefined)[] = []

  /** Vectors of two lengths are of two spaces: a mistake of ours, never of a caller. */
  set(slot: number, vector: Int8Array): void {
    if (this.#dimensions === 0) this.#dimensions = vector.length
    assert.equal(vector.length, this.#dimensions, 'a vector of another space')
    const blockAt = Math.floor(slot / SLOTS_PER_BLOCK)
    let block = this.#blocks[blockAt]
    if (block === undefined) {
      block = new Int8Array(SLOTS_PER_BLOCK * this.#dimensions)
      while (this.#blocks.length < blockAt) this.#blocks.push(undefined)
      this.#blocks[blockAt] = block
    }
    block.set(vector, (slot % SLOTS_PER_BLOCK) * this.#dimensions)
  }

  clear(slot: number): void {
    const start = (slot % SLOTS_PER_BLOCK) * this.#dimensions
    this.#blocks[Math.floor(slot / SLOTS_PER_BLOCK)]?.fill(0, start, start + this.#dimensions)
  }

  /** Checks once per search what `dot` then relies on. */
  assertSameSpace(query: Int8Array): void {
    if (this.#dimensions === 0) return
    assert.equal(query.length, this.#dimensions, 'a query of another space')
  }

  /** The dot product, an integer; 0 for a slot without a vector. */
  dot(slot: number, query: Int8Array): number {
    const block = this.#blocks[Math.floor(slot / SLOTS_PER_BLOCK)]
    if (block === undefined) return 0
    const start = (slot % SLOTS_PER_BLOCK) * this.#dimensions
    return dotProduct(block, start, query)
  }

  bytes(): number {
    return this.#blocks.reduce((sum, block) => sum + (block?.byteLength ?? 0), 0)
  }
}

/** Four sums side by side: the additions of one would wait for each other. */
function dotProduct(block: Int8Array, start: number, query: Int8Array): number {
  const whole = query.length & ~3
  let [first, second, third, fourth] = [0, 0, 0, 0]
  for (let place = 0, at = start; place < whole; place += 4, at += 4) {
    first = (first + Math.imul(block[at] ?? 0, query[place] ?? 0)) | 0
    second = (second + Math.imul(block[at + 1] ?? 0, query[place + 1] ?? 0)) | 0
    third = (third + Math.imul(block[at + 2] ?? 0, query[place + 2] ?? 0)) | 0
    fourth = (fourth + Math.imul(block[at + 3] ?? 0, query[place + 3] ?? 0)) | 0
  }
  for (let place = whole; place < query.length; place++) {
    first = (first + Math.imul(block[start + place] ?? 0, query[place] ?? 0)) | 0
  }
  return first + second + third + fourth
}
