// The file of CUSTOS_PLANS: defaults, and one line for each thing that is wrong with it.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { DEFAULT_PLANS } from '../platform/kernel/plan-limits.ts'
import { ConfigError } from './env.ts'
import { planTable } from './setting-files.ts'

const dir = mkdtempSync(join(tmpdir(), 'custos-plans-'))
after(() => rmSync(dir, { recursive: true }))

function tableOf(text: string) {
  const file = join(dir, 'plans.json')
  writeFileSync(file, text)
  return planTable({ CUSTOS_PLANS: file })
}

test('without a file no plan has limits', () => {
  assert.equal(planTable({}), null)
})

test('a plan left out keeps its default, a limit left out is none', () => {
  const text = JSON.stringify({ starter: { memories: 5, governed_decisions: { ceiling: 9 } } })
  const table = tableOf(text)
  assert.deepEqual(table?.get('pro'), DEFAULT_PLANS.get('pro'))
  assert.deepEqual(table?.get('starter'), {
    memories: 5,
    stores: null,
    requests_per_minute: null,
    governed_decisions: { included: null, ceiling: 9 },
    model_tokens: null,
    runs: null,
    webhooks: null,
    streams: null,
  })
  assert.deepEqual(tableOf('{}'), DEFAULT_PLANS)
})

const WRONG: [text: string, line: string][] = [
  ['{', 'CUSTOS_PLANS must be a file with JSON'],
  ['[]', 'CUSTOS_PLANS must be a file with a JSON object'],
  ['{"gold":{}}', 'CUSTOS_PLANS has an unknown plan: use starter, pro, enterprise'],
  ['{"pro":7}', 'CUSTOS_PLANS must have an object for the plan pro'],
  ['{"pro":{"memory":7}}', 'CUSTOS_PLANS has an unknown limit in the plan pro: use memories,'],
  ['{"pro":{"stores":-1}}', 'CUSTOS_PLANS must have a whole number, or null for no limit, as pro.'],
  ['{"pro":{"stores":"3"}}', 'CUSTOS_PLANS must have a whole number'],
  ['{"pro":{"governed_decisions":5}}', 'CUSTOS_PLANS must have an object for pro.governed_dec'],
  ['{"pro":{"governed_decisions":{"max":5}}}', 'CUSTOS_PLANS has an unknown limit in pro.gov'],
]

for (const [text, line] of WRONG)
  test(`${text}: ${line}…`, () => {
    assert.throws(
      () => tableOf(text),
      (error) => error instanceof ConfigError && error.message.startsWith(line),
    )
  })

test('a file that is not there is named by its setting', () => {
  assert.throws(() => planTable({ CUSTOS_PLANS: join(dir, 'absent') }), /must name a file/)
})
