// The table of refs against a plain map, with refs as dense and as far apart as they can be.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RefTable } from './ref-table.ts'

test('a ref is found with its last value until it is deleted, whatever else comes and goes', () => {
  const ref = fc.oneof(fc.nat(60), fc.nat(), fc.maxSafeNat())
  const step = fc.tuple(ref, fc.option(fc.nat(1_000)))
  fc.assert(
    fc.property(fc.array(step, { minLength: 100, maxLength: 400 }), (steps) => {
      const table = new RefTable()
      const model = new Map<number, number>()
      for (const [ref, value] of steps) {
        if (value === null) {
          table.delete(ref)
          model.delete(ref)
        } else {
          table.set(ref, value)
          model.set(ref, value)
        }
        assert.equal(table.size, model.size)
      }
      for (const [ref] of steps) assert.equal(table.get(ref), model.get(ref))
      for (const ref of model.keys()) table.delete(ref)
      assert.equal(table.bytes(), 0)
    }),
    { numRuns: 300 },
  )
})
