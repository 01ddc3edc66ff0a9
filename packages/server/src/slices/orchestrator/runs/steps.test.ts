// Runs whose steps the caller executes: permits, budgets, tools, receipts, idempotency.
// 'orchestrator.create_agent', 'orchestrator.start_run', 'orchestrator.get_run',
// 'orchestrator.begin_step', 'orchestrator.get_step', 'orchestrator.call_tool',
// 'orchestrator.complete_step', 'orchestrator.receipts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contentHash, signedBytes, verifyEd25519 } from '@custos/proof'
import { openRunScene } from '../testing/run-scene.ts'

const scene = openRunScene()

test('a run of two steps is permitted, called, completed and receipted in order', async () => {
  const tenant = await scene.tenant()
  const ref = await tenant.remember('The lighthouse opens at nine')
  const run_id = await tenant.start({ input_text: 'plan the day', budget: { tokens: 1_000 } })
  const first = await tenant.permitted(run_id, {
    input_text: 'when does the lighthouse open?',
    budget_tokens: 100,
    max_tokens: 200,
  })
  assert.equal(first.step.state, 'permitted')
  assert.deepEqual(first.memory, [{ ref, content: 'The lighthouse opens at nine' }])
  assert.equal(first.max_tokens, 200)
  const call = await tenant.call(run_id, first.step_id, { tool: 'book', args: { at: 9 } })
  assert.equal(call.status, 201, call.text)
  assert.equal(call.body.state, 'intended')
  const calls = [{ call_id: call.body.call_id, result: 'booked' }]
  const done = await tenant.complete(run_id, first.step_id, { output: 'At nine.', calls })
  assert.equal(done.status, 200, done.text)
  assert.equal(done.body.step.calls[0].state, 'done')
  assert.deepEqual(done.body.run.spent, { tokens: 15, cost_micro: 0 })
  assert.deepEqual(done.body.run.reserved, { tokens: 0, cost_micro: 0 })

  const second = await tenant.permitted(run_id, { input_from: first.step_id, budget_tokens: 0 })
  assert.equal(second.input_text, 'At nine.')
  assert.deepEqual(second.step.inherited_refs, [ref])
  const last = await tenant.complete(run_id, second.step_id, { final: true })
  assert.equal(last.body.run.state, 'completed', last.text)
  assert.equal(last.body.receipt.receipt_no, 1)

  const { receipts } = await tenant.ok('GET', `/orchestrator/runs/${run_id}/receipts`)
  for (const receipt of receipts) {
    const signature = Buffer.from(receipt.signature, 'base64')
    const key = Buffer.from(receipt.public_key, 'base64')
    assert.equal(await verifyEd25519(key, signedBytes('run_receipt', receipt), signature), true)
  }
  const decision = await tenant.ok('GET', `/decisions/${receipts[1].decision_id}`)
  assert.deepEqual(decision.retrieved_refs, [ref])
  assert.equal(decision.query, 'At nine.')
  const types = (await tenant.events()).filter((type) => /^(run|step|tool|decision)\./.test(type))
  assert.deepEqual(types, [
    'run.started',
    'step.permitted',
    'tool.intended',
    'tool.completed',
    'decision.logged',
    'step.completed',
    'step.permitted',
    'decision.logged',
    'step.completed',
    'run.completed',
  ])
})

test('parallel permits never reserve more than the budget', async () => {
  const tenant = await scene.tenant()
  const run_id = await tenant.start({ budget: { tokens: 1_000 } })
  const begun = await Promise.all(
    Array.from({ length: 25 }, (_, i) =>
      tenant.begin(run_id, { input_text: `part ${i}`, budget_tokens: 0, max_tokens: 100 }),
    ),
  )
  const statuses = begun.map(({ status }) => status)
  assert.equal(statuses.filter((status) => status === 201).length, 10)
  assert.equal(begun.find(({ status }) => status !== 201)?.body.error, 'budget_exhausted')
  assert.deepEqual((await tenant.run(run_id)).reserved.tokens, 1_000)
})

test('the last permit gets what is left and says so', async () => {
  const tenant = await scene.tenant()
  const run_id = await tenant.start({ budget: { tokens: 150, cost_micro: 70 } })
  const first = await tenant.permitted(run_id, {
    ...{ input_text: 'a', budget_tokens: 0, max_tokens: 100, max_cost_micro: 50 },
  })
  const second = await tenant.permitted(run_id, { input_text: 'b', budget_tokens: 0 })
  assert.deepEqual([first.max_tokens, second.max_tokens], [100, 50])
  assert.equal(second.step.max_cost_micro, 20)
  // More than was reserved is charged, and the next permit refused.
  await tenant.complete(run_id, first.step_id, { tokens_in: 200, tokens_out: 0, cost_micro: 1 })
  const third = await tenant.begin(run_id, { input_text: 'c', budget_tokens: 0 })
  assert.equal(third.body.error, 'budget_exhausted')
})

test("a run ended by 'orchestrator.cancel_run' gets no permit, no call, no answer", async () => {
  const tenant = await scene.tenant()
  const run_id = await tenant.start()
  const { step_id } = await tenant.permitted(run_id, { input_text: 'a', max_tokens: 40 })
  const call = await tenant.call(run_id, step_id, { tool: 'send', effect: 'once' })
  const cancelled = await tenant.ok('POST', `/orchestrator/runs/${run_id}/cancel`)
  assert.equal(cancelled.state, 'terminated')
  assert.equal(cancelled.termination_reason, 'cancelled')
  assert.equal(cancelled.spent.tokens, 40)
  assert.equal((await tenant.begin(run_id, { input_text: 'b' })).body.error, 'wrong_state')
  assert.equal((await tenant.call(run_id, step_id, { tool: 'x' })).body.error, 'wrong_state')
  assert.equal((await tenant.complete(run_id, step_id)).body.error, 'wrong_state')
  const { steps } = await tenant.run(run_id)
  assert.equal(steps[0].state, 'failed')
  assert.deepEqual(
    steps[0].calls.map(({ call_id, state }: { call_id: string; state: string }) => [
      call_id,
      state,
    ]),
    [[call.body.call_id, 'uncertain']],
  )
})

test('a repeated key gets the first permit; texts open their commitments', async () => {
  const tenant = await scene.tenant()
  const run_id = await tenant.start()
  const path = `/orchestrator/runs/${run_id}/steps`
  const body = { input_text: 'only once' }
  const first = await tenant.ask('POST', path, body, { idempotency: 'k1' })
  const again = await tenant.ask('POST', path, body, { idempotency: 'k1' })
  assert.equal(first.status, 201, first.text)
  assert.equal(again.body.step_id, first.body.step_id)
  assert.equal((await tenant.run(run_id)).steps_total, 1)
  const { step_id } = first.body
  const done = { output: 'the end', tokens_in: 1, tokens_out: 1, final: true }
  const ended = await tenant.ask('POST', `${path}/${step_id}/complete`, done, { idempotency: 'k2' })
  const repeated = await tenant.ask('POST', `${path}/${step_id}/complete`, done, {
    idempotency: 'k2',
  })
  assert.deepEqual(repeated.body, ended.body)
  const texts = (await tenant.bundle(run_id)).filter(({ type }) => type === 'text')
  assert.deepEqual(texts.map(({ text }) => text).toSorted(), ['only once', 'the end'])
  for (const { text, salt, commitment } of texts)
    assert.equal(contentHash(Buffer.from(salt, 'hex'), text), commitment)
})

test('a denied step denies its run, and stores a receipt that says so', async () => {
  const tenant = await scene.tenant()
  await tenant.policy({ policy_type: 'model_allowlist', config: { models: ['model-b'] } })
  const run_id = await tenant.start()
  const denied = await tenant.begin(run_id, { input_text: 'a' })
  assert.equal(denied.status, 403, denied.text)
  const run = await tenant.run(run_id)
  assert.deepEqual([run.state, run.termination_reason, run.receipts], ['denied', 'policy', 1])
  assert.equal((await tenant.begin(run_id, { input_text: 'b', model_id: 'model-b' })).status, 409)
})

test('a refused output is neither stored nor logged as a decision', async () => {
  const tenant = await scene.tenant()
  const config = { patterns: ['forbidden'], check_fields: ['output'] }
  await tenant.policy({ policy_type: 'content_filter', config })
  const run_id = await tenant.start()
  const { step_id } = await tenant.permitted(run_id, { input_text: 'a' })
  const refused = await tenant.complete(run_id, step_id, { output: 'a forbidden word' })
  assert.equal(refused.status, 403, refused.text)
  const run = await tenant.run(run_id)
  assert.deepEqual([run.state, run.termination_reason], ['denied', 'output_refused'])
  assert.equal(run.steps[0].decision_id, null)
  assert.equal(JSON.stringify(await tenant.bundle(run_id)).includes('forbidden'), false)
})

test("'orchestrator.list_agents' and 'orchestrator.list_runs' page newest first", async () => {
  const tenant = await scene.tenant()
  const first = await tenant.start()
  const second = await tenant.start()
  const page = await tenant.ok('GET', '/orchestrator/runs?limit=1')
  assert.deepEqual(idsOf(page.runs), [second])
  const rest = await tenant.ok('GET', `/orchestrator/runs?limit=2&cursor=${page.next_cursor}`)
  assert.deepEqual(idsOf(rest.runs), [first])
  assert.equal(rest.next_cursor, null)
  await tenant.ok('POST', `/orchestrator/runs/${first}/cancel`)
  const ended = await tenant.ok('GET', '/orchestrator/runs?state=terminated')
  assert.deepEqual(idsOf(ended.runs), [first])
  const { agents } = await tenant.ok('GET', '/orchestrator/agents')
  assert.equal(agents.length, 1)
  const shown = await tenant.ok('GET', `/orchestrator/agents/${tenant.agent_id}`)
  assert.deepEqual(shown, agents[0], "'orchestrator.get_agent' shows what the list shows")
})

const idsOf = (runs: readonly { readonly run_id: string }[]) => runs.map(({ run_id }) => run_id)

test('ids of another tenant are not found, and bad input changes nothing', async () => {
  const [tenant, other] = [await scene.tenant(), await scene.tenant()]
  const run_id = await tenant.start()
  const { step_id } = await tenant.permitted(run_id, { input_text: 'a' })
  const foreign: readonly [string, string, unknown, string][] = [
    ['GET', `/orchestrator/agents/${tenant.agent_id}`, undefined, 'agent_not_found'],
    ['GET', `/orchestrator/runs/${run_id}`, undefined, 'run_not_found'],
    ['GET', `/orchestrator/runs/${run_id}/bundle`, undefined, 'run_not_found'],
    ['POST', `/orchestrator/runs/${run_id}/cancel`, undefined, 'run_not_found'],
    ['POST', '/orchestrator/runs', { agent_id: tenant.agent_id }, 'agent_not_found'],
    ['POST', `/orchestrator/runs/${run_id}/steps`, { input_text: 'x' }, 'run_not_found'],
  ]
  for (const [method, path, body, error] of foreign)
    assert.equal((await other.ask(method, path, body)).body.error, error, path)
  const own = await other.start()
  assert.equal((await other.complete(own, step_id)).body.error, 'step_not_found')
  const both = { input_text: 'a', input_from: step_id }
  for (const bad of [{}, both, { input_text: 'x'.repeat(262_145) }])
    assert.equal((await tenant.begin(run_id, bad)).status, 422)
  const stranger = [{ call_id: '0'.repeat(32), result: 'x' }]
  assert.equal((await tenant.complete(run_id, step_id, { calls: stranger })).status, 422)
  assert.equal((await tenant.run(run_id)).steps[0].state, 'permitted')
})
