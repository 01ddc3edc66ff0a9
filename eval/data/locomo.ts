// Reads LoCoMo: ten long chats, with the turns that answer each question. It is never copied here.

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Type, { type Static } from 'typebox'
import { type Conversation, type Dataset, type Fact, type Question, sha256 } from './dataset.ts'
import { readerOf } from './shape.ts'

const Turn = Type.Object({ speaker: Type.String(), dia_id: Type.String(), text: Type.String() })
const Sample = Type.Object({
  sample_id: Type.String(),
  conversation: Type.Record(Type.String(), Type.Unknown()),
  qa: Type.Array(
    Type.Object({
      question: Type.String(),
      category: Type.Integer(),
      evidence: Type.Array(Type.String()),
    }),
  ),
})
const Correction = Type.Object({
  question_id: Type.String(),
  correct_evidence: Type.Array(Type.String()),
})

const readSamples = readerOf(Type.Array(Sample))
const readCorrections = readerOf(Type.Array(Correction))
const readTurns = readerOf(Type.Array(Turn))

type Sample = Static<typeof Sample>

const CATEGORY_NAMES = {
  1: 'multi-hop',
  2: 'temporal',
  3: 'open domain',
  4: 'single-hop',
  5: 'adversarial',
}

/** The corrections are read from `evidence-corrections.json` beside it. null: no such file. */
export function readLocomo(path: string): Dataset | null {
  if (!existsSync(path)) return null
  const bytes = readFileSync(path)
  const beside = join(dirname(path), 'evidence-corrections.json')
  const corrected = existsSync(beside) ? readFileSync(beside, 'utf8') : '[]'
  const conversations = parseLocomo(bytes.toString('utf8'), corrected)
  return {
    name: 'locomo',
    sha256: sha256(bytes),
    bytes: bytes.length,
    licence: 'CC BY-NC 4.0, read in place',
    category_names: CATEGORY_NAMES,
    groups: [
      { name: '1-4', categories: [1, 2, 3, 4] },
      { name: '1-5', categories: [1, 2, 3, 4, 5] },
    ],
    certain: [],
    // Category 5 asks one speaker for what the other said: its evidence is not an answer.
    unanswerable: [5],
    conversations,
    notes: [
      ...describeEvidence(conversations),
      existsSync(beside)
        ? `evidence-corrections.json, SHA-256 ${sha256(corrected)}`
        : 'no evidence-corrections.json beside it: nothing is corrected',
    ],
  }
}

/** The two files' texts to conversations. */
export function parseLocomo(text: string, correctionsText: string): Conversation[] {
  const corrected = new Map(
    readCorrections(JSON.parse(correctionsText)).map(({ question_id, correct_evidence }) => [
      question_id,
      correct_evidence,
    ]),
  )
  return readSamples(JSON.parse(text)).map((sample, at) => toConversation(sample, at, corrected))
}

function toConversation(
  sample: Sample,
  at: number,
  corrected: ReadonlyMap<string, readonly string[]>,
): Conversation {
  const facts = factsOf(sample)
  const known = new Set(facts.map(({ key }) => key))
  const resolve = (evidence: readonly string[]) =>
    normaliseEvidence(evidence).filter((key) => known.has(key))
  const questions = sample.qa.map(({ question, category, evidence }, index): Question => {
    // The corrections number conversations and questions from 0, in the order of the file.
    const question_id = `locomo_${at}_qa${index}`
    const gold = resolve(evidence)
    const correction = corrected.get(question_id)
    const gold_corrected = correction ? resolve(correction) : gold
    return { question_id, category, text: question, gold, gold_corrected }
  })
  return { name: sample.sample_id, facts, questions }
}

/** One fact a turn, `speaker: text`. Captions of pictures are left out. */
function factsOf({ conversation }: Sample): Fact[] {
  const sessions = Object.keys(conversation)
    .flatMap((name) => /^session_(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b)
  return sessions.flatMap((number) => {
    const session_id = `session_${number}`
    const date = isoDate(String(conversation[`${session_id}_date_time`]))
    return readTurns(conversation[session_id]).map(({ speaker, dia_id, text }) => ({
      key: dia_id,
      content: `${speaker}: ${text}`,
      metadata: { session_id, date, speaker },
    }))
  })
}

const MONTHS =
  'January February March April May June July August September October November December'.split(' ')

/** `1:56 pm on 8 May, 2023` as `2023-05-08`. */
export function isoDate(text: string): string {
  const [, day = '', name = '', year = ''] = / on (\d{1,2}) (\w+), (\d{4})$/.exec(text) ?? []
  return isoFromName(year, name, day)
}

/** With the English name of the month. */
export function isoFromName(year: string, name: string, day: string): string {
  const month = MONTHS.indexOf(name) + 1
  if (month === 0) throw new Error(`not a date of the set: ${day} ${name} ${year}`)
  return `${year}-${String(month).padStart(2, '0')}-${day.padStart(2, '0')}`
}

/**
 * Evidence as turn ids, each once: the set writes some as `D8:6; D9:17`, `D9:1 D4:4` or `D:11:26`,
 * and one as `D`, which names nothing.
 */
export function normaliseEvidence(evidence: readonly string[]): string[] {
  const ids = evidence.flatMap((text) =>
    [...text.matchAll(/D:?(\d+):(\d+)/g)].map(([, day, turn]) => `D${Number(day)}:${Number(turn)}`),
  )
  return [...new Set(ids)]
}

function describeEvidence(conversations: readonly Conversation[]): string[] {
  const all = conversations.flatMap(({ questions }) => questions)
  const without = (of: (question: Question) => readonly string[] | undefined) =>
    all.filter((question) => of(question)?.length === 0).length
  const changed = all.filter(({ gold, gold_corrected = gold }) => !sameKeys(gold, gold_corrected))
  return [
    `${all.length} questions, ${without(({ gold }) => gold)} without resolvable evidence ` +
      `(${without(({ gold_corrected }) => gold_corrected)} corrected): asked, but in no recall`,
    `the corrections change the evidence of ${changed.length} questions`,
  ]
}

const sameKeys = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((key) => b.includes(key))
