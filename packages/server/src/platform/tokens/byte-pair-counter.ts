// Counts byte-pair tokens: greedy lowest-rank merging over the UTF-8 bytes of each piece of a text.

/** A token's bytes by rank: text when they are valid UTF-8, else the byte values; holes allowed. */
export type RankedTokens = readonly (string | readonly number[] | undefined)[]

export interface BytePairVocabulary {
  readonly tokens: RankedTokens
  /** Splits a text into the pieces no merge crosses; global and unicode-aware. */
  readonly piecePattern: RegExp
}

/**
 * The longest stretch (bytes) merged at once: the cost is quadratic in it, and the caller controls
 * the text. No word comes near; a longer piece is merged in stretches of this size.
 */
export const STRETCH_BYTES_MAX = 128

const UNMERGEABLE = 0x7fffffff

/**
 * Counts the tokens of texts in one vocabulary. Holds no part of a counted text: unlike the usual
 * encoders it keeps no cache of merged words, which would outlive an erasure.
 */
export class BytePairCounter {
  readonly #piecePattern: RegExp
  /** Rank by bytes, each byte one Latin-1 character. */
  readonly #ranks = new Map<string, number>()
  /** Rank by two-byte pair: the first pass over a piece needs no string. */
  readonly #pairRanks = new Int32Array(0x10000).fill(UNMERGEABLE)
  readonly #starts = new Int32Array(STRETCH_BYTES_MAX + 2)
  readonly #mergeRanks = new Int32Array(STRETCH_BYTES_MAX + 2)

  constructor(vocabulary: BytePairVocabulary) {
    this.#piecePattern = vocabulary.piecePattern
    vocabulary.tokens.forEach((token, rank) => {
      if (token === undefined) return
      const bytes = typeof token === 'string' ? byteString(token) : String.fromCharCode(...token)
      this.#ranks.set(bytes, rank)
      if (bytes.length === 2) this.#pairRanks[pairAt(bytes, 0)] = rank
    })
  }

  /** The number of tokens of `text`; a lone surrogate counts as U+FFFD. */
  count(text: string): number {
    let count = 0
    for (const piece of text.match(this.#piecePattern) ?? []) count += this.#countPiece(piece)
    return count
  }

  #countPiece(piece: string): number {
    const bytes = byteString(piece)
    if (this.#ranks.has(bytes)) return 1
    let count = 0
    let start = 0
    while (start < bytes.length) {
      const end = stretchEnd(bytes, start)
      count += this.#countStretch(bytes.slice(start, end))
      start = end
    }
    return count
  }

  /** Merges the adjacent parts of lowest rank, leftmost first, until none can be; counts parts. */
  #countStretch(bytes: string): number {
    const starts = this.#starts
    const ranks = this.#mergeRanks
    let parts = bytes.length
    for (let at = 0; at <= parts; at++) {
      starts[at] = at
      ranks[at] = at < parts - 1 ? (this.#pairRanks[pairAt(bytes, at)] ?? UNMERGEABLE) : UNMERGEABLE
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

  /** The rank of the token that parts `part` and `part + 1` would make. */
  #mergeRank(bytes: string, part: number): number {
    const merged = bytes.slice(this.#starts[part], this.#starts[part + 2])
    return this.#ranks.get(merged) ?? UNMERGEABLE
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

/** Where the stretch that begins at `start` ends: at most the bound away, between code points. */
function stretchEnd(bytes: string, start: number): number {
  let end = Math.min(start + STRETCH_BYTES_MAX, bytes.length)
  while (end < bytes.length && (bytes.charCodeAt(end) & 0xc0) === 0x80) end--
  return end
}

/** The UTF-8 bytes of a text, each as one Latin-1 character: ASCII is returned as it is. */
function byteString(text: string): string {
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) > 0x7f) return Buffer.from(text, 'utf8').toString('latin1')
  }
  return text
}

function pairAt(bytes: string, at: number): number {
  return (bytes.charCodeAt(at) << 8) | bytes.charCodeAt(at + 1)
}
