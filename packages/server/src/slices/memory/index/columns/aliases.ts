// Names that facts give to somebody: `call me Bea`, `my sister Ana`. Kept by slot, so that they go
// with the fact.

/** Names of one fact, and other terms for one term, at most: a list of names is not an alias. */
const PAIRS_MAX = 4
const OTHERS_MAX = 8
/** A term for which more facts give a name says nothing about any. */
const FACTS_MAX = 64

export class Aliases {
  readonly #pairs = new Map<number, readonly (readonly [string, string])[]>()
  /** By term: the slots that give another name for it, ascending by ref when they were added. */
  readonly #slots = new Map<string, Set<number>>()

  add(slot: number, pairs: readonly (readonly [string, string])[]): void {
    const known = pairs.filter(([one, other]) => one !== other).slice(0, PAIRS_MAX)
    if (known.length === 0) return
    this.#pairs.set(slot, known)
    for (const term of new Set(known.flat())) {
      const slots = this.#slots.get(term)
      if (slots === undefined) this.#slots.set(term, new Set([slot]))
      else slots.add(slot)
    }
  }

  remove(slot: number): void {
    const pairs = this.#pairs.get(slot)
    if (pairs === undefined) return
    this.#pairs.delete(slot)
    for (const term of new Set(pairs.flat())) {
      const slots = this.#slots.get(term)
      slots?.delete(slot)
      if (slots?.size === 0) this.#slots.delete(term)
    }
  }

  /** Other terms for a term that visible facts give, in the order of the alphabet. */
  of(term: string, visible: Uint8Array): string[] {
    const others = new Set<string>()
    const slots = this.#slots.get(term)
    if (slots === undefined || slots.size > FACTS_MAX) return []
    for (const slot of slots) {
      if (visible[slot] === 0) continue
      for (const [one, other] of this.#pairs.get(slot) ?? []) {
        if (one === term) others.add(other)
        if (other === term) others.add(one)
      }
    }
    return [...others].sort().slice(0, OTHERS_MAX)
  }

  /** The pairs of each slot. */
  list(): [number, readonly (readonly [string, string])[]][] {
    return [...this.#pairs]
  }

  bytes(): number {
    return this.#pairs.size * 240 + this.#slots.size * 160
  }
}
