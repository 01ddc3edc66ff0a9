// Unanswerable questions over a handful of outcomes, computed by hand.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome } from './drive.ts'
import { unanswerableTable } from './report.ts'
import { unanswerableFigures } from './unanswerable.ts'

type Answer = readonly [key: string, confidence: number][]

function outcome(category: number, gold: readonly string[], answer: Answer): Outcome {
  const keys = answer.map(([key]) => key)
  const confidences = answer.map(([, confidence]) => confidence)
  const counts = { tokens_used: 9, tokens_counted: 9, ranking: null, ms: 1 }
  return {
    question_id: 'x',
    conversation: 'c',
    category,
    text: '?',
    gold,
    ranked: keys,
    packed: [
      { budget: 256, keys: [], confidences: [], ...counts },
      { budget: 1024, keys, confidences, ...counts },
    ],
    hidden_shown: [],
  }
}

const OUTCOMES = [
  outcome(1, ['a'], [['a', 0.9]]),
  outcome(
    1,
    ['a', 'b'],
    [
      ['b', 0.3],
      ['a', 0.8],
      ['b', 0.6],
    ],
  ),
  outcome(1, ['a'], [['z', 0.9]]),
  outcome(1, [], [['z', 0.2]]),
  outcome(2, [], []),
  outcome(2, ['a'], [['a', 0.5]]),
]

test('questions without evidence are unanswerable, unless the set names the categories', () => {
  const byGold = unanswerableFigures({}, OUTCOMES)
  assert.deepEqual([byGold?.questions, byGold?.empty], [2, 1 / 2])
  const named = unanswerableFigures({ unanswerable: [2] }, OUTCOMES)
  assert.deepEqual([named?.questions, named?.empty], [2, 1 / 2])
  assert.equal(unanswerableFigures({ unanswerable: [3] }, OUTCOMES), null)
})

test('a floor empties answers to unanswerable questions, and costs evidence that was given', () => {
  const figures = unanswerableFigures({ unanswerable: [2] }, OUTCOMES)
  const at = (floor: number) => figures?.floors.find(({ confidence }) => confidence === floor)
  assert.deepEqual(at(0.5), { confidence: 0.5, empty: 1 / 2, kept: 1 })
  assert.deepEqual(at(0.7), { confidence: 0.7, empty: 1, kept: 1 / 2 })
  assert.deepEqual(at(0.95), { confidence: 0.95, empty: 1, kept: 0 })
  assert(figures)
  assert.match(unanswerableTable(figures), /^\| 0\.70 \| 1\.000 \| \.500 \|$/m)
})

test('without confidence in the answers no floor is reported', () => {
  const plain = OUTCOMES.map((one) => ({
    ...one,
    packed: one.packed.map(({ confidences: _, ...answer }) => answer),
  }))
  const figures = unanswerableFigures({}, plain)
  assert.deepEqual(figures?.floors, [])
  assert(figures)
  assert.match(unanswerableTable(figures), /^\| none \| \.500 \| - \|$/m)
})
