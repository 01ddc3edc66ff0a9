// The inverted index of a partition: for each term the slots that have it, and how often.

/** (slot, frequency) pairs of one term, ascending by slot, in one flat array. */
export class PostingList {
  /** `size` pairs: slot at 2i, frequency at 2i + 1. Replaced when it grows: do not keep it. */
  pairs = new Uint32Array(2)
  size = 0

  /** Adds a slot that is not in the list. */
  add(slot: number, frequency: number): void {
    if (this.pairs.length < (this.size + 1) * 2) {
      // Doubling while small, then by half: most terms are rare.
      const capacity = this.size < 4 ? this.size * 2 : this.size + (this.size >>> 1)
      const grown = new Uint32Array(capacity * 2)
      grown.set(this.pairs)
      this.pairs = grown
    }
    // Slots mostly arrive ascending; a reused one goes to its place.
    const at = this.#positionOf(slot)
    this.pairs.copyWithin((at + 1) * 2, at * 2, this.size * 2)
    this.pairs[at * 2] = slot
    this.pairs[at * 2 + 1] = frequency
    this.size++
  }

  remove(slot: number): void {
    const at = this.#positionOf(slot)
    if (at >= this.size || this.pairs[at * 2] !== slot) return
    this.pairs.copyWithin(at * 2, (at + 1) * 2, this.size * 2)
    this.size--
    this.pairs.fill(0, this.size * 2, this.size * 2 + 2)
  }

  /** The index of the first pair whose slot is not below `slot`. */
  #positionOf(slot: number): number {
    let low = 0
    let high = this.size
    if (high > 0 && (this.pairs[(high - 1) * 2] ?? 0) < slot) return high
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.pairs[middle * 2] ?? 0) < slot) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Terms and their postings. A term without postings does not exist: erasing leaves no word. */
export class TermIndex {
  readonly #idByTerm = new Map<string, number>()
  readonly #terms: (string | undefined)[] = []
  readonly #lists: (PostingList | undefined)[] = []
  readonly #freeIds: number[] = []
  #bytes = 0

  /** Records that `slot` has `term`; returns the term's id, stable until its last posting goes. */
  add(term: string, slot: number, frequency: number): number {
    const id = this.#idByTerm.get(term) ?? this.#insert(term)
    const list = this.#lists[id]
    if (list === undefined) throw new Error('a term has no posting list')
    this.#bytes -= list.pairs.byteLength
    list.add(slot, frequency)
    this.#bytes += list.pairs.byteLength
    return id
  }

  remove(termId: number, slot: number): void {
    const list = this.#lists[termId]
    const term = this.#terms[termId]
    if (list === undefined || term === undefined) return
    list.remove(slot)
    if (list.size > 0) return
    this.#bytes -= list.pairs.byteLength + entryBytes(term)
    this.#idByTerm.delete(term)
    this.#terms[termId] = undefined
    this.#lists[termId] = undefined
    this.#freeIds.push(termId)
  }

  find(term: string): PostingList | undefined {
    const id = this.#idByTerm.get(term)
    return id === undefined ? undefined : this.#lists[id]
  }

  /** Every term with a posting, in no particular order. */
  terms(): Iterable<string> {
    return this.#idByTerm.keys()
  }

  /** An estimate of the memory held. */
  bytes(): number {
    return this.#bytes
  }

  #insert(term: string): number {
    const id = this.#freeIds.pop() ?? this.#terms.length
    // A term cut from a content may be a view that keeps the whole content alive: copy its letters.
    const own = Buffer.from(term, 'utf16le').toString('utf16le')
    this.#idByTerm.set(own, id)
    this.#terms[id] = own
    const list = new PostingList()
    this.#lists[id] = list
    this.#bytes += list.pairs.byteLength + entryBytes(own)
    return id
  }
}

/** A map entry, two array places, a list object with its array header, and the letters. */
function entryBytes(term: string): number {
  return 240 + term.length * 2
}
