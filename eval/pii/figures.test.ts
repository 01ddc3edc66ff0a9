// The figures about personal data say what was found, in full or in part, and what would leak.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measure } from './figures.ts'

const texts = [
  {
    text: 'a card 1111 and a half 2222',
    spans: [
      { label: 'CARD', start: 7, end: 11 },
      { label: 'CARD', start: 23, end: 27 },
    ],
  },
  { text: 'a name', spans: [{ label: 'NAME', start: 2, end: 6 }] },
  { text: 'nothing', spans: [] },
]

const answers = new Map([
  [
    'a card 1111 and a half 2222',
    [
      { entity: 'NUMBER', start: 7, end: 11 },
      { entity: 'NUMBER', start: 23, end: 25 },
    ],
  ],
  ['a name', [{ entity: 'NUMBER', start: 2, end: 6 }]],
])

test('exact and overlapping matches, unlabelled findings and leaks are counted apart', () => {
  const look = (text: string) => answers.get(text) ?? []
  const { rows, details } = measure(texts, look, { CARD: ['NUMBER'], NAME: [] })
  const [card, name] = rows
  assert.deepEqual(card, {
    ...{ label: 'CARD', entities: ['NUMBER'], spans: 2, found: 3, leaks: 1 },
    ...{ exact: 1, exact_found: 1, touched: 2, touched_found: 2 },
  })
  // Another entity covers the name: it is not found as one, and does not leak.
  assert.deepEqual([name?.spans, name?.touched, name?.leaks], [1, 0, 0])
  assert.deepEqual(details, [])
})
