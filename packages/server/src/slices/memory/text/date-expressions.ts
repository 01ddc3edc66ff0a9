// Finds dates in text: the days that the expressions of a query mean, and the day of a value.

import { DAY_US, formatTime, parseDateOrTime } from '../../../platform/clock.ts'
import { sortCombiningMarks } from '../../../platform/combining-marks.ts'
import { listStatedDates } from '../facts/conversation.ts'
import {
  foldAccents,
  guessLanguages,
  MONTH_BY_ABBREVIATION,
  MONTH_BY_NAME,
} from './language-rules.ts'

/** Whole days since 1970-01-01 in UTC, both inclusive; `text` is the expression, in NFKC. */
export interface DateRange {
  readonly first_day: number
  readonly last_day: number
  readonly text: string
}

export const isWithin = (dates: readonly DateRange[], day: number): boolean =>
  dates.some(({ first_day, last_day }) => first_day <= day && day <= last_day)

type Days = readonly [first: number, last: number]

const RANGES_MAX = 8
/** Longer words and numbers (UTF-16 units) are never part of a date. */
const TOKEN_UNITS_MAX = 24
const VALUE_UNITS_MAX = 48

// No quantifier encloses another, so each pattern takes time linear in the text.
const TOKEN = /\d[\d./-]*(?:(?:st|nd|rd|th|er|o|a)(?!\p{L}))?|[\p{L}\p{M}]+/giu
const GAP_MAX = 3
const GAP = /^[\s,'’-]*$/
const GAP_AFTER_ABBREVIATION = /^[.\s,'’-]*$/
/** With these characters beside it, a number belongs to a word, a time, an amount or a label. */
const NO_NUMBER_BEFORE = /[\p{L}\p{Sc}_#@:.]/u
const NO_NUMBER_AFTER = /[\p{L}\p{Sc}_%]/u
const ISO = /^(\d{4})-(0[1-9]|1[0-2])(?:-(\d\d))?$/
const DAY_MONTH_YEAR = /^(\d\d?)([./])(\d\d?)\2(\d{4})$/
const PLAIN_NUMBER = /^(\d{1,4})(st|nd|rd|th|er|o|a)?$/i
const SEPARATORS_AT_END = /[./-]+$/
const [YEAR_MIN, YEAR_MAX] = [1900, 2099]

/**
 * The roles of a word in an expression; the value of a word is its position. `month` needs a number
 * beside it, `alone` is a month that does not. `ago` follows a count, `before` precedes it.
 */
const VOCABULARY = {
  ago: ['ago atras'],
  alone: [],
  before: ['vor hace ha'],
  count: [
    '',
    'a an one ein eine einem einen einer un una uno une um uma',
    'two zwei dos deux dois duas',
    'three drei tres trois',
    'four vier cuatro quatre quatro',
    'five funf cinco cinq',
    'six sechs seis',
    'seven sieben siete sept sete',
    'eight acht ocho huit oito',
    'nine neun nueve neuf nove',
    'ten zehn diez dix dez',
    'eleven elf once onze',
    'twelve zwolf doce douze doze',
  ],
  day: [],
  feira: ['feira'],
  in: ['in im en au no na'],
  last: [
    'last past previous letzte letzten letzter letztes letztem vergangene vergangenen ' +
      'vergangener vergangenes vorige vorigen voriger voriges pasado pasada ultimo ultima ' +
      'dernier derniere passado passada',
  ],
  month: [],
  of: ['of de del do da d'],
  /** Portuguese weekdays that are also ordinals, from Monday. */
  ordinal: ['segunda', 'terca', 'quarta', 'quinta', 'sexta'],
  /** Words for today, yesterday and so on; the position is the number of days before today. */
  relative: [
    'today heute hoy hoje',
    'yesterday gestern ayer ontem hier',
    'vorgestern anteayer antier anteontem',
  ],
  season: [
    'spring fruhling fruhjahr primavera printemps',
    'summer sommer verano ete verao',
    'autumn fall herbst otono automne outono',
    'winter invierno hiver inverno',
  ],
  the: ['the el la le l o a'],
  this: ['this diese diesen dieser dieses diesem esta este ce cet cette neste nesta'],
  /** Day, week, month, year. */
  unit: [
    'day days tag tage tagen dia dias jour jours',
    'week weeks woche wochen semana semanas semaine semaines',
    'month months monat monate monaten mes meses mois',
    'year years jahr jahre jahren ano anos an ans annee annees',
  ],
  /** From Monday on. */
  weekday: [
    'monday montag lunes lundi',
    'tuesday dienstag martes mardi',
    'wednesday mittwoch miercoles mercredi',
    'thursday donnerstag jueves jeudi',
    'friday freitag viernes vendredi',
    'saturday samstag sonnabend sabado samedi',
    'sunday sonntag domingo dimanche',
  ],
  weekend: ['weekend wochenende'],
  year: [],
}

/** Value of a word by kind. */
type Parts = Readonly<Record<string, number>>

const PARTS_BY_WORD = new Map<string, Parts>()
for (const [kind, lines] of Object.entries(VOCABULARY)) {
  for (const [value, words] of lines.entries()) {
    for (const word of words.split(' ').filter(Boolean)) {
      PARTS_BY_WORD.set(word, { ...PARTS_BY_WORD.get(word), [kind]: value })
    }
  }
}

/** Months that are also other words or names count only after these words or with a number. */
const BEFORE_MONTH = new Map(
  Object.entries({
    'may march june april august': 'in during since this early mid late im seit',
    'juni juli': 'im in seit',
    'mai mars avril': 'en im seit depuis',
    mayo: 'en de desde durante',
    julio: 'en desde durante',
    'marco janeiro': 'em desde durante',
    [[...MONTH_BY_ABBREVIATION.keys()].join(' ')]: 'in im',
  }).flatMap(([months, words]) =>
    months.split(' ').map((month) => [month, new Set(words.split(' '))] as const),
  ),
)

interface Token {
  readonly start: number
  readonly end: number
  readonly word: string
  readonly parts: Parts
  /** The days of a date or month in figures. */
  readonly days: Days | null
}

/**
 * The days meant by the first eight date expressions of a query, in English, German, Spanish,
 * French and Portuguese: `2023-05`, `7.5.2023`, `7/5/2023` (day first where both can be a month),
 * `May 7`, `im Mai`, `summer 2022`, `il y a deux semaines`, `terça-feira passada`. A date without a
 * year is the latest that is not after `at_us`; a number from 1900 to 2099 is a year. Seasons are
 * the northern meteorological ones, a winter named by the year it begins in; weeks begin on Monday.
 * `N weeks ago` is the day with three days on each side, `N months ago` with fifteen, `N years ago`
 * the year. Linear in the text.
 */
export function findDateRanges(text: string, at_us: number): DateRange[] {
  const folded = sortCombiningMarks(text).normalize('NFKC')
  const tokens = readTokens(folded)
  const today = Math.floor(at_us / DAY_US)
  const ranges: DateRange[] = []
  for (let at = 0; at < tokens.length && ranges.length < RANGES_MAX; ) {
    const found = matchAt(folded, tokens, { at, today })
    if (found) {
      const { days, next } = found
      const part = folded.slice(tokens[at]?.start, tokens[next - 1]?.end)
      ranges.push({ first_day: days[0], last_day: days[1], text: part })
    }
    at = found?.next ?? at + 1
  }
  return ranges
}

const LEADING_BRACKETS = /^\s{0,8}\[([^\]]{1,48})\]/
const DOTTED = /^\d\d?\.\d\d?\.\d{4}$/

/**
 * The day in UTC of a metadata value, or of a content that begins with `[date]`: an ISO 8601 date
 * in the extended format, with a time or not (UTC without an offset), or `dd.mm.yyyy`; otherwise
 * null.
 */
export function findDay(text: string): number | null {
  const value = (LEADING_BRACKETS.exec(text)?.[1] ?? text.slice(0, VALUE_UNITS_MAX + 1)).trim()
  if (value.length > VALUE_UNITS_MAX) return null
  if (DOTTED.test(value)) return readFigures(value)?.[0] ?? null
  const time = value.charAt(4) === '-' ? parseDateOrTime(value) : null
  return time && Math.floor(time.us / DAY_US)
}

/** The words and numbers of a text, each with its possible roles in an expression. */
function readTokens(text: string): Token[] {
  const tokens: Token[] = []
  for (const { 0: found, index: start } of text.matchAll(TOKEN)) {
    const token = found.length <= TOKEN_UNITS_MAX ? found.toLowerCase() : ''
    const place = { start, end: start + found.length }
    const figures = /^\d/.test(token) ? token.replace(SEPARATORS_AT_END, '') : null
    const word = figures ?? foldAccents(token)
    const parts =
      figures === null ? readWord(word, tokens.at(-1)?.word) : readNumber(figures, text, place)
    tokens.push({ ...place, word, parts, days: figures === null ? null : readFigures(figures) })
  }
  const words = tokens.map(({ word }) => word)
  // `hier` is yesterday in French and here in German.
  const german = words.includes('hier') && guessLanguages(words, ['fr', 'de'])[0] === 'de'
  return german ? tokens.filter(({ word }) => word !== 'hier') : tokens
}

function readWord(word: string, before: string | undefined): Parts {
  const parts = PARTS_BY_WORD.get(word) ?? {}
  const month = MONTH_BY_NAME.get(word) ?? MONTH_BY_ABBREVIATION.get(word)
  if (month === undefined) return parts
  const alone = BEFORE_MONTH.get(word)?.has(before ?? '') ?? true
  return { ...parts, month, ...(alone ? { alone: month } : {}) }
}

function readNumber(
  figures: string,
  text: string,
  { start, end }: { start: number; end: number },
): Parts {
  const [, digits, ordinal] = PLAIN_NUMBER.exec(figures) ?? []
  if (digits === undefined) return {}
  if (NO_NUMBER_BEFORE.test(text.charAt(start - 1))) return {}
  if (NO_NUMBER_AFTER.test(text.charAt(end))) return {}
  const value = Number(digits)
  const day = value >= 1 && value <= 31 ? { day: value } : {}
  if (ordinal !== undefined) return day
  const year = digits.length === 4 && value >= YEAR_MIN && value <= YEAR_MAX ? { year: value } : {}
  return { ...day, ...year, count: value }
}

/** Parses a date or month in figures; `null` if the calendar has no such day. */
function readFigures(figures: string): Days | null {
  const iso = ISO.exec(figures)
  if (iso) {
    const [year = 0, month = 0, day = 0] = iso.slice(1).map((part) => Number(part ?? 0))
    return iso[3] === undefined ? monthDays(year, month) : oneDay(year, month, day)
  }
  const [, one, separator, other, year] = DAY_MONTH_YEAR.exec(figures) ?? []
  if (year === undefined) return null
  const monthFirst = separator === '/' && Number(other) > 12
  const [day, month] = monthFirst ? [other, one] : [one, other]
  return oneDay(Number(year), Number(month), Number(day))
}

/**
 * Sequences of kinds and of `=words`; `?` marks an optional part. The longest match wins. No
 * sequence has more than seven words, so reading a text takes a bounded number of steps per word.
 */
const EXPRESSIONS: readonly (readonly [
  patterns: string,
  mean: (parts: Parts, today: number) => Days | null,
])[] = [
  [
    'day of? month of? year|month day of? year',
    ({ day = 0, month = 0, year = 0 }) => oneDay(year, month, day),
  ],
  ['day of? month|month day', ({ day = 0, month = 0 }, today) => latestDay(month, day, today)],
  ['month of? year', ({ month = 0, year = 0 }) => monthDays(year, month)],
  ['last month|month last', ({ month = 0 }, today) => latestMonth(month, firstOfMonth(today) - 1)],
  ['alone', ({ alone = 0 }, today) => latestMonth(alone, today)],
  ['year', ({ year = 0 }) => yearDays(year)],
  ['season of? year', ({ season = 0, year = 0 }) => seasonDays(year, season)],
  ['last season|season last', ({ season = 0 }, today) => latestSeason(season, today, 'ended')],
  ['this season|in the? season', ({ season = 0 }, today) => latestSeason(season, today, 'begun')],
  ['=aujourd =hui', (_, today) => around(today, 0)],
  ['relative', ({ relative = 0 }, today) => around(today - relative, 0)],
  [
    'the? =day =before =yesterday|=avant =hier|=antes =de =ayer|=antes =de =ontem',
    (_, today) => around(today - 2, 0),
  ],
  ['count unit ago|before count unit|=il =y =a count unit', daysAgo],
  ['last unit|unit last', ({ unit = 0 }, today) => unitDays(unit, today, 1)],
  ['this unit', ({ unit = 0 }, today) => unitDays(unit, today, 0)],
  [
    'last weekend|weekend last|last =week =end|=week =end last|=fin =de =semana last|' +
      '=fim =de =semana last|last =fim =de =semana',
    (_, today) => weekendDays(mondayOf(today) - 7),
  ],
  [
    'this weekend|this =week =end|this =fin =de =semana|this =fim =de =semana',
    (_, today) => weekendDays(mondayOf(today)),
  ],
  ['last weekday|weekday feira? last', ({ weekday = 0 }, today) => latestWeekday(weekday, today)],
  [
    'last ordinal feira|ordinal feira? last',
    ({ ordinal = 0 }, today) => latestWeekday(ordinal, today),
  ],
]

/** Expressions by first word, longest first. */
const EXPRESSIONS_BY_FIRST = Map.groupBy(
  EXPRESSIONS.flatMap(([patterns, mean]) =>
    patterns.split('|').flatMap((pattern) => listForms(pattern).map((words) => ({ words, mean }))),
  ).sort((one, other) => other.words.length - one.words.length),
  ({ words: [first = ''] }) => first,
)

/** Expands a pattern into its forms with and without the optional parts. */
function listForms(pattern: string): string[][] {
  return pattern.split(' ').reduce<string[][]>(
    (forms, word) => {
      const present = forms.map((form) => [...form, word.replace('?', '')])
      return word.endsWith('?') ? present.concat(forms) : present
    },
    [[]],
  )
}

/** The longest expression that begins at a token, and the position after it. */
function matchAt(
  text: string,
  tokens: readonly Token[],
  { at, today }: { at: number; today: number },
): { days: Days; next: number } | null {
  const { days = null, parts = {}, word = '' } = tokens[at] ?? {}
  let best = days && { days, next: at + 1 }
  for (const first of [...Object.keys(parts), `=${word}`]) {
    for (const { words, mean } of EXPRESSIONS_BY_FIRST.get(first) ?? []) {
      const next = at + words.length
      if (best && next <= best.next) break
      const found = matchWords(text, tokens, { at, words })
      const meant = found && mean(found, today)
      if (meant) best = { days: meant, next }
    }
  }
  return best
}

/** Reads the tokens as the expected kinds; `null` if they do not match. */
function matchWords(
  text: string,
  tokens: readonly Token[],
  { at, words }: { at: number; words: readonly string[] },
): Parts | null {
  const meant: Record<string, number> = {}
  for (let step = 0; step < words.length; step++) {
    const [expected = '', token, before] = [words[step], tokens[at + step], tokens[at + step - 1]]
    if (token === undefined) return null
    const value = token.parts[expected]
    if (value === undefined && expected !== `=${token.word}`) return null
    if (step > 0 && before && !isAdjacent(text, before, token)) return null
    if (value !== undefined) meant[expected] = value
  }
  return meant
}

function isAdjacent(text: string, before: Token, token: Token): boolean {
  const gap = MONTH_BY_ABBREVIATION.has(before.word) ? GAP_AFTER_ABBREVIATION : GAP
  return token.start - before.end <= GAP_MAX && gap.test(text.slice(before.end, token.start))
}

/** The first day of a month; months outside 1 to 12 belong to other years. */
function firstDay(year: number, month: number): number | null {
  const count = year * 12 + month - 1
  return dayNumber(Math.floor(count / 12), (count % 12) + 1, 1)
}

/** Returns `null` if the calendar or the range of times has no such day. */
function dayNumber(year: number, month: number, day: number): number | null {
  const date = [String(year).padStart(4, '0'), two(month), two(day)].join('-')
  const time = parseDateOrTime(date)
  return time && time.us / DAY_US
}

const two = (value: number): string => String(value).padStart(2, '0')

/** Splits a day into year, month and day of the month. */
function readDay(day: number): [number, number, number] {
  const [year = 0, month = 0, date = 0] = formatTime(day * DAY_US)
    .slice(0, 10)
    .split('-')
    .map(Number)
  return [year, month, date]
}

const around = (day: number, margin: number): Days => [day - margin, day + margin]

function oneDay(year: number, month: number, date: number): Days | null {
  const day = dayNumber(year, month, date)
  return day === null ? null : around(day, 0)
}

/** The days of `months` months from the first day of a month. */
function monthDays(year: number, month: number, months = 1): Days | null {
  const first = firstDay(year, month)
  const next = firstDay(year, month + months)
  return first === null || next === null ? null : [first, next - 1]
}

const yearDays = (year: number): Days | null => monthDays(year, 1, 12)

/** Season 0 is spring, which begins in March. */
const seasonDays = (year: number, season: number): Days | null => monthDays(year, 3 + 3 * season, 3)

/** Leap days are at most eight years apart. */
const LEAP_YEARS_MAX = 8

/** The range of the latest year, this year or earlier, that is `wanted`. */
function latestOf(
  today: number,
  daysOf: (year: number) => Days | null,
  wanted: (days: Days) => boolean = ([first]) => first <= today,
): Days | null {
  const [year] = readDay(today)
  for (let back = 0; back <= LEAP_YEARS_MAX; back++) {
    const days = daysOf(year - back)
    if (days && wanted(days)) return days
  }
  return null
}

const latestDay = (month: number, date: number, today: number): Days | null =>
  latestOf(today, (year) => oneDay(year, month, date))

const latestMonth = (month: number, today: number): Days | null =>
  latestOf(today, (year) => monthDays(year, month))

const latestSeason = (season: number, today: number, state: 'begun' | 'ended'): Days | null =>
  latestOf(
    today,
    (year) => seasonDays(year, season),
    ([first, last]) => (state === 'begun' ? first <= today : last < today),
  )

function daysAgo({ count = 0, unit = 0 }: Parts, today: number): Days | null {
  if (unit === 0) return around(today - count, 0)
  if (unit === 1) return around(today - 7 * count, 3)
  const [year, month, date] = readDay(today)
  if (unit === 3) return yearDays(year - count)
  const [first, last] = monthDays(year, month - count) ?? []
  return first === undefined || last === undefined
    ? null
    : around(Math.min(first + date - 1, last), 15)
}

/** The calendar week, month or year `back` units before today's. Days have no such range. */
function unitDays(unit: number, today: number, back: number): Days | null {
  const [year, month] = readDay(today)
  if (unit === 1) return [mondayOf(today) - 7 * back, mondayOf(today) - 7 * back + 6]
  if (unit === 2) return monthDays(year, month - back)
  return unit === 3 ? yearDays(year - back) : null
}

const firstOfMonth = (day: number): number => day - readDay(day)[2] + 1

/** 1970-01-01 was a Thursday. */
const weekdayOf = (day: number): number => (((day + 3) % 7) + 7) % 7

const mondayOf = (day: number): number => day - weekdayOf(day)

const weekendDays = (monday: number): Days => [monday + 5, monday + 6]

/** The latest such weekday before today. */
const latestWeekday = (weekday: number, today: number): Days =>
  around(today - 1 - weekdayOf(today - 1 - weekday), 0)

/** The day that a fact states; `null` if none. */
export function findStatedDay({
  content,
  metadata,
}: {
  readonly content: string
  readonly metadata: Readonly<Record<string, unknown>>
}): number | null {
  for (const date of listStatedDates(content, metadata)) {
    const [range] = findDateRanges(date, 0)
    const isDay = range?.first_day === range?.last_day
    const day = findDay(date) ?? (isDay ? (range?.first_day ?? null) : null)
    if (day !== null) return day
  }
  return null
}
