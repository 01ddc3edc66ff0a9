// Random facts, changes and searches of an index: for its properties.

import fc from 'fast-check'
import type { IndexedFact } from '../index/partition.ts'
import type { SearchOptions } from '../index/ranking.ts'
import { StoreIndex } from '../index/store-index.ts'

const WORDS = ['oslo', 'rome', 'coffee', 'tea', 'holiday', 'paint', 'May 2023', '東京', 'the', 'w']
const LONG = 'one text of many words goes on and on until '.repeat(4)

const text = fc.array(fc.constantFrom(...WORDS), { maxLength: 6 }).map((words) => words.join(' '))
const content = fc
  .tuple(text, fc.constantFrom('', '?', LONG), fc.constantFrom('', 'Ana: ', '[2023-05-07] Bo: '))
  .map(([words, end, opening]) => `${opening}${words}${end}`)
const similar = fc.constantFrom(null, new Map([['tea', ['coffe', 'paint']]]))
const namespace = fc.constantFrom(null, 'a')
const vector = fc.option(
  fc
    .array(fc.integer({ min: -63, max: 63 }), { minLength: 4, maxLength: 4 })
    .map((values) => Int8Array.from(values)),
)
const metadata = fc.record(
  {
    session_id: fc.constantFrom('s1', 's2', 3),
    kind: fc.nat(1),
    speaker: fc.constantFrom('Oslo Rome', 'tea', 7),
    message_id: fc.constantFrom('m1', 2),
    date: fc.constantFrom('2023-05-07', 'noon'),
  },
  { requiredKeys: [] },
)
export const fact: fc.Arbitrary<IndexedFact> = fc.record({
  ref: fc.nat(30),
  namespace,
  content,
  metadata,
  valid_from_us: fc.nat(20),
  valid_until_us: fc.option(fc.nat(30)),
  expires_us: fc.option(fc.nat(30), { nil: null }),
  token_count: fc.nat(50),
  vector,
})
export const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ put: fact }) },
  { weight: 2, arbitrary: fc.record({ close: fc.nat(30), until: fc.option(fc.nat(30)) }) },
  { weight: 2, arbitrary: fc.record({ remove: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.constant({ search: true }) },
)
export const request: fc.Arbitrary<SearchOptions> = fc.record({
  query: text.map((words) => `${words} ana`.trim()),
  vector,
  similar,
  namespace,
  at_us: fc.nat(30),
  now_us: fc.nat(30),
  filter: fc.option(fc.record({ kind: fc.nat(1) })),
  visible: fc.constant(null),
  limit: fc.nat(40),
  min_score: fc.constant(null),
  min_confidence: fc.constantFrom(null, 0, 0.05),
})

export type Step =
  | { put: IndexedFact }
  | { close: number; until: number | null }
  | { remove: number }
  | { search: boolean }

/** Applies the steps to an index and to a plain map of what it should then hold. */
export function replay(
  steps: readonly Step[],
  index = new StoreIndex(new Uint8Array(32).fill(1)),
  facts = new Map<number, IndexedFact>(),
): { index: StoreIndex; facts: Map<number, IndexedFact> } {
  for (const one of steps) {
    if ('put' in one) {
      index.put(one.put)
      facts.set(one.put.ref, one.put)
    } else if ('close' in one) {
      index.changeValidity(one.close, one.until)
      const held = facts.get(one.close)
      if (held !== undefined) facts.set(one.close, { ...held, valid_until_us: one.until })
    } else if ('remove' in one) {
      index.remove(one.remove)
      facts.delete(one.remove)
    } else {
      // Searching analyses what waits: when that happens must make no difference.
      index.search({ ...EVERYTHING, query: 'oslo' })
    }
  }
  return { index, facts }
}

export const EVERYTHING: SearchOptions = {
  query: '',
  vector: null,
  similar: null,
  namespace: null,
  at_us: 15,
  now_us: 15,
  filter: null,
  visible: null,
  limit: 1000,
  min_score: null,
  min_confidence: 0,
}
