// Posting lists and the term dictionary against plain maps, over long random histories.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readFrequency, readSlot, TermIndex } from './term-index.ts'

function pairsOf(index: TermIndex, term: string): [number, number][] {
  const postings = index.find(term)
  if (postings === undefined) return []
  const { array, start, size } = postings
  return [...array.subarray(start, start + size)].map((posting) => [
    readSlot(posting),
    readFrequency(posting, postings),
  ])
}

const TERMS = ['oslo', 'rome', '東京', 'ünter', 'x'.repeat(64)]

test('a term keeps every slot it was given, in order, as its list grows and shrinks', () => {
  const step = fc.tuple(fc.nat(TERMS.length - 1), fc.nat(200), fc.integer({ min: 1, max: 40 }))
  fc.assert(
    fc.property(fc.array(step, { minLength: 100, maxLength: 600 }), (history) => {
      const index = new TermIndex()
      const model = new Map(TERMS.map((term) => [term, new Map<number, number>()]))
      for (const [at, slot, frequency] of history) {
        const term = TERMS[at] ?? ''
        const held = model.get(term)
        // A slot seen again is removed: lists grow past every room, with removals between.
        if (held?.delete(slot)) {
          index.remove(index.addTerm(term), slot)
        } else {
          index.add(index.addTerm(term), slot, frequency)
          held?.set(slot, frequency)
        }
      }
      for (const [term, held] of model)
        assert.deepEqual(
          pairsOf(index, term),
          [...held].sort(([a], [b]) => a - b),
        )
      const left = TERMS.filter((term) => (model.get(term)?.size ?? 0) > 0)
      assert.deepEqual(new Set(index.terms()), new Set(left))
    }),
    { numRuns: 100 },
  )
})

test('a list of many ascending slots keeps each with its frequency', () => {
  const index = new TermIndex()
  const [id, other] = [index.addTerm('common'), index.addTerm('other')]
  for (let slot = 0; slot < 20_000; slot++) {
    index.add(id, slot, slot + 1)
    if (slot % 3 === 0) index.add(other, slot, 1)
  }
  const pairs = pairsOf(index, 'common')
  assert.equal(pairs.length, 20_000)
  for (const [slot, frequency] of pairs) assert.equal(frequency, slot + 1)
  assert.deepEqual(
    pairsOf(index, 'other').map(([slot]) => slot),
    Array.from({ length: 6_667 }, (_, at) => at * 3),
  )
})

test('a term exists as long as it has a posting', () => {
  const index = new TermIndex()
  const id = index.addTerm('oslo')
  index.add(id, 3, 1)
  assert.equal(index.addTerm('oslo'), id)
  index.add(id, 5, 2)
  index.remove(id, 3)
  assert.equal(index.find('oslo')?.size, 1)
  index.remove(id, 5)
  assert.equal(index.find('oslo'), undefined)
  assert.deepEqual([...index.terms()], [])
  assert.equal(index.bytes(), 0)
})
