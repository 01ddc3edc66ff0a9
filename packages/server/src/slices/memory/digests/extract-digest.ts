// Pure: makes the digest of a session without a language model: its days and names, then the
// sentences that have most in common with the rest of the session.

import { DAY_US, formatTime } from '../../../platform/clock.ts'
import { findSpeaker, isQuestion, NO_NAMES, withoutLeadingDate } from '../facts/conversation.ts'
import type { TextAnalyser } from '../text/analysis.ts'
import { findStatedDay } from '../text/date-expressions.ts'
import { MONTH_BY_NAME } from '../text/language-rules.ts'

/** Sessions with fewer memories get no digest: they are as short as one. */
const DIGEST_MEMORIES_MIN = 4
/** Maximum tokens of a digest, which also has at most this share of its session's tokens. */
const DIGEST_TOKENS_MAX = 128
const TOKENS_SHARE = 1 / 3
/** Shorter sentences say little; longer ones are lists or logs. */
const SENTENCE_TERMS = { min: 5, max: 40 }
/** Sentences are searched for in this many leading UTF-16 units of a memory. */
const SCANNED_UNITS = 4_096
/** The digest is full after this many central sentences that do not fit. */
const MISSES_MAX = 16
const SENTENCES_MAX = 5_000
const NAMES_MAX = 8
const DAYS_MAX = 3

const SENTENCE_END = /(?<=[.!?…])\s+|(?<=[。！？])|\n+/u
/** A capitalised word inside a sentence. */
const NAME = /(?<=[\p{Ll}\p{N},;] )\p{Lu}\p{Ll}[\p{L}\p{M}’'-]*/gu

interface SessionMemory {
  readonly content: string
  readonly metadata: Readonly<Record<string, unknown>>
  /** `null` without a vector. */
  readonly vector: Int8Array | null
}

interface Sentence {
  /** Sort key: position of the memory, then position in it. The digest keeps this order. */
  readonly order: number
  readonly text: string
  readonly terms: readonly string[]
  /** Similarity of its memory to the centre of the session, at most 1. */
  readonly likeness: number
}

/**
 * Returns the text and the last day that the session names (`2023-05-07`), or null if the session
 * has too little for a digest. Depends only on its arguments.
 * @param options.capitals whether words with a capital are names: not in German
 */
export function extractDigest(
  memories: readonly SessionMemory[],
  options: { analyser: TextAnalyser; countTokens(text: string): number; capitals: boolean },
): { content: string; date: string | null } | null {
  if (memories.length < DIGEST_MEMORIES_MIN) return null
  const { countTokens } = options
  const total = memories.reduce((sum, { content }) => sum + countTokens(content), 0)
  const budget = Math.min(DIGEST_TOKENS_MAX, Math.floor(total * TOKENS_SHARE))
  const days = listDays(memories)
  const heading = [days.slice(0, DAYS_MAX).join(', '), listNames(memories, options).join(', ')]
    .filter((part) => part !== '')
    .join(' · ')
  const sentences = listSentences(memories, options.analyser)
  const chosen = chooseSentences(sentences, (texts) => {
    return countTokens(joinLines(heading, texts)) <= budget
  })
  if (chosen.length === 0) return null
  const texts = chosen.toSorted((a, b) => a.order - b.order).map(({ text }) => text)
  return { content: joinLines(heading, texts), date: days.at(-1) ?? null }
}

const joinLines = (heading: string, texts: readonly string[]): string =>
  [heading, ...texts].filter((line) => line !== '').join('\n')

function listDays(memories: readonly SessionMemory[]): string[] {
  const days = new Set(memories.flatMap((memory) => findStatedDay(memory) ?? []))
  return [...days].sort((a, b) => a - b).map((day) => formatTime(day * DAY_US).slice(0, 10))
}

/** Names of the speakers, then names that are mentioned, most frequent first. */
function listNames(
  memories: readonly SessionMemory[],
  { capitals }: { capitals: boolean },
): string[] {
  const counts = new Map<string, number>()
  for (const { content } of capitals ? memories : [])
    for (const [name] of content.slice(0, SCANNED_UNITS).matchAll(NAME))
      if (!NO_NAMES.has(name) && !MONTH_BY_NAME.has(name.toLowerCase()))
        counts.set(name, (counts.get(name) ?? 0) + 1)
  const speakers = memories.flatMap(({ content, metadata }) => findSpeaker(content, metadata) ?? [])
  const named = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
  return [...new Set([...speakers, ...named.map(([name]) => name)])].slice(0, NAMES_MAX)
}

function listSentences(memories: readonly SessionMemory[], analyser: TextAnalyser): Sentence[] {
  const middle = computeMiddle(memories)
  return memories.flatMap(({ content, metadata, vector }, at) => {
    const speaker = findSpeaker(content, metadata)
    const opening = `${speaker}: `
    const plain = withoutLeadingDate(content).trimStart().slice(0, SCANNED_UNITS)
    const text = plain.startsWith(opening) ? plain.slice(opening.length) : plain
    const likeness = vector && middle ? cosine(vector, middle) : 0
    return text.split(SENTENCE_END).flatMap((sentence, position) => {
      const terms = [...new Set(analyser.analyse(sentence))]
      const { min, max } = SENTENCE_TERMS
      if (terms.length < min || terms.length > max || isQuestion(sentence)) return []
      const said = speaker === null ? sentence.trim() : `${opening}${sentence.trim()}`
      return [{ order: at * SCANNED_UNITS + position, text: said, terms, likeness }]
    })
  })
}

/**
 * Chooses the most central sentence first, as long as it `fits`. Terms of chosen sentences no
 * longer count, so the next sentence adds something new.
 */
function chooseSentences(
  sentences: readonly Sentence[],
  fits: (texts: readonly string[]) => boolean,
): Sentence[] {
  const counts = new Map<string, number>()
  for (const { terms } of sentences)
    for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1)
  const scoreOf = ({ terms, likeness }: Sentence): number => {
    const shared = terms.reduce((sum, term) => sum + Math.log(counts.get(term) ?? 1), 0)
    return (shared / Math.sqrt(terms.length)) * (1 + likeness)
  }
  const chosen: Sentence[] = []
  const left = new Set(sentences.slice(0, SENTENCES_MAX))
  let misses = 0
  while (left.size > 0) {
    let best: Sentence | undefined
    let most = 0
    for (const sentence of left) {
      const score = scoreOf(sentence)
      if (score <= most) continue
      best = sentence
      most = score
    }
    if (best === undefined) break
    left.delete(best)
    if (!fits([...chosen, best].map(({ text }) => text))) {
      misses += 1
      if (misses >= MISSES_MAX) break
      continue
    }
    chosen.push(best)
    for (const term of best.terms) counts.set(term, 1)
  }
  return chosen
}

function computeMiddle(memories: readonly SessionMemory[]): Float64Array | null {
  const vectors = memories.flatMap(({ vector }) => vector ?? [])
  const [first] = vectors
  if (first === undefined) return null
  const sum = new Float64Array(first.length)
  for (const vector of vectors)
    for (let at = 0; at < sum.length; at++) sum[at] = (sum[at] ?? 0) + (vector[at] ?? 0)
  return sum
}

function cosine(vector: Int8Array, other: Float64Array): number {
  let [product, own, its] = [0, 0, 0]
  for (let at = 0; at < other.length; at++) {
    const [a, b] = [vector[at] ?? 0, other[at] ?? 0]
    product += a * b
    own += a * a
    its += b * b
  }
  return own === 0 || its === 0 ? 0 : Math.max(0, product / Math.sqrt(own * its))
}
