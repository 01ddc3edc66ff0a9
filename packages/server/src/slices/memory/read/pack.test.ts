// Packing keeps the budget and the order, and leaves out nothing that fits.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { packWithinBudget } from './pack.ts'

const ranking = fc.array(fc.record({ token_count: fc.nat(200) }), { maxLength: 60 })

test('a packing never overspends its budget and never reorders what it keeps or drops', () => {
  fc.assert(
    fc.property(ranking, fc.nat(4000), (ranked, budgetTokens) => {
      const { packed, dropped } = packWithinBudget(ranked, budgetTokens)
      const spentTokens = packed.reduce((sum, { token_count }) => sum + token_count, 0)
      assert(spentTokens <= budgetTokens)
      const kept = new Set(packed)
      assert.deepEqual(
        packed,
        ranked.filter((candidate) => kept.has(candidate)),
      )
      assert.deepEqual(
        dropped,
        ranked.filter((candidate) => !kept.has(candidate)),
      )
    }),
    { numRuns: 2000 },
  )
})

test('nothing is dropped that would have fitted when it was considered', () => {
  fc.assert(
    fc.property(ranking, fc.nat(4000), (ranked, budgetTokens) => {
      const { dropped } = packWithinBudget(ranked, budgetTokens)
      const skipped = new Set(dropped)
      let remainingTokens = budgetTokens
      for (const candidate of ranked) {
        if (skipped.has(candidate)) assert(candidate.token_count > remainingTokens)
        else remainingTokens -= candidate.token_count
      }
    }),
  )
})

test('a long first hit does not exclude the shorter ones behind it', () => {
  const [long, short] = [{ token_count: 11 }, { token_count: 10 }]
  assert.deepEqual(packWithinBudget([long, short], 10), { packed: [short], dropped: [long] })
})

test('a budget or a count that is no whole number fails an assertion', () => {
  assert.throws(() => packWithinBudget([], Number.NaN))
  assert.throws(() => packWithinBudget([], -1))
  assert.throws(() => packWithinBudget([{ token_count: 0.5 }], 10))
})
