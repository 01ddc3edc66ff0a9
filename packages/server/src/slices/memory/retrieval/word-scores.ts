// Scores the visible facts of a partition by a query's terms: their own, and their neighbours'.
import { Contributions, inverseFrequency, lent } from './bm25.ts'
import type { Partition } from './partition.ts'
import { frequencyIn, slotIn } from './postings.ts'
import type { SearchScratch } from './search-scratch.ts'
import { SessionChains } from './session-chains.ts'
import { NO_SLOT } from './sessions.ts'
import type { SlotList } from './slot-list.ts'

/** How far a term carries in a conversation: an answer is within two turns of its question. */
const NEIGHBOURS = 2

/** The integer scores of one search, by slot, in score units. */
export interface WordScores {
  readonly lexical: Float64Array
  readonly neighbour: Float64Array
  /** The visible slots with a score, each once. */
  readonly matched: SlotList
}

/**
 * BM25 over each fact's own words, plus, for each term a fact lacks, half of the best contribution
 * among the two visible facts before and the two after it in its session.
 */
export function scoreWords(
  partition: Partition,
  terms: readonly string[],
  { visible, scratch, gained }: WordSearching,
): WordScores {
  const search = new WordSearch(partition, visible, scratch)
  for (const term of terms) search.addTerm(term, gained)
  return search
}

interface WordSearching {
  readonly visible: Uint8Array
  readonly scratch: SearchScratch
  readonly gained?: Gains
}

/** What each term gives to a few slots. */
export interface Gains {
  /** By slot: 1 for those it is told of. */
  readonly watched: Uint8Array
  /** Told once for each term and watched slot that gains by it, and for no other. */
  tell(term: string, slot: number, gain: { readonly own: number; readonly lent: number }): void
}

class WordSearch implements WordScores {
  readonly lexical: Float64Array
  readonly neighbour: Float64Array
  readonly matched: SlotList
  readonly #partition: Partition
  readonly #visible: Uint8Array
  readonly #chains: SessionChains
  /** Of the current term only: what each slot contributes itself, and what it is lent. */
  readonly #own: Int32Array
  readonly #lent: Int32Array
  readonly #owners: SlotList
  readonly #borrowers: SlotList
  readonly #contributions: Contributions

  constructor(partition: Partition, visible: Uint8Array, scratch: SearchScratch) {
    this.#partition = partition
    this.#visible = visible
    this.#contributions = new Contributions(partition.averageLength)
    this.#chains = new SessionChains(partition, visible, scratch)
    this.lexical = scratch.lexical
    this.neighbour = scratch.neighbour
    this.#own = scratch.own
    this.#lent = scratch.lent
    this.matched = scratch.matched
    this.#owners = scratch.owners
    this.#borrowers = scratch.borrowers
  }

  addTerm(term: string, gained: Gains | undefined): void {
    this.#addOwn(term)
    this.#lendAround()
    if (gained !== undefined) this.#tell(term, gained)
    this.#addLent()
    for (let at = 0; at < this.#owners.size; at++) this.#own[this.#owners.at(at)] = 0
    this.#owners.clear()
    this.#borrowers.clear()
  }

  #tell(term: string, gained: Gains): void {
    for (const slots of [this.#owners, this.#borrowers]) {
      for (let at = 0; at < slots.size; at++) {
        const slot = slots.at(at)
        if (gained.watched[slot] !== 1) continue
        gained.tell(term, slot, { own: this.#own[slot] ?? 0, lent: this.#lent[slot] ?? 0 })
      }
    }
  }

  /** Adds the term's contribution to every visible fact that has it: the owners. */
  #addOwn(term: string): void {
    const postings = this.#partition.findPostings(term)
    if (postings === undefined) return
    const visible = this.#visible
    const { lengths } = this.#partition.columns
    const { array, start, size } = postings
    this.#contributions.weigh(inverseFrequency(this.#partition.size, size))
    for (let at = start; at < start + size; at++) {
      const posting = array[at] ?? 0
      const slot = slotIn(posting)
      if (visible[slot] === 0) continue
      const frequency = frequencyIn(posting, postings)
      const own = this.#contributions.of(frequency, lengths[slot] ?? 0)
      // A term that nearly every one of very many facts has is worth less than one unit: nothing.
      if (own === 0) continue
      this.#markMatched(slot)
      this.#own[slot] = own
      this.lexical[slot] = (this.lexical[slot] ?? 0) + own
      this.#owners.push(slot)
    }
  }

  /** Notes for each fact near an owner, and not one itself, the best that one lends it. */
  #lendAround(): void {
    const chains = this.#chains
    for (let at = 0; at < this.#owners.size; at++) {
      const slot = this.#owners.at(at)
      const share = lent(this.#own[slot] ?? 0)
      if (share === 0) continue
      let earlier = chains.before(slot)
      let later = chains.after(slot)
      for (let distance = 1; distance <= NEIGHBOURS; distance++) {
        if (earlier !== NO_SLOT) {
          this.#lend(earlier, share)
          earlier = distance < NEIGHBOURS ? chains.before(earlier) : NO_SLOT
        }
        if (later !== NO_SLOT) {
          this.#lend(later, share)
          later = distance < NEIGHBOURS ? chains.after(later) : NO_SLOT
        }
      }
    }
  }

  #lend(slot: number, share: number): void {
    if (this.#own[slot] !== 0) return
    const best = this.#lent[slot] ?? 0
    if (best === 0) this.#borrowers.push(slot)
    if (share > best) this.#lent[slot] = share
  }

  #addLent(): void {
    for (let at = 0; at < this.#borrowers.size; at++) {
      const slot = this.#borrowers.at(at)
      this.#markMatched(slot)
      this.neighbour[slot] = (this.neighbour[slot] ?? 0) + (this.#lent[slot] ?? 0)
      this.#lent[slot] = 0
    }
  }

  #markMatched(slot: number): void {
    if (this.lexical[slot] === 0 && this.neighbour[slot] === 0) this.matched.push(slot)
  }
}
