// Finds personal data in a text with built-in recognisers, and replaces it by the entity's name.
//
// To find: `findPersonalData(text, { entities: ['CREDIT_CARD', 'IBAN_CODE'] })`. Offsets are
// UTF-16, half-open, sorted, and do not overlap. Without `entities` all of ENTITIES are searched.
// To redact: `redact(text, findings)` replaces a card number by `<CREDIT_CARD>`.
// Callers should check untrusted names with `isEntity`; an unknown name finds nothing. Both
// functions are pure, and their time is linear in the length of any text.

import { findNamedDate } from './dates.ts'
import { listEntities } from './entities.ts'
import { findBareDomain, findInternet, mayEndDomain } from './internet.ts'
import { Matches, resolveOverlaps } from './matches.ts'
import { findNumbers } from './numbers.ts'
import { findNames } from './people.ts'
import { DIGITS, LETTERS, MIXED, Scan } from './scan.ts'
import { findStreets } from './streets.ts'
import { findDashed, findMixed, findSpacedNino } from './word-patterns.ts'

/** The entities that can be found, with one sentence each, sorted by name. */
export const ENTITIES: Readonly<ReturnType<typeof listEntities>> = listEntities()

interface PersonalData {
  readonly entity: string
  /** UTF-16 offsets in the text; `end` is exclusive. */
  readonly start: number
  readonly end: number
  /** Confidence from 0 to 1, by the form, the check digits and the words nearby. */
  readonly score: number
}

const MIN_SCORE = 0.5
const NAMES: ReadonlySet<string> = new Set(ENTITIES.map(({ entity }) => entity))

export function isEntity(name: string): boolean {
  return NAMES.has(name)
}

export function findPersonalData(
  text: string,
  options: {
    /** Names of ENTITIES; default: all of them. */
    readonly entities?: readonly string[]
    /** Languages of context words in addition to English: de, es, fr, it; default: all of them. */
    readonly languages?: readonly string[]
    /** The lowest score of returned findings; default: 0.5. */
    readonly min_score?: number
  } = {},
): PersonalData[] {
  const { entities, languages, min_score = MIN_SCORE } = options
  const scan = new Scan(text, languages && new Set(languages))
  const found = new Matches(entities && new Set(entities), min_score)
  findInternet(scan, found)
  for (let word = 0; word < scan.count; ) word = findAt(scan, word, found)
  const findings = resolveOverlaps(found.candidates)
  for (const finding of findings) {
    finding.start = scan.folded.startOf(finding.start)
    finding.end = scan.folded.endOf(finding.end)
  }
  return findings
}

/** Searches at one word or chain of digits. Returns the word to continue with. */
function findAt(scan: Scan, word: number, found: Matches): number {
  const kind = scan.kinds[word] ?? 0
  if (mayEndDomain(scan, word)) findBareDomain(scan, word, found)
  if (kind === DIGITS) {
    const next = findNumbers(scan, word, found)
    findDashed(scan, next - 1, found)
    return next
  }
  if (kind === MIXED) findMixed(scan, word, found)
  else if (kind === LETTERS) {
    if (scan.length(word) === 2) findSpacedNino(scan, word, found)
    if (scan.words[word] !== 0) {
      findNamedDate(scan, word, found)
      findNames(scan, word, found)
    }
    findStreets(scan, word, found)
  }
  return word + 1
}

/** The text with each finding replaced by `<ENTITY>`. The findings must be those of this text. */
export function redact(text: string, findings: readonly PersonalData[]): string {
  let redacted = ''
  let at = 0
  for (const { entity, start, end } of findings) {
    redacted += `${text.slice(at, start)}<${entity}>`
    at = end
  }
  return redacted + text.slice(at)
}
