// The tokens of a vocabulary and their ranks, in flat arrays of 4 MB; a Map of strings takes 40 MB.

import { yieldBetweenChunks } from '../yield-between-chunks.ts'

const FREE = 0
/** Minimum slots per token, so that most searches end at the first slot. */
const ROOM = 2
/** Lines parsed between two checks of the clock. */
const RANKS_AT_ONCE = 1_000
const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/** A hash table from a token's bytes to its rank, filled once. */
export class RankedTokens {
  /** The bytes of the longest token. */
  longest = 0
  /** All tokens, concatenated in the order of their ranks. */
  readonly #bytes: Uint8Array
  /** The end of each rank's token in `#bytes`. */
  readonly #ends: Uint32Array
  /** Rank + 1, or FREE. Linear probing: a token is in the first free slot from its hash on. */
  readonly #slots: Int32Array

  private constructor(bytes: Uint8Array, ends: Uint32Array) {
    this.#bytes = bytes
    this.#ends = ends
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(ends.length * ROOM)))
  }

  /**
   * Yields to other requests while it reads.
   * @param file lines in the order of the ranks: the token's bytes in Base64, a space, its rank
   */
  static async read(file: Uint8Array): Promise<RankedTokens> {
    const pace = yieldBetweenChunks()
    const { bytes, ends } = await parse(file, pace)
    const tokens = new RankedTokens(bytes, ends)
    let start = 0
    for (const [rank, end] of ends.entries()) {
      tokens.#add(rank, start, end)
      start = end
      if (rank % RANKS_AT_ONCE === 0) await pace()
    }
    return tokens
  }

  #add(rank: number, start: number, end: number): void {
    this.#slots[this.#slotOf(this.#bytes, start, end)] = rank + 1
    this.longest = Math.max(this.longest, end - start)
  }

  /** The rank of the token `bytes[start..end)`, or -1. */
  rankOf(bytes: Uint8Array, start: number, end: number): number {
    if (end - start > this.longest) return -1
    return (this.#slots[this.#slotOf(bytes, start, end)] ?? FREE) - 1
  }

  /** The slot of the token, or the free slot where it would be stored. */
  #slotOf(bytes: Uint8Array, start: number, end: number): number {
    const mask = this.#slots.length - 1
    let slot = hashOf(bytes, start, end) & mask
    for (;;) {
      const held = this.#slots[slot] ?? FREE
      if (held === FREE || this.#isAt(held - 1, bytes, start, end)) return slot
      slot = (slot + 1) & mask
    }
  }

  #isAt(rank: number, bytes: Uint8Array, start: number, end: number): boolean {
    const from = rank === 0 ? 0 : (this.#ends[rank - 1] ?? 0)
    if ((this.#ends[rank] ?? 0) - from !== end - start) return false
    for (let at = start; at < end; at++)
      if (bytes[at] !== this.#bytes[from + at - start]) return false
    return true
  }
}

/** FNV-1a. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = FNV_OFFSET
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), FNV_PRIME)
  return hash ^ (hash >>> 15)
}

const [SPACE, NEWLINE, PADDING, ZERO] = [0x20, 0x0a, 0x3d, 0x30]
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** Parses bytes, because a string per line would take more time than all the rest. */
async function parse(
  file: Uint8Array,
  pace: () => Promise<void> | undefined,
): Promise<{ bytes: Uint8Array; ends: Uint32Array }> {
  const sextets = new Int8Array(0x100).fill(-1)
  for (let value = 0; value < ALPHABET.length; value++) sextets[ALPHABET.charCodeAt(value)] = value
  const bytes = new Uint8Array(file.length)
  const ends = new Uint32Array(countLines(file))
  let [at, length, bits, held] = [0, 0, 0, 0]
  for (let rank = 0; rank < ends.length; rank++) {
    if (rank % RANKS_AT_ONCE === 0) await pace()
    for (bits = 0, held = 0; file[at] !== SPACE && file[at] !== PADDING; at++) {
      const sextet = sextets[file[at] ?? 0] ?? -1
      if (sextet === -1) throw new Error('not a list of tokens')
      held = ((held << 6) | sextet) & 0xffff
      bits += 6
      if (bits < 8) continue
      bits -= 8
      bytes[length++] = (held >> bits) & 0xff
    }
    while (file[at] === PADDING) at++
    let number = 0
    for (at++; at < file.length && file[at] !== NEWLINE; at++)
      number = number * 10 + (file[at] ?? 0) - ZERO
    if (number !== rank) throw new Error('not a list of tokens in the order of their ranks')
    ends[rank] = length
    at++
  }
  if (length === 0 || at !== file.length) throw new Error('not a whole list of tokens')
  return { bytes: bytes.slice(0, length), ends }
}

function countLines(file: Uint8Array): number {
  let lines = 0
  for (let at = file.indexOf(NEWLINE); at !== -1; at = file.indexOf(NEWLINE, at + 1)) lines += 1
  return lines
}
