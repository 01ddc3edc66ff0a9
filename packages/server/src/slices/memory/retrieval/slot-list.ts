// A list of slots that is filled anew for every term of a search: no allocation, no growing.

export class SlotList {
  readonly #slots: Int32Array
  size = 0

  /** Room for `capacity` slots: a list holds each slot once, so the number of slots is enough. */
  constructor(capacity: number) {
    this.#slots = new Int32Array(capacity)
  }

  push(slot: number): void {
    this.#slots[this.size++] = slot
  }

  at(index: number): number {
    return this.#slots[index] ?? 0
  }

  clear(): void {
    this.size = 0
  }
}
