// Equal contents are found by their fingerprints as contents are added and removed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ContentFingerprints, computeFingerprint } from './fingerprints.ts'

const KEY = new Uint8Array(32).fill(3)

test('the slots of a content are exactly those that were added and not removed', () => {
  const step = fc.tuple(fc.nat(120), fc.nat(40))
  fc.assert(
    fc.property(fc.array(step, { minLength: 100, maxLength: 300 }), (steps) => {
      const fingerprints = new ContentFingerprints()
      const model = new Map<number, number>()
      for (const [slot, content] of steps) {
        // A slot seen again is freed: what it had must not be found any more.
        if (model.delete(slot)) fingerprints.remove(slot)
        else {
          fingerprints.add(slot, computeFingerprint(`content ${content}`, KEY))
          model.set(slot, content)
        }
      }
      for (let content = 0; content <= 41; content += 1) {
        const found = [...fingerprints.find(computeFingerprint(`content ${content}`, KEY))]
        const expected = [...model].filter(([, held]) => held === content).map(([slot]) => slot)
        assert.deepEqual(new Set(found), new Set(expected))
        assert.equal(found.length, expected.length)
      }
    }),
    { numRuns: 100 },
  )
})

test('a fingerprint depends on its key', () => {
  const other = computeFingerprint('Oslo', new Uint8Array(32).fill(4))
  assert.notDeepEqual(computeFingerprint('Oslo', KEY), other)
  assert.deepEqual(computeFingerprint('Oslo', KEY), computeFingerprint('Oslo', KEY.slice()))
})
