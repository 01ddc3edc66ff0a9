// Tokenizers, which count the tokens of a text: the unit of retrieval budgets.

import { readFile } from 'node:fs/promises'
import { O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants'
import { loadOnce } from '../concurrency.ts'
import { RankedTokens } from './ranked-tokens.ts'

export type TokenizerName = 'o200k_base' | 'chars'

/**
 * A tokenizer. `count` is a pure function of the text: never negative, 0 for the empty text. Stored
 * and returned counts come from the same function, so budgets hold exactly.
 */
export interface Tokenizer {
  readonly name: TokenizerName
  count(text: string): number
}

/**
 * Counts Unicode code points, as the GMP conformance suite does. A lone surrogate counts as one.
 */
const chars: Tokenizer = {
  name: 'chars',
  count(text) {
    let codePoints = 0
    for (let at = 0; at < text.length; at++) {
      // Skips the second unit of a pair, which codePointAt has already read.
      if ((text.codePointAt(at) ?? 0) > 0xffff) at++
      codePoints++
    }
    return codePoints
  },
}

// Uses only the data of the package: its encoder is quadratic and caches words of the content.
// Resolved at load time, because a process without free file descriptors cannot resolve it later.
const RANKS = new URL(import.meta.resolve('gpt-tokenizer/data/o200k_base.tiktoken'))

const loadO200kBase = loadOnce(readO200kBase)

/**
 * Loads a tokenizer. `o200k_base` reads its 200k ranks on first use (about 0.1 s and 12 MB) and
 * stays loaded; `chars` costs nothing.
 *
 * Control text such as `<|endoftext|>` is content and counted as text. A word (or a run of spaces
 * or symbols) of more than 128 bytes is merged in stretches, so that 256 KiB of anything takes
 * under 0.1 s. Every other text gets the exact count. The count of such a word is almost always
 * exact or a few tokens more, and rarely one fewer, since greedy merging is not minimal. Budgets
 * are defined by this function's counts, so the difference never breaks one.
 */
export function loadTokenizer(name: TokenizerName): Promise<Tokenizer> {
  return name === 'chars' ? Promise.resolve(chars) : loadO200kBase()
}

async function readO200kBase(): Promise<Tokenizer> {
  const tokens = await RankedTokens.read(await readFile(RANKS))
  const counter = new BytePairCounter(tokens, O200K_TOKEN_SPLIT_REGEX)
  return { name: 'o200k_base', count: (text) => counter.count(text) }
}

/**
 * The longest stretch (bytes) that is merged as a whole, since the cost is quadratic in its length
 * and the caller controls the text. Normal words are far shorter; a longer piece is merged in
 * stretches of this size.
 */
const STRETCH_BYTES_MAX = 128

const UNMERGEABLE = 0x7fffffff
/** Maximum UTF-8 bytes of a UTF-16 unit. */
const UTF8_BYTES_MAX = 3
/** Longer pieces are rare and get their own buffer. */
const PIECE_BYTES = 512

/**
 * Counts the tokens of texts in one vocabulary. Holds no part of a counted text: unlike the usual
 * encoders it keeps no cache of merged words, which would outlive an erasure.
 */
class BytePairCounter {
  readonly #piecePattern: RegExp
  readonly #tokens: RankedTokens
  /** Ranks of two-byte pairs, so that the first pass over a piece needs no search. */
  readonly #pairRanks = new Int32Array(0x10000)
  readonly #starts = new Int32Array(STRETCH_BYTES_MAX + 2)
  readonly #mergeRanks = new Int32Array(STRETCH_BYTES_MAX + 2)
  /** The bytes of one piece, wiped after each text. */
  readonly #piece = Buffer.alloc(PIECE_BYTES)

  /** @param piecePattern splits a text into pieces no merge crosses; global and unicode-aware */
  constructor(tokens: RankedTokens, piecePattern: RegExp) {
    this.#piecePattern = piecePattern
    this.#tokens = tokens
    const pair = new Uint8Array(2)
    for (let at = 0; at < this.#pairRanks.length; at++) {
      pair[0] = at >> 8
      pair[1] = at & 0xff
      this.#pairRanks[at] = this.#rankOf(pair, 0, 2)
    }
  }

  /** The number of tokens of `text`; a lone surrogate counts as U+FFFD. */
  count(text: string): number {
    let count = 0
    for (const piece of text.match(this.#piecePattern) ?? []) count += this.#countPiece(piece)
    this.#piece.fill(0)
    return count
  }

  #countPiece(piece: string): number {
    const fits = piece.length * UTF8_BYTES_MAX <= PIECE_BYTES
    const bytes = fits ? this.#piece : Buffer.from(piece, 'utf8')
    const length = fits ? writeUtf8(piece, bytes) : bytes.length
    if (this.#tokens.rankOf(bytes, 0, length) !== -1) return 1
    let count = 0
    let start = 0
    while (start < length) {
      const end = stretchEnd(bytes, start, length)
      count += this.#countStretch(bytes, start, end)
      start = end
    }
    return count
  }

  /** Merges the adjacent parts of lowest rank, leftmost first; returns how many parts remain. */
  #countStretch(bytes: Uint8Array, from: number, to: number): number {
    const starts = this.#starts
    const ranks = this.#mergeRanks
    let parts = to - from
    for (let at = 0; at <= parts; at++) {
      starts[at] = from + at
      ranks[at] = at < parts - 1 ? this.#pairRank(bytes, from + at) : UNMERGEABLE
    }
    while (parts > 1) {
      const lowest = indexOfLowest(ranks, parts - 1)
      if (ranks[lowest] === UNMERGEABLE) break
      starts.copyWithin(lowest + 1, lowest + 2, parts + 1)
      ranks.copyWithin(lowest + 1, lowest + 2, parts + 1)
      parts--
      ranks[lowest] = lowest < parts - 1 ? this.#mergeRank(bytes, lowest) : UNMERGEABLE
      if (lowest > 0) ranks[lowest - 1] = this.#mergeRank(bytes, lowest - 1)
    }
    return parts
  }

  #pairRank(bytes: Uint8Array, at: number): number {
    const pair = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
    return this.#pairRanks[pair] ?? UNMERGEABLE
  }

  /** Rank of the token that merging `part` and `part + 1` would give. */
  #mergeRank(bytes: Uint8Array, part: number): number {
    return this.#rankOf(bytes, this.#starts[part] ?? 0, this.#starts[part + 2] ?? 0)
  }

  #rankOf(bytes: Uint8Array, start: number, end: number): number {
    const rank = this.#tokens.rankOf(bytes, start, end)
    return rank === -1 ? UNMERGEABLE : rank
  }
}

function indexOfLowest(ranks: Int32Array, length: number): number {
  let lowest = 0
  let lowestRank = ranks[0] ?? UNMERGEABLE
  for (let at = 1; at < length; at++) {
    const rank = ranks[at] ?? UNMERGEABLE
    if (rank < lowestRank) {
      lowest = at
      lowestRank = rank
    }
  }
  return lowest
}

/** End of the stretch that begins at `start`: within the size limit, at a code point boundary. */
function stretchEnd(bytes: Uint8Array, start: number, length: number): number {
  let end = Math.min(start + STRETCH_BYTES_MAX, length)
  while (end < length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return end
}

/** Encodes `text` and returns the number of bytes. ASCII, the common case, needs no native call. */
function writeUtf8(text: string, into: Buffer): number {
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit > 0x7f) return into.write(text, 'utf8')
    into[at] = unit
  }
  return text.length
}
