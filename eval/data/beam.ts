// Reads BEAM: chats of a person with an assistant, and the messages that answer each question. The
// files are read in place: their repository names no licence.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Type, { type Static } from 'typebox'
import { type Conversation, type Dataset, type Fact, type Question, sha256 } from './dataset.ts'
import { isoFromName } from './locomo.ts'
import { readerOf } from './shape.ts'

const Message = Type.Object({
  id: Type.Integer(),
  role: Type.String(),
  content: Type.String(),
  time_anchor: Type.Optional(Type.Union([Type.String(), Type.Null()])),
})
const Batch = Type.Object({
  batch_number: Type.Integer(),
  turns: Type.Array(Type.Array(Message)),
})
const readBatches = readerOf(Type.Array(Batch))
const readProbes = readerOf(
  Type.Record(
    Type.String(),
    Type.Array(
      Type.Object({ question: Type.String(), source_chat_ids: Type.Optional(Type.Unknown()) }),
    ),
  ),
)

/** Questions without an answer; their evidence is unknown. */
const LEFT_OUT = 'abstention'
const CATEGORIES = [
  'contradiction_resolution',
  'event_ordering',
  'information_extraction',
  'instruction_following',
  'knowledge_update',
  'multi_session_reasoning',
  'preference_following',
  'summarization',
  'temporal_reasoning',
]

/** Messages of the person alone, or those of the assistant too. */
type BeamVariant = 'beam-user' | 'beam'

/** Reads `N/chat.json` and `N/probing_questions.json`. null: no such directory. */
export function readBeam(directory: string, variant: BeamVariant): Dataset | null {
  if (!existsSync(directory)) return null
  const names = readdirSync(directory)
    .filter((name) => existsSync(join(directory, name, 'chat.json')))
    .sort((a, b) => Number(a) - Number(b))
  const read = (name: string, file: string) => readFileSync(join(directory, name, file), 'utf8')
  const files = names.map((name) => [read(name, 'chat.json'), read(name, 'probing_questions.json')])
  const conversations = files.map(([chat = '', probes = ''], at) =>
    parseBeam(chat, probes, { name: `beam_${names[at]}`, variant }),
  )
  const text = files.flat().join('')
  const numbers = CATEGORIES.map((_, at) => at + 1)
  return {
    name: variant,
    sha256: sha256(text),
    bytes: Buffer.byteLength(text),
    licence: 'names none, read in place',
    category_names: Object.fromEntries(CATEGORIES.map((name, at) => [at + 1, name])),
    groups: [{ name: 'all', categories: numbers }],
    certain: [],
    conversations,
    notes: [`${names.length} chats; questions of the category ${LEFT_OUT} are left out`],
  }
}

/** The texts of the two files of a chat; evidence that is not written as a fact is dropped. */
export function parseBeam(
  chat: string,
  probes: string,
  { name, variant }: { name: string; variant: BeamVariant },
): Conversation {
  const facts = factsOf(readBatches(JSON.parse(chat)), variant)
  const known = new Set(facts.map(({ evidence_id }) => evidence_id))
  const asked = Object.entries(readProbes(JSON.parse(probes))).filter(([key]) => key !== LEFT_OUT)
  const questions = asked.flatMap(([key, ofCategory]) =>
    ofCategory.map(({ question, source_chat_ids }, at): Question => {
      const category = CATEGORIES.indexOf(key) + 1
      if (category === 0) throw new Error(`not a category of the set: ${key}`)
      const gold = [...new Set(listIds(source_chat_ids))].filter((id) => known.has(id))
      return { question_id: `${name}_${key}_${at}`, category, text: question, gold }
    }),
  )
  return { name, facts, questions: questions.filter(({ gold }) => gold.length > 0) }
}

/** One fact for each piece of a message; the message's id is the evidence id of all its pieces. */
function factsOf(batches: readonly Static<typeof Batch>[], variant: BeamVariant): Fact[] {
  let date: string | undefined
  return batches.flatMap(({ batch_number, turns }) =>
    turns.flat().flatMap(({ id, role, content, time_anchor }) => {
      // Most messages have no date: they are of the day of the one before.
      date = time_anchor ? isoAnchor(time_anchor) : date
      if (date === undefined) throw new Error(`message ${id} has no date before it`)
      if (variant === 'beam-user' && role !== 'user') return []
      const metadata = { session_id: String(batch_number), role, date }
      return splitMessage(content.replace(PLAN_NUMBER, '')).map((piece, at) => ({
        key: `${id}/${at}`,
        evidence_id: String(id),
        content: `[${metadata.date}] ${role}: ${piece}`,
        metadata,
      }))
    }),
  )
}

/** The end of a line names the entry of the plan that the chat was generated from. */
const PLAN_NUMBER = /\s*->->[\d,NA/)\s]*$/
const PIECE_CHARACTERS_MAX = 280

/** Whole sentences, as many as fit into a piece; a longer sentence is split at spaces. */
export function splitMessage(text: string): string[] {
  const pieces: string[] = []
  for (const sentence of text.split(/(?<=[.!?\n])\s+/).flatMap(splitSentence)) {
    const joined = `${pieces.at(-1)} ${sentence}`
    if (pieces.length > 0 && joined.length <= PIECE_CHARACTERS_MAX)
      pieces[pieces.length - 1] = joined
    else pieces.push(sentence)
  }
  return pieces
}

function splitSentence(sentence: string): string[] {
  const parts: string[] = []
  let rest = sentence.trim()
  while (rest.length > PIECE_CHARACTERS_MAX) {
    const space = rest.lastIndexOf(' ', PIECE_CHARACTERS_MAX)
    const end = space < PIECE_CHARACTERS_MAX / 2 ? PIECE_CHARACTERS_MAX : space
    parts.push(rest.slice(0, end))
    rest = rest.slice(end).trim()
  }
  return rest === '' ? parts : [...parts, rest]
}

/** `March-05-2024` as `2024-03-05`. */
function isoAnchor(text: string): string {
  const [, month = '', day = '', year = ''] = /^(\w+)-(\d{1,2})-(\d{4})$/.exec(text) ?? []
  return isoFromName(year, month, day)
}

/** The message ids at any depth of lists and objects. */
function listIds(value: unknown): string[] {
  if (typeof value !== 'object' || value === null)
    return value === null || value === undefined ? [] : [String(value)]
  return Object.values(value).flatMap(listIds)
}
