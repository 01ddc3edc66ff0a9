// Who comes before and after whom in a conversation, among the facts one search may see.
import type { Partition } from './partition.ts'

export const NO_SLOT = -1
const UNLINKED = -2

/** Links between the visible slots of each session a search touches, in ref order. */
export class SessionChains {
  /** By slot, once linked: the nearest earlier visible slot of the session, or NO_SLOT. */
  readonly before: Int32Array
  /** By slot, once linked: the nearest later one. */
  readonly after: Int32Array
  readonly #partition: Partition
  readonly #visible: Uint8Array

  constructor(partition: Partition, visible: Uint8Array) {
    this.#partition = partition
    this.#visible = visible
    this.before = new Int32Array(visible.length).fill(UNLINKED)
    this.after = new Int32Array(visible.length)
  }

  /** Links the session of the visible fact in `slot`; each session is walked once. */
  link(slot: number): void {
    if (this.before[slot] !== UNLINKED) return
    let previous = NO_SLOT
    for (const member of this.#partition.sessionOf(slot)?.slots ?? [slot]) {
      if (this.#visible[member] === 0) continue
      this.before[member] = previous
      this.after[member] = NO_SLOT
      if (previous !== NO_SLOT) this.after[previous] = member
      previous = member
    }
  }
}
