// Runs in shared arrays: none reaches into another, and none keeps what was in it before.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { OWN_ARRAY, runClassOf, UintArena } from './uint-arena.ts'

interface Held {
  readonly address: number
  readonly length: number
  readonly mark: number
}

test('a run begins as zeros, and holds what was put into it until it is given back', () => {
  const length = fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 1, max: 40 }) },
    { weight: 2, arbitrary: fc.integer({ min: 41, max: 4_096 }) },
    { weight: 1, arbitrary: fc.integer({ min: 4_097, max: 9_000 }) },
  )
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ take: length }) },
    { weight: 2, arbitrary: fc.record({ give: fc.nat() }) },
  )
  fc.assert(
    fc.property(fc.array(step, { minLength: 100, maxLength: 300 }), (steps) => {
      const arena = new UintArena()
      const held: Held[] = []
      const slice = ({ address, length }: Held) => {
        const { array, start } = arena.at(address, runClassOf(length))
        return array.subarray(start, start + length)
      }
      for (const [at, one] of steps.entries()) {
        if ('take' in one) {
          const run = { length: one.take, mark: at + 1, address: -1 }
          const taken = { ...run, address: arena.take(runClassOf(one.take), one.take) }
          assert.ok(arena.roomOf(taken.address, runClassOf(one.take)) >= one.take)
          assert.ok(slice(taken).every((value) => value === 0))
          slice(taken).fill(taken.mark)
          held.push(taken)
        } else if (held.length > 0) {
          const [gone] = held.splice(one.give % held.length, 1)
          if (gone) arena.give(gone.address, runClassOf(gone.length))
        }
        for (const run of held) assert.ok(slice(run).every((value) => value === run.mark))
      }
    }),
    { numRuns: 60 },
  )
})

test('a run has room for what it is for, and a quarter more at most', () => {
  for (let length = 1; length <= 4_096; length += 1) {
    const arena = new UintArena()
    const runClass = runClassOf(length)
    const room = arena.roomOf(arena.take(runClass, length), runClass)
    assert.ok(room >= length && room <= Math.ceil(length * 1.25), `${length}: ${room}`)
  }
  assert.equal(runClassOf(4_097), OWN_ARRAY)
})
