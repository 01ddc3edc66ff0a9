// The best candidates kept are exactly the head of the sorted order.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { TopK } from './top-k.ts'

test('the best candidates by score, then ref, are kept in any order of offers', () => {
  const scores = fc.array(fc.nat(8), { maxLength: 200 })
  fc.assert(
    fc.property(scores, fc.nat(50), fc.nat(1), (given, capacity, descending) => {
      const best = new TopK(capacity)
      const all = given.map((score, at) => ({ score, ref: descending ? 1_000 - at : at, slot: at }))
      for (const { score, ref, slot } of all) best.offer(score, ref, slot)
      const sorted = all.sort((a, b) => b.score - a.score || a.ref - b.ref).slice(0, capacity)
      if (best.full && capacity > 0) assert.equal(best.lowest, sorted.at(-1)?.score)
      assert.deepEqual(
        best.drain(),
        sorted.map(({ score, slot }) => ({ score, slot })),
      )
    }),
    { numRuns: 500 },
  )
})
