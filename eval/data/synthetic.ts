// The synthetic set: circles of people, one store each, made by a seed; every answer is known.

import { type Conversation, type Dataset, type Fact, sha256 } from './dataset.ts'
import { below, type Random, seededRandom, shuffled } from './random.ts'
import {
  ask,
  type QuestionCounts,
  SYNTHETIC_CATEGORIES,
  type SyntheticQuestion,
} from './synthetic-questions.ts'
import { fill } from './synthetic-relations.ts'
import { NEAR_MISSES, SMALL_TALK } from './synthetic-words.ts'
import { makeWorld, type Statement, type World, type WorldSize } from './synthetic-world.ts'

export interface SyntheticSize extends WorldSize {
  readonly seed: number
  readonly stores: number
  /** Turns that state nothing, for each that does. */
  readonly small_talk: number
  readonly questions: QuestionCounts
}

/** About 4,500 facts, and 640 questions. */
export const SYNTHETIC: SyntheticSize = {
  seed: 20_240_501,
  stores: 5,
  people: 20,
  sessions: 30,
  small_talk: 1.2,
  questions: { 1: 24, 2: 24, 3: 20, 4: 20, 5: 20, 6: 8, 7: 12 },
}

/** The same in small, for a test. */
export const SYNTHETIC_SHORT: SyntheticSize = {
  ...SYNTHETIC,
  stores: 2,
  people: 10,
  sessions: 16,
  questions: { 1: 10, 2: 10, 3: 8, 4: 8, 5: 10, 6: 6, 7: 6 },
}

export function makeSynthetic(size: SyntheticSize): Dataset {
  const conversations = Array.from({ length: size.stores }, (_, at) =>
    makeConversation(seededRandom(size.seed + at), `circle-${at + 1}`, size),
  )
  const text = JSON.stringify(conversations)
  return {
    name: 'synthetic',
    sha256: sha256(text),
    bytes: Buffer.byteLength(text),
    licence: 'MIT, made by eval/data/synthetic.ts',
    category_names: SYNTHETIC_CATEGORIES,
    groups: [{ name: 'all', categories: Object.keys(SYNTHETIC_CATEGORIES).map(Number) }],
    certain: [5],
    conversations,
    notes: [
      `seed ${size.seed}; questions of category 6 have no answer left: they are in no recall`,
    ],
  }
}

function makeConversation(random: Random, name: string, size: SyntheticSize): Conversation {
  const world = makeWorld(random, size)
  const asked = ask(random, world, size.questions)
  const { facts, keys } = writeDown(random, world, size.small_talk)
  const keyOf = (statement: Statement) => {
    const key = keys.get(statement)
    if (key === undefined) throw new Error('a question about what nobody said')
    return key
  }
  const questions = asked.map(({ category, text, gold }: SyntheticQuestion, at) => ({
    question_id: `${name}_q${at}`,
    category,
    text,
    gold: gold.map(keyOf),
  }))
  return { name, facts, questions }
}

/** Sessions in order; within one, what is said and small talk in random order. */
function writeDown(
  random: Random,
  world: World,
  smallTalk: number,
): { facts: Fact[]; keys: Map<Statement, string> } {
  const said = statementsOf(world)
  const spoken = [...said, ...chat(random, world, Math.round(said.length * smallTalk))]
  const keys = new Map<Statement, string>()
  const ordered = world.dates.flatMap((date, session) => {
    const turns = shuffled(
      random,
      spoken.filter((statement) => statement.session === session),
    )
    return turns.map((statement, at) => {
      keys.set(statement, `S${session + 1}:${at + 1}`)
      return { statement, metadata: { session_id: `session_${session + 1}`, date } }
    })
  })
  const facts = ordered.map(({ statement, metadata }): Fact => {
    const { speaker, text, replaces, erased } = statement
    const old = replaces && keys.get(replaces)
    return {
      key: keys.get(statement) ?? '',
      content: `${speaker}: ${text}`,
      metadata: { ...metadata, speaker },
      ...(old !== undefined && { replaces: old }),
      ...(erased && { erased }),
    }
  })
  return { facts, keys }
}

const statementsOf = ({ told, visits, projects }: World): Statement[] => [
  ...told.flatMap(({ versions }) => versions),
  ...visits.map(({ statement }) => statement),
  ...projects.flatMap(({ lead, facts }) => [lead, ...facts.flatMap(({ versions }) => versions)]),
]

/** Most turns of small talk are of two sentences, so that few are alike. */
const TWO_SENTENCES_SHARE = 0.75

function chat(random: Random, { people, dates }: World, count: number): Statement[] {
  const say = (...sentences: readonly string[]): Statement => {
    const [speaker, other] = shuffled(random, people)
    const text = fill(sentences.join(' '), { p: other?.name.split(' ')[0] ?? '' })
    return { session: below(random, dates.length), speaker: speaker?.name ?? '', text }
  }
  const small = Array.from({ length: count }, () => {
    const sentences = shuffled(random, SMALL_TALK)
    return say(...sentences.slice(0, random() < TWO_SENTENCES_SHARE ? 2 : 1))
  })
  return [...small, ...[...NEAR_MISSES, ...NEAR_MISSES].map((sentence) => say(sentence))]
}
