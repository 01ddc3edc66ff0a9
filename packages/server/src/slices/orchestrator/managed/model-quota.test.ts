// The tokens of models that a plan allows in a month: a run that needs more ends, others are kept.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { DEFAULT_PLANS } from '../../../platform/kernel/plan-limits.ts'
import { OPERATOR_KEY } from '../../../testing/harness.ts'
import { movedClock } from '../../../testing/skewed-clock.ts'
import { startModelServer } from '../testing/model-server.ts'
import { openRunScene } from '../testing/run-scene.ts'

const MONTH_US = 31 * 86_400_000_000
const clock = movedClock()
const plans = new Map(
  [...DEFAULT_PLANS].map(([name, limits]) => [name, { ...limits, model_tokens: 20 }]),
)
const egress = { allow: ['127.0.0.1'], proxy: null }
const scene = openRunScene({ clock, config: { egress, plans } })
const model = await startModelServer({ after })

test('a run begins no step beyond the tokens of the month, and does in the next', async () => {
  const tenant = await scene.tenant()
  await tenant.provider(model.base_url)
  const manage = async () => {
    const run_id = await tenant.start({ executor: 'managed', input_text: 'x' })
    return tenant.ended(run_id)
  }
  // Fifteen tokens each.
  const [first, second] = [await manage(), await manage()]
  assert.deepEqual([first.state, second.state], ['completed', 'completed'])
  const third = await manage()
  assert.deepEqual([third.state, third.termination_reason], ['terminated', 'quota_exceeded'])
  assert.equal(model.asked.length, 2)
  const { decision_id } = first.steps[0]
  const { status, divergence_reason } = await tenant.ok(
    'POST',
    `/orchestrator/replay/${decision_id}`,
    {},
  )
  assert.deepEqual([status, divergence_reason], ['impossible', 'quota_exceeded'])
  assert.equal(model.asked.length, 2)
  clock.forward(MONTH_US)
  assert.equal((await manage()).state, 'completed')
})

test('an operator changes tokens and runs of one tenant', async () => {
  const tenant = await scene.tenant()
  await tenant.provider(model.base_url)
  const overrides = { model_tokens: 40, runs: 1 }
  const path = `/cloud/tenants/${tenant.tenant_id}`
  const changed = await tenant.ask('PUT', path, { overrides }, { key: OPERATOR_KEY })
  assert.equal(changed.status, 200, changed.text)
  for (let run = 0; run < 3; run += 1) {
    const run_id = await tenant.start({ executor: 'managed', input_text: 'x' })
    assert.equal((await tenant.ended(run_id)).state, 'completed')
  }
  await tenant.start()
  const second = await tenant.ask('POST', '/orchestrator/runs', { agent_id: tenant.agent_id })
  assert.deepEqual([second.status, second.body.error], [409, 'too_many'])
})
