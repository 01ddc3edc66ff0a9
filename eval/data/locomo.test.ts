// The reader of LoCoMo on a conversation of our own in its form, and on the set where it is.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { isoDate, normaliseEvidence, parseLocomo, readLocomo } from './locomo.ts'

const SET = join(import.meta.dirname, '../../../shared/data/locomo/locomo10.json')

const SAMPLE = {
  sample_id: 'ours',
  conversation: {
    speaker_a: 'Ada',
    speaker_b: 'Bo',
    session_10: [{ speaker: 'Bo', dia_id: 'D10:1', text: 'The kiln is hot.' }],
    session_10_date_time: '12:09 am on 13 September, 2023',
    session_2: [
      { speaker: 'Ada', dia_id: 'D2:1', text: 'I bought a kiln.', blip_caption: 'a kiln' },
      { speaker: 'Bo', dia_id: 'D2:2', text: 'Where?' },
    ],
    session_2_date_time: '1:14 pm on 5 May, 2023',
    session_3_date_time: '9:00 am on 6 May, 2023',
  },
  qa: [
    { question: 'What did Ada buy?', answer: 'A kiln', category: 4, evidence: ['D2:1'] },
    { question: 'Is it hot?', answer: 7, category: 1, evidence: ['D:2:01; D10:1', 'D9:9'] },
    { question: 'Who is Cy?', adversarial_answer: 'no one', category: 5, evidence: [] },
  ],
}
const CORRECTIONS = [{ question_id: 'locomo_0_qa0', correct_evidence: ['D2:2', 'D2:1'] }]

test('evidence is read however it is written, each turn once', () => {
  assert.deepEqual(normaliseEvidence(['D1:2; D3:4']), ['D1:2', 'D3:4'])
  assert.deepEqual(normaliseEvidence(['D:1:22']), ['D1:22'])
  assert.deepEqual(normaliseEvidence(['D1:2 D3:4 D3:6', 'D1:2']), ['D1:2', 'D3:4', 'D3:6'])
  assert.deepEqual(normaliseEvidence(['D01:05', 'D']), ['D1:5'])
})

test('a turn becomes a fact, its date in the metadata only; sessions are in order', () => {
  const [conversation] = parseLocomo(JSON.stringify([SAMPLE]), '[]')
  assert.deepEqual(conversation?.facts, [
    {
      key: 'D2:1',
      content: 'Ada: I bought a kiln.',
      metadata: { session_id: 'session_2', date: '2023-05-05', speaker: 'Ada' },
    },
    {
      key: 'D2:2',
      content: 'Bo: Where?',
      metadata: { session_id: 'session_2', date: '2023-05-05', speaker: 'Bo' },
    },
    {
      key: 'D10:1',
      content: 'Bo: The kiln is hot.',
      metadata: { session_id: 'session_10', date: '2023-09-13', speaker: 'Bo' },
    },
  ])
})

test('evidence that names no turn is left out; corrections stand beside what they correct', () => {
  const [conversation] = parseLocomo(JSON.stringify([SAMPLE]), JSON.stringify(CORRECTIONS))
  assert.deepEqual(
    conversation?.questions.map(({ question_id, gold, gold_corrected }) => ({
      question_id,
      gold,
      gold_corrected,
    })),
    [
      { question_id: 'locomo_0_qa0', gold: ['D2:1'], gold_corrected: ['D2:2', 'D2:1'] },
      { question_id: 'locomo_0_qa1', gold: ['D2:1', 'D10:1'], gold_corrected: ['D2:1', 'D10:1'] },
      { question_id: 'locomo_0_qa2', gold: [], gold_corrected: [] },
    ],
  )
})

test('a file of another form, or a date it does not know, is refused', () => {
  assert.throws(() => parseLocomo('[{"sample_id": 1}]', '[]'), /not as expected/)
  assert.throws(() => parseLocomo(JSON.stringify([SAMPLE]), '[{}]'), /not as expected/)
  assert.throws(() => isoDate('yesterday'), /not a date/)
  assert.equal(readLocomo(join(import.meta.dirname, 'no-such-file.json')), null)
})

test('the set, where it is, has the size and the evidence its authors published', (t) => {
  const set = readLocomo(SET)
  if (set === null) return t.diagnostic('LoCoMo is not here: its reader ran on our sample alone')
  const facts = set.conversations.flatMap((conversation) => conversation.facts)
  const questions = set.conversations.flatMap((conversation) => conversation.questions)
  assert.deepEqual([set.bytes, set.conversations.length], [2_805_274, 10])
  assert.deepEqual([facts.length, questions.length], [5_882, 1_986])
  const firstFour = questions.filter(({ category }) => category <= 4)
  assert.equal(firstFour.length, 1_540)
  assert.equal(firstFour.filter(({ gold }) => gold.length > 0).length, 1_536)
  assert.equal(questions.filter(({ gold }) => gold.length === 0).length, 4)
  assert.match(set.notes.join('\n'), /the corrections change the evidence of 93 questions/)
})
