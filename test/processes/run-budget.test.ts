// The budget of a run over several processes: no permit above it, whichever of them is asked.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTenant } from '../crash/testing/client.ts'
import { at, clientsOf, openFleet } from './testing/fleet.ts'

test('of 50 steps at 4 processes against a budget for 10 exactly 10 get a permit', async (t) => {
  const fleet = await openFleet(t)
  const servers = await fleet.start(4)
  const { api_key } = await createTenant(at(servers, 0))
  const clients = clientsOf(servers, api_key)
  const agent = { name: 'a', model_id: 'model-a' }
  const path = '/v1/orchestrator'
  const { agent_id } = await at(clients, 0).ok('POST', `${path}/agents`, { body: agent })
  const start = { agent_id, budget: { tokens: 1_000, cost_micro: 1_000 } }
  const { run_id } = await at(clients, 1).ok('POST', `${path}/runs`, { body: start })
  const step = { input_text: 'x', budget_tokens: 0, max_tokens: 100, max_cost_micro: 100 }
  const begin = (n: number) =>
    at(clients, n % 4).ask('POST', `${path}/runs/${run_id}/steps`, { body: step })

  const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => begin(n)))
  const permitted = answers.filter(({ status }) => status === 201)
  const refused = answers.filter(({ body }) => body.error === 'budget_exhausted')
  assert.deepEqual([permitted.length, refused.length], [10, 40])

  // Each reports twice its permit at another process: no later permit is given at any.
  const twice = { output: 'an answer', tokens_in: 100, tokens_out: 100, cost_micro: 100 }
  await Promise.all(
    permitted.map(({ body: { step_id } }, n) => {
      const steps = `${path}/runs/${run_id}/steps/${step_id}/complete`
      return at(clients, (n + 1) % 4).ok('POST', steps, { body: twice })
    }),
  )
  const { spent, reserved } = await at(clients, 2).ok('GET', `${path}/runs/${run_id}`)
  assert.deepEqual([spent.tokens, spent.cost_micro, reserved.tokens], [2_000, 1_000, 0])
  for (let n = 0; n < 4; n += 1) assert.equal((await begin(n)).body.error, 'budget_exhausted')
})
