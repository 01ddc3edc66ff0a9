// A decision of a managed run is replayed: the same question, with the memory of then.
// 'orchestrator.replay'

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startModelServer } from '../testing/model-server.ts'
import { openRunScene, type RunningTenant } from '../testing/run-scene.ts'

const scene = openRunScene({ config: { egress: { allow: ['127.0.0.1'], proxy: null } } })
const model = await startModelServer({ after })
const ANSWER =
  'The lighthouse on the northern cape opens at nine in the morning each day of the week'

/** A run whose first step calls a tool of memories, and whose second answers. */
async function decided(): Promise<{ tenant: RunningTenant; ref: number; ids: string[] }> {
  model.asked.length = 0
  model.answer = () =>
    model.asked.length === 1
      ? { text: 'I look.', calls: [{ tool: 'memory_retrieve', args: { query: 'cape' } }] }
      : { text: ANSWER }
  const tenant = await scene.tenant()
  await tenant.provider(model.base_url, { price_in_micro: 1_000_000, price_out_micro: 2_000_000 })
  await tenant.ok('POST', '/llm/tools/seed-builtins')
  const ref = await tenant.remember('The lighthouse opens at nine')
  const run_id = await tenant.start({
    executor: 'managed',
    input_text: 'when does the lighthouse open?',
    budget: { cost_micro: 100_000 },
  })
  const run = await tenant.ended(run_id)
  assert.equal(run.state, 'completed', JSON.stringify(run))
  const ids = run.steps.map(({ decision_id }: { decision_id: string }) => decision_id)
  return { tenant, ref, ids }
}

const replay = (tenant: RunningTenant, decision_id: string | undefined, body: object = {}) =>
  tenant.ask('POST', `/orchestrator/replay/${decision_id}`, body)

test('the model is asked what it was asked, and the same answer is identical', async () => {
  const { tenant, ids } = await decided()
  const [first, second] = model.asked.map(({ body }) => body)
  const facts = (await tenant.ok('GET', '/orchestrator/stats')).steps_total
  for (const [at, earlier] of [first, second].entries()) {
    model.answer = () =>
      at === 0
        ? { text: 'I look.', calls: [{ tool: 'memory_retrieve', args: { query: 'cape' } }] }
        : { text: ANSWER }
    const { body } = await replay(tenant, ids[at])
    assert.deepEqual(
      [body.status, body.divergence_reason, body.confidence, body.output_hash_match],
      ['identical', null, 1, true],
      JSON.stringify(body),
    )
    assert.deepEqual([body.input_reconstructed, body.memory_match], [true, true])
    assert.deepEqual([body.tokens_in, body.tokens_out, body.cost_micro], [10, 5, 20])
    assert.equal(body.model_version_used, 'model-a-2026')
    const { max_tokens: _, ...again } = model.asked.at(-1)?.body ?? {}
    const { max_tokens: __, ...then } = earlier
    assert.deepEqual(again, then)
  }
  assert.equal((await tenant.ok('GET', '/orchestrator/stats')).steps_total, facts)
})

test('another answer is degraded or diverged, by its words', async () => {
  const { tenant, ids } = await decided()
  model.answer = () => ({ text: `${ANSWER}!` })
  assert.equal((await replay(tenant, ids[1])).body.status, 'degraded')
  model.answer = () => ({ text: ANSWER.replace('nine', 'ten') })
  const near = (await replay(tenant, ids[1])).body
  assert.deepEqual([near.status, near.divergence_reason], ['degraded', 'words_differ'])
  assert.ok(near.confidence >= 0.9 && near.confidence < 1)
  model.answer = () => ({ text: `I do not know. ${'x'.repeat(500)}` })
  const far = (await replay(tenant, ids[1])).body
  assert.deepEqual([far.status, far.divergence_reason], ['diverged', 'answer_differs'])
  assert.equal(far.replayed_output.length, 203)
  assert.equal(far.original_output, ANSWER)
  model.answer = () => ({ status: 400 })
  const failed = (await replay(tenant, ids[1])).body
  assert.deepEqual([failed.status, failed.divergence_reason], ['error', 'status_400'])
})

test('what is erased, and what has changed since, is impossible, and nothing is sent', async () => {
  const impossible = async (tenant: RunningTenant, id: string | undefined, reason: string) => {
    model.asked.length = 0
    const { body } = await replay(tenant, id)
    assert.deepEqual([body.status, body.divergence_reason], ['impossible', reason])
    assert.deepEqual([body.original_output, body.replayed_output], [null, null])
    assert.equal(model.asked.length, 0)
  }
  const changed = await decided()
  const path = `/orchestrator/agents/${changed.tenant.agent_id}`
  await changed.tenant.ok('PUT', path, { system_prompt: 'Be brief.' })
  await impossible(changed.tenant, changed.ids[1], 'agent_changed')
  await changed.tenant.ok('DELETE', path)
  await impossible(changed.tenant, changed.ids[1], 'agent_gone')
  const erased = await decided()
  await erased.tenant.ok('DELETE', '/llm/providers/model-a')
  await impossible(erased.tenant, erased.ids[1], 'model_unavailable')
  await erased.tenant.ok('POST', '/stores/notes/delete', { ref: erased.ref })
  await impossible(erased.tenant, erased.ids[1], 'input_erased')
  const own = await scene.tenant()
  const run_id = await own.start()
  const { step_id } = await own.permitted(run_id, { input_text: 'x', budget_tokens: 0 })
  const done = await own.complete(run_id, step_id)
  await impossible(own, done.body.step.decision_id, 'not_managed')
})

test('limits, policies and other tenants hold', async () => {
  const { tenant, ids } = await decided()
  const foreign = await scene.tenant()
  model.asked.length = 0
  assert.equal((await replay(foreign, ids[1])).body.error, 'decision_not_found')
  assert.equal((await replay(tenant, 'f'.repeat(32))).status, 404)
  for (const limit of [{ max_tokens: 10 }, { max_cost_micro: 1 }])
    assert.equal((await replay(tenant, ids[1], limit)).body.error, 'budget_exhausted')
  const limited = await tenant.ok('POST', '/keys', { name: 'k', scopes: ['orchestrator:run'] })
  const refused = await tenant.ask(
    'POST',
    `/orchestrator/replay/${ids[1]}`,
    {},
    {
      key: limited.api_key,
    },
  )
  assert.equal(refused.status, 403)
  await tenant.policy({ policy_type: 'model_allowlist', config: { models: ['x'] } })
  assert.equal((await replay(tenant, ids[1])).body.error, 'policy_denied')
  assert.equal(model.asked.length, 0)
})

test('what a policy refuses of the answer is not shown', async () => {
  const { tenant, ids } = await decided()
  await tenant.policy({
    policy_type: 'hitl_required',
    config: { operations: ['output_check'] },
    action: 'deny',
  })
  model.answer = () => ({ text: 'the canary' })
  const answer = await replay(tenant, ids[1])
  assert.deepEqual([answer.body.status, answer.body.divergence_reason], ['error', 'output_refused'])
  assert.doesNotMatch(answer.text, /canary/)
})
