// Finds e-mail addresses, web addresses and IPv6 addresses.

import { isDigit, OTHER_LOWER, OTHER_UPPER } from './fold.ts'
import type { Matches } from './matches.ts'
import { codesOf, FOREIGN, LETTERS, type Scan } from './scan.ts'

const AT = 0x40
const COLON = 0x3a
const DOT = 0x2e
const DOMAIN_MAX = 255

/** Endings with which a bare name counts as a domain; others need a scheme or "www." in front. */
const ENDINGS = new Set('com org net edu gov mil int info biz'.split(' '))

export function findInternet(scan: Scan, found: Matches): void {
  const { codes, size } = scan
  for (let i = codes.indexOf(AT); i >= 0 && i < size; i = codes.indexOf(AT, i + 1))
    findEmail(scan, i, found)
  for (let i = codes.indexOf(COLON); i >= 0 && i < size; ) {
    const end = findWithScheme(scan, i, found) || findIPv6(scan, i, found)
    i = codes.indexOf(COLON, Math.max(end, i + 1))
  }
}

/** Finds an address at its `@`. The part before it may have any length, so that a redaction leaves
 * nothing of it. It ends at another `@`. */
function findEmail(scan: Scan, at: number, found: Matches): void {
  let start = at
  while (isLocal(scan.at(start - 1))) start--
  while (start < at && !isNameCode(scan.at(start))) start++
  if (start === at || scan.at(at - 1) === DOT) return
  const end = domainEnd(scan, at + 1)
  if (end === 0) return
  found.add('EMAIL_ADDRESS', start, end, 0.95)
}

/** Whether a code is a letter or digit of any script, or a sign that addresses have in practice. */
function isLocal(code: number): boolean {
  return isNameCode(code) || LOCAL_SIGNS.includes(code)
}

const LOCAL_SIGNS = codesOf(".!#$%&'*+/=?^_`{|}~-")

function isNameCode(code: number): boolean {
  return isDigit(code) || isLetter(code) || code === OTHER_LOWER || code === OTHER_UPPER
}

/** The end of a domain: dotted labels, the last of two or more letters; 0 if there is none. */
function domainEnd(scan: Scan, from: number): number {
  let end = 0
  let label = from
  let letters = true
  let i = from
  for (; i - from < DOMAIN_MAX; i++) {
    const code = scan.at(i)
    if (isNameCode(code)) letters &&= !isDigit(code)
    else if (code === 0x2d && i > label) letters = false
    else {
      if (i === label) break
      if (label > from && letters && i - label >= 2) end = i
      if (code !== DOT) break
      label = i + 1
      letters = true
    }
  }
  return end
}

/** Finds an address with `scheme://` at the colon, up to a space, quote or bracket; 0 if none. */
function findWithScheme(scan: Scan, colon: number, found: Matches): number {
  if (scan.at(colon + 1) !== 0x2f || scan.at(colon + 2) !== 0x2f) return 0
  let start = colon
  while (colon - start < 16 && isLetter(scan.at(start - 1))) start--
  if (colon - start < 2) return 0
  const end = addressEnd(scan, colon + 3)
  if (end - colon < 5) return 0
  found.add('URL', start, end, 0.9)
  return end
}

function isLetter(code: number): boolean {
  const capital = code & 0xdf
  return capital >= 65 && capital <= 90 && code < 128
}

/** The end of an address, without the marks that close a sentence. */
function addressEnd(scan: Scan, from: number): number {
  let i = from
  while (i < scan.size && !isAfterAddress(scan.at(i))) i++
  while (i > from && TRAILING.includes(scan.at(i - 1))) i--
  return i
}

function isAfterAddress(code: number): boolean {
  return code <= 0x20 || code === 0x22 || code === 0x3c || code === 0x3e || code === 0x60
}

const TRAILING = codesOf(".,;:!?')]}*|\\")

/** Finds a domain at its last word: "example.com", "www.example.co.uk/path". */
export function findBareDomain(scan: Scan, word: number, found: Matches): void {
  let first = word
  while (word - first < 8 && isDotted(scan, first - 1)) first--
  const before = scan.at(scan.start(first) - 1)
  if (before === AT || before === DOT || before === 0x2f) return
  const www = isWww(scan, first)
  if (first === word || isDotted(scan, word) || (!www && !isEnding(scan, word))) return
  if (scan.at(scan.end(word)) === AT) return
  let end = scan.end(word)
  if (scan.at(end) === COLON && isDigit(scan.at(end + 1)))
    for (let most = end + 6; ++end < most && isDigit(scan.at(end)); );
  const path = scan.at(end) === 0x2f || scan.at(end) === 0x3f
  if (path) end = addressEnd(scan, end)
  found.add('URL', scan.start(first), end, www || path ? 0.85 : 0.6)
}

/** Whether exactly one dot or dash is between a word and the next. */
function isDotted(scan: Scan, word: number): boolean {
  if (word < 0 || word + 1 >= scan.count) return false
  const gap = scan.at(scan.end(word))
  return scan.start(word + 1) === scan.end(word) + 1 && (gap === DOT || gap === 0x2d)
}

function isWww(scan: Scan, word: number): boolean {
  const start = scan.start(word)
  if (scan.length(word) !== 3 || scan.at(start + 3) !== DOT) return false
  return [0, 1, 2].every((i) => (scan.at(start + i) | 0x20) === 0x77)
}

function isEnding(scan: Scan, word: number): boolean {
  if (scan.at(scan.start(word) - 1) !== DOT) return false
  return ENDINGS.has(wordText(scan, word))
}

function wordText(scan: Scan, word: number): string {
  let text = ''
  for (let i = scan.start(word); i < scan.end(word); i++)
    text += String.fromCharCode(scan.at(i) | 0x20)
  return text
}

/** Whether a word may be the end of a domain: letters after a dot. */
export function mayEndDomain(scan: Scan, word: number): boolean {
  const kind = scan.kinds[word] ?? 0
  return (kind & (LETTERS | FOREIGN)) !== 0 && scan.at(scan.start(word) - 1) === DOT
}

/** Finds eight groups of hexadecimal digits, or fewer around one "::"; 0 if there is none. */
function findIPv6(scan: Scan, colon: number, found: Matches): number {
  let start = colon
  while (colon - start < 5 && isHex(scan.at(start - 1))) start--
  const before = scan.at(start - 1)
  if (colon - start > 4 || isNameCode(before) || before === COLON || before === 0x5f) return 0
  let end = start
  while (end - start < 46 && (isHex(scan.at(end)) || scan.at(end) === COLON)) end++
  const after = scan.at(end)
  if (isNameCode(after) || after === 0x5f || after === 0x2d) return 0
  if (after === DOT && isDigit(scan.at(end + 1))) end = mappedEnd(scan, end)
  while (end > start && scan.at(end - 1) === COLON && scan.at(end - 2) !== COLON) end--
  if (!isIPv6(scan, start, end)) return 0
  found.add('IP_ADDRESS', start, end, 0.85)
  return end
}

function isHex(code: number): boolean {
  return isDigit(code) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66 && code < 128)
}

/** The end of the dotted part of "::ffff:192.0.2.1". */
function mappedEnd(scan: Scan, from: number): number {
  let end = from
  while (end - from < 13 && (isDigit(scan.at(end)) || scan.at(end) === DOT)) end++
  return scan.at(end - 1) === DOT ? end - 1 : end
}

function isIPv6(scan: Scan, start: number, end: number): boolean {
  let groups = 0
  let size = 0
  let gaps = 0
  let dots = 0
  for (let i = start; i < end; i++) {
    const code = scan.at(i)
    if (code === DOT) dots++
    if (code === COLON && scan.at(i + 1) === COLON) gaps++
    if (code === COLON || code === DOT) size = 0
    else if (size++ === 0) groups++
    if (size > 4) return false
  }
  if (dots !== 0 && dots !== 3) return false
  const parts = dots === 3 ? groups - 2 : groups
  if (gaps === 0) return parts === 8
  return gaps === 1 && parts <= 7 && parts >= 2
}
