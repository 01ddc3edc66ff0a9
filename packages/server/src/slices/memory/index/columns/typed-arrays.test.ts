// Runs in shared arrays never overlap and start as zeros; a table by ref behaves as a map does.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { findRunClass, OWN_ARRAY, RefTable, UintArena } from './typed-arrays.ts'

interface AllocatedRun {
  readonly address: number
  readonly length: number
  readonly mark: number
}

test('a run starts as zeros and keeps its numbers until it is freed', () => {
  const length = fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 1, max: 40 }) },
    { weight: 2, arbitrary: fc.integer({ min: 41, max: 4_096 }) },
    { weight: 1, arbitrary: fc.integer({ min: 4_097, max: 9_000 }) },
  )
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ allocate: length }) },
    { weight: 2, arbitrary: fc.record({ free: fc.nat() }) },
  )
  fc.assert(
    fc.property(fc.array(step, { minLength: 100, maxLength: 300 }), (steps) => {
      const arena = new UintArena()
      const runs: AllocatedRun[] = []
      const slice = ({ address, length }: AllocatedRun) => {
        const { array, start } = arena.at(address, findRunClass(length))
        return array.subarray(start, start + length)
      }
      for (const [at, one] of steps.entries()) {
        if ('allocate' in one) {
          const run = { length: one.allocate, mark: at + 1, address: -1 }
          const allocated = {
            ...run,
            address: arena.allocate(findRunClass(one.allocate), one.allocate),
          }
          assert.ok(arena.roomOf(allocated.address, findRunClass(one.allocate)) >= one.allocate)
          assert.ok(slice(allocated).every((value) => value === 0))
          slice(allocated).fill(allocated.mark)
          runs.push(allocated)
        } else if (runs.length > 0) {
          const [freed] = runs.splice(one.free % runs.length, 1)
          if (freed) arena.free(freed.address, findRunClass(freed.length))
        }
        for (const run of runs) assert.ok(slice(run).every((value) => value === run.mark))
      }
    }),
    { numRuns: 60 },
  )
})

test('a run has room for its length and at most a quarter more', () => {
  for (let length = 1; length <= 4_096; length += 1) {
    const arena = new UintArena()
    const runClass = findRunClass(length)
    const room = arena.roomOf(arena.allocate(runClass, length), runClass)
    assert.ok(room >= length && room <= Math.ceil(length * 1.25), `${length}: ${room}`)
  }
  assert.equal(findRunClass(4_097), OWN_ARRAY)
})

test('a ref is found with its last value until it is deleted, whatever other refs do', () => {
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
