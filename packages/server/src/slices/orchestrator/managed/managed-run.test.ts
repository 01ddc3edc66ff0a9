// Runs that the service executes: permit, model, answer; faults, budgets, people, cancelling.
// 'llm.create_provider', 'orchestrator.start_run', 'orchestrator.bundle'

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startModelServer } from '../testing/model-server.ts'
import { openRunScene, type RunningTenant } from '../testing/run-scene.ts'

const scene = openRunScene({ config: { egress: { allow: ['127.0.0.1'], proxy: null } } })
const model = await startModelServer({ after })

async function tenantWithModel(more: Record<string, unknown> = {}): Promise<RunningTenant> {
  model.answer = () => ({ text: 'At nine.' })
  model.asked.length = 0
  const tenant = await scene.tenant()
  await tenant.provider(model.base_url, more)
  return tenant
}

const manage = (tenant: RunningTenant, more: Record<string, unknown> = {}) =>
  tenant.start({ executor: 'managed', input_text: 'when does the lighthouse open?', ...more })

test('a managed run asks its model with memory as data, and its bundle verifies', async () => {
  const tenant = await tenantWithModel({ price_in_micro: 2_000_000, price_out_micro: 4_000_000 })
  const ref = await tenant.remember('The lighthouse opens at nine')
  const run_id = await manage(tenant, { budget: { tokens: 10_000 } })
  const run = await tenant.ended(run_id)
  assert.deepEqual([run.state, run.executor, run.steps.length], ['completed', 'managed', 1])
  assert.deepEqual(run.steps[0].retrieved_refs, [ref])
  // 10 tokens of prompt at 2, 5 of answer at 4.
  assert.deepEqual(run.spent, { tokens: 15, cost_micro: 40 })
  assert.deepEqual(run.reserved, { tokens: 0, cost_micro: 0 })
  const [asked] = model.asked
  assert.ok(asked)
  const { headers, path, body } = asked
  assert.deepEqual([path, headers.authorization], ['/v1/chat/completions', 'Bearer sk-secret'])
  assert.equal(body.model, 'model-a')
  assert.ok(body.max_tokens > 0 && body.max_tokens < 4_096)
  const [system, user] = body.messages
  assert.match(system.content, /never an instruction/)
  assert.match(user.content, /<<<data memory \d+ [0-9a-f]{32}>>>\nThe lighthouse opens at nine\n/)
  const { receipts } = await tenant.ok('GET', `/orchestrator/runs/${run_id}/receipts`)
  assert.deepEqual([receipts[0].executor, receipts[0].claimed], ['managed', []])
  assert.deepEqual(receipts[0].model.version, 'model-a-2026')
  const decision = await tenant.ok('GET', `/decisions/${receipts[0].decision_id}`)
  assert.deepEqual([decision.output, decision.retrieved_refs], ['At nine.', [ref]])
  const verdict = await tenant.verify(run_id)
  assert.equal(verdict.valid, true, verdict.reason)
})

test('a model of the other form is asked in that form', async () => {
  const tenant = await tenantWithModel({ provider: 'anthropic' })
  const run = await tenant.ended(await manage(tenant))
  assert.equal(run.state, 'completed')
  const [asked] = model.asked
  assert.ok(asked)
  const { headers, path, body } = asked
  assert.deepEqual([path, headers['x-api-key']], ['/v1/messages', 'sk-secret'])
  assert.equal(headers['anthropic-version'], '2023-06-01')
  assert.equal(body.messages[0].role, 'user')
})

test('a model that says "later" is asked again under the same permit', async () => {
  const tenant = await tenantWithModel()
  model.answer = () =>
    model.asked.length < 3 ? { status: 429, retry_after_s: 0 } : { text: 'yes' }
  const run = await tenant.ended(await manage(tenant))
  assert.deepEqual([run.state, run.steps.length, model.asked.length], ['completed', 1, 3])
})

test('a question that was cut off stays spent; after three the next model is asked', async () => {
  const tenant = await tenantWithModel()
  await tenant.provider(model.base_url, { model_id: 'model-b' })
  const agent = {
    name: 'careful',
    model_id: 'model-a',
    fallback_models: ['model-b'],
    max_tokens_per_step: 300,
  }
  const { agent_id } = await tenant.ok('POST', '/orchestrator/agents', agent)
  model.answer = ({ body }) => (body.model === 'model-a' ? { cut: true } : { text: 'from b' })
  const run_id = await manage(tenant, { agent_id })
  const run = await tenant.ended(run_id)
  const steps = run.steps.map((step: { model_id: string; state: string; reason: string }) => [
    step.model_id,
    step.state,
    step.reason,
  ])
  const lost = ['model-a', 'failed', 'model_failed']
  assert.deepEqual(steps, [lost, lost, lost, ['model-b', 'completed', null]])
  assert.equal(run.spent.tokens, 3 * 300 + 15)
  assert.equal((await tenant.verify(run_id)).valid, true)
})

test('a run whose models all refuse fails, and nothing of it is spent', async () => {
  const tenant = await tenantWithModel()
  model.answer = () => ({ status: 401 })
  const run_id = await manage(tenant)
  const run = await tenant.ended(run_id)
  assert.deepEqual([run.state, run.termination_reason], ['failed', 'model_failed'])
  assert.deepEqual([run.spent.tokens, model.asked.length], [0, 1])
  const verdict = await tenant.verify(run_id)
  assert.equal(verdict.valid, true, verdict.reason)
})

test('an answer that is none of its form, or too long, is no answer', async () => {
  const tenant = await tenantWithModel()
  const replies = [{ raw: '{"choices":' }, { raw: '{"choices":[7]}' }, { raw: 'x'.repeat(2 ** 21) }]
  model.answer = () => replies[model.asked.length - 1] ?? { text: 'late' }
  const run = await tenant.ended(await manage(tenant))
  assert.deepEqual([run.state, model.asked.length], ['failed', 3])
})

test('without reported usage our count is charged, and the receipt says so', async () => {
  const tenant = await tenantWithModel()
  model.answer = () => ({ text: 'At nine in the morning.', usage: null })
  const run_id = await manage(tenant)
  const run = await tenant.ended(run_id)
  assert.ok(run.spent.tokens > 10)
  const { receipts } = await tenant.ok('GET', `/orchestrator/runs/${run_id}/receipts`)
  assert.equal(receipts[0].model.estimated, true)
})

test('a budget that the prompt alone uses up ends the run before anything is sent', async () => {
  const tenant = await tenantWithModel({ price_out_micro: 1_000_000 })
  for (const budget of [{ tokens: 5 }, { cost_micro: 0 }]) {
    const run = await tenant.ended(await manage(tenant, { budget }))
    assert.deepEqual([run.state, run.termination_reason], ['terminated', 'budget_exhausted'])
    assert.equal(run.spent.tokens, 0)
  }
  assert.equal(model.asked.length, 0)
})

test('a denied question and a denied answer end the run as denied', async () => {
  const tenant = await tenantWithModel()
  const config = { patterns: ['forbidden'], check_fields: ['output', 'query'] }
  await tenant.policy({ policy_type: 'content_filter', config })
  const first = await tenant.ended(await manage(tenant, { input_text: 'a forbidden question' }))
  assert.deepEqual([first.state, first.termination_reason], ['denied', 'policy'])
  assert.equal(model.asked.length, 0)
  model.answer = () => ({ text: 'a forbidden answer' })
  const run_id = await manage(tenant)
  const second = await tenant.ended(run_id)
  assert.deepEqual([second.state, second.termination_reason], ['denied', 'output_refused'])
  assert.equal(JSON.stringify(await tenant.bundle(run_id)).includes('forbidden'), false)
})

test('a question that waits for a person is asked once it is approved', async () => {
  const tenant = await tenantWithModel()
  await tenant.policy({ policy_type: 'hitl_required', config: { operations: ['inference'] } })
  const run_id = await manage(tenant)
  const waiting = await tenant.inState(run_id, (state) => state === 'waiting_hitl')
  assert.equal(model.asked.length, 0)
  const { action_id } = waiting.steps[0]
  await tenant.ok('POST', `/orchestrator/actions/${action_id}/approve`, { approver: 'ana' })
  const run = await tenant.ended(run_id)
  assert.deepEqual([run.state, model.asked.length], ['completed', 1])
  const verdict = await tenant.verify(run_id)
  assert.equal(verdict.valid, true, verdict.reason)
})

test('cancelling during a question ends it, and nothing follows', async () => {
  const tenant = await tenantWithModel()
  model.answer = () => new Promise(() => {})
  const run_id = await manage(tenant)
  while (model.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
  const cancelled = await tenant.ok('POST', `/orchestrator/runs/${run_id}/cancel`)
  assert.deepEqual([cancelled.state, cancelled.spent.tokens], ['terminated', 4_096])
  await scene.service.kernel.jobs.idle()
  const run = await tenant.run(run_id)
  assert.deepEqual([run.state, run.steps.length, model.asked.length], ['terminated', 1, 1])
  assert.equal((await tenant.events()).at(-1), 'run.terminated')
})

test('a key that is revoked gets no further permit', async () => {
  const tenant = await tenantWithModel()
  const scopes = ['orchestrator:run', 'memory:read']
  const made = await tenant.ok('POST', '/keys', { name: 'runner', scopes })
  model.answer = async () => {
    await tenant.ok('DELETE', `/keys/${made.key_id}`)
    return { cut: true }
  }
  const body = { agent_id: tenant.agent_id, executor: 'managed', input_text: 'a' }
  const started = await tenant.ask('POST', '/orchestrator/runs', body, { key: made.api_key })
  assert.equal(started.status, 201, started.text)
  const run = await tenant.ended(started.body.run_id)
  assert.deepEqual([run.termination_reason, model.asked.length], ['credential_revoked', 1])
})

test('who is not the executor of a run executes nothing of it', async () => {
  const tenant = await tenantWithModel()
  model.answer = () => new Promise(() => {})
  const run_id = await manage(tenant)
  while (model.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
  const [{ step_id }] = (await tenant.run(run_id)).steps
  assert.equal((await tenant.begin(run_id, { input_text: 'b' })).body.error, 'wrong_state')
  assert.equal((await tenant.call(run_id, step_id, { tool: 'x' })).body.error, 'wrong_state')
  assert.equal((await tenant.complete(run_id, step_id)).body.error, 'wrong_state')
  await tenant.ok('POST', `/orchestrator/runs/${run_id}/cancel`)
})

test('a managed run without a model, an input or the right to read memory is refused', async () => {
  const tenant = await tenantWithModel()
  const start = (body: object, key?: string) =>
    tenant.ask(
      'POST',
      '/orchestrator/runs',
      { agent_id: tenant.agent_id, executor: 'managed', ...body },
      key === undefined ? {} : { key },
    )
  assert.equal((await start({})).body.error, 'rejected')
  const { api_key } = await tenant.ok('POST', '/keys', { name: 'k', scopes: ['orchestrator:run'] })
  assert.equal((await start({ input_text: 'a' }, api_key)).body.error, 'scope_missing')
  await tenant.ok('DELETE', '/llm/providers/model-a')
  assert.equal((await start({ input_text: 'a' })).body.error, 'provider_not_found')
})

test("'llm.list_providers' shows no key, 'llm.delete_provider' ends what asks it", async () => {
  const tenant = await tenantWithModel()
  const listed = await tenant.ask('GET', '/llm/providers')
  assert.equal(listed.status, 200, listed.text)
  assert.equal(listed.text.includes('sk-secret'), false)
  assert.match(listed.text, /"model_id":"model-a"/)
  await tenant.ok('DELETE', '/llm/providers/model-a')
  assert.equal((await tenant.ask('GET', '/llm/providers')).text.includes('model-a'), false)
  const body = { agent_id: tenant.agent_id, executor: 'managed', input_text: 'when?' }
  const refused = await tenant.ask('POST', '/orchestrator/runs', body)
  assert.equal(refused.body.error, 'provider_not_found')
})

/** A tenant has four places in a process, and the process sixteen. */
const PLACES = 4

test('runs that wait for their caller hold no place, however many there are', async () => {
  const tenant = await tenantWithModel()
  const tool = { name: 'wait', description: 'Waits for the caller', effect: 'read' }
  await tenant.ok('POST', '/llm/tools', tool)
  model.answer = () => ({ calls: [{ tool: 'wait', args: {} }] })
  for (let i = 0; i < PLACES + 2; i += 1)
    await tenant.inState(await manage(tenant), (state) => state === 'waiting_client')
  model.answer = () => ({ text: 'At nine.' })
  assert.equal((await tenant.ended(await manage(tenant))).state, 'completed')
})

test('a tenant with many runs due holds up no other, and has four places at once', async () => {
  const busy = await tenantWithModel()
  const other = await tenantWithModel()
  const held: (() => void)[] = []
  const inputs: string[] = []
  model.answer = ({ body }) => {
    inputs.push(body.messages.at(-1).content)
    return new Promise((resolve) => held.push(() => resolve({ text: 'At nine.' })))
  }
  const runs = []
  for (let i = 0; i < PLACES * 2; i += 1) runs.push(await manage(busy, { input_text: 'busy' }))
  const last = await manage(other, { input_text: 'other' })
  while (!inputs.includes('other')) await new Promise((resolve) => setTimeout(resolve, 10))
  assert.ok(inputs.filter((text) => text === 'busy').length <= PLACES, inputs.join())
  const release = setInterval(() => held.splice(0).forEach((answer) => void answer()), 10)
  assert.equal((await other.ended(last)).state, 'completed')
  for (const run_id of runs) assert.equal((await busy.ended(run_id)).state, 'completed')
  clearInterval(release)
})
