// What the simulation of reputation is held to, over any number of worlds.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { measure, type Row, type Scenario } from './reputation-run.ts'

/** How far Sybils may move any score. */
const SHIFT_MAX = 0.05

/**
 * Asserts the bound on Sybils for every agent of every world, that the attack is real (without the
 * caps it goes further) and that the caps cost nothing where nobody attacks. What reviewers with a
 * track record can do is written down, not bounded.
 */
export function checkReputation(t: TestContext, seeds: readonly number[]): void {
  const of = (scenario: Scenario) => ({
    capped: measure(scenario, 'with caps', seeds),
    free: measure(scenario, 'without caps', seeds),
  })
  const peace = of('and random, inverted ones')
  const sybils = of('90 % Sybils')
  assert.ok(sybils.capped.shift_max <= SHIFT_MAX, `moved by ${sybils.capped.shift_max}`)
  assert.ok(sybils.free.shift_max > 2 * SHIFT_MAX, `only moved by ${sybils.free.shift_max}`)

  assert.ok(peace.capped.spearman >= peace.free.spearman - 0.01)
  assert.ok(peace.capped.spearman > 0.8)
  assert.ok(sybils.capped.spearman > peace.capped.spearman - 0.05)
  assert.ok(sybils.capped.spearman > sybils.free.spearman)
  assert.ok(sybils.capped.kendall > sybils.free.kendall)
  assert.ok(sybils.capped.calibration < sybils.free.calibration)
  assert.ok(sybils.capped.calibration < 0.05)

  const trained = of('6 trained colluders')
  t.diagnostic(`trained colluders, with caps: ${told(trained.capped)}`)
  t.diagnostic(`trained colluders, without: ${told(trained.free)}`)
}

function told({ spearman, calibration, shift_max }: Row): string {
  const figures = { spearman, calibration, shift_max }
  return Object.entries(figures)
    .map(([name, value]) => `${name} ${value.toFixed(3)}`)
    .join(', ')
}
