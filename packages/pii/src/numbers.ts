// Recognises numbers: tests a sequence of digit groups as a whole and group by group.

import { isLuhn } from './checksums.ts'
import { findAge, findNumericDate, findYear } from './dates.ts'
import { CONTEXT, digitIdsOf, ID_SHAPES } from './digit-ids.ts'
import { isDigit } from './fold.ts'
import type { Matches } from './matches.ts'
import { chainEnd, GROUPS_MAX, Groups, gapAfter, isPartOfNumber } from './number-chain.ts'
import { role, type Scan } from './scan.ts'

/**
 * The score of a number as a card number, with a correct check digit; 0 if it is not one. The
 * ranges are those that ISO/IEC 7812 issuers publish.
 */
function cardScore(groups: Groups): number {
  const { total } = groups
  if (total < 12 || total > 19) return 0
  const known = rangeScore(groups, total)
  const score = known === 0 && total >= 15 && groups.digit(0) > 0 ? UNKNOWN : known
  return score > 0 && !groups.isRepeated() && isLuhn(groups.digits, total) ? score : 0
}

const SURE = 0.8
/** Score for lengths that other numbers have as often. */
const DOUBTFUL = 0.4
/** Score for unknown ranges, as of shops and new issuers: a card only with a context word. */
const UNKNOWN = 0.35

function rangeScore(groups: Groups, total: number): number {
  const four = groups.value(0, 4)
  const two = Math.floor(four / 100)
  if (total === 12) return isMaestro(two) ? DOUBTFUL : 0
  if (total === 13) return Math.floor(two / 10) === 4 || isMaestro(two) ? DOUBTFUL : 0
  if (total === 14) return isDiners(four) ? SURE : isMaestro(two) ? DOUBTFUL : 0
  if (total === 15) return isFifteen(four, two) ? SURE : isMaestro(two) ? DOUBTFUL : 0
  if (total === 16) return isSixteen(four, two) ? SURE : 0
  if (two === 62 || isDiscover(four, two) || isJcb(four)) return SURE
  if (Math.floor(two / 10) === 4) return total === 19 ? SURE : 0
  return isMaestro(two) ? 0.6 : 0
}

/** American Express, and the fifteen digits of early JCB. */
function isFifteen(four: number, two: number): boolean {
  return two === 34 || two === 37 || four === 1800 || four === 2131
}

function isSixteen(four: number, two: number): boolean {
  if (Math.floor(two / 10) === 4 || isMaestro(two)) return true
  if ((two >= 51 && two <= 55) || (four >= 2221 && four <= 2720)) return true
  // Mir; RuPay; Diners and similar cards with sixteen digits.
  if ((four >= 2200 && four <= 2204) || two === 81 || two === 82) return true
  return isJcb(four) || isDiscover(four, two) || isDiners(four)
}

function isJcb(four: number): boolean {
  return four >= 3528 && four <= 3589
}

function isDiscover(four: number, two: number): boolean {
  return four === 6011 || two === 65 || (four >= 6440 && four <= 6499)
}

function isDiners(four: number): boolean {
  const three = Math.floor(four / 10)
  const two = Math.floor(four / 100)
  return (three >= 300 && three <= 305) || three === 309 || two === 36 || two === 38 || two === 39
}

function isMaestro(two: number): boolean {
  return two === 50 || (two >= 56 && two <= 69)
}

/** The group sizes that cards are printed with; 4444 is four times four. */
const CARD_SHAPES: readonly number[] = [...[4444, 465, 464, 44441, 44442, 44443, 4443, 844, 88]]

const PHONE = role('phone')
const PLUS = 0x2b
const OPEN = 0x28

/** Tests the chain of groups that begins at `word` as one telephone number. */
function findPhone(scan: Scan, word: number, last: number, found: Matches): void {
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

/** The start of a number, including a plus or an opening bracket before the first digit. */
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
  /** Number of digits without an extension. */
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

/** Whether the form is North American: area and exchange begin with 2 to 9. */
function isNorthAmerican({ count, size }: Form): boolean {
  const prefixed = size === 11 && groups.digit(0) === 1
  if (size !== 10 && !prefixed) return false
  const at = prefixed ? 1 : 0
  const shape = Math.floor(groups.shape / (groups.count > count ? 10 : 1))
  const shaped = shape === 334 || shape === 1334 || count === 1
  return shaped && groups.digit(at) >= 2 && (count > 1 || groups.digit(at + 3) >= 2)
}

/** Whether slashes rule out a telephone number, which has at most one, after the area. */
function isSlashed(scan: Scan, { word, count }: Form): boolean {
  for (let i = 1; i < count - 1; i++) if (gapAfter(scan, word + i) === 0x2f) return true
  return false
}

/** Finds a North American number of whole groups inside a longer chain. True if it is one. */
function findInnerPhone(scan: Scan, word: number, found: Matches): boolean {
  if (scan.length(word) !== 3 || scan.length(word + 1) !== 3) return false
  if (scan.length(word + 2) !== 4 || !groups.read(scan, word, 3)) return false
  if (groups.digit(0) < 2 || groups.digit(3) < 2 || isPartOfNumber(scan, word, word + 2))
    return false
  if (groups.gap === 0 || groups.gap === 0x2f) return false
  const start = beginning(scan, word)
  const named = scan.near(PHONE, start, scan.end(word + 2))
  return found.add('PHONE_NUMBER', start, scan.end(word + 2), 0.4 + (named ? 0.35 : 0))
}

const CARD = role('card')
const OTHER = role('other')
const ZIP = role('zip')
const DOT = 0x2e

const groups = new Groups()

/** The shapes (sizes of up to five groups as one number) that are tested together. */
const SHAPES = new Uint8Array(100_000)
for (const shape of [...CARD_SHAPES, ...ID_SHAPES]) SHAPES[shape] = 1

/** Finds numbers from a word of digits on. Returns the first word that it has not tested. */
export function findNumbers(scan: Scan, first: number, found: Matches): number {
  const last = chainEnd(scan, first)
  if (last === first) findAlone(scan, first, found)
  else findChain(scan, first, last, found)
  findZip(scan, first, last, found)
  return last + 1
}

function findAlone(scan: Scan, word: number, found: Matches): void {
  const size = scan.length(word)
  if (size <= 3) findAge(scan, word, found)
  if (size === 4) findYear(scan, word, found)
  if (size < 6) return
  findPhone(scan, word, word, found)
  findIds(scan, word, word, found)
}

function findChain(scan: Scan, first: number, last: number, found: Matches): void {
  if (!findNumericDate(scan, first, found)) findPhone(scan, first, last, found)
  for (let word = first; word <= last; word++) {
    if (word > first) findNumericDate(scan, word, found)
    if (last - word >= 3) findIPv4(scan, word, found)
    const inner = last - word > 2 && findInnerPhone(scan, word, found)
    word = inner ? word + 2 : findShapes(scan, word, last, found)
  }
}

/** Returns the last word of the finding, so that its parts are not tested again. */
function findShapes(scan: Scan, word: number, last: number, found: Matches): number {
  if (scan.length(word) >= 6) findIds(scan, word, word, found)
  const most = Math.min(last, word + 4)
  let shape = scan.length(word)
  let done = word
  if (shape < 2 || shape > 8) return word
  for (let to = word + 1; to <= most && scan.length(to) <= 9; to++) {
    shape = shape * 10 + scan.length(to)
    if (SHAPES[shape] === 1 && findIds(scan, word, to, found)) done = to
  }
  return done
}

/** Finds cards and identifiers in the groups from `word` to `to`. True if there is one. */
function findIds(scan: Scan, word: number, to: number, found: Matches): boolean {
  if (scan.length(word) > 19 || !groups.read(scan, word, to - word + 1)) return false
  const { total, gap, count } = groups
  if (count > 1 && (gap < 0x20 || gap > DOT || gap === 0x28)) return false
  if (isPartOfNumber(scan, word, to)) return false
  const start = scan.start(word)
  const end = scan.end(to)
  const other = scan.justBefore(OTHER, start, 20) ? 0.25 : 0

  const card = cardScore(groups)
  const named = card > 0 && scan.near(CARD, start, end) ? 0.2 : 0
  let any = card > 0 && found.add('CREDIT_CARD', start, end, card + named - other)
  for (const id of digitIdsOf(total)) {
    const shaped = count > 1 && id.shapes.includes(groups.shape)
    if (count > 1 && !shaped) continue
    const score = id.score + (shaped ? id.shaped : 0)
    const named = scan.near(id.role, start, end)
    if ((!named && score < 0.1) || !id.isValid(groups)) continue
    any = found.add(id.entity, start, end, score + (named ? CONTEXT : -other)) || any
  }
  return any
}

/** Finds exactly four dotted groups up to 255. */
function findIPv4(scan: Scan, word: number, found: Matches): void {
  if (scan.at(scan.start(word) - 1) === DOT) return
  for (let i = 0; i < 4; i++) {
    if (scan.length(word + i) > 3 || (i < 3 && gapAfter(scan, word + i) !== DOT)) return
    const size = scan.length(word + i)
    if (size === 3 && (scan.at(scan.start(word + i)) - 48) * 100 + tens(scan, word + i) > 255)
      return
  }
  const start = scan.start(word)
  const end = scan.end(word + 3)
  if (gapAfter(scan, word + 3) === DOT) return
  const other = scan.justBefore(OTHER, start, 20)
  found.add('IP_ADDRESS', start, end, other ? 0.4 : 0.85)
}

function tens(scan: Scan, word: number): number {
  return (scan.at(scan.start(word) + 1) - 48) * 10 + scan.at(scan.start(word) + 2) - 48
}

/** Finds digits directly after a word for a postal code. */
function findZip(scan: Scan, first: number, last: number, found: Matches): void {
  const start = scan.start(first)
  if (!scan.justBefore(ZIP, start, 16)) return
  const size = scan.length(first)
  if (size < 3 || size > 6) return
  let end = scan.end(first)
  if (last > first && scan.start(first + 1) === end + 1 && scan.length(first + 1) <= 4)
    end = scan.end(first + 1)
  else if (scan.at(end) === 0x20 && scan.length(first + 1) === 2 && scan.isCapital(first + 1))
    end = scan.start(first + 1) === end + 1 ? scan.end(first + 1) : end
  // A longer number, of which the rest would be taken for another.
  if (scan.at(end) === 0x2d && isDigit(scan.at(end + 1))) return
  found.add('ZIP_CODE', start, end, 0.6)
}
