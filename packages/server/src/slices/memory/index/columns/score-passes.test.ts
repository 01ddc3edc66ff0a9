// Passes over slots give the same with WebAssembly and without: bit for bit, also where they are
// continued.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ScorePasses } from './score-passes.ts'

const SLOTS = 100
const SESSIONS = 4

const slot = fc.record({
  lexical: fc.nat(1e9),
  neighbour: fc.nat(1e9),
  dot: fc.integer({ min: -16_384, max: 16_384 }),
  visible: fc.boolean(),
  session: fc.integer({ min: -1, max: SESSIONS - 1 }),
})
const least = fc.oneof(fc.nat(2e9), fc.constantFrom(Infinity, -Infinity, NaN))
const pass = fc.record({
  slots: fc.array(slot, { minLength: 1, maxLength: SLOTS }),
  per_dot: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1e5, noNaN: true })),
  leasts: fc.array(least, { minLength: SESSIONS + 1, maxLength: SESSIONS + 1 }),
  least,
  step: fc.integer({ min: 1, max: SLOTS }),
})

const plainly = (bytes: number) => ({ buffer: new ArrayBuffer(bytes), exports: null })

function run(passes: ScorePasses, input: typeof pass extends fc.Arbitrary<infer T> ? T : never) {
  const { slots, per_dot, leasts, least, step } = input
  for (const left of [passes.sums, passes.selected]) left.fill(7)
  passes.sessionMaxima.fill(-Infinity)
  passes.dotMax[0] = 0
  passes.leasts.set(leasts)
  for (const [at, one] of slots.entries()) {
    passes.lexical[at] = one.lexical
    passes.neighbour[at] = one.neighbour
    passes.dots[at] = one.dot
    passes.valid[at] = one.visible ? 1 : 0
    passes.sessions[at] = one.session
  }
  const selected: number[][] = []
  for (let from = 0; from < slots.length; from += step) {
    const to = Math.min(slots.length, from + step)
    const above = passes.sum([from, to], { visible: passes.valid, perDot: per_dot, least })
    selected.push([...passes.selected.subarray(0, above)])
    selected.push([...passes.selected.subarray(0, passes.select(from, to))])
  }
  const { sums, sessionMaxima, dotMax } = passes
  return { selected, sums, sessionMaxima, dotMax }
}

test('sums, maxima and selected slots are those of the plain code', () => {
  let chosen = 0
  fc.assert(
    fc.property(pass, (input) => {
      const plain = run(new ScorePasses(SLOTS, plainly), input)
      assert.deepEqual(run(new ScorePasses(SLOTS), input), plain)
      chosen += plain.selected.flat().length
      for (const [at, { lexical, neighbour, dot, visible }] of input.slots.entries()) {
        const sum = lexical + neighbour + input.per_dot * Math.max(0, dot)
        assert.equal(plain.sums[at], visible ? sum : -Infinity)
      }
    }),
    { numRuns: 300 },
  )
  assert(chosen > 0)
})

test('this machine runs the module, not the plain code', () => {
  const { buffer } = new ScorePasses(1).sums
  assert(buffer instanceof ArrayBuffer)
  // The buffer of a WebAssembly memory cannot be transferred; another one can.
  assert.throws(() => structuredClone(buffer, { transfer: [buffer] }), { name: 'DataCloneError' })
})

/** The last test of this file: the process asks for no memory after it. */
test('a process that has no addresses left asks for a memory once', (t) => {
  let attempts = 0
  const wasm = Reflect.get(globalThis, 'WebAssembly')
  const memory = t.mock.method(wasm, 'Memory', function refuse() {
    attempts += 1
    throw new RangeError('could not allocate memory')
  })
  const refused = [new ScorePasses(1), new ScorePasses(2)]
  memory.mock.restore()
  assert.equal(attempts, 1)
  for (const { sums } of [...refused, new ScorePasses(3)])
    structuredClone(sums.buffer, { transfer: [sums.buffer as ArrayBuffer] })
})
