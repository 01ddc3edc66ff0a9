// The store index: which facts a search sees, how it ranks them, and what does not depend on
// history.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertLinear } from '../../../testing/growth.ts'
import type { IndexedFact } from './partition.ts'
import type { SearchOptions } from './ranking.ts'
import { StoreIndex } from './store-index.ts'

const KEY = new Uint8Array(32).fill(7)

function factOf(ref: number, content: string, rest: Partial<IndexedFact> = {}): IndexedFact {
  return {
    ref,
    namespace: null,
    content,
    metadata: {},
    valid_from_us: 0,
    valid_until_us: null,
    token_count: content.length,
    vector: null,
    ...rest,
  }
}

function requestOf(query: string, rest: Partial<SearchOptions> = {}): SearchOptions {
  return {
    query,
    vector: null,
    similar: null,
    namespace: null,
    at_us: 100,
    now_us: 100,
    filter: null,
    visible: null,
    limit: 100,
    min_score: null,
    min_confidence: 0,
    ...rest,
  }
}

function indexOf(...facts: IndexedFact[]): StoreIndex {
  const index = new StoreIndex(KEY)
  for (const fact of facts) index.put(fact)
  return index
}

function refsOf(index: StoreIndex, request: SearchOptions): number[] {
  return index.search(request).map(({ ref }) => ref)
}

test('a matching fact comes first, and the others follow to fill a budget', () => {
  const index = indexOf(factOf(1, 'tea'), factOf(2, 'coffee in the morning'), factOf(3, 'bread'))
  assert.deepEqual(refsOf(index, requestOf('Coffee?')), [2, 1, 3])
})

test('equal scores are ordered by ref, whatever the order of writing', () => {
  const index = indexOf(...[5, 3, 9, 1].map((ref) => factOf(ref, 'the same words')))
  assert.deepEqual(refsOf(index, requestOf('same words')), [1, 3, 5, 9])
  assert.deepEqual(refsOf(index, requestOf('unheard')), [1, 3, 5, 9])
})

test('a search sees exactly the facts valid at its time: from inclusive, until exclusive', () => {
  const index = indexOf(
    factOf(1, 'lives in Oslo', { valid_from_us: 10, valid_until_us: 20 }),
    factOf(2, 'lives in Rome', { valid_from_us: 20 }),
  )
  const at = (at_us: number) => refsOf(index, requestOf('lives', { at_us }))
  assert.deepEqual([at(9), at(10), at(19), at(20)], [[], [1], [1], [2]])
})

test('closing and reopening a fact moves it out of and into view', () => {
  const index = indexOf(factOf(1, 'lives in Oslo', { valid_from_us: 10 }))
  index.changeValidity(1, 50)
  assert.deepEqual(refsOf(index, requestOf('Oslo')), [])
  index.changeValidity(1, null)
  assert.deepEqual(refsOf(index, requestOf('Oslo')), [1])
  index.changeValidity(1, null, 101)
  assert.deepEqual(refsOf(index, requestOf('Oslo')), [])
  index.changeValidity(2, null)
  assert.equal(index.has(2), false)
})

test('versions known earlier replace validity and hide facts that are not among them', () => {
  const index = indexOf(
    factOf(1, 'lives in Oslo', { valid_from_us: 10, valid_until_us: 50 }),
    factOf(2, 'lives in Rome', { valid_from_us: 50 }),
  )
  const visible = new Map([
    [1, { valid_from_us: 10, valid_until_us: null }],
    [7, { valid_from_us: 0, valid_until_us: null }],
  ])
  assert.deepEqual(refsOf(index, requestOf('lives', { visible })), [1])
  assert.deepEqual(refsOf(index, requestOf('lives', { visible, at_us: 9 })), [])
})

test('a namespace is searched alone, and the root is one of them', () => {
  const index = indexOf(factOf(1, 'coffee'), factOf(2, 'coffee', { namespace: 'a' }))
  assert.deepEqual(refsOf(index, requestOf('coffee')), [1])
  assert.deepEqual(refsOf(index, requestOf('coffee', { namespace: 'a' })), [2])
  assert.deepEqual(refsOf(index, requestOf('coffee', { namespace: 'b' })), [])
})

test('a score in one namespace does not depend on what another holds', () => {
  const alone = indexOf(factOf(1, 'coffee'), factOf(2, 'tea'))
  const beside = indexOf(
    factOf(1, 'coffee'),
    factOf(2, 'tea'),
    factOf(3, 'coffee coffee', { namespace: 'a' }),
  )
  assert.deepEqual(alone.search(requestOf('coffee')), beside.search(requestOf('coffee')))
})

test('a filter keeps the facts whose metadata has every entry, compared as canonical JSON', () => {
  const index = indexOf(
    factOf(1, 'a', { metadata: { kind: { b: 1, a: [2, null] }, lang: 'en' } }),
    factOf(2, 'a', { metadata: { kind: { a: [2, null], b: 1 } } }),
    factOf(3, 'a', { metadata: { kind: { a: [null, 2], b: 1 }, lang: 'en' } }),
  )
  const filtered = (filter: Record<string, unknown>) => refsOf(index, requestOf('x', { filter }))
  assert.deepEqual(filtered({}), [1, 2, 3])
  assert.deepEqual(filtered({ kind: { b: 1, a: [2, null] } }), [1, 2])
  assert.deepEqual(filtered({ lang: 'en', kind: { a: [2, null], b: 1 } }), [1])
  assert.deepEqual(filtered({ lang: 'EN' }), [])
  assert.deepEqual(filtered({ toString: null }), [])
  assert.deepEqual(refsOf(index, requestOf('kind lang en')), [1, 2, 3])
})

test('a query word never matches metadata, nor a filter the content', () => {
  const index = indexOf(factOf(1, 'x'), factOf(2, '"lang":"en"'))
  index.put(factOf(3, 'y', { metadata: { lang: 'en' } }))
  assert.equal(index.search(requestOf('lang en'))[0]?.ref, 2)
  assert.deepEqual(refsOf(index, requestOf('q', { filter: { lang: 'en' } })), [3])
})

test('an answer is found by a question two turns before it in its session, only there', () => {
  const session = (session_id: string) => ({ metadata: { session_id } })
  const index = indexOf(
    factOf(1, 'unrelated', session('b')),
    factOf(2, 'where did the holiday take you', session('a')),
    factOf(3, 'hm', session('a')),
    factOf(4, 'Lisbon, lovely', session('a')),
    factOf(5, 'nice', session('a')),
  )
  const ranked = index.search(requestOf('holiday'))
  assert.deepEqual(
    ranked.map(({ ref }) => ref),
    [2, 3, 4, 5, 1],
  )
  // The fifth is too far from the question: it has only its share of the best in its session.
  assert.deepEqual(
    ranked.map(({ parts }) => parts.neighbour > 0),
    [false, true, true, false, false],
  )
  assert.equal(ranked[3]?.score, ranked[3]?.parts.session)
  assert.equal(ranked[1]?.parts.lexical, 0)
  const lentUnits = Math.floor(((ranked[0]?.parts.lexical ?? 0) / 2) * 65536)
  assert.equal((ranked[1]?.parts.neighbour ?? 0) * 65536, lentUnits)
})

test('a fact the search cannot see neither lends score nor separates neighbours', () => {
  const session = { session_id: 1 }
  const index = indexOf(
    factOf(1, 'the holiday', { metadata: session, valid_until_us: 50 }),
    factOf(2, 'Lisbon', { metadata: session }),
    factOf(3, 'beach', { metadata: session, valid_until_us: 50 }),
    factOf(4, 'sun', { metadata: session, valid_until_us: 50 }),
    factOf(5, 'food', { metadata: session }),
  )
  assert.deepEqual(
    index.search(requestOf('holiday')).map(({ score }) => score),
    [0, 0],
  )
  const lisbon = index.search(requestOf('Lisbon'))
  assert.deepEqual(
    lisbon.map(({ ref }) => ref),
    [2, 5],
  )
  assert((lisbon[1]?.parts.neighbour ?? 0) > 0)
})

test('a query with nothing to compare returns the newest facts first, scores falling', () => {
  const index = indexOf(factOf(1, 'a'), factOf(3, 'b'), factOf(2, 'c', { valid_from_us: 500 }))
  index.put(factOf(4, 'd'))
  for (const query of ['', '  ', 'what is it?', '?!']) {
    const ranked = index.search(requestOf(query, { vector: new Int8Array(4) }))
    assert.deepEqual(
      ranked.map(({ ref }) => ref),
      [4, 3, 1],
    )
    const scores = ranked.map(({ score }) => score)
    assert.deepEqual(
      scores,
      scores.toSorted((left, right) => right - left),
    )
    assert.equal(new Set(scores).size, 3)
  }
})

test('a limit, a minimum score and an empty index are respected', () => {
  const index = indexOf(factOf(1, 'coffee'), factOf(2, 'tea'), factOf(3, 'coffee and tea'))
  assert.deepEqual(refsOf(index, requestOf('coffee', { limit: 1 })), [1])
  assert.deepEqual(refsOf(index, requestOf('coffee', { limit: 0 })), [])
  assert.deepEqual(refsOf(index, requestOf('coffee', { min_score: 0.01 })), [1, 3])
  assert.deepEqual(refsOf(new StoreIndex(KEY), requestOf('coffee')), [])
  assert.throws(() => index.search(requestOf('coffee', { limit: -1 })))
})

test('a duplicate is the smallest current ref with exactly the content, in its namespace', () => {
  const index = indexOf(
    factOf(9, 'Oslo'),
    factOf(4, 'Oslo'),
    factOf(2, 'Oslo', { valid_until_us: 50 }),
    factOf(1, 'Oslo', { namespace: 'a' }),
    factOf(3, 'oslo'),
  )
  assert.equal(index.findDuplicate('Oslo', null, 100), 4)
  assert.equal(index.findDuplicate('Oslo', null, 49), 2)
  index.remove(4)
  assert.equal(index.findDuplicate('Oslo', null, 100), 9)
  assert.equal(index.findDuplicate('Oslo ', null, 100), null)
  assert.equal(index.findDuplicate('Oslo', 'b', 100), null)
})

test('vectors of two spaces are never compared', () => {
  const index = indexOf(factOf(1, 'a', { vector: new Int8Array(4).fill(1) }))
  assert.throws(() => index.put(factOf(2, 'b', { vector: new Int8Array(8) })))
  assert.throws(() => index.search(requestOf('x', { vector: new Int8Array(8).fill(1) })))
})

test('a fact of 256 KiB is indexed, found and removed in time linear in it', () => {
  assertLinear(256 * 1024, (size) => {
    const words = Array.from({ length: size / 8 }, (_, at) => `w${at.toString(36)}`).join(' ')
    const index = indexOf(factOf(1, words), factOf(2, 'x'.repeat(size)), factOf(3, 'y'))
    assert.equal(index.search(requestOf('w2a'))[0]?.ref, 1)
    index.remove(1)
    index.remove(2)
    assert.equal(index.terms().size, 1)
  })
})
