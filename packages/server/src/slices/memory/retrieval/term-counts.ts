// How often each term occurs in the fact being analysed: counted in arrays, not in maps.
import { grown } from './grown.ts'

class TermCounts {
  /** The distinct term ids, in order of their first occurrence: `size` of them. */
  ids = new Uint32Array(64)
  size = 0
  #counts = new Uint32Array(1_024)

  add(id: number): void {
    this.#counts = grown(this.#counts, id)
    const count = this.#counts[id] ?? 0
    this.#counts[id] = count + 1
    if (count > 0) return
    this.ids = grown(this.ids, this.size)
    this.ids[this.size++] = id
  }

  of(id: number): number {
    return this.#counts[id] ?? 0
  }

  /** To be called after each fact. */
  clear(): void {
    for (let at = 0; at < this.size; at++) this.#counts[this.ids[at] ?? 0] = 0
    this.size = 0
  }
}

const counts = new TermCounts()

/** Empty counts, one set for the process: a fact is analysed without a break. */
export const takeCounts = (): TermCounts => counts
