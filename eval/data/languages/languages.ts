// The language sets: one store each in German, Spanish, French and Portuguese, by a seed.

import { type Conversation, type Dataset, type Fact, sha256 } from '../dataset.ts'
import { below, pick, type Random, seededRandom, shuffled } from '../random.ts'
import { fill } from '../synthetic-relations.ts'
import { NEAR_MISSES } from '../synthetic-words.ts'
import { GERMAN, type LanguagePhrases, SPANISH } from './languages-phrases.ts'
import { FRENCH, PORTUGUESE } from './languages-romance.ts'

const PHRASES = { de: GERMAN, es: SPANISH, fr: FRENCH, pt: PORTUGUESE }
export const EVALUATION_LANGUAGES = ['de', 'es', 'fr', 'pt'] as const

export const LANGUAGE_CATEGORIES = {
  1: 'direct',
  2: 'other word form',
  3: 'temporal',
  4: 'superseded',
} as const

const SEED = 20_261_124
const QUESTIONS = { 1: 30, 2: 30, 3: 25, 4: 15 } as const
const SESSIONS = 16
const FACTS = 400
const ENGLISH_SHARE = 0.06

/** What a person says in a session; the place within the session is drawn later. */
interface Remark {
  readonly session: number
  readonly speaker: string
  readonly text: string
  readonly replaces?: Remark
}

interface LanguageQuestion {
  readonly category: keyof typeof QUESTIONS
  readonly text: string
  readonly gold: readonly Remark[]
}

/** What is written and asked, while it is drawn. */
interface Draft {
  readonly random: Random
  readonly phrases: LanguagePhrases
  /** ISO dates of the sessions, ascending. */
  readonly dates: readonly string[]
  readonly remarks: Remark[]
  readonly questions: LanguageQuestion[]
}

export function makeLanguageSet(language: (typeof EVALUATION_LANGUAGES)[number]): Dataset {
  const random = seededRandom(SEED + EVALUATION_LANGUAGES.indexOf(language))
  const dates = Array.from({ length: SESSIONS }, (_, at) =>
    shiftDays('2024-01-20', 21 * at + below(random, 14)),
  )
  const draft: Draft = { random, phrases: PHRASES[language], dates, remarks: [], questions: [] }
  sayDirectly(draft)
  sayInOtherForms(draft)
  sayWithDates(draft)
  sayWhatChanges(draft)
  chatAlong(draft)
  const conversations = [writeConversation(draft, language)]
  const text = JSON.stringify(conversations)
  return {
    name: `language-${language}`,
    sha256: sha256(text),
    bytes: Buffer.byteLength(text),
    licence: 'generated',
    languages: [language, 'en'],
    category_names: LANGUAGE_CATEGORIES,
    groups: [{ name: 'all', categories: Object.keys(LANGUAGE_CATEGORIES).map(Number) }],
    certain: [4],
    conversations,
    notes: [`seed ${SEED}; some small talk is in English`],
  }
}

const DAY_MS = 86_400_000

const shiftDays = (date: string, days: number): string =>
  new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10)

function say({ random, remarks }: Draft, speaker: string, text: string): Remark {
  const remark = { session: below(random, SESSIONS), speaker, text }
  remarks.push(remark)
  return remark
}

/** A different person for each value. */
function sayDirectly(draft: Draft): void {
  const { random, phrases, questions } = draft
  for (const { says, asks, values } of phrases.direct) {
    const people = shuffled(random, phrases.people)
    for (const [at, v] of values.entries()) {
      const p = people[at] ?? ''
      const gold = [say(draft, p, fill(says, { v }))]
      questions.push({ category: 1, text: fill(asks, { p }), gold })
    }
  }
}

/** Nouns in the plural and asked for in the singular, verbs in another tense or form. */
function sayInOtherForms(draft: Draft): void {
  const { random, phrases, questions } = draft
  for (const { says, asks, forms } of phrases.nouns)
    for (const [v = '', f = ''] of forms) {
      const gold = [say(draft, pick(random, phrases.people), fill(says, { v }))]
      questions.push({ category: 2, text: fill(asks, { f }), gold })
    }
  for (const { says, asks, values } of phrases.verbs) {
    const people = shuffled(random, phrases.people)
    for (const [at, v] of values.entries()) {
      const p = people[at] ?? ''
      const gold = [say(draft, p, fill(says, { v }))]
      questions.push({ category: 2, text: fill(asks, { p }), gold })
    }
  }
}

const EVENTS_EACH = 3

/** A date in words, in digits or relative to the session; asked for by event, day or month. */
function sayWithDates(draft: Draft): void {
  const { random, phrases, dates, questions, remarks } = draft
  for (const p of phrases.people) {
    const own: { remark: Remark; date: string }[] = []
    for (const [says, asks] of shuffled(random, phrases.events).slice(0, EVENTS_EACH)) {
      const session = below(random, SESSIONS)
      const { adverbial, date } = drawDate(random, phrases, dates[session] ?? '')
      const remark = { session, speaker: p, text: fill(says, { w: adverbial }) }
      remarks.push(remark)
      own.push({ remark, date })
      questions.push({ category: 3, text: fill(asks, { p }), gold: [remark] })
    }
    for (const length of [7, 10]) {
      const { date } = pick(random, own)
      const gold = own.filter((one) => one.date.slice(0, length) === date.slice(0, length))
      const digits = random() < 0.5 || date.endsWith('-01')
      const w =
        length === 7
          ? spell(phrases.in_month, phrases, date)
          : digits
            ? spellDigits(phrases, date)
            : `${spell(phrases.on_date, phrases, date)} ${yearOf(phrases, date)}`
      const text = fill(phrases.asks_on, { p, w })
      questions.push({ category: 3, text, gold: gold.map(({ remark }) => remark) })
    }
  }
}

/** A day in words is never the first of a month, whose number has another form in French. */
function drawDate(
  random: Random,
  phrases: LanguagePhrases,
  told: string,
): { adverbial: string; date: string } {
  const days = 2 + below(random, 5)
  const earlier = shiftDays(told, -days)
  const absolute = earlier.endsWith('-01') ? shiftDays(earlier, -1) : earlier
  const weekday = new Date(Date.parse(earlier)).getUTCDay()
  return pick(random, [
    { adverbial: spell(phrases.on_date, phrases, absolute), date: absolute },
    { adverbial: spellDigits(phrases, absolute), date: absolute },
    { adverbial: phrases.yesterday, date: shiftDays(told, -1) },
    { adverbial: phrases.last_weekdays[weekday] ?? '', date: earlier },
    { adverbial: phrases.two_weeks_ago, date: shiftDays(told, -14) },
  ])
}

function spell(template: string, { months }: LanguagePhrases, date: string): string {
  const [y = '', m, d] = date.split('-')
  return fill(template, { y, m: months[Number(m) - 1] ?? '', d: String(Number(d)) })
}

function spellDigits({ on_digits }: LanguagePhrases, date: string): string {
  const [y = '', m = '', d = ''] = date.split('-')
  return fill(on_digits, { y, m, d })
}

/** `2024`, or `de 2024` where the month is followed by a preposition. */
const yearOf = ({ in_month }: LanguagePhrases, date: string): string =>
  fill(in_month.slice(in_month.indexOf('{m} ') + 4), { y: date.slice(0, 4) })

const CHANGES_EACH = 2

/** Two or three versions of what holds for a person, in ascending sessions. */
function sayWhatChanges(draft: Draft): void {
  const { random, phrases, questions, remarks } = draft
  for (const p of phrases.people)
    for (const kind of shuffled(random, phrases.changing).slice(0, CHANGES_EACH)) {
      const values = shuffled(random, kind.values)
      const sessions = shuffled(random, [...Array(SESSIONS).keys()])
        .slice(0, 2 + below(random, 2))
        .sort((a, b) => a - b)
      let newest: Remark | undefined
      for (const [at, session] of sessions.entries()) {
        const text = fill(newest ? kind.says_again : kind.says, { v: values[at] ?? '' })
        newest = { session, speaker: p, text, ...(newest && { replaces: newest }) }
        remarks.push(newest)
      }
      const gold = newest ? [newest] : []
      questions.push({ category: 4, text: fill(kind.asks, { p }), gold })
    }
}

function chatAlong({ random, phrases, remarks }: Draft): void {
  while (remarks.length < FACTS) {
    const english = random() < ENGLISH_SHARE
    const [first, second] = shuffled(random, phrases.small_talk)
    const text = english ? pick(random, NEAR_MISSES) : `${first} ${second}`
    remarks.push({ session: below(random, SESSIONS), speaker: pick(random, phrases.people), text })
  }
}

function writeConversation(draft: Draft, language: string): Conversation {
  const { random, dates, remarks, questions } = draft
  const keys = new Map<Remark, string>()
  const written = dates.flatMap((date, session) =>
    shuffled(
      random,
      remarks.filter((remark) => remark.session === session),
    ).map((remark, at) => {
      keys.set(remark, `S${session + 1}:${at + 1}`)
      return { remark, date }
    }),
  )
  const keyOf = (remark: Remark): string => {
    const key = keys.get(remark)
    if (key === undefined) throw new Error(`nobody wrote "${remark.text}"`)
    return key
  }
  const facts = written.map(({ remark, date }): Fact => {
    const { session, speaker, text, replaces } = remark
    const about = { speaker }
    const metadata = { session_id: `session_${session + 1}`, date, ...about }
    const content = `${speaker}: ${text}`
    return { key: keyOf(remark), content, metadata, ...(replaces && { replaces: keyOf(replaces) }) }
  })
  const name = `language-${language}`
  const chosen = Object.entries(QUESTIONS).flatMap(([category, count]) =>
    shuffled(
      random,
      questions.filter((question) => question.category === Number(category)),
    ).slice(0, count),
  )
  return {
    name,
    facts,
    questions: chosen.map(({ category, text, gold }, at) => ({
      question_id: `${name}_q${at}`,
      category,
      text,
      gold: gold.map(keyOf),
    })),
  }
}
