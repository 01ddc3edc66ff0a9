// Telephone numbers: international and North American ones by form, others where one is spoken of.

import type { Matches } from './matches.ts'
import { GROUPS_MAX, Groups, gapAfter, isPartOfNumber } from './number-chain.ts'
import { role, type Scan } from './scan.ts'

const PHONE = role('phone')
const OTHER = role('other')
const PLUS = 0x2b
const OPEN = 0x28

const groups = new Groups()

/** Looks at the chain of groups that begins at `word` as one number. */
export function findPhone(scan: Scan, word: number, last: number, found: Matches): void {
  const count = last - word + 1
  if (count > GROUPS_MAX || isPartOfNumber(scan, word, last)) return
  if (!groups.read(scan, word, count)) return
  const extended = isExtension(scan, last)
  const size = groups.total - (extended ? scan.length(last) : 0)
  if (size < 6 || size > 15) return

  const start = beginning(scan, word)
  const plus = scan.at(start) === PLUS
  const form = formScore(scan, { word, count: extended ? count - 1 : count, size, plus })
  if (form === 0) return
  const end = scan.end(last)
  const named = scan.near(PHONE, start, end)
  const other = !plus && scan.justBefore(OTHER, start, 20)
  found.add('PHONE_NUMBER', start, end, form + (named ? 0.35 : 0) - (other ? 0.3 : 0))
}

/** Before the first digit: a plus, an opening bracket. */
function beginning(scan: Scan, word: number): number {
  let start = scan.start(word)
  if (scan.at(start - 1) === OPEN) start--
  if (scan.at(start - 1) === PLUS) start--
  return start
}

function isExtension(scan: Scan, last: number): boolean {
  const before = last > 0 ? gapAfter(scan, last - 1) | 0x20 : 0
  return before === 0x78 && scan.length(last) <= 6
}

interface Form {
  readonly word: number
  readonly count: number
  /** Digits without an extension. */
  readonly size: number
  readonly plus: boolean
}

function formScore(scan: Scan, form: Form): number {
  const { count, size, plus } = form
  const first = groups.digit(0)
  if (plus) return size >= 8 && first > 0 ? 0.75 : 0
  if (groups.isRepeated()) return 0
  if (first === 0 && groups.digit(1) === 0 && size >= 10 && groups.digit(2) > 0)
    return count > 1 ? 0.6 : 0.3
  if (isSlashed(scan, form)) return 0
  if (isNorthAmerican(form)) return count > 1 ? 0.55 : 0.2
  // A trunk prefix and three groups or more: national notation in most of the world.
  if (first === 0 && size >= 9 && size <= 11) return count >= 3 ? 0.5 : 0.25
  const bracketed = scan.at(scan.start(form.word) - 1) === OPEN
  return size >= 7 || count > 1 ? (bracketed ? 0.3 : 0.2) : 0
}

/** Area and exchange begin with 2 to 9 where a number stands without its brackets. */
function isNorthAmerican({ count, size }: Form): boolean {
  const prefixed = size === 11 && groups.digit(0) === 1
  if (size !== 10 && !prefixed) return false
  const at = prefixed ? 1 : 0
  const shape = Math.floor(groups.shape / (groups.count > count ? 10 : 1))
  const shaped = shape === 334 || shape === 1334 || count === 1
  return shaped && groups.digit(at) >= 2 && (count > 1 || groups.digit(at + 3) >= 2)
}

/** Fractions and dates have slashes; telephone numbers one after the area at most. */
function isSlashed(scan: Scan, { word, count }: Form): boolean {
  for (let i = 1; i < count - 1; i++) if (gapAfter(scan, word + i) === 0x2f) return true
  return false
}

/** A North American number inside a longer chain, whole groups; true if it is one. */
export function findInnerPhone(scan: Scan, word: number, found: Matches): boolean {
  if (scan.length(word) !== 3 || scan.length(word + 1) !== 3) return false
  if (scan.length(word + 2) !== 4 || !groups.read(scan, word, 3)) return false
  if (groups.digit(0) < 2 || groups.digit(3) < 2 || isPartOfNumber(scan, word, word + 2))
    return false
  if (groups.gap === 0 || groups.gap === 0x2f) return false
  const start = beginning(scan, word)
  const named = scan.near(PHONE, start, scan.end(word + 2))
  return found.add('PHONE_NUMBER', start, scan.end(word + 2), 0.4 + (named ? 0.35 : 0))
}
