// Threads of a chat between people: messages on one subject, and the questions they answer.

import { below, pick, type Random, shuffled } from '../random.ts'
import { fill } from '../synthetic-relations.ts'
import { FIRST_NAMES, NEAR_MISSES, SMALL_TALK } from '../synthetic-words.ts'
import { type ChatTopic, EVENTS, LISTS, NEWS, PLANS, TOPICS } from './chats-topics.ts'
import {
  ALIAS_INTRODUCTIONS,
  CHATTER,
  CHATTER_DE,
  CHATTER_ES,
  EVERYDAY_PLACES,
  FOODS,
  FRIENDS,
  LEAD_INS,
  NICKNAMES,
  PASSED_ITEMS,
  QUESTION_LEADS,
  QUOTES,
  RELATIVE_INTRODUCTIONS,
  RELATIVES,
  REPLIES,
  THINGS,
} from './chats-vocabulary.ts'

/** Identified by the object; several pieces of one long message share `message_id`. */
export interface Message {
  readonly speaker: string
  readonly text: string
  readonly message_id?: string
}

export interface ChatQuestion {
  readonly category: number
  readonly text: string
  readonly gold: readonly Message[]
}

/** Finds a session with room for `size` messages, from `earliest` on and before `end`. */
export type PlaceThread = (size: number, earliest?: number, end?: number) => number

export interface Chat {
  readonly random: Random
  readonly people: readonly string[]
  readonly topics: readonly ChatTopic[]
  readonly language: 'de' | 'es' | undefined
  /** ISO dates of the sessions, ascending. */
  readonly dates: readonly string[]
  readonly place: PlaceThread
  /** The threads of each session. */
  readonly threads: Message[][][]
  readonly questions: ChatQuestion[]
}

const DAY_MS = 86_400_000
const WEEKDAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')
const SEASONS = 'winter spring summer autumn'.split(' ')
const MONTHS =
  'January February March April May June July August September October November December'.split(' ')

export const shiftDate = (date: string, days: number): string =>
  new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10)

/** `7 May 2024` */
export function spellDate(date: string): string {
  return `${Number(date.slice(8))} ${spellMonth(date)}`
}

/** `May 2024` */
export const spellMonth = (date: string): string =>
  `${MONTHS[Number(date.slice(5, 7)) - 1]} ${date.slice(0, 4)}`

/** `spring 2024`, of the northern half; no set lasts until a winter begins. */
export const spellSeason = (date: string): string =>
  `${SEASONS[Math.floor((Number(date.slice(5, 7)) % 12) / 3)]} ${date.slice(0, 4)}`

/** Two to four people; the first has a nickname. */
export function drawPeople(random: Random, count: number): string[] {
  const nicknamed = pick(random, NICKNAMES)[0]
  const others = FIRST_NAMES.filter((name) => !NICKNAMES.some(([long]) => long === name))
  return [nicknamed, ...shuffled(random, others).slice(0, count - 1)]
}

/** The topics of a fold: no topic is used in both. */
export const topicsOf = (fold: number): ChatTopic[] => TOPICS.filter((_, at) => at % 2 === fold)

const TOLD_SHARE = 0.6
const NOT_TOLD_SHARE = 0.5
const SPLIT_SHARE = 0.4
const QUOTES_EACH = 3
const QUESTION_SHARE = 0.4
const OTHER_LANGUAGE_SHARE = 0.5
/** Of small talk in a chat of two languages. */
const FOREIGN_SHARE = 0.4
const LEAD_IN_SHARE = 0.35
const REPLY_SHARE = 0.7

/** Everything that is asked about is told in some thread; what is not told has no answer. */
export function writeThreads(chat: Chat, fold: number): void {
  const { people, topics, random } = chat
  for (const topic of topics) {
    const values = shuffled(random, topic.values)
    for (const [at, person] of people.entries())
      if (random() < TOLD_SHARE) tellTopic(chat, { topic, person, value: values[at] ?? '' })
      else ask(chat, 8, fill(topic.asks, { p: person }), [])
    distract(chat, topic)
  }
  for (const [at, kind] of LISTS.entries()) if (at % 2 === fold) tellList(chat, kind)
  tellEvents(chat, fold)
  tellAliases(chat)
  tellByPronoun(chat)
}

const ask = ({ questions }: Chat, category: number, text: string, gold: Message[]): void => {
  questions.push({ category, text, gold })
}

/** Puts a thread into a session: a lead-in before it, an answer of somebody else after it. */
function post(chat: Chat, session: number, messages: readonly Message[]): void {
  const { random, people, threads } = chat
  const [first] = messages
  if (!first) return
  const opens = random() < LEAD_IN_SHARE
  const lead = opens ? [{ speaker: first.speaker, text: pick(random, LEAD_INS) }] : []
  const others = people.filter((person) => person !== messages.at(-1)?.speaker)
  const replies = random() < REPLY_SHARE ? reply(random, pick(random, others)) : []
  threads[session]?.push([...lead, ...messages, ...replies])
}

const THREAD_EXTRA = 2

function reply(random: Random, speaker: string): Message[] {
  const count = random() < 0.3 ? 2 : 1
  return shuffled(random, REPLIES)
    .slice(0, count)
    .map((text) => ({ speaker, text }))
}

function tellTopic(
  chat: Chat,
  { topic, person, value }: { topic: ChatTopic; person: string; value: string },
): void {
  const { random, language, place } = chat
  const say = (template: string): Message => ({
    speaker: person,
    text: capital(fill(template.replace(/^~/, ''), { v: value })),
  })
  const translated = language && topic[language]
  if (translated && random() < OTHER_LANGUAGE_SHARE) {
    const [says, asks] = translated
    const message = say(says)
    post(chat, place(1 + THREAD_EXTRA), [message])
    ask(chat, 1, fill(asks, { p: person }), [message])
    ask(chat, 2, fill(topic.asks_otherwise, { p: person }), [message])
  } else if (random() < SPLIT_SHARE) {
    const messages = topic.split.map(say)
    post(chat, place(messages.length + THREAD_EXTRA), messages)
    const gold = messages.filter((_, at) => !topic.split[at]?.startsWith('~'))
    ask(chat, 3, fill(topic.asks, { p: person }), gold)
  } else {
    const message = say(pick(random, topic.says))
    post(chat, place(1 + THREAD_EXTRA), [message])
    const direct = random() < 0.5
    const template = direct ? topic.asks : topic.asks_otherwise
    ask(chat, direct ? 1 : 2, fill(template, { p: person }), [message])
  }
}

/** Messages in the words of a topic that answer nothing: quotations, and a question. */
function distract(chat: Chat, { says, values, asks }: ChatTopic): void {
  const { random, people, place } = chat
  for (const quote of shuffled(random, QUOTES).slice(0, QUOTES_EACH)) {
    const said = fill(pick(random, says), { v: pick(random, values) })
    const message = { speaker: pick(random, people), text: `${quote} ${capital(said)}` }
    post(chat, place(1 + THREAD_EXTRA), [message])
  }
  if (random() >= QUESTION_SHARE) return
  const [speaker = '', person = ''] = shuffled(random, people)
  const question = [pick(random, QUESTION_LEADS), fill(asks, { p: person })]
  const messages = question.map((text) => ({ speaker, text }))
  post(chat, place(messages.length + THREAD_EXTRA), messages)
}

interface DatedMessage {
  readonly message: Message
  readonly date: string
}

/** Several messages over the sessions; one person's, or all people's where nobody is named. */
function tellList(chat: Chat, { values, says, asks, asks_in }: (typeof LISTS)[number]): void {
  const { random, people, dates, place } = chat
  const rest = shuffled(random, values)
  const named = asks_in !== undefined
  const speakers = named ? shuffled(random, people).slice(0, 2) : people
  const told = speakers.flatMap((speaker) =>
    rest.splice(0, named ? 2 + below(random, 2) : 2).map((value): DatedMessage => {
      const message = { speaker, text: capital(fill(pick(random, says), { v: value })) }
      const session = place(1 + THREAD_EXTRA)
      post(chat, session, [message])
      return { message, date: dates[session] ?? '' }
    }),
  )
  for (const person of named ? speakers : [undefined]) {
    const own = told.filter(({ message }) => person === undefined || message.speaker === person)
    const p = person ?? ''
    for (const text of asks) ask(chat, 4, fill(text, { p }), messagesOf(own))
    const periodOf = pick(random, [spellMonth, spellSeason])
    if (asks_in !== undefined)
      for (const [period, within] of Map.groupBy(own, ({ date }) => periodOf(date)))
        ask(chat, 5, fill(asks_in, { p, m: period }), messagesOf(within))
  }
}

const messagesOf = (dated: readonly DatedMessage[]): Message[] =>
  dated.map(({ message }) => message)

/** Past events and plans with relative and absolute dates, asked for by event and by date. */
function tellEvents(chat: Chat, fold: number): void {
  const { random, people, dates, place } = chat
  const kinds = [
    ...EVENTS.map(([says, asks]) => ({ says, asks, direction: -1 })),
    ...PLANS.map(([says, asks]) => ({ says, asks, direction: 1 })),
  ].filter((_, at) => at % 2 === fold)
  for (const person of people) {
    const own: DatedMessage[] = []
    for (const { says, asks, direction } of kinds) {
      if (random() < NOT_TOLD_SHARE) {
        ask(chat, 8, fill(asks, { p: person }), [])
        continue
      }
      const session = place(1 + THREAD_EXTRA)
      const told = dates[session] ?? ''
      const { phrase, days } = drawWhen(random, told, direction)
      const message = { speaker: person, text: fill(says, { w: phrase }) }
      post(chat, session, [message])
      ask(chat, 5, fill(asks, { p: person }), [message])
      if (direction < 0) own.push({ message, date: shiftDate(told, days) })
    }
    askOfDates(chat, person, own)
  }
}

/** How a date is spelled in a message of `told`, and how many days it is away. */
function drawWhen(
  random: Random,
  told: string,
  direction: number,
): { phrase: string; days: number } {
  const days = direction * (2 + below(random, 5))
  const weekday = WEEKDAYS[new Date(Date.parse(shiftDate(told, days))).getUTCDay()]
  const distance = Math.abs(days)
  const weeks = 2 + below(random, 2)
  const past = direction < 0
  return pick(random, [
    { phrase: past ? 'yesterday' : 'tomorrow', days: direction },
    { phrase: past ? `last ${weekday}` : `on ${weekday}`, days },
    { phrase: past ? `${distance} days ago` : `in ${distance} days`, days },
    {
      phrase: past ? `${weeks} weeks ago` : `in ${weeks} weeks`,
      days: direction * 7 * weeks,
    },
    { phrase: `on ${spellDate(shiftDate(told, days)).slice(0, -5)}`, days },
  ])
}

function askOfDates(chat: Chat, person: string, own: readonly DatedMessage[]): void {
  const { random } = chat
  for (const [date, within] of Map.groupBy(own, (one) => one.date)) {
    const ago = 1 + below(random, 20)
    const away = ago === 1 ? 'yesterday' : ago === 14 ? 'two weeks ago' : `${ago} days ago`
    const today = spellDate(shiftDate(date, ago))
    const text = pick(random, [
      `What did ${person} do on ${spellDate(date)}?`,
      `Today is ${today}. What did ${person} do ${away}?`,
    ])
    ask(chat, 5, text, messagesOf(within))
  }
}

/** News of somebody under another name than the one in the question. */
function tellAliases(chat: Chat): void {
  const { random, people, place, dates } = chat
  const news = shuffled(random, NEWS)
  const nicknamed = NICKNAMES.find(([long]) => long === people[0])
  const relatives = shuffled(random, RELATIVES)
  const introduce = (speaker: string, text: string): { message: Message; session: number } => {
    const message = { speaker, text }
    const early = place(1 + THREAD_EXTRA, 0, Math.floor(dates.length / 2))
    post(chat, early, [message])
    return { message, session: early }
  }
  const tell = (kind: (typeof NEWS)[number], after: number, alias: string, speaker: string) => {
    const text = capital(fill(kind.says, { a: alias, v: pick(random, kind.values) }))
    const message = { speaker, text }
    post(chat, place(1 + THREAD_EXTRA, after), [message])
    return message
  }
  if (nicknamed) {
    const [long, short] = nicknamed
    const intro = introduce(long, fill(pick(random, ALIAS_INTRODUCTIONS), { a: short }))
    for (const kind of news.slice(0, 2)) {
      const message = tell(kind, intro.session + 1, short, pick(random, people.slice(1)))
      ask(chat, 6, fill(kind.asks, { p: long }), [message, intro.message])
    }
  }
  for (const [at, [relation, name]] of relatives.slice(0, 2).entries()) {
    const speaker = pick(random, people)
    const text = fill(pick(random, RELATIVE_INTRODUCTIONS), { r: relation, a: name })
    const intro = introduce(speaker, text)
    const [first, second] = news.slice(2 + 2 * at, 4 + 2 * at)
    if (!first || !second) continue
    const byRelation = tell(first, intro.session + 1, `my ${relation}`, speaker)
    ask(chat, 6, fill(first.asks, { p: name }), [byRelation, intro.message])
    const byName = tell(second, intro.session + 1, name, speaker)
    const asks = fill(second.asks, { p: `${speaker}'s ${relation}` })
    ask(chat, 6, asks, [byName, intro.message])
  }
}

/** Answers of a pronoun only: what they are about is in the message before. */
function tellByPronoun(chat: Chat): void {
  const { random, people, place } = chat
  const tell = (first: string, second: string): Message[] => {
    const [one, other] = shuffled(random, people)
    const messages = [
      { speaker: one ?? '', text: first },
      { speaker: other ?? '', text: second },
    ]
    post(chat, place(2 + THREAD_EXTRA), messages)
    return messages
  }
  for (const item of shuffled(random, PASSED_ITEMS).slice(0, 2)) {
    const gold = tell(`Who has got the ${item}?`, pick(random, ['Me.', 'Me, since Sunday.']))
    ask(chat, 6, `Who has the ${item}?`, gold)
  }
  const news = shuffled(random, NEWS)
  for (const [at, [name, pronoun]] of shuffled(random, FRIENDS).slice(0, 2).entries()) {
    const kind = news[at]
    if (!kind) continue
    const told = fill(kind.says, { a: pronoun, v: pick(random, kind.values) })
    const gold = tell(
      pick(random, ['How is {a}?', 'Any news from {a}?']).replace('{a}', name),
      told,
    )
    ask(chat, 6, fill(kind.asks, { p: name }), gold)
  }
}

/** A thread that states nothing: a burst of short messages, and what others say to it. */
export function smallTalk({ random, people, language }: Chat): Message[] {
  const [speaker = '', ...others] = shuffled(random, people)
  const foreign = { de: CHATTER_DE, es: CHATTER_ES }
  const source =
    language && random() < FOREIGN_SHARE
      ? foreign[language]
      : pick(random, [CHATTER, CHATTER, SMALL_TALK, NEAR_MISSES])
  const [f, t, d] = [pick(random, FOODS), pick(random, THINGS), pick(random, EVERYDAY_PLACES)]
  const text = fill(pick(random, source), { f, t, d, p: pick(random, others) })
  const parts = random() < 0.75 ? text.split(/(?<=[.!?]) |(?<=,) /) : [text]
  const replies = Array.from({ length: below(random, 3) }, () =>
    reply(random, pick(random, others)),
  )
  return [...parts.map((part) => ({ speaker, text: part })), ...replies.flat()]
}

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`
