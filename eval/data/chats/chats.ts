// The chats set: conversations in the shape of real chats, and with an assistant, by a seed.

import { type Conversation, type Dataset, type Fact, sha256 } from '../dataset.ts'
import { below, pick, type Random, seededRandom, shuffled } from '../random.ts'
import { USER, writeAssistantThreads } from './chats-assistant.ts'
import { makeStyle, type TypingStyle, typeMessage } from './chats-noise.ts'
import {
  type Chat,
  type ChatQuestion,
  drawPeople,
  type Message,
  shiftDate,
  smallTalk,
  topicsOf,
  writeThreads,
} from './chats-threads.ts'

export interface ChatsSpec {
  /** Chats between people, and conversations with an assistant. */
  readonly chats: number
  readonly assistants: number
  readonly sessions: number
  /** Mean share of words of four or more letters with a typo. */
  readonly typos: number
  /** The most questions of each category in one conversation. */
  readonly questions: Readonly<Record<number, number>>
}

export const CHATS_SEED = 20_261_123

/** About 3,900 facts and 560 questions. */
export const CHATS: ChatsSpec = {
  chats: 8,
  assistants: 4,
  sessions: 15,
  typos: 0.03,
  questions: { 1: 7, 2: 7, 3: 7, 4: 6, 5: 8, 6: 6, 7: 14, 8: 5 },
}

/** The same in small, for a test. */
export const CHATS_SHORT: ChatsSpec = { ...CHATS, chats: 2, assistants: 2 }

export const CHATS_CATEGORIES = {
  1: 'direct',
  2: 'paraphrase',
  3: 'split over messages',
  4: 'lists',
  5: 'temporal',
  6: 'pronoun or alias',
  7: "assistant's answer",
  8: 'unanswerable',
} as const

/**
 * Choose settings on one fold and report the other. The folds share no topic, no task and no event;
 * each has as many chats of each kind, number of people and language.
 */
export const foldOf = (conversation: number): 0 | 1 => (conversation % 2 === 0 ? 0 : 1)

export function makeChats(spec: ChatsSpec, seed: number): Dataset {
  const conversations = Array.from({ length: spec.chats + spec.assistants }, (_, at) => {
    const random = seededRandom(seed + at)
    return at < spec.chats ? makeChat(random, spec, at) : makeAssistantChat(random, spec, at)
  })
  const text = JSON.stringify(conversations)
  return {
    name: 'chats',
    sha256: sha256(text),
    bytes: Buffer.byteLength(text),
    licence: 'generated',
    category_names: CHATS_CATEGORIES,
    groups: [
      { name: 'answerable', categories: [1, 2, 3, 4, 5, 6, 7] },
      { name: 'all', categories: Object.keys(CHATS_CATEGORIES).map(Number) },
    ],
    certain: [],
    conversations,
    notes: [
      `seed ${seed}; questions of category 8 have no answer: they are in no recall`,
      'conversations with an even index are one fold, the others the other',
    ],
  }
}

const LANGUAGES = ['de', 'es', undefined, 'es'] as const
const PEOPLE = [2, 3, 4, 3]

function makeChat(random: Random, spec: ChatsSpec, at: number): Conversation {
  const pair = at >> 1
  const dates = makeDates(random, spec.sessions)
  const sizes = dates.map(() => drawSize(random))
  const threads = dates.map((): Message[][] => [])
  const chat: Chat = {
    random,
    people: drawPeople(random, PEOPLE[pair % PEOPLE.length] ?? 2),
    topics: topicsOf(foldOf(at)),
    language: LANGUAGES[pair % LANGUAGES.length],
    dates,
    place: placeBySize(random, sizes),
    threads,
    questions: [],
  }
  writeThreads(chat, foldOf(at))
  const sessions = threads.map((own, session) => {
    const size = sizes[session] ?? SESSION_MIN
    let missing = size - own.flat().length
    while (missing > 0) {
      const filler = smallTalk(chat).slice(0, missing)
      own.push(filler)
      missing -= filler.length
    }
    return interleave(random, shuffled(random, own))
  })
  return writeConversation({ ...chat, name: `chat-${at + 1}`, spec, sessions })
}

function makeAssistantChat(random: Random, spec: ChatsSpec, at: number): Conversation {
  const dates = makeDates(random, spec.sessions)
  const threads = dates.map((): Message[][] => [])
  const chat: Chat = {
    random,
    people: [USER],
    topics: [],
    language: undefined,
    dates,
    place: () => 0,
    threads,
    questions: [],
  }
  writeAssistantThreads(chat, foldOf(at))
  const sessions = threads.map((own) => own.flat())
  return writeConversation({ ...chat, name: `assistant-${at + 1 - spec.chats}`, spec, sessions })
}

/** Some days or some weeks apart. */
function makeDates(random: Random, count: number): string[] {
  let date = shiftDate('2024-01-08', below(random, 60))
  return Array.from({ length: count }, () => {
    date = shiftDate(date, random() < 0.6 ? 1 + below(random, 5) : 8 + below(random, 30))
    return date
  })
}

const SESSION_MIN = 3
const SESSION_MAX = 60

/** Most sessions are short, some are long. */
const drawSize = (random: Random): number =>
  SESSION_MIN + Math.floor((SESSION_MAX + 1 - SESSION_MIN) * random() ** 2)

/** A session is drawn by its free room; without any, one that is not full is enlarged. */
function placeBySize(random: Random, sizes: number[]): Chat['place'] {
  const used = sizes.map(() => 0)
  return (size, earliest = 0, end = sizes.length) => {
    const drawBy = (room: (at: number) => number): number[] =>
      [...sizes.keys()]
        .slice(earliest, end)
        .filter((at) => room(at) >= size)
        .flatMap((at) => Array.from({ length: room(at) }, () => at))
    const free = drawBy((at) => (sizes[at] ?? 0) - (used[at] ?? 0))
    const at = pick(
      random,
      free.length > 0 ? free : drawBy((one) => SESSION_MAX - (used[one] ?? 0)),
    )
    used[at] = (used[at] ?? 0) + size
    sizes[at] = Math.max(sizes[at] ?? 0, used[at] ?? 0)
    return at
  }
}

const SWITCH_SHARE = 0.2

/** Two threads are open at a time: the talk changes between them and comes back. */
function interleave(random: Random, threads: readonly Message[][]): Message[] {
  const waiting = threads.map((thread) => [...thread])
  const open = waiting.splice(0, 2)
  const messages: Message[] = []
  let current = 0
  while (open.length > 0) {
    if (random() < SWITCH_SHARE) current += 1
    const at = current % open.length
    const message = open[at]?.shift()
    if (message) messages.push(message)
    if (open[at]?.length === 0) open.splice(at, 1, ...waiting.splice(0, 1))
  }
  return messages
}

interface WrittenChat extends Chat {
  readonly name: string
  readonly spec: ChatsSpec
  readonly sessions: readonly Message[][]
}

/** Types every message in the style of its speaker; the assistant types without mistakes. */
function writeConversation({ name, spec, sessions, ...chat }: WrittenChat): Conversation {
  const { random, people, dates, questions } = chat
  const styles = new Map<string, TypingStyle>(
    people.map((person) => [person, makeStyle(random, spec.typos)]),
  )
  const keys = new Map<Message, string>()
  const facts = sessions.flatMap((messages, session) =>
    messages.map((message, at): Fact => {
      const { speaker, text, message_id } = message
      const style = styles.get(speaker)
      const typed = style ? typeMessage(random, text, style) : text
      const key = `S${session + 1}:${at + 1}`
      keys.set(message, key)
      const date = dates[session] ?? ''
      const metadata = {
        ...{ session_id: `session_${session + 1}`, date, speaker },
        ...(message_id !== undefined && { message_id }),
      }
      return { key, content: `${speaker}: ${typed}`, metadata }
    }),
  )
  const chosen = chooseQuestions(random, questions, spec)
  return {
    name,
    facts,
    questions: chosen.map(({ category, text, gold }, at) => ({
      question_id: `${name}_q${at}`,
      category,
      text,
      gold: gold.map((message) => {
        const key = keys.get(message)
        if (key === undefined) throw new Error(`nobody wrote the answer of "${text}"`)
        return key
      }),
    })),
  }
}

/** The most questions that the spec allows of each category, in the order of the categories. */
function chooseQuestions(
  random: Random,
  questions: readonly ChatQuestion[],
  spec: ChatsSpec,
): ChatQuestion[] {
  return Object.entries(spec.questions).flatMap(([category, count]) => {
    const own = questions.filter((question) => question.category === Number(category))
    return shuffled(random, own).slice(0, count)
  })
}
