// A budget holds whatever a model reports, and however many steps ask for it at once.
// 'orchestrator.begin_step', 'orchestrator.complete_step'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRunScene } from '../testing/run-scene.ts'

const scene = openRunScene()
const STEP = { input_text: 'x', budget_tokens: 0, max_tokens: 100 }

test('of 50 steps at once against a budget for 10 exactly 10 get a permit', async () => {
  const tenant = await scene.tenant()
  const run_id = await tenant.start({ budget: { tokens: 1_000 } })
  const begin = () => tenant.begin(run_id, STEP)
  const answers = await Promise.all(Array.from({ length: 50 }, begin))
  const permitted = answers.filter(({ status }) => status === 201)
  const refused = answers.filter(({ body }) => body.error === 'budget_exhausted')
  assert.deepEqual([permitted.length, refused.length], [10, 40])
  const run = await tenant.run(run_id)
  assert.deepEqual([run.reserved.tokens, run.spent.tokens], [1_000, 0])
  for (const { body } of permitted)
    assert.equal((await tenant.complete(run_id, body.step_id)).status, 200)
  assert.equal((await tenant.run(run_id)).spent.tokens, 150)
  assert.equal((await tenant.verify(run_id)).valid, true)
})

test('a model that reports twice its permit exceeds by the calls in flight alone', async () => {
  const tenant = await scene.tenant()
  const run_id = await tenant.start({ budget: { tokens: 1_000 } })
  const begun = await Promise.all(Array.from({ length: 6 }, () => tenant.permitted(run_id, STEP)))
  const twice = { tokens_in: 100, tokens_out: 100 }
  for (const { step_id } of begun)
    assert.equal((await tenant.complete(run_id, step_id, twice)).status, 200)
  const run = await tenant.run(run_id)
  // Six permits of 100: what is above the budget is at most what they exceeded.
  assert.equal(run.spent.tokens, 1_200)
  const next = await tenant.begin(run_id, STEP)
  assert.deepEqual([next.status, next.body.error], [409, 'budget_exhausted'])
  assert.equal((await tenant.verify(run_id)).valid, true)
})
