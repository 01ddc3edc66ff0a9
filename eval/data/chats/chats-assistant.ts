// Conversations with an assistant: long messages cut into pieces, and the questions they answer.

import { below, pick, type Random, shuffled } from '../random.ts'
import { fill } from '../synthetic-relations.ts'
import { type AssistantTask, TASKS } from './chats-tasks.ts'
import { type Chat, type Message, spellDate } from './chats-threads.ts'
import {
  ANSWER_ENDINGS,
  ANSWER_FILLER,
  ANSWER_HEADINGS,
  USER_FILLER,
  USER_PADDING,
} from './chats-vocabulary.ts'

export const USER = 'user'
const ASSISTANT = 'assistant'
/** A longer message is cut at sentence ends; doubled letters leave it below 280. */
const PIECE_CHARS_MAX = 270

const SUBJECT_SHARE = 0.8
const ONE_MESSAGE_SHARE = 0.6
/** Of the advice that does not name its subject. */
const BARE_SHARE = 0.4
/** Of the other sentences that name it, so that pieces of one answer compete. */
const NAMING_SHARE = 0.4
const PARAPHRASE_SHARE = 0.5

/** Each subject of each task of the fold is discussed in one session, or never. */
export function writeAssistantThreads(chat: Chat, fold: number): void {
  const { random, dates, questions } = chat
  const openings = new Map<Message, string>()
  for (const task of TASKS.filter((_, at) => at % 2 === fold)) {
    const own: Message[] = []
    for (const s of task.subjects) {
      if (random() >= SUBJECT_SHARE) {
        for (const { asks } of [pick(random, task.told), pick(random, task.advice)])
          questions.push({ category: 8, text: fill(asks, { s }), gold: [] })
        continue
      }
      const session = below(random, dates.length)
      const opening = discuss(chat, task, { s, session })
      own.push(opening)
      openings.set(opening, dates[session] ?? '')
      questions.push({ category: 5, text: fill(task.asks_when, { s }), gold: [opening] })
    }
    questions.push({ category: 4, text: task.asks_all, gold: own })
  }
  for (const [date, entries] of Map.groupBy(openings, ([, day]) => day)) {
    const text = `What did I ask the assistant about on ${spellDate(date)}?`
    questions.push({ category: 5, text, gold: entries.map(([opening]) => opening) })
  }
}

/** Writes what the person asks and the assistant answers; returns the first piece. */
function discuss(
  { random, questions, threads }: Chat,
  task: AssistantTask,
  { s, session }: { s: string; session: number },
): Message {
  const valued = (detail: { says: string; values: readonly string[] }): string =>
    fill(detail.says, { s, v: pick(random, detail.values) })
  const opening = fill(task.opening, { s })
  const told = task.told.map(valued)
  const advice = task.advice.map((detail) =>
    valued(random() < BARE_SHARE ? { ...detail, says: detail.says_bare } : detail),
  )
  const thread = `${session}-${threads[session]?.length}`
  const request = [opening, ...told.flatMap((text) => [text, ...padding(random, USER_PADDING, 2)])]
  const filler = [
    ...task.filler.map((text) => fill(text, { s })),
    ...ANSWER_FILLER.map((text) => (random() < NAMING_SHARE ? `For ${s}: ${text}` : text)),
  ]
  const [first = '', second = '', ...others] = advice
  const answer = layOut(random, [first, ...others], filler)
  const further = [...layOut(random, [second], filler), pick(random, ANSWER_ENDINGS)]
  const asked =
    random() < ONE_MESSAGE_SHARE
      ? cut(USER, request, `${thread}-request`)
      : request.flatMap((text, at) => cut(USER, [text], `${thread}-request-${at}`))
  const messages = [
    ...asked,
    ...cut(ASSISTANT, answer, `${thread}-answer`),
    ...cut(USER, [pick(random, USER_FILLER)], `${thread}-more`),
    ...cut(ASSISTANT, further, `${thread}-further`),
  ]
  threads[session]?.push(messages)
  const holding = (text: string): Message => {
    const message = messages.find((piece) => piece.text.includes(text))
    if (!message) throw new Error(`no piece holds "${text}"`)
    return message
  }
  for (const [at, { asks, asks_otherwise }] of task.told.entries()) {
    const gold = [holding(told[at] ?? '')]
    const paraphrased = random() < PARAPHRASE_SHARE
    const text = fill(paraphrased ? asks_otherwise : asks, { s })
    questions.push({ category: paraphrased ? 2 : 1, text, gold })
  }
  const both = [...new Set(told.map(holding))]
  const [one = '', other = ''] = task.told.map(({ asks }) => fill(asks, { s }))
  const joined = `${one.slice(0, -1)}, and ${other.charAt(0).toLowerCase()}${other.slice(1)}`
  if (both.length > 1) questions.push({ category: 3, text: joined, gold: both })
  for (const [at, { asks }] of task.advice.entries())
    questions.push({ category: 7, text: fill(asks, { s }), gold: [holding(advice[at] ?? '')] })
  return holding(opening)
}

const padding = (random: Random, sentences: readonly string[], countMax: number): string[] =>
  shuffled(random, sentences).slice(0, below(random, countMax + 1))

/** Advice between sentences that hold for anything, under headings or numbers, or plain. */
function layOut(random: Random, advice: readonly string[], filler: readonly string[]): string[] {
  const layout = pick(random, ['headings', 'numbers', 'plain'])
  const rest = shuffled(random, filler)
  return advice.flatMap((text, at) => {
    const before = layout === 'headings' ? [ANSWER_HEADINGS[at] ?? ''] : []
    const first = layout === 'numbers' ? `${at + 1}. ${text}` : text
    const [lead, after] = [below(random, 3), 2 + below(random, 4)]
    return [...before, ...rest.splice(0, lead), first, ...rest.splice(0, after)]
  })
}

/** The sentences of one message in pieces of at most `PIECE_CHARS_MAX` characters. */
export function cut(speaker: string, sentences: readonly string[], message_id: string): Message[] {
  const pieces: string[] = []
  for (const sentence of sentences) {
    const last = pieces.at(-1)
    const joined = last === undefined ? sentence : `${last} ${sentence}`
    if (last !== undefined && joined.length <= PIECE_CHARS_MAX) pieces[pieces.length - 1] = joined
    else pieces.push(sentence)
  }
  return pieces.map((text) => ({ speaker, text, message_id }))
}
