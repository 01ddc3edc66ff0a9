// Aliases that facts give (`call me Bea`, `my sister Ana`), kept by slot, so that they are removed
// with the fact.

/** Limits of alias pairs per fact and of aliases per term: a long list of names is no alias. */
const PAIRS_MAX = 4
const OTHERS_MAX = 8
/** A term with aliases from more facts than this is ambiguous; its aliases are not used. */
const FACTS_MAX = 64

export class Aliases {
  readonly #pairs = new Map<number, readonly (readonly [string, string])[]>()
  /** Slots that give an alias for a term, by term; ascending by ref when they were added. */
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

  /** Aliases of a term that visible facts give, in alphabetical order. */
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

  /** The alias pairs of each slot. */
  list(): [number, readonly (readonly [string, string])[]][] {
    return [...this.#pairs]
  }

  bytes(): number {
    return this.#pairs.size * 240 + this.#slots.size * 160
  }
}
