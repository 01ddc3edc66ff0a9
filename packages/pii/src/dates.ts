// Dates in digits and with names of months, days of the week, years, ages.

import { isDay } from './checksums.ts'
import { isDigit } from './fold.ts'
import type { Matches } from './matches.ts'
import { gapAfter } from './number-chain.ts'
import { codesOf, role, type Scan } from './scan.ts'

const MONTH = role('month')
const WEEKDAY = role('weekday')
const BEFORE_YEAR = role('before_year')
const BIRTH = role('birth')
const AGE_AFTER = role('age_after')
const AGE_BEFORE = role('age_before')
const OLD = role('old')
const COLON = 0x3a
const BETWEEN = codesOf(' ,-./')

function number(scan: Scan, word: number): number {
  let value = 0
  if (scan.length(word) > 4) return -1
  for (let i = scan.start(word); i < scan.end(word); i++) value = value * 10 + scan.at(i) - 48
  return value
}

function isYear(scan: Scan, word: number): boolean {
  const year = number(scan, word)
  return scan.isDigits(word) && scan.length(word) === 4 && year >= 1900 && year < 2100
}

/** Finds three groups with the same separator - / or . twice. True for a date, even if unwanted. */
export function findNumericDate(scan: Scan, word: number, found: Matches): boolean {
  const gap = gapAfter(scan, word)
  if (gap < 0x2d || gap > 0x2f || gapAfter(scan, word + 1) !== gap) return false
  if (gapAfter(scan, word + 2) === gap || !isThreePartDate(scan, word)) return false
  const start = scan.start(word)
  const before = scan.at(start - 1)
  if (before === gap || (before === 0x2d && isDigit(scan.at(start - 2)))) return false
  const end = timeEnd(scan, scan.end(word + 2))
  const birth = scan.near(BIRTH, start, end)
  const long = scan.length(word) === 4 || scan.length(word + 2) === 4
  found.add('DATE_TIME', start, end, (long ? 0.7 : 0.4) + (birth ? 0.2 : 0))
  return true
}

function isThreePartDate(scan: Scan, word: number): boolean {
  const [a, b, c] = [number(scan, word), number(scan, word + 1), number(scan, word + 2)]
  const sizes = scan.length(word) * 100 + scan.length(word + 1) * 10 + scan.length(word + 2)
  if (scan.length(word + 1) > 2) return false
  if (sizes >= 400 && sizes <= 422) return isYear(scan, word) && isDay(b, c)
  if (scan.length(word) > 2 || (scan.length(word + 2) !== 2 && !isYear(scan, word + 2)))
    return false
  return isDay(a, b) || isDay(b, a) ? c >= 0 : false
}

/** The end of a time after a date, such as " 11:34:35" or "T11:34Z". */
function timeEnd(scan: Scan, end: number): number {
  let i = end
  if (scan.at(i) === 0x2c) i++
  const join = scan.at(i) | 0x20
  if (join !== 0x20 && join !== 0x74) return end
  i = clockEnd(scan, i + 1)
  return i === 0 ? end : i
}

/** The end of a time at `from`: hh:mm, seconds, fraction, am or pm, zone; 0 if there is none. */
function clockEnd(scan: Scan, from: number): number {
  let i = from
  while (i - from < 2 && isDigit(scan.at(i))) i++
  if (i === from || scan.at(i) !== COLON || !isTwoDigits(scan, i + 1)) return 0
  i += 3
  if (scan.at(i) === COLON && isTwoDigits(scan, i + 1)) i += 3
  if (scan.at(i) === 0x2e && isDigit(scan.at(i + 1))) {
    i++
    for (let most = i + 9; i < most && isDigit(scan.at(i)); ) i++
  }
  const half = scan.at(i) === 0x20 ? i + 1 : i
  const letter = scan.at(half) | 0x20
  if ((letter === 0x61 || letter === 0x70) && (scan.at(half + 1) | 0x20) === 0x6d) return half + 2
  if ((scan.at(i) | 0x20) === 0x7a) return i + 1
  const sign = scan.at(i)
  if ((sign === 0x2b || sign === 0x2d) && isTwoDigits(scan, i + 1)) {
    const colon = scan.at(i + 3) === COLON ? 1 : 0
    return isTwoDigits(scan, i + 3 + colon) ? i + 5 + colon : i + 3
  }
  return i
}

function isTwoDigits(scan: Scan, i: number): boolean {
  return isDigit(scan.at(i)) && isDigit(scan.at(i + 1)) && !isDigit(scan.at(i + 2))
}

/** Finds the date at a word for a time: a month with its day or year, or a day of the week. */
export function findNamedDate(scan: Scan, word: number, found: Matches): void {
  if (scan.has(word, WEEKDAY)) found.add('DATE_TIME', scan.start(word), scan.end(word), 0.5)
  if (!scan.has(word, MONTH)) return
  let first = word
  let last = word
  if (isBeside(scan, word - 1) && isDayWord(scan, word - 1)) first = word - 1
  else if (isBeside(scan, word) && isDayWord(scan, word + 1)) last = word + 1
  if (isBeside(scan, last) && isYear(scan, last + 1)) last++
  if (first === last) return
  const end = timeEnd(scan, scan.end(last))
  found.add('DATE_TIME', scan.start(first), end, 0.7)
}

/** Whether a word and the next may be parts of one date or age. */
function isBeside(scan: Scan, word: number): boolean {
  return scan.isBesideNext(word, BETWEEN)
}

/** Whether a word is 1 to 31, optionally with st, nd, rd or th. */
function isDayWord(scan: Scan, word: number): boolean {
  let value = 0
  let i = scan.start(word)
  for (; i < scan.end(word) && isDigit(scan.at(i)) && value < 100; i++)
    value = value * 10 + scan.at(i) - 48
  if (value < 1 || value > 31) return false
  if (i === scan.end(word)) return true
  const letters = ((scan.at(i) | 0x20) << 8) | (scan.at(i + 1) | 0x20)
  return i + 2 === scan.end(word) && [0x7374, 0x6e64, 0x7264, 0x7468].includes(letters)
}

/** Finds a year without month and day, after a word that introduces a year. */
export function findYear(scan: Scan, word: number, found: Matches): void {
  if (!isYear(scan, word) || !scan.has(word - 1, BEFORE_YEAR)) return
  if (scan.start(word) - scan.end(word - 1) !== 1) return
  found.add('DATE_TIME', scan.start(word), scan.end(word), 0.5)
}

/** "62 years old", "62-year-old", "26 y/o", "aged 62", "at the age of 62", "turned 62". */
export function findAge(scan: Scan, word: number, found: Matches): void {
  const after = scan.has(word + 1, AGE_AFTER) && isBeside(scan, word)
  const old = after && scan.has(word + 2, OLD) && isBeside(scan, word + 1)
  const before = scan.has(word - 1, AGE_BEFORE) && isBeside(scan, word - 1)
  const ofAge =
    scan.has(word - 2, AGE_BEFORE) && isBeside(scan, word - 1) && isBeside(scan, word - 2)
  if (!old && !before && !(ofAge && scan.length(word) === 2)) return
  if (number(scan, word) <= 120 && scan.at(scan.end(word)) !== 0x25)
    found.add('AGE', scan.start(word), scan.end(word), old ? 0.8 : 0.6)
}
