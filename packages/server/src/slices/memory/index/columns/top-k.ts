// Keeps the best of many slots, by score and then by ref.

import { growArray } from './typed-arrays.ts'

/** Most searches want fewer results, so their arrays never grow. */
const SIZE_FIRST = 256

/** A bounded heap whose root is the worst candidate kept. */
export class TopK {
  readonly #capacity: number
  #size = 0
  #scores: Float64Array<ArrayBuffer>
  #refs: Float64Array<ArrayBuffer>
  #slots: Uint32Array<ArrayBuffer>
  #lowest = Number.NEGATIVE_INFINITY

  constructor(capacity: number) {
    this.#capacity = capacity
    const size = Math.min(capacity, SIZE_FIRST)
    this.#scores = new Float64Array(size)
    this.#refs = new Float64Array(size)
    this.#slots = new Uint32Array(size)
  }

  get full(): boolean {
    return this.#size >= this.#capacity
  }

  /** The lowest score kept. Once the heap is full, no lower score can enter. */
  get lowest(): number {
    return this.#lowest
  }

  offer(score: number, ref: number, slot: number): void {
    if (this.#size < this.#capacity) {
      this.#scores = growArray(this.#scores, this.#size)
      this.#refs = growArray(this.#refs, this.#size)
      this.#slots = growArray(this.#slots, this.#size)
      this.#size++
      this.#rise(this.#size - 1, score, ref, slot)
    } else if (this.#size > 0 && ranksBefore(score, ref, this.#lowest, this.#refs[0] ?? 0)) {
      this.#sink(score, ref, slot)
    } else return
    this.#lowest = this.#scores[0] ?? Number.NEGATIVE_INFINITY
  }

  /** Removes all candidates and returns them, best first. */
  drain(): { score: number; slot: number }[] {
    const drained = new Array<{ score: number; slot: number }>(this.#size)
    for (let at = this.#size - 1; at >= 0; at--) {
      drained[at] = { score: this.#scores[0] ?? 0, slot: this.#slots[0] ?? 0 }
      this.#size = at
      this.#sink(this.#scores[at] ?? 0, this.#refs[at] ?? 0, this.#slots[at] ?? 0)
    }
    this.#lowest = Number.NEGATIVE_INFINITY
    return drained
  }

  #rise(from: number, score: number, ref: number, slot: number): void {
    let at = from
    while (at > 0) {
      const parent = (at - 1) >>> 1
      if (!ranksBefore(this.#scores[parent] ?? 0, this.#refs[parent] ?? 0, score, ref)) break
      this.#copy(parent, at)
      at = parent
    }
    this.#put(at, score, ref, slot)
  }

  /** Replaces the root by a candidate. */
  #sink(score: number, ref: number, slot: number): void {
    let at = 0
    for (;;) {
      let child = at * 2 + 1
      if (child >= this.#size) break
      if (child + 1 < this.#size && this.#worse(child + 1, child)) child++
      if (!ranksBefore(score, ref, this.#scores[child] ?? 0, this.#refs[child] ?? 0)) break
      this.#copy(child, at)
      at = child
    }
    this.#put(at, score, ref, slot)
  }

  #worse(one: number, other: number): boolean {
    return ranksBefore(
      this.#scores[other] ?? 0,
      this.#refs[other] ?? 0,
      this.#scores[one] ?? 0,
      this.#refs[one] ?? 0,
    )
  }

  #copy(from: number, to: number): void {
    this.#put(to, this.#scores[from] ?? 0, this.#refs[from] ?? 0, this.#slots[from] ?? 0)
  }

  #put(at: number, score: number, ref: number, slot: number): void {
    this.#scores[at] = score
    this.#refs[at] = ref
    this.#slots[at] = slot
  }
}

function ranksBefore(score: number, ref: number, otherScore: number, otherRef: number): boolean {
  return score > otherScore || (score === otherScore && ref < otherRef)
}
