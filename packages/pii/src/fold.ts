// Folds a text to bytes for the recognisers: replaces variants of a character by the same byte and
// drops invisible characters.

/** Codes of letters without an ASCII base, and of other characters outside ASCII. */
export const OTHER_LOWER = 0x80
export const OTHER_UPPER = 0x81
const OTHER = 0x82
const DROPPED = 0

export interface FoldedText {
  /**
   * ASCII, or one of the three codes above: one byte for each UTF-16 unit that is kept, and one
   * byte for the two units of a mathematical digit.
   */
  readonly codes: Uint8Array
  readonly size: number
  /** The UTF-16 offset in the text where the character of `codes[i]` starts. */
  startOf(i: number): number
  /** The UTF-16 offset in the text where the character of `codes[i - 1]` ends. */
  endOf(i: number): number
}

/**
 * Folds full-width forms, digits of other scripts, accents and spaces; drops zero-width characters.
 */
export function foldText(text: string): FoldedText {
  const codes = new Uint8Array(text.length)
  let plain = 0
  for (; plain < text.length; plain++) {
    const unit = text.charCodeAt(plain)
    const code = FOLD[unit] ?? OTHER
    if (code === DROPPED || unit === MATH) break
    codes[plain] = code
  }
  if (plain === text.length) return { codes, size: plain, startOf: (i) => i, endOf: (i) => i }
  return foldRest(text, codes, plain)
}

/**
 * Folds the rest of the text. From `from`, the first unit that is dropped or equals MATH, offsets
 * in the text and in `codes` may differ.
 */
function foldRest(text: string, codes: Uint8Array, from: number): FoldedText {
  const at = new Int32Array(text.length + 1)
  for (let i = 0; i < from; i++) at[i] = i
  let size = from
  for (let i = from; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    const code = unit === MATH ? mathDigit(text.charCodeAt(i + 1)) : (FOLD[unit] ?? OTHER)
    if (code === DROPPED) continue
    at[size] = i
    codes[size++] = code
    if (unit === MATH && code !== OTHER) i++
  }
  at[size] = text.length
  return {
    codes,
    size,
    startOf: (i) => at[i] ?? text.length,
    endOf: (i) => {
      const last = at[i - 1] ?? 0
      const pair = text.charCodeAt(last) === MATH && isDigit(codes[i - 1] ?? 0)
      return last + (pair ? 2 : 1)
    },
  }
}

export function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

/** The high surrogate of the mathematical letters and digits (U+1D400 to U+1D7FF). */
const MATH = 0xd835

/** The code of the low surrogate after MATH: a digit (U+1D7CE to U+1D7FF), otherwise OTHER. */
function mathDigit(low: number): number {
  return low >= 0xdfce && low <= 0xdfff ? 48 + ((low - 0xdfce) % 10) : OTHER
}

/** Zero digits of scripts beyond WORDS_END, below which every character is examined. */
const FAR_ZEROS = [0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0]
const WORDS_END = 0x2e80
const FOLD = makeTable()

function makeTable(): Uint8Array {
  const table = new Uint8Array(0x10000).fill(OTHER)
  for (let c = 1; c < 0x80; c++) table[c] = c
  table[0x09] = 0x20
  for (const c of [0x0b, 0x0c, 0x0d, 0x85, 0x2028, 0x2029]) table[c] = 0x0a
  for (let c = 0x80; c < WORDS_END; c++) {
    const character = String.fromCharCode(c)
    if (!/\p{Nd}/u.test(character)) table[c] = table[c] === 0x0a ? 0x0a : classOf(character)
    else for (let digit = 0; digit < 10; digit++) table[c++] = 48 + digit
    if (/\p{Nd}/u.test(character)) c--
  }
  for (const zero of FAR_ZEROS)
    for (let digit = 0; digit < 10; digit++) table[zero + digit] = 48 + digit
  for (let c = 0xff01; c <= 0xff5e; c++) table[c] = c - 0xfee0
  table[0x3000] = 0x20
  table[0xff61] = table[0x3002] = 0x2e
  table[0xfe63] = 0x2d
  table[0xfeff] = DROPPED
  for (let c = 0xfe00; c <= 0xfe0f; c++) table[c] = DROPPED
  return table
}

function classOf(character: string): number {
  if (/\p{Zs}/u.test(character)) return 0x20
  if (/\p{Pd}|\u2212|\u2043/u.test(character)) return 0x2d
  // Format characters (zero-width, soft hyphen, direction marks) and combining accents.
  if (/\p{Cf}|\p{Mn}|\p{Me}/u.test(character)) return DROPPED
  const base = character.normalize('NFKD').replaceAll(/\p{M}/gu, '')
  if (/^[A-Za-z0-9]$/.test(base)) return base.charCodeAt(0)
  if (/\p{Lu}/u.test(character)) return OTHER_UPPER
  return /\p{L}|\p{M}/u.test(character) ? OTHER_LOWER : OTHER
}
