// Finds structured addresses: a number beside a street's name, boxes, flats and suites.

import { isDigit } from './fold.ts'
import { STREET_ENDINGS } from './lexicon.ts'
import type { Matches } from './matches.ts'
import { codesOf, DIGITS, role, type Scan } from './scan.ts'

const STREET = role('street')
const STREET_FIRST = role('street_first')
const UNIT = role('unit')
const POST_BOX = role('post_box')
const FORCES = role('forces')
const NAME_WORDS = 4
const BETWEEN = codesOf(' .#')

/** Finds addresses at a word of letters. */
export function findStreets(scan: Scan, word: number, found: Matches): void {
  const known = scan.words[word] !== 0
  if (known && scan.has(word, UNIT)) findUnit(scan, word, found)
  if (known && scan.has(word, FORCES)) findForces(scan, word, found)
  if (known && scan.has(word, STREET_FIRST) && scan.isCapital(word)) findAfter(scan, word, found)
  if ((known && scan.has(word, STREET)) || hasStreetEnding(scan, word))
    findBefore(scan, word, found)
}

/** Finds "Apt. 12" and "Box 345", with "P.O." if it comes before. */
function findUnit(scan: Scan, word: number, found: Matches): void {
  const next = word + 1
  if (!isNear(scan, word) || ((scan.kinds[next] ?? 0) & DIGITS) === 0) return
  const boxed = scan.has(word - 1, POST_BOX) && isNear(scan, word - 1)
  const dotted = scan.length(word - 1) === 1 && scan.length(word - 2) === 1
  const first = boxed ? word - 1 : dotted && isNear(scan, word - 2) ? word - 2 : word
  found.add('STREET_ADDRESS', scan.start(first), scan.end(next), first < word ? 0.7 : 0.55)
}

/** Finds military addresses such as "APO AE 09012": two letters of the theatre, then the code. */
function findForces(scan: Scan, word: number, found: Matches): void {
  const last = word + 2
  if (!isNear(scan, word) || !isNear(scan, word + 1)) return
  if (scan.length(word + 1) !== 2 || scan.length(last) !== 5 || !scan.isDigits(last)) return
  found.add('STREET_ADDRESS', scan.start(word), scan.end(last), 0.7)
}

/** Finds streets with the kind first and a number on either side: "Via Roma 71". */
function findAfter(scan: Scan, word: number, found: Matches): void {
  let last = word
  while (last - word < NAME_WORDS && isSpaced(scan, last) && scan.isLetters(last + 1)) last++
  const numbered = isSpaced(scan, last) && isHouse(scan, last + 1)
  const before = isHouse(scan, word - 1) && isSpaced(scan, word - 1)
  if (last === word || (!numbered && !before)) return
  const first = before ? word - 1 : word
  found.add('STREET_ADDRESS', scan.start(first), scan.end(numbered ? last + 1 : last), 0.65)
}

/** Finds streets with the name before its kind and a number on either side: "221 Baker Street". */
function findBefore(scan: Scan, word: number, found: Matches): void {
  let first = word
  while (word - first < NAME_WORDS && isSpaced(scan, first - 1) && scan.isName(first - 1)) first--
  const before = isHouse(scan, first - 1) && isSpaced(scan, first - 1)
  const numbered = isSpaced(scan, word) && isHouse(scan, word + 1)
  const named = first < word || hasStreetEnding(scan, word)
  if (!named || (!before && !numbered) || !scan.isCapital(first)) return
  const start = scan.start(before ? first - 1 : first)
  found.add('STREET_ADDRESS', start, scan.end(numbered ? word + 1 : word), 0.65)
}

/** Whether a word is a house number, such as "5", "1634" or "12b". */
function isHouse(scan: Scan, word: number): boolean {
  if (word < 0 || word >= scan.count || scan.length(word) > 5) return false
  return isDigit(scan.at(scan.start(word)))
}

/** Whether one space, optionally after a dot or comma, separates a word from the next. */
function isSpaced(scan: Scan, word: number): boolean {
  if (word < 0 || word + 1 >= scan.count) return false
  const from = scan.end(word)
  const size = scan.start(word + 1) - from
  const code = scan.at(from)
  if (size === 1) return code === 0x20
  return size === 2 && (code === 0x2e || code === 0x2c) && scan.at(from + 1) === 0x20
}

function isNear(scan: Scan, word: number): boolean {
  return scan.isBesideNext(word, BETWEEN)
}

function hasStreetEnding(scan: Scan, word: number): boolean {
  const size = scan.length(word)
  if (size < 6 || size > 40 || !scan.isCapital(word)) return false
  const end = scan.end(word)
  const endings = BY_LAST[(scan.at(end - 1) | 0x20) & 0x7f] ?? []
  return endings.some((ending) => size >= ending.length + 3 && endsWith(scan, end, ending))
}

function endsWith(scan: Scan, end: number, ending: string): boolean {
  const from = end - ending.length
  for (let i = 0; i < ending.length; i++)
    if ((scan.at(from + i) | 0x20) !== ending.charCodeAt(i)) return false
  return true
}

const BY_LAST = Array.from({ length: 128 }, (_, code) =>
  STREET_ENDINGS.filter((ending) => ending.charCodeAt(ending.length - 1) === code),
)
