// Scans a text once for its words, their kinds, and the positions of context words.

import { type FoldedText, foldText, OTHER_LOWER, OTHER_UPPER } from './fold.ts'
import {
  findWord,
  hasRole,
  isSpoken,
  nextHash,
  ROLE_COUNT,
  type Role,
  roleIndex,
  rolesOf,
  WORD_MAX,
} from './lexicon.ts'

/** The kind of characters in a token. */
export const DIGITS = 1
export const LETTERS = 2
export const FOREIGN = 4
export const MIXED = DIGITS | LETTERS

/** The distance, in characters, up to which a context word before or after a match counts. */
const BEFORE = 60
const AFTER = 25

export class Scan {
  readonly folded: FoldedText
  readonly codes: Uint8Array
  readonly size: number
  readonly starts: Int32Array
  readonly ends: Int32Array
  /** The kind of each word: a bit mask of DIGITS, LETTERS and FOREIGN. */
  readonly kinds: Uint8Array
  /** The number of each word in the lexicon; 0 if it has none. */
  readonly words: Uint16Array
  count = 0
  private readonly byRole: number[][] = Array.from({ length: ROLE_COUNT }, () => [])
  private readonly languages: ReadonlySet<string> | undefined
  /** The ends of marks of an earlier redaction, which context does not cross. */
  private readonly walls: number[] = []

  /** `languages` are those whose words count besides English; default: all. */
  constructor(text: string, languages?: ReadonlySet<string>) {
    this.languages = languages
    this.folded = foldText(text)
    this.codes = this.folded.codes
    this.size = this.folded.size
    // A word has at least one character, and at least one separates two words.
    const most = (this.size >> 1) + 2
    this.starts = new Int32Array(most)
    this.ends = new Int32Array(most)
    this.kinds = new Uint8Array(most)
    this.words = new Uint16Array(most)
    this.readWords()
  }

  /** The character at `i`; 0 outside the text. */
  at(i: number): number {
    return this.codes[i] ?? 0
  }

  start(word: number): number {
    return this.starts[word] ?? this.size
  }

  end(word: number): number {
    return this.ends[word] ?? this.size
  }

  length(word: number): number {
    return word < this.count ? this.end(word) - this.start(word) : 0
  }

  isDigits(word: number): boolean {
    return word < this.count && this.kinds[word] === DIGITS
  }

  isLetters(word: number): boolean {
    const kind = word < this.count ? (this.kinds[word] ?? 0) : 0
    return kind !== 0 && (kind & ~(LETTERS | FOREIGN)) === 0
  }

  has(word: number, role: number): boolean {
    const number = word >= 0 && word < this.count ? (this.words[word] ?? 0) : 0
    return number !== 0 && hasRole(number, role)
  }

  isCapital(word: number): boolean {
    const code = this.at(this.start(word))
    return word < this.count && ((code >= 65 && code <= 90) || code === OTHER_UPPER)
  }

  /** Whether a word consists of letters and begins with a capital. */
  isName(word: number): boolean {
    return this.isLetters(word) && this.isCapital(word)
  }

  /** Whether only these signs, at most three characters, are between a word and the next. */
  isBesideNext(word: number, signs: readonly number[]): boolean {
    if (word < 0 || word + 1 >= this.count) return false
    const from = this.end(word)
    const to = this.start(word + 1)
    if (to - from > 3) return false
    for (let i = from; i < to; i++) if (!signs.includes(this.at(i))) return false
    return true
  }

  /** Whether a word of this role is near, without a mark of a redaction between. */
  near(role: number, from: number, to: number): boolean {
    const places = this.byRole[role] ?? []
    if (places.length === 0) return false
    const low = Math.max(from - BEFORE, this.walls.length ? this.wallBefore(from) : 0)
    const i = firstFrom(places, low)
    const place = places[i]
    if (place === undefined) return false
    if (place < from) return true
    const next = places[firstFrom(places, to)]
    if (next === undefined || next >= to + AFTER) return false
    return this.walls.length === 0 || this.wallBefore(next) <= to
  }

  /** Whether a word of this role is in the `reach` characters before `from`. */
  justBefore(role: number, from: number, reach: number): boolean {
    const places = this.byRole[role] ?? []
    const place = places[firstFrom(places, from - reach)]
    return place !== undefined && place < from
  }

  private wallBefore(position: number): number {
    return this.walls[firstFrom(this.walls, position + 1) - 1] ?? 0
  }

  private readWords(): void {
    for (let i = 0; i < this.size; ) {
      const code = this.at(i)
      if (KIND[code] !== 0) i = this.readWord(i)
      else if (code === 0x3c) i = this.passMark(i)
      else i++
    }
  }

  /** Skips a mark of a redaction such as `<US_SSN>`, which is not a word. */
  private passMark(from: number): number {
    let i = from + 1
    while (i - from < 32 && ((this.at(i) >= 65 && this.at(i) <= 90) || this.at(i) === 0x5f)) i++
    if (this.at(i) !== 0x3e || i === from + 1) return from + 1
    this.walls.push(i + 1)
    return i + 1
  }

  private readWord(from: number): number {
    let kind = 0
    let hash = 0
    let i = from
    for (; i < this.size; i++) {
      const code = this.at(i)
      const of = KIND[code] ?? 0
      if (of === 0 || (kind === DIGITS && of === LETTERS && this.splits(i))) break
      kind |= of
      hash = nextHash(hash, code)
    }
    const word = this.count++
    this.starts[word] = from
    this.ends[word] = i
    this.kinds[word] = kind
    if (kind === LETTERS && i - from <= WORD_MAX) this.addRoles(word, from, i, hash)
    // The x of an extension and the T of a time separate words.
    return kind === DIGITS && KIND[this.at(i)] === LETTERS ? i + 1 : i
  }

  private addRoles(word: number, from: number, to: number, hash: number): void {
    const number = findWord(this.codes, from, to, hash)
    if (number === 0 || (this.languages && !isSpoken(number, this.languages))) return
    this.words[word] = number
    for (const role of rolesOf(number)) this.byRole[role]?.push(from)
  }

  /** Whether a letter splits digits, as in "555-1234x89" and "2026-01-31T10:00": one to eight
   * digits follow it up to a separator. */
  private splits(i: number): boolean {
    const code = this.at(i) | 0x20
    if (code !== 0x78 && code !== 0x74) return false
    let j = i + 1
    while (j - i < 9 && KIND[this.at(j)] === DIGITS) j++
    return j > i + 1 && KIND[this.at(j)] === 0
  }
}

/** The first index whose value is at least `least`, in a sorted list. */
function firstFrom(sorted: readonly number[], least: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) < least) low = middle + 1
    else high = middle
  }
  return low
}

const KIND = new Uint8Array(256)
for (let c = 48; c <= 57; c++) KIND[c] = DIGITS
for (let c = 65; c <= 90; c++) KIND[c] = KIND[c + 32] = LETTERS
KIND[OTHER_LOWER] = KIND[OTHER_UPPER] = FOREIGN

/** The character codes of ASCII signs. */
export const codesOf = (signs: string): readonly number[] =>
  Array.from(signs, (sign) => sign.charCodeAt(0))

/** The index of a role, by its name. */
export const role = (name: Role): number => roleIndex(name)
