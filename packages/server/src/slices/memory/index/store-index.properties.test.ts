// Properties of the store index: rebuilt or updated, it answers alike; a removed fact leaves
// nothing.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { analyse } from './analysis.ts'
import type { IndexedFact } from './partition.ts'
import type { SearchOptions } from './ranking.ts'
import { StoreIndex } from './store-index.ts'

const WORDS = ['oslo', 'rome', 'coffee', 'tea', 'holiday', 'paint', 'May 2023', '東京', 'the', 'w']
const KEY = new Uint8Array(32)

const text = fc.array(fc.constantFrom(...WORDS), { maxLength: 6 }).map((words) => words.join(' '))
const namespace = fc.constantFrom(null, 'a')
const vector = fc.option(
  fc
    .array(fc.integer({ min: -63, max: 63 }), { minLength: 4, maxLength: 4 })
    .map((values) => Int8Array.from(values)),
)
const metadata = fc.record(
  { session_id: fc.constantFrom('s1', 's2', 3), kind: fc.nat(1) },
  { requiredKeys: [] },
)
const fact: fc.Arbitrary<IndexedFact> = fc.record({
  ref: fc.nat(30),
  namespace,
  content: text,
  metadata,
  valid_from_us: fc.nat(20),
  valid_until_us: fc.option(fc.nat(30)),
  expires_us: fc.option(fc.nat(30), { nil: null }),
  token_count: fc.nat(50),
  vector,
})
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ put: fact }) },
  { weight: 2, arbitrary: fc.record({ close: fc.nat(30), until: fc.option(fc.nat(30)) }) },
  { weight: 2, arbitrary: fc.record({ remove: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.constant({ search: true }) },
)
const request: fc.Arbitrary<SearchOptions> = fc.record({
  query: text,
  vector,
  namespace,
  at_us: fc.nat(30),
  now_us: fc.nat(30),
  filter: fc.option(fc.record({ kind: fc.nat(1) })),
  visible: fc.constant(null),
  limit: fc.nat(40),
  min_score: fc.constant(null),
})

type Step =
  | { put: IndexedFact }
  | { close: number; until: number | null }
  | { remove: number }
  | { search: boolean }

/** Applies the steps to an index and to a plain map of what it should then hold. */
function replay(steps: readonly Step[]): { index: StoreIndex; facts: Map<number, IndexedFact> } {
  const index = new StoreIndex(new Uint8Array(32).fill(1))
  const facts = new Map<number, IndexedFact>()
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

const EVERYTHING: SearchOptions = {
  query: '',
  vector: null,
  namespace: null,
  at_us: 15,
  now_us: 15,
  filter: null,
  visible: null,
  limit: 1000,
  min_score: null,
}

test('an index updated step by step answers bit for bit as one rebuilt from the same facts', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.array(request), (steps, requests) => {
      const { index, facts } = replay(steps)
      const rebuilt = new StoreIndex(KEY)
      const rows = [...facts.values()].sort((left, right) => left.ref - right.ref)
      for (const row of rows) rebuilt.put(row)
      for (const one of requests) assert.deepEqual(index.search(one), rebuilt.search(one))
      assert.equal(index.size, rebuilt.size)
      assert.deepEqual([...index.terms()].sort(), [...rebuilt.terms()].sort())
    }),
    { numRuns: 400 },
  )
})

test('a search sees the facts that are valid at its time and have not expired by now', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.array(request), (steps, requests) => {
      const { index, facts } = replay(steps)
      for (const one of requests) {
        const visible = [...facts.values()].filter(
          ({ namespace, valid_from_us, valid_until_us, expires_us }) =>
            namespace === one.namespace &&
            valid_from_us <= one.at_us &&
            one.at_us < (valid_until_us ?? Number.POSITIVE_INFINITY) &&
            one.now_us < (expires_us ?? Number.POSITIVE_INFINITY),
        )
        const found = index.search({ ...one, filter: null, limit: 1_000 })
        const refs = found.map(({ ref }) => ref)
        assert.deepEqual(new Set(refs), new Set(visible.map(({ ref }) => ref)))
        const known = new Map([...facts].map(([ref, validity]) => [ref, validity]))
        const recorded = index.search({ ...one, visible: known, filter: null, limit: 1_000 })
        assert.deepEqual(recorded, found)
      }
    }),
    { numRuns: 300 },
  )
})

test('what has expired changes no score and no explanation, as if it were removed', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.array(request), (steps, requests) => {
      const { index, facts } = replay(steps)
      for (const one of requests) {
        const removed = new StoreIndex(KEY)
        for (const row of facts.values())
          if (one.now_us < (row.expires_us ?? Number.POSITIVE_INFINITY)) removed.put(row)
        const found = index.search(one)
        assert.deepEqual(found, removed.search(one))
        const refs = found.map(({ ref }) => ref)
        assert.deepEqual(index.explain(one, refs), removed.explain(one, refs))
      }
    }),
    { numRuns: 300 },
  )
})

test('removing facts leaves no word only they had, and an emptied index nothing at all', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { index, facts } = replay(steps)
      const left = new Set([...facts.values()].flatMap(({ content }) => analyse(content)))
      const words = [...index.terms()].filter((term) => !term.startsWith('\u0000'))
      assert.deepEqual(new Set(words), left)
      for (const ref of facts.keys()) index.remove(ref)
      assert.equal(index.terms().size, 0)
      assert.equal(index.bytes(), 0)
    }),
    { numRuns: 200 },
  )
})

test('a ranking is ordered by score, then ref; parts add up; a limit only shortens it', () => {
  fc.assert(
    fc.property(fc.array(fact, { maxLength: 40 }), request, (facts, one) => {
      const { index } = replay(facts.map((put) => ({ put })))
      const all = index.search({ ...one, limit: 1000 })
      assert.deepEqual(index.search(one), all.slice(0, one.limit))
      for (const [at, ranked] of all.entries()) {
        const { lexical, neighbour, dense, recency } = ranked.parts
        assert.equal(ranked.score, lexical + neighbour + dense + recency)
        const next = all[at + 1]
        if (next === undefined) continue
        const ordered =
          ranked.score > next.score || (ranked.score === next.score && ranked.ref < next.ref)
        assert(ordered)
      }
    }),
    { numRuns: 300 },
  )
})

test('likeness adds one and a half times the best words, in whole steps of 2^-16', () => {
  fc.assert(
    fc.property(fc.array(fact, { maxLength: 40 }), request, (facts, one) => {
      const query = one.vector
      fc.pre(query?.some((value) => value !== 0) === true && analyse(one.query).length > 0)
      const { index, facts: held } = replay(facts.map((put) => ({ put })))
      const everything = { ...one, limit: 1000, min_score: null }
      const words = index.search({ ...everything, vector: null })
      const best = Math.max(0, ...words.map(({ score }) => score)) || 1
      const fused = index.search(everything)
      assert.equal(fused.length, words.length)
      for (const { ref, parts } of fused) {
        const vectorOf = held.get(ref)?.vector
        const dot = vectorOf?.reduce((sum, value, at) => sum + value * (query?.[at] ?? 0), 0) ?? 0
        const likeness = (1.5 * best * Math.max(0, dot)) / (127 * 127)
        assert(parts.dense <= likeness && likeness < parts.dense + 2 ** -15)
        const alone = words.find((ranked) => ranked.ref === ref)?.score
        assert.equal(parts.lexical + parts.neighbour, alone)
      }
    }),
    { numRuns: 300 },
  )
})
