// Properties of the store index: rebuilt or updated, it answers alike; a removed fact leaves
// nothing.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fact, replay, request, step } from '../testing/index-steps.ts'
import { type PlainFact, scorePlainly } from '../testing/plain-scores.ts'
import { analyse } from '../text/analysis.ts'
import { StoreIndex } from './store-index.ts'

const KEY = new Uint8Array(32)

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
        const found = index.search({ ...one, filter: null, limit: 1_000, min_confidence: 0 })
        const refs = found.map(({ ref }) => ref)
        assert.deepEqual(new Set(refs), new Set(visible.map(({ ref }) => ref)))
        const known = new Map([...facts].map(([ref, validity]) => [ref, validity]))
        const rest = { filter: null, limit: 1_000, min_confidence: 0 }
        const recorded = index.search({ ...one, visible: known, ...rest })
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
      const left = new Set(
        [...facts.values()].flatMap(({ content, metadata }) => [
          ...analyse(content),
          ...(metadata['date'] === '2023-05-07' ? analyse('2023-05-07') : []),
        ]),
      )
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
        assert.equal(ranked.score, sumOf(Object.values(ranked.parts)))
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

test('the few best of many facts are those of a search for all', () => {
  const few = fc.array(fact, { minLength: 10, maxLength: 30 })
  fc.assert(
    fc.property(few, fc.array(request, { minLength: 5, maxLength: 5 }), (kinds, requests) => {
      const index = new StoreIndex(KEY)
      for (let ref = 0; ref < MANY; ref += 1) {
        const one = kinds[ref % kinds.length]
        assert.ok(one)
        // Long sessions and short ones.
        const session_id = `${one.metadata?.['session_id']} ${ref % 11}`
        index.put({ ...one, ref, metadata: { ...one.metadata, ...(ref % 3 && { session_id }) } })
      }
      for (const request of requests) {
        const one = { ...request, min_confidence: request.min_confidence && 0 }
        const limit = one.limit % 9
        const all = index.search({ ...one, limit: MANY })
        assert.deepEqual(index.search({ ...one, limit }), all.slice(0, limit))
      }
    }),
    { numRuns: 80 },
  )
})

/** A search for fewer than nine of them looks for a bound first. */
const MANY = 600

/** In score units. */
const UNIT = 2 ** 16
const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0)

test('a score is what its definition says, for speakers, questions, messages and sessions', () => {
  fc.assert(
    fc.property(fc.array(fact, { maxLength: 30 }), request, (facts, one) => {
      const query = one.vector
      fc.pre(query?.some((value) => value !== 0) === true)
      const open = { valid_from_us: 0, valid_until_us: null, expires_us: null, namespace: null }
      const { index, facts: held } = replay(facts.map((put) => ({ put: { ...put, ...open } })))
      const all = { ...one, namespace: null, filter: null, limit: 1000 }
      const ranked = index.search({ ...all, min_score: null, min_confidence: 0 })
      const found = new Map(ranked.map(({ ref, parts, score }) => [ref, { parts, score }]))
      assert.equal(found.size, held.size)
      const plain = [...held.values()]
        .sort((left, right) => left.ref - right.ref)
        .map((put): PlainFact => {
          const { lexical = 0, neighbour = 0 } = found.get(put.ref)?.parts ?? {}
          const { speaker } = put.metadata
          const opening = /^(?:\[.*?\] )?(Ana|Bo): /.exec(put.content)?.[1]
          const named = typeof speaker === 'string' ? speaker : opening
          const isOfMay =
            put.metadata['date'] === '2023-05-07' || put.content.startsWith('[2023-05-07]')
          const dated = isOfMay && one.query.includes('May 2023')
          return { ...put, words: (lexical + neighbour) * UNIT, speaker: named, dated }
        })
      const scores = scorePlainly(plain, { terms: new Set(analyse(one.query)), vector: query })
      for (const [at, { ref }] of plain.entries())
        assert.equal((found.get(ref)?.score ?? 0) * UNIT, scores[at])
    }),
    { numRuns: 300 },
  )
})
