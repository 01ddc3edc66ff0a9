// Turns a text into the terms it is found by: words, numbers, dates; facts and queries alike.
import { orderMarks } from '../../../platform/mark-order.ts'
import { stem } from './stem.ts'
import { STOP_WORDS } from './stop-words.ts'

/** Longer words (UTF-16 units) are cut: what goes on for longer is a blob, found by its start. */
const WORD_UNITS_MAX = 64

const MONTHS =
  'january february march april may june july august september october november december'.split(' ')
const MONTH_BY_ABBREVIATION = new Map([
  ...MONTHS.map((month) => [month.slice(0, 3), month] as const),
  ['sept', 'september'] as const,
])

/** ISO 8601 dates and months, with the time of day that may follow: `2023-05-07T13:56Z`. */
const ISO_DATE = new RegExp(
  [
    String.raw`(?<![\d-])(\d{4})-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?`,
    String.raw`(?:t\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:z|[+-]\d{2}:?\d{2})?)?(?![\d-])`,
  ].join(''),
  'g',
)

const WORD = /[\p{L}\p{N}\p{M}]+/gu
const CONTRACTION = /(?<=\p{L})['’](?:s|t|d|m|re|ve|ll)(?![\p{L}\p{N}])/gu
const ORDINAL = /^(\d{1,2})(?:st|nd|rd|th)$/
/** Scripts written without spaces: a run of them is found by its overlapping pairs. */
const UNSPACED_SYMBOLS = 'Han Hiragana Katakana Thai Lao Khmer Myanmar'
  .split(' ')
  .map((script) => `\\p{Script=${script}}`)
  .join('')
const UNSPACED = new RegExp(`[${UNSPACED_SYMBOLS}]`, 'u')
const UNSPACED_RUN = new RegExp(`[${UNSPACED_SYMBOLS}][${UNSPACED_SYMBOLS}\\p{M}]*`, 'gu')
const NOT_ASCII = /[\u0080-\uffff]/

/**
 * The terms of a text in order, repeats included: lower-case NFKC words and numbers, stemmed, stop
 * words dropped. An ISO date gives its day, month name and year, so that `in May 2023` finds
 * `2023-05-07`. Deterministic, and linear in the text.
 */
export function analyse(text: string): string[] {
  const ascii = !NOT_ASCII.test(text)
  const folded = (ascii ? text : orderMarks(text).normalize('NFKC'))
    .toLowerCase()
    .replace(ISO_DATE, spellDate)
    .replace(CONTRACTION, ' ')
  const terms: string[] = []
  for (const word of folded.match(WORD) ?? []) {
    if (!ascii && UNSPACED.test(word)) pushUnspaced(terms, word)
    else pushWord(terms, word)
  }
  return terms
}

/** The ISO dates in a text, as they stand there once it is folded. */
export function datesIn(text: string): string[] {
  return orderMarks(text).normalize('NFKC').toLowerCase().match(ISO_DATE) ?? []
}

/** The distinct terms of a query: repeating a word does not make it weigh more. */
export function analyseQuery(query: string): string[] {
  return [...new Set(analyse(query))]
}

function pushWord(terms: string[], word: string): void {
  if (STOP_WORDS.has(word)) return
  const plain = MONTH_BY_ABBREVIATION.get(word) ?? withoutOrdinal(word)
  terms.push(stem(plain.length > WORD_UNITS_MAX ? plain.slice(0, WORD_UNITS_MAX) : plain))
}

/** `7th` and `07` are the day 7. */
function withoutOrdinal(word: string): string {
  const digits = ORDINAL.exec(word)?.[1] ?? word
  return digits.length === 2 && /^0\d$/.test(digits) ? digits.slice(1) : digits
}

/** A word with unspaced script: its runs as pairs (one symbol alone as itself), the rest words. */
function pushUnspaced(terms: string[], word: string): void {
  let end = 0
  for (const match of word.matchAll(UNSPACED_RUN)) {
    if (match.index > end) pushWord(terms, word.slice(end, match.index))
    const symbols = [...match[0]]
    if (symbols.length === 1) terms.push(match[0])
    for (let at = 1; at < symbols.length; at++) terms.push(`${symbols[at - 1]}${symbols[at]}`)
    end = match.index + match[0].length
  }
  if (end < word.length) pushWord(terms, word.slice(end))
}

function spellDate(_date: string, year: string, month: string, day: string | undefined): string {
  return ` ${day ?? ''} ${MONTHS[Number(month) - 1]} ${year} `
}
