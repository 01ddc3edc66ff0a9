// Posting lists and the term dictionary against plain maps, over long random histories.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { PostingList, TermIndex } from './postings.ts'

function pairsOf(list: PostingList): [number, number][] {
  const used = [...list.pairs.subarray(0, list.size * 2)]
  return Array.from({ length: list.size }, (_, at) => [used[at * 2] ?? -1, used[at * 2 + 1] ?? -1])
}

test('a posting list holds every slot it was given, in order, however it grows and shrinks', () => {
  const steps = fc.array(fc.tuple(fc.nat(200), fc.integer({ min: 1, max: 9 })), {
    minLength: 100,
    maxLength: 400,
  })
  fc.assert(
    fc.property(steps, (history) => {
      const list = new PostingList()
      const model = new Map<number, number>()
      for (const [slot, frequency] of history) {
        // A slot seen again is removed: lists grow past every capacity, with removals between.
        if (model.delete(slot)) {
          list.remove(slot)
        } else {
          list.add(slot, frequency)
          model.set(slot, frequency)
        }
      }
      const expected = [...model].sort(([left], [right]) => left - right)
      assert.deepEqual(pairsOf(list), expected)
      assert(list.pairs.subarray(list.size * 2).every((value) => value === 0))
    }),
    { numRuns: 100 },
  )
})

test('a list of many ascending slots keeps every one with its frequency', () => {
  const list = new PostingList()
  for (let slot = 0; slot < 5000; slot++) list.add(slot, slot + 1)
  assert.equal(list.size, 5000)
  for (const [slot, frequency] of pairsOf(list)) assert.equal(frequency, slot + 1)
})

test('a term exists as long as a posting of it does', () => {
  const index = new TermIndex()
  const id = index.add('oslo', 3, 1)
  assert.equal(index.add('oslo', 5, 2), id)
  index.remove(id, 3)
  assert.equal(index.find('oslo')?.size, 1)
  index.remove(id, 5)
  assert.equal(index.find('oslo'), undefined)
  assert.deepEqual([...index.terms()], [])
  assert.equal(index.bytes(), 0)
})
