// E-mail addresses, web addresses, addresses of version 6.

import { isDigit, OTHER_LOWER, OTHER_UPPER } from './fold.ts'
import type { Matches } from './matches.ts'
import { codesOf, FOREIGN, LETTERS, type Scan } from './scan.ts'

const AT = 0x40
const COLON = 0x3a
const DOT = 0x2e
const DOMAIN_MAX = 255

/** Endings of which a bare name is taken for a domain; others need a scheme or "www." in front. */
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

/** No part before the sign is too long: what is left of it would stay. It ends at another sign. */
function findEmail(scan: Scan, at: number, found: Matches): void {
  let start = at
  while (isLocal(scan.at(start - 1))) start--
  while (start < at && !isNameCode(scan.at(start))) start++
  if (start === at || scan.at(at - 1) === DOT) return
  const end = domainEnd(scan, at + 1)
  if (end === 0) return
  found.add('EMAIL_ADDRESS', start, end, 0.95)
}

/** Letters and digits of any script, and the signs that addresses have in practice. */
function isLocal(code: number): boolean {
  return isNameCode(code) || LOCAL_SIGNS.includes(code)
}

const LOCAL_SIGNS = codesOf(".!#$%&'*+/=?^_`{|}~-")

function isNameCode(code: number): boolean {
  return isDigit(code) || isLetter(code) || code === OTHER_LOWER || code === OTHER_UPPER
}

/** Labels with dots between, the last of letters, two or more; 0 if there is no domain. */
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

/** `scheme://` at the colon: the address up to a space, a quote or a bracket; else 0. */
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

/** Marks that close a sentence do not belong to the address. */
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

/** A word at the end of a name with dots: "example.com", "www.example.co.uk/path". */
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

/** Whether one dot or dash stands between a word and the next. */
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

/** Whether a word may be the end of a domain: letters, a dot before. */
export function mayEndDomain(scan: Scan, word: number): boolean {
  const kind = scan.kinds[word] ?? 0
  return (kind & (LETTERS | FOREIGN)) !== 0 && scan.at(scan.start(word) - 1) === DOT
}

/** Eight groups of hexadecimal digits, or fewer around one "::"; 0 if there is none. */
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

/** The dotted end of "::ffff:192.0.2.1". */
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
