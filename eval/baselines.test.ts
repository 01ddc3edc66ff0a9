// The baselines on a set small enough to rank by hand.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { packGreedily, rankByFts5, rankDataset } from './baselines.ts'
import type { Fact } from './data/dataset.ts'
import { makeSynthetic, SYNTHETIC_SHORT } from './data/synthetic.ts'
import { countO200k } from './tokens.ts'

const TEXTS = ['The kilns were fired', 'A loom', 'My kiln, my kiln', 'kiln "x" OR y', 'tea']

test('FTS5 finds texts with any word of the query, those with more of it first', () => {
  const rank = rankByFts5('unicode61')
  assert.deepEqual(rank(TEXTS, ['Whose kiln?']), [[2, 3]])
  assert.deepEqual(rank(TEXTS, ['loom AND "tea"', '?!', 'nothing here']), [[4, 1], [], []])
  const [stemmed] = rankByFts5('porter unicode61')(TEXTS, ['firing the kiln'])
  assert.deepEqual(stemmed, [0, 2, 3])
})

const fact = (key: string, content: string, about: Partial<Fact> = {}): Fact => ({
  key,
  content,
  metadata: { session_id: 's', date: '2024-05-07' },
  ...about,
})

test('a baseline packs visible facts within the budget; their dates match but cost nothing', () => {
  const set = makeSynthetic(SYNTHETIC_SHORT)
  const long = `kiln ${'and clay '.repeat(300)}`
  const facts = [
    fact('a', 'a kiln, erased', { erased: true }),
    fact('b', 'an old kiln'),
    fact('c', 'a new kiln', { replaces: 'b', evidence_id: 'message 1' }),
    fact('d', long),
    fact('e', 'a kiln here and there'),
  ]
  const questions = ['kiln', '2024'].map((text) => ({
    question_id: text,
    category: 1,
    text,
    gold: ['message 1'],
  }))
  const conversations = [{ name: 'one', facts, questions }]
  const [kiln, year] = rankDataset({ ...set, conversations }, rankByFts5('unicode61'))
  assert.deepEqual(kiln?.ranked, ['message 1', 'e', 'd'])
  assert.deepEqual(kiln?.packed[0], {
    budget: 256,
    keys: ['message 1', 'e'],
    ranking: null,
    ms: 0,
    tokens_used: countO200k('a new kiln') + countO200k('a kiln here and there'),
    tokens_counted: countO200k('a new kiln') + countO200k('a kiln here and there'),
  })
  assert.equal(kiln?.packed.find(({ budget }) => budget === 1024)?.keys.length, 3)
  assert.equal(year?.ranked.length, 3)
})

test('packing skips what does not fit and goes on', () => {
  assert.deepEqual(packGreedily([2, 0, 1, 3], [5, 4, 9, 1], 10), [2, 3])
  assert.deepEqual(packGreedily([0, 1], [5, 6], 5), [0])
})
