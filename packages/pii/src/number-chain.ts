// Chains of digit groups: "4111 1111 1111 1111", "(0)20 7946-0958", "2026-01-31".

import { isDigit } from './fold.ts'
import { DIGITS, type Scan } from './scan.ts'

const SPACE = 0x20
export const GROUPS_MAX = 8

/**
 * The separator of two groups: the character if it is one of space, - . / x; `(` for brackets and
 * dashes with spaces, which telephone numbers have; 0 if the groups do not belong together.
 */
export function gapAfter(scan: Scan, word: number): number {
  if (!scan.isDigits(word) || !scan.isDigits(word + 1)) return 0
  const from = scan.end(word)
  const to = scan.start(word + 1)
  const first = scan.at(from)
  if (to - from === 1) return isJoin(first) ? first : first === 0x29 ? 0x28 : 0
  if (to - from > 3) return 0
  for (let i = from; i < to; i++) {
    const code = scan.at(i)
    if (code !== SPACE && code !== 0x28 && code !== 0x29 && code !== 0x2d && code !== 0x2e) return 0
  }
  // Two spaces or two dots indicate a table or a range.
  return scan.at(from) === scan.at(to - 1) && scan.at(from + 1) === scan.at(from) ? 0 : 0x28
}

/** Whether exactly this character separates a word from the next; false for the code `(`. */
function isGap(scan: Scan, word: number, gap: number): boolean {
  const from = scan.end(word)
  return scan.at(from) === gap && scan.start(word + 1) === from + 1
}

function isJoin(code: number): boolean {
  return code === SPACE || (code >= 0x2d && code <= 0x2f) || code === 0x78 || code === 0x58
}

/** The digits of consecutive groups, one per element. */
export class Groups {
  readonly digits = new Uint8Array(48)
  /** Number of groups, at most 8. */
  count = 0
  /** Number of digits. */
  total = 0
  /** The sizes of the groups as digits of a number, such as 4444 for a card number. */
  shape = 0
  /** The separator between all groups; 0 if separators differ or there is one group. */
  gap = 0

  /** Reads `count` groups from `word`. False if there are fewer or they are too long. */
  read(scan: Scan, word: number, count: number): boolean {
    this.total = 0
    this.shape = 0
    this.count = count
    this.gap = count > 1 ? gapAfter(scan, word) : 0
    for (let i = 0; i < count; i++) {
      const size = scan.length(word + i)
      if (this.total + size > this.digits.length || !scan.isDigits(word + i)) return false
      if (i > 1 && !isGap(scan, word + i - 1, this.gap)) this.gap = 0
      this.shape = this.shape * 10 + Math.min(size, 9)
      const from = scan.start(word + i)
      for (let j = 0; j < size; j++) this.digits[this.total + j] = scan.at(from + j) - 48
      this.total += size
    }
    return true
  }

  digit(i: number): number {
    return this.digits[i] ?? 0
  }

  /** `count` digits from `from` as a number. */
  value(from: number, count: number): number {
    let value = 0
    for (let i = from; i < from + count; i++) value = value * 10 + this.digit(i)
    return value
  }

  isRepeated(): boolean {
    for (let i = 1; i < this.total; i++) if (this.digit(i) !== this.digit(0)) return false
    return true
  }
}

/** The last word of the chain that begins at `word`. */
export function chainEnd(scan: Scan, word: number): number {
  let last = word
  while (gapAfter(scan, last) !== 0) last++
  return last
}

/** Whether the words are part of a decimal, an amount of money or an identifier with letters. */
export function isPartOfNumber(scan: Scan, first: number, last: number): boolean {
  const from = scan.start(first)
  const before = scan.at(from - 1)
  if (before === 0x24 || before === 0x5f || before === 0x25) return true
  if ((before === 0x2e || before === 0x2c) && isDigit(scan.at(from - 2))) return true
  if (before === 0x2d && first > 0 && scan.end(first - 1) === from - 1 && isMixed(scan, first - 1))
    return true
  const end = scan.end(last)
  const after = scan.at(end)
  if ((after === 0x2e || after === 0x2c) && isDigit(scan.at(end + 1))) return true
  if (after === 0x25 || after === 0x5f) return true
  return after === 0x2d && scan.start(last + 1) === end + 1 && isMixed(scan, last + 1)
}

function isMixed(scan: Scan, word: number): boolean {
  const kind = scan.kinds[word] ?? 0
  return word < scan.count && (kind & DIGITS) !== 0 && kind !== DIGITS
}
