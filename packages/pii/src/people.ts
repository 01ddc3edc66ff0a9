// Finds names by rules: after a title, in an introduction, before a legal form.

import type { Matches } from './matches.ts'
import { codesOf, role, type Scan } from './scan.ts'

const TITLE = role('title')
const NAME = role('name')
const NAME_LINK = role('name_link')
const PLACE_BEFORE = role('place_before')
const PLACE_LINK = role('place_link')
const LEGAL = role('legal')
const WORDS_MAX = 4
const DOT = 0x2e
const BETWEEN = codesOf(' :."\'=')

/** Finds names at a word that announces one: "Dr", "name", "lives". */
export function findNames(scan: Scan, word: number, found: Matches): void {
  if (scan.has(word, TITLE) && scan.isCapital(word)) addNames(scan, word + 1, found, 'PERSON')
  if (scan.has(word, NAME)) {
    const linked = scan.has(word + 1, NAME_LINK) && isClose(scan, word)
    addNames(scan, linked ? word + 2 : word + 1, found, 'PERSON')
  }
  if (scan.has(word, PLACE_BEFORE) && scan.has(word + 1, PLACE_LINK)) {
    const again = scan.has(word + 2, PLACE_LINK) ? 1 : 0
    addNames(scan, word + 2 + again, found, 'LOCATION')
  }
  if (scan.has(word, LEGAL)) addOrganisation(scan, word, found)
}

/** Whether only a short separator is between a word and the next, which may be its name. */
function isClose(scan: Scan, word: number): boolean {
  return scan.isBesideNext(word, BETWEEN)
}

function addNames(scan: Scan, first: number, found: Matches, entity: 'PERSON' | 'LOCATION'): void {
  if (first >= scan.count || !isClose(scan, first - 1) || !scan.isName(first)) return
  let last = first
  while (last - first < WORDS_MAX - 1 && isNextName(scan, last)) last++
  found.add(entity, scan.start(first), scan.end(last), 0.6)
}

/** Whether another name follows, after one space, dash, apostrophe or an initial with its dot. */
function isNextName(scan: Scan, word: number): boolean {
  if (word + 1 >= scan.count || !scan.isName(word + 1) || scan.has(word + 1, TITLE)) return false
  const from = scan.end(word)
  const size = scan.start(word + 1) - from
  const gap = scan.at(from)
  if (size === 1) return gap === 0x20 || gap === 0x2d || gap === 0x27
  return size === 2 && gap === DOT && scan.at(from + 1) === 0x20 && scan.length(word) === 1
}

/** Adds the capitalised words before a legal form such as "Ltd". */
function addOrganisation(scan: Scan, legal: number, found: Matches): void {
  if (!scan.isCapital(legal) && scan.length(legal) < 3) return
  let first = legal
  while (legal - first < WORDS_MAX && first > 0 && scan.isName(first - 1)) {
    if (scan.has(first - 1, LEGAL)) break
    const gap = scan.start(first) - scan.end(first - 1)
    const code = scan.at(scan.end(first - 1))
    if (gap > 2 || (code !== 0x20 && code !== 0x2c && code !== 0x2d)) break
    first--
  }
  if (first === legal) return
  found.add('ORGANIZATION', scan.start(first), scan.end(legal), 0.55)
}
