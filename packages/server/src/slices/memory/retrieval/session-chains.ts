// Who comes before and after whom in a conversation, among the facts one search may see.
import type { Partition } from './partition.ts'
import { type SearchScratch, UNLINKED } from './search-scratch.ts'
import { NO_SLOT } from './sessions.ts'
import type { SlotList } from './slot-list.ts'

/**
 * Steps over the facts a search may not see. A gap is walked once in each direction: where it
 * leads is kept for the rest of the search.
 */
export class SessionChains {
  readonly #visible: Uint8Array
  readonly #before: Int32Array
  readonly #after: Int32Array
  readonly #visibleBefore: Int32Array
  readonly #visibleAfter: Int32Array
  readonly #linked: SlotList

  constructor(partition: Partition, visible: Uint8Array, scratch: SearchScratch) {
    this.#visible = visible
    this.#before = partition.sessions.before
    this.#after = partition.sessions.after
    this.#visibleBefore = scratch.before
    this.#visibleAfter = scratch.after
    this.#linked = scratch.linked
  }

  /** The nearest earlier visible slot of the session of a visible slot, or NO_SLOT. */
  before(slot: number): number {
    const next = this.#before[slot] ?? NO_SLOT
    if (next === NO_SLOT || this.#visible[next] !== 0) return next
    return this.#cross(slot, this.#before, this.#visibleBefore)
  }

  /** The nearest later one. */
  after(slot: number): number {
    const next = this.#after[slot] ?? NO_SLOT
    if (next === NO_SLOT || this.#visible[next] !== 0) return next
    return this.#cross(slot, this.#after, this.#visibleAfter)
  }

  #cross(slot: number, links: Int32Array, crossed: Int32Array): number {
    const known = crossed[slot] ?? UNLINKED
    if (known !== UNLINKED) return known
    let next = links[slot] ?? NO_SLOT
    while (next !== NO_SLOT && this.#visible[next] === 0) next = links[next] ?? NO_SLOT
    crossed[slot] = next
    this.#linked.push(slot)
    return next
  }
}
