// Synthetic facts and queries, made from a seed and distributed like speech.

/** A fact as it is written; `ref` counts from 1. */
export interface GeneratedFact {
  readonly content: string
  readonly metadata: { readonly session_id: string; readonly kind: string; readonly day: string }
}

export const QUERY_KINDS = ['rare words', 'common words', '8 Zipf words', 'sentence'] as const
export type QueryKind = (typeof QUERY_KINDS)[number]

const SYLLABLES = (
  'ba be bi bo bu da de di do du ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu ' +
  'ra re ri ro ru sa se si so su ta te ti to tu va ve vi vo vu'
).split(' ')
const FUNCTION_WORDS = 'the of and to in a is that it was for on are as with his they at be'.split(
  ' ',
)
const SPEAKERS = 'Ana Ben Carla David Elena Farid Grace Hugo'.split(' ')
const KINDS = 'fact event preference task person place plan note opinion quote'.split(' ')

/** Number of content words. A vocabulary grows with the text, but ever more slowly. */
const VOCABULARY = 60_000
/** Number of ranks that function words take; content words come after them. */
const RANKS_BEFORE = 40
/** One in this number of facts names something unique: an order number, a place, an address. */
const NAMES_ONE_IN = 4
const FACTS_A_SESSION = 20
const FACTS_A_DAY = 150
const DAY_MS = 86_400_000
const FIRST_DAY_MS = 1_600_000_000_000

/** A linear congruential generator without its low bits, so that every run has the same texts. */
export function random(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return (state >>> 4) / 2 ** 28
  }
}

/** The generator of text number `at`. Skips the first numbers, which are similar for all seeds. */
export function randomOf(at: number): () => number {
  const next = random(at * 7919 + 1)
  for (let warm = 0; warm < 4; warm += 1) next()
  return next
}

/** Word number `rank`: three syllables, four for the rarest words, so that all are different. */
function word(rank: number): string {
  const base = SYLLABLES.length
  const digits = [rank % base, Math.floor(rank / base) % base, Math.floor(rank / base ** 2) % base]
  if (rank >= base ** 3) digits.push(Math.floor(rank / base ** 3))
  return digits.map((digit) => SYLLABLES[digit]).join('')
}

/** Draws a rank by word frequency: the n-th most common in proportion to 1 / (n + 40). */
function zipfRank(next: () => number): number {
  const rank = RANKS_BEFORE * ((VOCABULARY + RANKS_BEFORE) / RANKS_BEFORE) ** next()
  return Math.min(VOCABULARY - 1, Math.floor(rank) - RANKS_BEFORE)
}

/** A sentence in which every other word is an English function word. */
export function sentence(next: () => number, words: number): string {
  const filler = () => FUNCTION_WORDS[Math.floor(next() * FUNCTION_WORDS.length)]
  return Array.from({ length: words }, (_, i) =>
    i % 2 === 0 ? word(zipfRank(next)) : filler(),
  ).join(' ')
}

/** The fact with this number, as long as a turn of a conversation: about 130 characters. */
export function makeFact(at: number): GeneratedFact {
  const next = randomOf(at)
  const day = new Date(FIRST_DAY_MS + Math.floor(at / FACTS_A_DAY) * DAY_MS).toISOString()
  const session = Math.floor(at / FACTS_A_SESSION)
  const named = at % NAMES_ONE_IN === 0 ? ` ${word(zipfRank(next))}-${100_000 + at}` : ''
  const words = 12 + Math.floor(next() * 16)
  const date = day.slice(0, 10)
  const speaker = SPEAKERS[Math.floor(next() * SPEAKERS.length)]
  return {
    content: `[${date}] ${speaker}: ${sentence(next, words)}${named}`,
    metadata: {
      session_id: `session-${session}`,
      kind: KINDS[Math.floor(next() * KINDS.length)] ?? '',
      day: date,
    },
  }
}

/** A query: rare words, common words, eight words drawn as in the facts, or a sentence. */
export function makeQuery(kind: QueryKind, next: () => number): string {
  const some = (count: number, rank: () => number) =>
    Array.from({ length: count }, () => word(rank())).join(' ')
  if (kind === 'rare words') return some(3, () => 20_000 + Math.floor(next() * 30_000))
  if (kind === 'common words') return some(4, () => Math.floor(next() * 60))
  if (kind === '8 Zipf words') return some(8, () => zipfRank(next))
  return sentence(next, 16)
}
