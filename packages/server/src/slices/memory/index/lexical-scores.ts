// Scores the visible facts of a partition by a query's terms: BM25 of their own terms, and a share
// of the scores of their neighbours in the session.

import { speakerFeature } from '../text/analysis.ts'
import { ScorePasses } from './columns/score-passes.ts'
import { NO_SLOT } from './columns/slot-columns.ts'
import { overSlots, type Steps } from './columns/steps.ts'
import { type Postings, readFrequency, readSlot } from './columns/term-index.ts'
import { SlotList } from './columns/typed-arrays.ts'
import { type Partition, PIECE_TERMS_MIN } from './partition.ts'

/**
 * One unit of BM25 score: 2^16. Scores are in fixed point, so they sum to the same integer in any
 * order and on any machine.
 */
export const SCORE_UNIT = 0x10000

// Lower than usual: facts are short, so length and repetition say little about them.
const K1 = 0.9
const B = 0.4

/** The weight of a term that `factsWithTerm` of `facts` facts have, in score units; positive. */
export function computeTermWeight(facts: number, factsWithTerm: number): number {
  const odds = (facts - factsWithTerm + 0.5) / (factsWithTerm + 0.5)
  return Math.round(SCORE_UNIT * Math.log1p(odds))
}

/**
 * One term's contribution to one fact, an integer in score units. `relativeLength` is the
 * fact's length over the average length. Only basic IEEE operations, which round the same
 * everywhere.
 */
function computeContribution(weight: number, frequency: number, relativeLength: number): number {
  const saturation = frequency + K1 * (1 - B + B * relativeLength)
  return Math.round((weight * (frequency * (K1 + 1))) / saturation)
}

/** What a fact without a term gets from a neighbour that has it: half of its contribution. */
const neighbourShare = (contribution: number): number => Math.floor(contribution / 2)

/** The weight of a term that is only similar to a query term: half of it. */
const similarWeight = (weight: number): number => Math.floor(weight / 2)

/** Terms that count, at half weight, as the term they are listed for. */
export type SimilarTerms = ReadonlyMap<string, readonly string[]>

/** Contributions are cached for facts shorter than this and frequencies up to this. */
const LENGTHS_CACHED = 256
const FREQUENCIES_CACHED = 4

/**
 * Caches the contributions of the current term to the facts of a partition, as a term has few
 * different ones. Returns exactly what `computeContribution` returns.
 */
class ContributionCache {
  readonly #averageLength: number
  /** By frequency and length. An entry is valid if its stamp in `#stamps` is the current one. */
  readonly #contributions = sharedContributions
  readonly #stamps = sharedStamps
  #weight = 0
  #stamp = 0

  constructor(averageLength: number) {
    this.#averageLength = averageLength
  }

  /** Starts a new term with this weight. */
  startTerm(weight: number): void {
    this.#weight = weight
    lastStamp = lastStamp === 0xffffffff ? 1 : lastStamp + 1
    if (lastStamp === 1) this.#stamps.fill(0)
    this.#stamp = lastStamp
  }

  of(frequency: number, length: number): number {
    if (frequency > FREQUENCIES_CACHED || length >= LENGTHS_CACHED)
      return computeContribution(this.#weight, frequency, length / this.#averageLength)
    const at = (frequency - 1) * LENGTHS_CACHED + length
    if (this.#stamps[at] === this.#stamp) return this.#contributions[at] ?? 0
    const own = computeContribution(this.#weight, frequency, length / this.#averageLength)
    this.#stamps[at] = this.#stamp
    this.#contributions[at] = own
    return own
  }
}

// Shared by the process. Entries that another search writes between two steps have other stamps.
const sharedContributions = new Int32Array(FREQUENCIES_CACHED * LENGTHS_CACHED)
const sharedStamps = new Uint32Array(FREQUENCIES_CACHED * LENGTHS_CACHED)
let lastStamp = 0

/** How far a term reaches in a conversation: an answer comes within two turns of its question. */
const NEIGHBOURS = 2

/** The scores of one search, by slot: integers in score units. */
export interface LexicalScores {
  readonly lexical: Float64Array
  readonly neighbour: Float64Array
  /** The visible slots with a score, without repeats. */
  readonly matched: SlotList
  readonly chains: VisibleNeighbours
  readonly statistics: ReturnType<Partition['statisticsAt']>
  /** Aliases of terms. */
  readonly aliases: ReturnType<Partition['findAliases']>
}

/** The best score, at least one unit. */
export function findBestScore({ matched, lexical, neighbour }: LexicalScores): number {
  let best = 0
  for (let at = 0; at < matched.size; at++) {
    const slot = matched.at(at)
    best = Math.max(best, (lexical[slot] ?? 0) + (neighbour[slot] ?? 0))
  }
  return best === 0 ? SCORE_UNIT : best
}

/**
 * BM25 of each fact's own terms, or of a similar term or alias if that is higher. For each term
 * that a fact lacks, adds half of the best contribution among the two visible facts before and the
 * two after it in its session. Pieces of one message lend each other nothing, which would favour
 * long messages.
 */
export function* scoreTerms(
  partition: Partition,
  terms: readonly string[],
  {
    visible,
    now_us,
    scratch,
    similar,
    observer,
  }: {
    visible: Uint8Array
    now_us: number
    scratch: SearchScratch
    similar?: SimilarTerms | null
    observer?: GainObserver
  },
): Steps<LexicalScores> {
  const aliases = partition.findAliases(terms, visible)
  const search = new LexicalSearch(partition, { visible, now_us, scratch, aliases })
  for (const term of terms) {
    const others = [...(similar?.get(term) ?? []), ...(search.aliases.get(term) ?? [])]
    yield* search.addTerm(term, others, observer)
    yield
  }
  return search
}

/** Observes what each term adds to the scores of a few slots. */
export interface GainObserver {
  /** 1 for the slots to observe, by slot. */
  readonly watched: Uint8Array
  /** Called only for a term that raises the score of a watched slot, once for each such pair. */
  onGain(term: string, slot: number, gain: { readonly own: number; readonly lent: number }): void
}

class LexicalSearch implements LexicalScores {
  readonly lexical: Float64Array
  readonly neighbour: Float64Array
  readonly matched: SlotList
  readonly #partition: Partition
  readonly #visible: Uint8Array
  readonly statistics: ReturnType<Partition['statisticsAt']>
  readonly chains: VisibleNeighbours
  readonly aliases: ReturnType<Partition['findAliases']>
  /** For the current term: what each slot contributes itself, and what a neighbour lends it. */
  readonly #own: Int32Array
  readonly #lent: Int32Array
  readonly #owners: SlotList
  readonly #borrowers: SlotList
  readonly #contributions: ContributionCache

  constructor(
    partition: Partition,
    {
      visible,
      now_us,
      scratch,
      aliases,
    }: {
      visible: Uint8Array
      now_us: number
      scratch: SearchScratch
      aliases: ReturnType<Partition['findAliases']>
    },
  ) {
    this.#partition = partition
    this.#visible = visible
    this.aliases = aliases
    this.statistics = partition.statisticsAt(now_us)
    this.#contributions = new ContributionCache(this.statistics.averageLength)
    this.chains = new VisibleNeighbours(partition, visible, scratch)
    this.lexical = scratch.passes.lexical
    this.neighbour = scratch.passes.neighbour
    this.#own = scratch.own
    this.#lent = scratch.lent
    this.matched = scratch.matched
    this.#owners = scratch.owners
    this.#borrowers = scratch.borrowers
  }

  *addTerm(
    term: string,
    similar: readonly string[],
    observer: GainObserver | undefined,
  ): Steps<void> {
    const postings = this.#partition.findPostings(term)
    const facts = postings === undefined ? 0 : this.statistics.countWith(postings)
    yield* this.#noteOwn(term, (weight) => weight)
    // Speakers are matched like words, even if the content does not name them.
    yield* this.#noteOwn(speakerFeature(term), (weight) => weight, facts)
    for (const other of similar) {
      yield* this.#noteOwn(other, similarWeight, facts)
      yield* this.#noteOwn(speakerFeature(other), similarWeight, facts)
    }
    yield* overSlots(this.#owners.size, (from, to) => this.#addOwn(from, to))
    yield* overSlots(this.#owners.size, (from, to) => this.#lendAround(from, to))
    if (observer !== undefined) this.#tell(term, observer)
    yield* overSlots(this.#borrowers.size, (from, to) => this.#addLent(from, to))
    yield* overSlots(this.#owners.size, (from, to) => {
      for (let at = from; at < to; at++) this.#own[this.#owners.at(at)] = 0
    })
    this.#owners.clear()
    this.#borrowers.clear()
  }

  #tell(term: string, observer: GainObserver): void {
    for (const slots of [this.#owners, this.#borrowers]) {
      for (let at = 0; at < slots.size; at++) {
        const slot = slots.at(at)
        if (observer.watched[slot] !== 1) continue
        observer.onGain(term, slot, { own: this.#own[slot] ?? 0, lent: this.#lent[slot] ?? 0 })
      }
    }
  }

  /**
   * Records the contribution of a term to every visible fact that has it (the owners) if it exceeds
   * the recorded one. A similar term counts as at least as frequent as the term it stands for.
   */
  *#noteOwn(term: string, weigh: (weight: number) => number, factsMin = 0): Steps<void> {
    const postings = this.#partition.findPostings(term)
    if (postings === undefined) return
    const facts = Math.max(this.statistics.countWith(postings), factsMin)
    this.#contributions.startTerm(weigh(computeTermWeight(this.statistics.facts, facts)))
    yield* overSlots(postings.size, (from, to) => this.#notePart(postings, from, to))
  }

  #notePart(postings: Postings, from: number, to: number): void {
    const visible = this.#visible
    const { lengths } = this.#partition.columns
    const { array, start } = postings
    for (let at = start + from; at < start + to; at++) {
      const posting = array[at] ?? 0
      const slot = readSlot(posting)
      if (visible[slot] === 0) continue
      const frequency = readFrequency(posting, postings)
      const own = this.#contributions.of(frequency, lengths[slot] ?? 0)
      const noted = this.#own[slot] ?? 0
      // A term that nearly all of very many facts have contributes less than one unit.
      if (own <= noted) continue
      if (noted === 0) this.#owners.push(slot)
      this.#own[slot] = own
    }
  }

  #addOwn(from: number, to: number): void {
    for (let at = from; at < to; at++) {
      const slot = this.#owners.at(at)
      this.#markMatched(slot)
      this.lexical[slot] = (this.lexical[slot] ?? 0) + (this.#own[slot] ?? 0)
    }
  }

  /** Records the best share that each fact near an owner, and not an owner itself, gets. */
  #lendAround(from: number, to: number): void {
    const chains = this.chains
    for (let at = from; at < to; at++) {
      const slot = this.#owners.at(at)
      const share = neighbourShare(this.#own[slot] ?? 0)
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

  #addLent(from: number, to: number): void {
    for (let at = from; at < to; at++) {
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

/** The neighbour across a gap is not known yet; see VisibleNeighbours. */
const UNKNOWN = -2

/** If more than one slot in this many was written, clearing whole arrays is faster. */
const SPARSE_ONE_IN = 16

/**
 * Working memory of a search: arrays by slot, which hold scores and slots but no content.
 * Allocating it costs more than the search. So all synchronous searches of the process share one,
 * and each search resets what it wrote.
 */
export class SearchScratch {
  readonly passes: ScorePasses
  readonly own: Int32Array
  readonly lent: Int32Array
  readonly before: Int32Array
  readonly after: Int32Array
  /** Fused scores, and slots the query names. Written before they are read; never reset. */
  readonly alone: Float64Array
  readonly named: Uint8Array
  readonly matched: SlotList
  readonly owners: SlotList
  readonly borrowers: SlotList
  /** Slots that may be among the best, and the known part of the score of each. */
  readonly candidates: SlotList
  readonly rests: Float64Array
  /** Slots from which a gap has been crossed, in either direction. */
  readonly linked: SlotList
  readonly capacity: number

  constructor(capacity: number) {
    this.capacity = capacity
    this.passes = new ScorePasses(capacity)
    this.own = new Int32Array(capacity)
    this.lent = new Int32Array(capacity)
    this.before = new Int32Array(capacity).fill(UNKNOWN)
    this.after = new Int32Array(capacity).fill(UNKNOWN)
    this.alone = new Float64Array(capacity)
    this.named = new Uint8Array(capacity)
    this.matched = new SlotList(capacity)
    this.owners = new SlotList(capacity)
    this.borrowers = new SlotList(capacity)
    this.candidates = new SlotList(capacity)
    this.rests = new Float64Array(capacity)
    this.linked = new SlotList(capacity * 2)
  }

  /** Clears what a search has written. */
  reset(): void {
    const { lexical, neighbour } = this.passes
    const isDense = this.matched.size * SPARSE_ONE_IN > this.capacity
    if (isDense) for (const scores of [lexical, neighbour]) scores.fill(0)
    for (let at = 0; !isDense && at < this.matched.size; at++) {
      const slot = this.matched.at(at)
      lexical[slot] = 0
      neighbour[slot] = 0
    }
    for (let at = 0; at < this.owners.size; at++) this.own[this.owners.at(at)] = 0
    for (let at = 0; at < this.borrowers.size; at++) this.lent[this.borrowers.at(at)] = 0
    for (let at = 0; at < this.linked.size; at++) {
      const slot = this.linked.at(at)
      this.before[slot] = UNKNOWN
      this.after[slot] = UNKNOWN
    }
    const lists = [this.matched, this.owners, this.borrowers, this.candidates, this.linked]
    for (const list of lists) list.clear()
  }
}

const CAPACITY_MIN = 1_024
let sharedScratch: SearchScratch | null = null

/** Returns the shared working memory, with room for a partition. The search must reset it. */
export function takeScratch(partition: Partition): SearchScratch {
  const room = countRoom(partition)
  if (sharedScratch === null || sharedScratch.capacity < room)
    sharedScratch = new SearchScratch(Math.max(CAPACITY_MIN, Math.ceil(room * 1.5)))
  return sharedScratch
}

/** The capacity that a search of the partition needs. */
export const countRoom = ({ columns, sessions }: Partition): number =>
  Math.max(columns.used, sessions.count)

/**
 * The session neighbours of a fact among the facts that a search can see, unless both are pieces of
 * one message. A gap of invisible facts is crossed once in each direction; the neighbour beyond it
 * is kept for the rest of the search.
 */
class VisibleNeighbours {
  readonly #partition: Partition
  readonly #lengths: Uint32Array
  readonly #messages: Uint32Array
  readonly #visible: Uint8Array
  readonly #before: Int32Array
  readonly #after: Int32Array
  readonly #visibleBefore: Int32Array
  readonly #visibleAfter: Int32Array
  readonly #linked: SlotList

  constructor(partition: Partition, visible: Uint8Array, scratch: SearchScratch) {
    this.#partition = partition
    this.#lengths = partition.columns.lengths
    this.#messages = partition.columns.messages
    this.#visible = visible
    this.#before = partition.sessions.before
    this.#after = partition.sessions.after
    this.#visibleBefore = scratch.before
    this.#visibleAfter = scratch.after
    this.#linked = scratch.linked
  }

  /** The nearest earlier visible slot in the session of a visible slot, or NO_SLOT. */
  before(slot: number): number {
    const earlier = this.#earlier(slot)
    return this.#arePieces(earlier, slot) ? NO_SLOT : earlier
  }

  /** The nearest later visible slot, or NO_SLOT. */
  after(slot: number): number {
    const later = this.#later(slot)
    return this.#arePieces(slot, later) ? NO_SLOT : later
  }

  /** The nearest earlier visible piece of the same message, or NO_SLOT. */
  pieceBefore(slot: number): number {
    const earlier = this.#earlier(slot)
    return this.#arePieces(earlier, slot) ? earlier : NO_SLOT
  }

  /** The nearest later visible piece of the same message, or NO_SLOT. */
  pieceAfter(slot: number): number {
    const later = this.#later(slot)
    return this.#arePieces(slot, later) ? later : NO_SLOT
  }

  #arePieces(earlier: number, later: number): boolean {
    if (earlier === NO_SLOT || later === NO_SLOT) return false
    // Fast path: most facts are short and name no message.
    const isShort = (this.#lengths[earlier] ?? 0) < PIECE_TERMS_MIN
    if (isShort && this.#messages[earlier] === 0) return false
    return this.#partition.arePieces(earlier, later)
  }

  #earlier(slot: number): number {
    const next = this.#before[slot] ?? NO_SLOT
    return this.#isEnd(next) ? next : this.#cross(slot, this.#before, this.#visibleBefore)
  }

  #later(slot: number): number {
    const next = this.#after[slot] ?? NO_SLOT
    return this.#isEnd(next) ? next : this.#cross(slot, this.#after, this.#visibleAfter)
  }

  #isEnd(slot: number): boolean {
    return slot === NO_SLOT || this.#visible[slot] !== 0
  }

  #cross(slot: number, links: Int32Array, crossed: Int32Array): number {
    const known = crossed[slot] ?? UNKNOWN
    if (known !== UNKNOWN) return known
    let next = links[slot] ?? NO_SLOT
    while (next !== NO_SLOT && this.#visible[next] === 0) next = links[next] ?? NO_SLOT
    crossed[slot] = next
    this.#linked.push(slot)
    return next
  }
}
