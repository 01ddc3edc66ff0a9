// The score of each fact of a namespace by its definition, fact by fact and slowly: what the index
// must compute.

import type { IndexedFact } from '../index/partition.ts'
import { analyse } from '../text/analysis.ts'

/** In score units. */
const UNIT = 2 ** 16
const share = (units: number, percent: number): number => Math.floor((units * percent) / 100)

/** A fact with what its words score, in units, and who speaks. */
export interface PlainFact extends IndexedFact {
  readonly words: number
  readonly speaker: unknown
  /** Whether the query names its day. */
  readonly dated: boolean
}

const termsOf = (text: unknown): string[] => (typeof text === 'string' ? analyse(text) : [])

/** The words of a fact, and those of the date in its metadata. */
const allTerms = ({ content, metadata }: PlainFact): string[] => [
  ...analyse(content),
  ...(metadata['date'] === '2023-05-07' ? analyse('2023-05-07') : []),
]

/** Whether a fact continues the message of the one before it in the session. */
function continues(earlier: PlainFact, later: PlainFact): boolean {
  const [one, other] = [earlier.metadata['message_id'], later.metadata['message_id']]
  if (one !== undefined || other !== undefined) return one === other
  // Texts of nobody in particular are messages of their own.
  if (earlier.speaker === undefined) return false
  return earlier.speaker === later.speaker && analyse(earlier.content).length >= 16
}

/** The pieces of the message of a fact on one side of it. */
function piecesBeside(session: readonly PlainFact[], at: number, step: 1 | -1): PlainFact[] {
  const pieces: PlainFact[] = []
  for (let last = at; ; last += step) {
    const [one, other] = [session[last], session[last + step]]
    if (!one || !other) return pieces
    if (!(step > 0 ? continues(one, other) : continues(other, one))) return pieces
    pieces.push(other)
  }
}

/** Scores of facts that are all visible, in score units, in the order of `facts`, by ref. */
export function scorePlainly(
  facts: readonly PlainFact[],
  query: { readonly terms: ReadonlySet<string>; readonly vector: Int8Array },
): number[] {
  const best = Math.max(0, ...facts.map(({ words }) => words)) || UNIT
  const speakers = new Set(facts.flatMap(({ speaker }) => termsOf(speaker)))
  const sessionOf = (fact: PlainFact): PlainFact[] => {
    const { session_id } = fact.metadata
    if (session_id === undefined) return [fact]
    return facts.filter(({ metadata }) => metadata['session_id'] === session_id)
  }
  const dotOf = ({ vector }: PlainFact): number =>
    Math.max(0, vector?.reduce((sum, x, at) => sum + x * (query.vector[at] ?? 0), 0) ?? 0)
  const likenessOf = (fact: PlainFact): number => {
    const session = sessionOf(fact)
    const at = session.indexOf(fact)
    const [before, after] = [session[at - 1], session[at + 1]]
    const around = Math.max(
      before && !continues(before, fact) ? dotOf(before) : 0,
      after && !continues(fact, after) ? dotOf(after) : 0,
    )
    return Math.floor((best * 3 * (5 * dotOf(fact) + around)) / (2 * 5 * 127 * 127))
  }
  const aloneOf = (fact: PlainFact): number => {
    const fused = fact.words + likenessOf(fact)
    const speaks = termsOf(fact.speaker).some((term) => query.terms.has(term))
    const mentions = allTerms(fact).some((term) => query.terms.has(term) && speakers.has(term))
    const speaker = share(fused, speaks ? 30 : mentions ? 20 : 0)
    const named = fused + speaker + share(Math.max(fused, best), fact.dated ? 20 : 0)
    const asks = fact.content.endsWith('?') && analyse(fact.content).length <= 16
    return named - share(named, asks ? 10 : 0)
  }
  return facts.map((fact) => {
    const session = sessionOf(fact)
    const at = session.indexOf(fact)
    const alone = aloneOf(fact)
    const pieces = [...piecesBeside(session, at, -1), ...piecesBeside(session, at, 1)]
    const isBehind = pieces.some((other) => {
      const difference = aloneOf(other) - alone
      return difference > 0 || (difference === 0 && other.ref < fact.ref)
    })
    const isMessage = pieces.length < 16 || fact.metadata['message_id'] !== undefined
    const loss = isBehind && isMessage ? share(alone, 20) : 0
    return alone - loss + share(Math.max(...session.map(aloneOf)), 15)
  })
}
