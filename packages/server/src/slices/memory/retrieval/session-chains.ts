// Who comes before and after whom in a conversation, among the facts one search may see.
import type { Partition } from './partition.ts'
import { type SearchScratch, UNLINKED } from './search-scratch.ts'
import type { SlotList } from './slot-list.ts'

export const NO_SLOT = -1

/** Links between the visible slots of each session a search touches, in ref order. */
export class SessionChains {
  /** By slot, once linked: the nearest earlier visible slot of the session, or NO_SLOT. */
  readonly before: Int32Array
  /** By slot, once linked: the nearest later one. */
  readonly after: Int32Array
  readonly #partition: Partition
  readonly #visible: Uint8Array
  readonly #linked: SlotList

  constructor(partition: Partition, visible: Uint8Array, scratch: SearchScratch) {
    this.#partition = partition
    this.#visible = visible
    this.before = scratch.before
    this.after = scratch.after
    this.#linked = scratch.linked
  }

  /** Links the session of the visible fact in `slot`; each session is walked once. */
  link(slot: number): void {
    if (this.before[slot] !== UNLINKED) return
    let previous = NO_SLOT
    for (const member of this.#partition.sessionOf(slot)?.slots ?? [slot]) {
      if (this.#visible[member] === 0) continue
      this.before[member] = previous
      this.#linked.push(member)
      this.after[member] = NO_SLOT
      if (previous !== NO_SLOT) this.after[previous] = member
      previous = member
    }
  }
}
