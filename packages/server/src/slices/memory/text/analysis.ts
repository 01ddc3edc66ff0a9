// Makes the terms by which facts and queries are matched: stemmed words, numbers and dates of a
// text, and features of metadata.

import type { Language } from '@custos/contract'
import { sortCombiningMarks } from '../../../platform/combining-marks.ts'
import {
  foldAccents,
  guessLanguages,
  isStopWord,
  MONTH_BY_ABBREVIATION,
  MONTH_BY_NAME,
  stripEndings,
} from './language-rules.ts'

/** Longer words (UTF-16 units) are cut: such a word is a blob, found by its beginning. */
const WORD_UNITS_MAX = 64

const MONTHS =
  'january february march april may june july august september october november december'.split(' ')
/** Languages in which these names are almost only months; elsewhere they are ordinary words. */
const LANGUAGES_OF_MONTH = new Map<string, readonly Language[]>([
  ['avril', ['fr']],
  ['janeiro', ['pt']],
  ['juli', ['de']],
  ['julio', ['es']],
  ['juni', ['de']],
  ['mai', ['de', 'fr']],
  ['marco', ['pt']],
  ['mars', ['fr']],
  ['mayo', ['es']],
])
/** Full names and abbreviations: 1 to 12. */
const MONTH_BY_WORD = new Map([...MONTH_BY_ABBREVIATION, ...MONTH_BY_NAME])
const DAY_OR_YEAR = /^(?:(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th|er|o)?|(?:19|20)\d\d)$/
/** Words between a day and its month, or between a month and its year. */
const OF = ['de', 'del', 'of']

/**
 * ISO 8601 dates and months, with the time of day that may follow, and `dd.mm.yyyy`:
 * `2023-05-07T13:56Z`, `7.5.2023`.
 */
const DATE = new RegExp(
  [
    String.raw`(?<![\d-])(\d{4})-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?`,
    String.raw`(?:t\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:z|[+-]\d{2}:?\d{2})?)?(?![\d-])`,
    String.raw`|(?<![\d.])(0?[1-9]|[12]\d|3[01])\.(0?[1-9]|1[0-2])\.(\d{4})(?!\.?\d)`,
  ].join(''),
  'g',
)

const WORD = /[\p{L}\p{N}\p{M}]+/gu
const CONTRACTION = /(?<=\p{L})['’](?:s|t|d|m|re|ve|ll)(?![\p{L}\p{N}])/gu
const ORDINAL = /^(\d{1,2})(?:st|nd|rd|th)$/
/** Scripts written without spaces: a run of symbols is found by its overlapping pairs. */
const UNSPACED_SYMBOLS = 'Han Hiragana Katakana Thai Lao Khmer Myanmar'
  .split(' ')
  .map((script) => `\\p{Script=${script}}`)
  .join('')
const UNSPACED = new RegExp(`[${UNSPACED_SYMBOLS}]`, 'u')
const UNSPACED_RUN = new RegExp(`[${UNSPACED_SYMBOLS}][${UNSPACED_SYMBOLS}\\p{M}]*`, 'gu')
const NOT_ASCII = /[\u0080-\uffff]/

export interface TextAnalyser {
  /**
   * The terms of a text in order, repeats included: lower-case NFKC words and numbers, stemmed,
   * stop words dropped. A date in figures gives its day, month name and year, and so does a month
   * of another language, so that `in May 2023` finds `2023-05-07` and `7 mai 2023`. Deterministic,
   * and linear in the text.
   */
  analyse(text: string): string[]
  /** The distinct terms of a query: a repeated word gets no more weight. */
  analyseQuery(query: string): string[]
}

/**
 * Stop words and endings are those of the language with the most stop words in the text; the first
 * named wins a tie. Query words of unclear language are stemmed in each. Unless English is the only
 * language, letters lose their accents.
 */
export function makeAnalyser(languages: readonly Language[]): TextAnalyser {
  return {
    analyse: (text) => listTerms(text, languages, (open) => open.slice(0, 1)),
    analyseQuery: (query) => [...new Set(listTerms(query, languages, (open) => open))],
  }
}

export const ENGLISH = makeAnalyser(['en'])
export const { analyse, analyseQuery } = ENGLISH

/** The dates in figures in a text, in lower case and NFKC. */
export function findDates(text: string): string[] {
  return sortCombiningMarks(text).normalize('NFKC').toLowerCase().match(DATE) ?? []
}

function listTerms(
  text: string,
  languages: readonly Language[],
  choose: (open: readonly Language[]) => readonly Language[],
): string[] {
  const ascii = !NOT_ASCII.test(text)
  const folded = (ascii ? text : sortCombiningMarks(text).normalize('NFKC'))
    .toLowerCase()
    .replace(DATE, spellDate)
    .replace(CONTRACTION, ' ')
  const found = folded.match(WORD) ?? []
  const words = ascii || isEnglish(languages) ? found : found.map(foldAccents)
  const spoken = languages.length === 1 ? languages : choose(guessLanguages(words, languages))
  const terms: string[] = []
  const speech = { languages, spoken }
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    if (!ascii && UNSPACED.test(word)) pushUnspaced(terms, word, speech)
    else pushWord(terms, words, at, speech)
  }
  return terms
}

interface Speech {
  /** Languages of the store. */
  readonly languages: readonly Language[]
  /** Language of the text; for a query, all languages that it can be in. */
  readonly spoken: readonly Language[]
}

const isEnglish = (languages: readonly Language[]): boolean =>
  languages.every((language) => language === 'en')

/**
 * The English name of a month. A name that is also another word counts as a month in the languages
 * of the month and beside a day or a year; an abbreviation counts in English and beside a day or a
 * year.
 */
function findMonth(
  words: readonly string[],
  at: number,
  { languages, spoken }: Speech,
): string | undefined {
  const word = words[at] ?? ''
  const number = MONTH_BY_WORD.get(word)
  if (number === undefined) return undefined
  const month = MONTHS[number - 1] ?? ''
  const sure = MONTH_BY_NAME.has(word)
    ? (LANGUAGES_OF_MONTH.get(word)?.some((language) => languages.includes(language)) ?? true)
    : spoken.includes('en') && month.startsWith(word)
  return sure || isBesideNumber(words, at) ? month : undefined
}

const isBesideNumber = (words: readonly string[], at: number): boolean =>
  [-1, 1].some((step) => {
    const next = words[at + step] ?? ''
    return DAY_OR_YEAR.test(OF.includes(next) ? (words[at + 2 * step] ?? '') : next)
  })

function pushWord(terms: string[], words: readonly string[], at: number, speech: Speech): void {
  const word = words[at] ?? ''
  for (const language of speech.spoken) {
    if (isStopWord(word, language)) continue
    const month = findMonth(words, at, speech)
    const plain = month ?? stripOrdinal(word)
    const cut = plain.length > WORD_UNITS_MAX ? plain.slice(0, WORD_UNITS_MAX) : plain
    terms.push(month || language === 'en' ? stem(cut) : stripEndings(cut, language))
  }
}

/** `7th` and `07` are the day 7. */
function stripOrdinal(word: string): string {
  const digits = ORDINAL.exec(word)?.[1] ?? word
  return digits.length === 2 && /^0\d$/.test(digits) ? digits.slice(1) : digits
}

/** Splits a word with unspaced script: runs into pairs or one symbol, the rest into words. */
function pushUnspaced(terms: string[], word: string, speech: Speech): void {
  let end = 0
  for (const match of word.matchAll(UNSPACED_RUN)) {
    if (match.index > end) pushWord(terms, [word.slice(end, match.index)], 0, speech)
    const symbols = [...match[0]]
    if (symbols.length === 1) terms.push(match[0])
    for (let at = 1; at < symbols.length; at++) terms.push(`${symbols[at - 1]}${symbols[at]}`)
    end = match.index + match[0].length
  }
  if (end < word.length) pushWord(terms, [word.slice(end)], 0, speech)
}

function spellDate(_date: string, ...parts: readonly (string | undefined)[]): string {
  const [year = parts[5], month = parts[4], day = parts[3] ?? ''] = parts
  return ` ${day} ${MONTHS[Number(month) - 1]} ${year} `
}

const ASCII_WORD = /^[a-z]{4,}$/
const VOWEL = /[aeiouy]/

/**
 * A light English stemmer for lower-case words: `paintings` and `painted` become `paint`, `studies`
 * and `study` become `studi`, `went` becomes `go`. Other scripts and numbers are left unchanged.
 */
function stem(word: string): string {
  const base = BASE_BY_FORM.get(word) ?? word
  if (!ASCII_WORD.test(base)) return base
  return stripFinalVowel(stripTense(stripPlural(base)))
}

function stripPlural(word: string): string {
  if (!word.endsWith('s') || /(?:ss|us|is)$/.test(word)) return word
  if (word.endsWith('ies')) return word.length > 4 ? `${word.slice(0, -3)}y` : word.slice(0, -1)
  return /(?:sse|she|che|xe|zze)s$/.test(word) ? word.slice(0, -2) : word.slice(0, -1)
}

function stripTense(word: string): string {
  if (word.endsWith('ied') && word.length > 4) return `${word.slice(0, -3)}y`
  const root = stripEnding(word, 'ing') ?? (word.endsWith('eed') ? null : stripEnding(word, 'ed'))
  if (root === null) return word
  // `running` doubles its consonant, `missing` and `falling` do not.
  return /([b-df-hj-kmnp-rtv-y])\1$/.test(root) ? root.slice(0, -1) : root
}

/** Returns the word without the ending if the rest is long enough and has a vowel, else null. */
function stripEnding(word: string, ending: string): string | null {
  if (!word.endsWith(ending)) return null
  const root = word.slice(0, -ending.length)
  return root.length >= 3 && VOWEL.test(root) ? root : null
}

/** Conflates `move` with `moving`, `happy` with `happi(er)`; leaves at least three letters. */
function stripFinalVowel(word: string): string {
  if (word.length < 4) return word
  if (word.endsWith('e')) return word.slice(0, -1)
  if (word.endsWith('y') && !VOWEL.test(word.at(-2) ?? '')) return `${word.slice(0, -1)}i`
  return word
}

/** Words with forms that no ending rule reaches: the base form, then the others. */
const IRREGULAR_FORMS = [
  'become became|begin began begun|bite bit bitten|blow blew blown|break broke broken',
  'bring brought|build built',
  'buy bought|catch caught|choose chose chosen|come came|deal dealt|draw drew drawn',
  'drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feel felt|fight fought',
  'find found|fly flew flown|forget forgot forgotten|forgive forgave forgiven|freeze froze frozen',
  'get got gotten|give gave given|go went gone|grow grew grown|hang hung|hear heard',
  'hide hid hidden|hold held|keep kept|know knew known|lay laid|lead led|learn learnt|leave left',
  'lend lent|lose lost|make made|mean meant|meet met|pay paid|ride rode ridden|ring rang rung',
  'rise rose risen|run ran|say said|see saw seen|seek sought|sell sold|send sent',
  'shake shook shaken|shine shone|shoot shot|show shown|sing sang sung|sit sat|sleep slept',
  'speak spoke spoken|spend spent|stand stood|steal stole stolen|stick stuck|strike struck',
  'swim swam swum|take took taken|teach taught|tear tore torn|tell told|think thought',
  'throw threw thrown|understand understood|wake woke woken|wear wore worn|win won',
  'write wrote written|man men|woman women|child children|person people|foot feet|tooth teeth',
  'mouse mice|life lives|wife wives|knife knives|leaf leaves',
]

const BASE_BY_FORM: ReadonlyMap<string, string> = new Map(
  IRREGULAR_FORMS.flatMap((line) => line.split('|')).flatMap((group) => {
    const [base = '', ...forms] = group.split(' ')
    return forms.map((form) => [form, base] as const)
  }),
)

/** Terms of a text never contain control characters, so no feature is taken for a word. */
const FEATURE_MARK = '\u0000'

/** Returns one feature per top-level entry; entries are equal by key and canonical JSON value. */
export function listMetadataFeatures(metadata: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(metadata).map(
    (key) => `${FEATURE_MARK}${JSON.stringify(key)}:${canonicalJson(metadata[key])}`,
  )
}

/** The feature for a term of the speaker's name: a query that names them finds what they say. */
export const speakerFeature = (term: string): string => `${FEATURE_MARK}${term}`

/** Whether an index term is a metadata entry or a speaker instead of a word. */
export const isFeature = (term: string): boolean => term.startsWith(FEATURE_MARK)

/** JSON with object keys in code unit order. Metadata is already plain JSON of bounded depth. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`)
  return `{${members.join(',')}}`
}
