// The table of docs/plans.md has every limit of every plan, as the service has it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  DEFAULT_PLANS,
  limitsAt,
  type PlanLimits,
} from '../../packages/server/src/platform/kernel/plan-limits.ts'
import { readPage } from './testing/page.ts'

const rows = readPage('docs/plans.md')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').map((cell) => cell.trim()))

const flat = ({ governed_decisions, ...limits }: PlanLimits): Record<string, number | null> => ({
  ...limits,
  'governed_decisions.included': governed_decisions.included,
  'governed_decisions.ceiling': governed_decisions.ceiling,
})

const plans = [...DEFAULT_PLANS.values()].map(flat)
const [starter = {}] = plans
const withoutPlans = flat(limitsAt(null, { plan: 'pro', overrides: null }, 0))

for (const name of Object.keys(starter))
  test(`the page of plans has the limits of ${name}`, () => {
    const row = rows.find(([, first]) => first?.startsWith(`\`${name}\``)) ?? []
    const shown = row
      .slice(2, 5)
      .map((cell) => (cell === '–' ? null : Number(cell.replaceAll(',', ''))))
    assert.deepEqual(
      shown,
      plans.map((limits) => limits[name]),
    )
    const alone = /(\d+) without plans/.exec(row[1] ?? '')?.[1]
    assert.equal(alone === undefined ? null : Number(alone), withoutPlans[name])
  })
