// Working space of a search, kept between searches: allocating it anew costs more than searching.

import { SlotList } from './slot-list.ts'

/** Not crossed yet; see SessionChains. */
export const UNLINKED = -2

/**
 * Arrays by slot. A search runs without a break, so one set serves the whole process; whoever
 * wrote into it leaves it as it was. It holds scores and slots, nothing of any content.
 */
export class SearchScratch {
  readonly lexical: Float64Array
  readonly neighbour: Float64Array
  readonly own: Int32Array
  readonly lent: Int32Array
  readonly before: Int32Array
  readonly after: Int32Array
  /** Dot products with the query: written before they are read, never reset. */
  readonly dots: Int32Array
  /** Flags of what a search may see, in two steps: written before they are read, never reset. */
  readonly seen: Uint8Array
  readonly passed: Uint8Array
  readonly matched: SlotList
  readonly owners: SlotList
  readonly borrowers: SlotList
  /** Slots from which a gap was crossed, in either direction. */
  readonly linked: SlotList
  readonly capacity: number

  constructor(capacity: number) {
    this.capacity = capacity
    this.lexical = new Float64Array(capacity)
    this.neighbour = new Float64Array(capacity)
    this.own = new Int32Array(capacity)
    this.lent = new Int32Array(capacity)
    this.before = new Int32Array(capacity).fill(UNLINKED)
    this.after = new Int32Array(capacity).fill(UNLINKED)
    this.dots = new Int32Array(capacity)
    this.seen = new Uint8Array(capacity)
    this.passed = new Uint8Array(capacity)
    this.matched = new SlotList(capacity)
    this.owners = new SlotList(capacity)
    this.borrowers = new SlotList(capacity)
    this.linked = new SlotList(capacity * 2)
  }

  /** Undoes what a search has written. */
  reset(): void {
    for (let at = 0; at < this.matched.size; at++) {
      const slot = this.matched.at(at)
      this.lexical[slot] = 0
      this.neighbour[slot] = 0
    }
    for (let at = 0; at < this.owners.size; at++) this.own[this.owners.at(at)] = 0
    for (let at = 0; at < this.borrowers.size; at++) this.lent[this.borrowers.at(at)] = 0
    for (let at = 0; at < this.linked.size; at++) {
      const slot = this.linked.at(at)
      this.before[slot] = UNLINKED
      this.after[slot] = UNLINKED
    }
    for (const list of [this.matched, this.owners, this.borrowers, this.linked]) list.clear()
  }
}

const CAPACITY_MIN = 1_024
let kept = new SearchScratch(CAPACITY_MIN)

/** Clean working space for `slots` slots; to be reset by the search that takes it. */
export function takeScratch(slots: number): SearchScratch {
  if (kept.capacity < slots) kept = new SearchScratch(Math.ceil(slots * 1.5))
  return kept
}
