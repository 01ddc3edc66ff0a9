// The reader of BEAM on a small chat in its form, and on the set where it is.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { BEAM_DIRECTORY } from '../sets.ts'
import { parseBeam, readBeam, splitMessage } from './beam.ts'

const LONG = `${'The kiln needs a new shelf and two cones. '.repeat(8)}It fires at dawn.`
const CHAT = JSON.stringify([
  {
    batch_number: 1,
    turns: [
      [
        { id: 0, role: 'user', time_anchor: 'March-05-2024', content: 'I own a kiln. ->-> 1,2' },
        { id: 1, role: 'assistant', content: LONG },
      ],
    ],
  },
  {
    batch_number: 2,
    turns: [
      [{ id: 2, role: 'user', time_anchor: 'May-20-2024', content: 'It broke -> bad ->-> 3,N/A' }],
    ],
  },
])
const PROBES = JSON.stringify({
  abstention: [{ question: 'Who is Cy?' }],
  knowledge_update: [
    { question: 'Does it work?', source_chat_ids: { before: [0, [1]], after: { now: [2, 0] } } },
  ],
  summarization: [{ question: 'What did the assistant say?', source_chat_ids: [1] }],
})

test('each message is written in pieces that share its id as evidence, dates carried on', () => {
  const { facts } = parseBeam(CHAT, PROBES, { name: 'ours', variant: 'beam' })
  assert.deepEqual(facts[0], {
    key: '0/0',
    evidence_id: '0',
    content: '[2024-03-05] user: I own a kiln.',
    metadata: { session_id: '1', role: 'user', date: '2024-03-05' },
  })
  assert.deepEqual(
    facts.map(({ key, evidence_id, metadata }) => [key, evidence_id, metadata.date]),
    [
      ['0/0', '0', '2024-03-05'],
      ['1/0', '1', '2024-03-05'],
      ['1/1', '1', '2024-03-05'],
      ['2/0', '2', '2024-05-20'],
    ],
  )
  assert.equal(facts[3]?.content, '[2024-05-20] user: It broke -> bad')
})

test('evidence is found at any depth, each id once; abstention is left out', () => {
  const { questions } = parseBeam(CHAT, PROBES, { name: 'ours', variant: 'beam' })
  assert.deepEqual(
    questions.map(({ category, gold }) => [category, gold]),
    [
      [5, ['0', '1', '2']],
      [8, ['1']],
    ],
  )
})

test("of the user's messages alone, questions about the assistant's have no evidence left", () => {
  const { facts, questions } = parseBeam(CHAT, PROBES, { name: 'ours', variant: 'beam-user' })
  assert.deepEqual(
    facts.map(({ evidence_id }) => evidence_id),
    ['0', '2'],
  )
  assert.deepEqual(
    questions.map(({ text, gold }) => [text, gold]),
    [['Does it work?', ['0', '2']]],
  )
})

test('a piece has whole sentences up to 280 characters, and no word is lost or split', () => {
  const long = 'word '.repeat(100).trim()
  const pieces = splitMessage(`${LONG}\n\n${long}. ${'x'.repeat(300)}`)
  assert(pieces.every(({ length }) => length <= 280 && length > 0))
  assert.match(pieces[0] ?? '', /cones\.$/)
  assert.equal(
    pieces
      .join(' ')
      .split(/\s+/)
      .filter((word) => word.startsWith('word')).length,
    100,
  )
  assert.equal(pieces.join('').replace(/[^x]/g, '').length, 300)
  assert.deepEqual(splitMessage(' \n '), [])
})

test('another form, an unknown category or a chat without a date is refused', () => {
  const about = { name: 'ours', variant: 'beam' } as const
  assert.throws(() => parseBeam('[{}]', PROBES, about), /not as expected/)
  const unknown = JSON.stringify({ trivia: [{ question: '?', source_chat_ids: [1] }] })
  assert.throws(() => parseBeam(CHAT, unknown, about), /not a category/)
  assert.throws(() => parseBeam(CHAT.replace('March-05-2024', ''), PROBES, about), /no date/)
  assert.equal(readBeam(join(import.meta.dirname, 'no-such-directory'), 'beam'), null)
})

test('the ten chats, where they are, have their facts and questions', (t) => {
  const [all, user] = [readBeam(BEAM_DIRECTORY, 'beam'), readBeam(BEAM_DIRECTORY, 'beam-user')]
  if (!all || !user) return t.diagnostic('BEAM is not here: its reader ran on a small chat alone')
  const sizes = [all, user].map(({ conversations }) => [
    conversations.length,
    conversations.flatMap(({ facts }) => facts).length,
    conversations.flatMap(({ questions }) => questions).length,
  ])
  assert.deepEqual(sizes, [
    [10, 23_475, 179],
    [10, 2_509, 172],
  ])
})
