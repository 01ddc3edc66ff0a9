// Recognises numbers: tests a sequence of digit groups as a whole and group by group.

import { CARD_SHAPES, cardScore } from './cards.ts'
import { findAge, findNumericDate, findYear } from './dates.ts'
import { CONTEXT, digitIdsOf, ID_SHAPES } from './digit-ids.ts'
import type { Matches } from './matches.ts'
import { chainEnd, Groups, gapAfter, isPartOfNumber } from './number-chain.ts'
import { findInnerPhone, findPhone } from './phones.ts'
import { role, type Scan } from './scan.ts'

const CARD = role('card')
const OTHER = role('other')
const ZIP = role('zip')
const DOT = 0x2e

const groups = new Groups()

/** The sizes of up to five groups, read as one number, that are looked at together. */
const SHAPES = new Uint8Array(100_000)
for (const shape of [...CARD_SHAPES, ...ID_SHAPES]) SHAPES[shape] = 1

/** From a word of digits on; gives the first word after those it looked at. */
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

/** Gives the last word of what it found, so that parts of it are not looked at again. */
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

/** Cards and identifiers in the groups from `word` to `to`; true if they are any. */
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

/** Four groups up to 255, neither more nor fewer with dots between. */
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

/** Digits right behind a word for a postal code. */
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
  found.add('ZIP_CODE', start, end, 0.6)
}
