// Tools that are no requests: of the caller, of the world model, and of erasure.
// 'orchestrator.get_call', 'orchestrator.report_call', 'llm.create_tool'

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Answer } from '../../../testing/harness.ts'
import { startModelServer } from '../testing/model-server.ts'
import { openRunScene, type RunningTenant } from '../testing/run-scene.ts'

const scene = openRunScene({ config: { egress: { allow: ['127.0.0.1'], proxy: null } } })
const model = await startModelServer({ after })

/** A model that asks for one call, and then says what it was told. */
async function tenantWith(tool: Record<string, unknown>, args: unknown): Promise<RunningTenant> {
  model.asked.length = 0
  const { name } = tool
  model.answer = () =>
    model.asked.length === 1 ? { calls: [{ tool: String(name), args }] } : { text: 'It is done.' }
  const tenant = await scene.tenant()
  await tenant.provider(model.base_url)
  await tenant.ok('POST', '/llm/tools', { description: 'Does it', ...tool })
  return tenant
}

const manage = (tenant: RunningTenant, more: Record<string, unknown> = {}) =>
  tenant.start({ executor: 'managed', input_text: 'do it', ...more })

const callOf = (run: Answer['body']) => run.steps[0].calls[0]
const waitsFor = (state: string) => (now: string) => now === state
const told = () => JSON.stringify(model.asked[1]?.body.messages)

async function valid(tenant: RunningTenant, run_id: string) {
  const verdict = await tenant.verify(run_id)
  assert.equal(verdict.valid, true, verdict.reason)
  return verdict
}

const LOOK_UP = { name: 'look_up', effect: 'read', input_schema: { type: 'object' } }

test('a call of a client tool waits for its caller, whose report the model is told', async () => {
  const tenant = await tenantWith(LOOK_UP, { id: 7 })
  const [tool] = (await tenant.ok('GET', '/llm/tools')).tools
  assert.deepEqual([tool.tool_type, tool.url], ['client', null])
  const run_id = await manage(tenant)
  const { call_id, by_caller } = callOf(await tenant.inState(run_id, waitsFor('waiting_client')))
  const path = `/orchestrator/runs/${run_id}/calls/${call_id}`
  const shown = await tenant.ok('GET', path)
  assert.deepEqual([by_caller, shown.tool, shown.args], [true, 'look_up', { id: 7 }])
  const body = { result: 'seven is red' }
  const reported = await tenant.ask('POST', `${path}/report`, body, { idempotency: 'r1' })
  assert.deepEqual([reported.status, reported.body.state], [200, 'done'], reported.text)
  const again = await tenant.ask('POST', `${path}/report`, body, { idempotency: 'r1' })
  assert.deepEqual(again.body, reported.body)
  const other = await tenant.ask('POST', `${path}/report`, body)
  assert.deepEqual([other.status, other.body.error], [409, 'wrong_state'])
  const run = await tenant.ended(run_id)
  assert.equal(run.state, 'completed')
  assert.match(told(), /<<<data tool [0-9a-f]{32}>>>\\nseven is red/)
  const { receipts } = await tenant.ok('GET', `/orchestrator/runs/${run_id}/receipts`)
  assert.deepEqual([receipts[0].claimed, receipts[1].claimed], [['results'], []])
  assert.equal(receipts[0].calls[0].executor, 'client')
  assert.match((await valid(tenant, run_id)).not_checked.join(), /client. tools: as the caller/)
  assert.equal((await tenant.ok('GET', path)).result, 'seven is red')
})

test('a failed report, and a call that nobody reports until the run is cancelled', async () => {
  const tenant = await tenantWith({ ...LOOK_UP, effect: 'once' }, { id: 7 })
  const failed = await manage(tenant)
  const first = callOf(await tenant.inState(failed, waitsFor('waiting_client')))
  const path = `/orchestrator/runs/${failed}/calls/${first.call_id}/report`
  await tenant.ok('POST', path, { result: 'no such thing', failed: true })
  assert.deepEqual(callOf(await tenant.ended(failed)).reason, 'reported')
  model.asked.length = 0
  const cancelled = await manage(tenant)
  const second = callOf(await tenant.inState(cancelled, waitsFor('waiting_client')))
  await tenant.ok('POST', `/orchestrator/runs/${cancelled}/cancel`)
  assert.equal(callOf(await tenant.run(cancelled)).state, 'uncertain')
  const late = `/orchestrator/runs/${cancelled}/calls/${second.call_id}/report`
  assert.equal((await tenant.ask('POST', late, { result: 'done' })).body.error, 'wrong_state')
  const verdicts = [await valid(tenant, failed), await valid(tenant, cancelled)]
  assert.equal(verdicts.length, 2)
})

test('a person approves a client call before its caller is told to act', async () => {
  const tenant = await tenantWith(LOOK_UP, { id: 7 })
  await tenant.policy({ policy_type: 'hitl_required', config: { operations: ['tool_execution'] } })
  const run_id = await manage(tenant)
  const { call_id, action_id } = callOf(await tenant.inState(run_id, waitsFor('waiting_hitl')))
  const path = `/orchestrator/runs/${run_id}/calls/${call_id}/report`
  assert.equal((await tenant.ask('POST', path, { result: 'x' })).body.error, 'wrong_state')
  await tenant.ok('POST', `/orchestrator/actions/${action_id}/approve`, { approver: 'ana' })
  await tenant.inState(run_id, waitsFor('waiting_client'))
  await tenant.ok('POST', path, { result: 'x' })
  assert.equal((await tenant.ended(run_id)).state, 'completed')
  await valid(tenant, run_id)
})

const REFUND = { name: 'refund_invoice', tool_type: 'action', action_name: 'refund' }
const ARGS = { subject_refs: ['INV-1'], params: { amount: 5 } }

async function tenantWithAction(args: unknown = ARGS): Promise<RunningTenant> {
  const input_schema = { type: 'object', properties: { amount: { type: 'number' } } }
  const tenant = await tenantWith({ ...REFUND, input_schema }, args)
  const spec = { required_trust_tier: 'untrusted', input_schema }
  await tenant.ok('POST', '/world-model/types', { kind: 'action', name: 'refund', spec })
  return tenant
}

const actionsOf = async (tenant: RunningTenant) =>
  (await tenant.ok('GET', '/world-model/actions')).invocations

test('an action of the world model is invoked once, with the rights of the run', async () => {
  const tenant = await tenantWithAction()
  const run_id = await manage(tenant)
  const run = await tenant.ended(run_id)
  assert.deepEqual([run.state, callOf(run).state], ['completed', 'done'], JSON.stringify(run))
  const [action, ...more] = await actionsOf(tenant)
  assert.deepEqual([action.status, action.params, more], ['invoked', { amount: 5 }, []])
  assert.match(told(), new RegExp(action.action_id))
  await valid(tenant, run_id)
})

test('an action waits for its own approval; the run goes on once it is decided', async () => {
  for (const decision of ['approve', 'reject']) {
    const tenant = await tenantWithAction()
    const operations = ['worldmodel.action.refund']
    await tenant.policy({ policy_type: 'hitl_required', config: { operations } })
    const run_id = await manage(tenant)
    await tenant.inState(run_id, waitsFor('waiting_hitl'))
    const [action] = await actionsOf(tenant)
    await tenant.ok('POST', `/world-model/actions/${action.action_id}/${decision}`, {
      approver: 'ana',
    })
    const run = await tenant.ended(run_id)
    const expected = decision === 'approve' ? ['done', null] : ['failed', 'tool_failed']
    const { state, reason } = callOf(run)
    assert.deepEqual([run.state, state, reason], ['completed', ...expected])
    assert.equal((await actionsOf(tenant)).length, 1)
    await valid(tenant, run_id)
  }
})

test('an action whose run is cancelled while it waits can be approved no more', async () => {
  const tenant = await tenantWithAction()
  const operations = ['worldmodel.action.refund']
  await tenant.policy({ policy_type: 'hitl_required', config: { operations } })
  const run_id = await manage(tenant)
  await tenant.inState(run_id, waitsFor('waiting_hitl'))
  await tenant.ok('POST', `/orchestrator/runs/${run_id}/cancel`)
  const [{ action_id, status }] = await actionsOf(tenant)
  assert.equal(status, 'expired')
  assert.deepEqual((await tenant.ok('GET', '/hitl/requests')).requests, [])
  const path = `/world-model/actions/${action_id}/approve`
  const late = await tenant.ask('POST', path, { approver: 'ana' })
  assert.deepEqual([late.status, late.body.error], [409, 'not_waiting'])
  await valid(tenant, run_id)
})

test('a key without the scope of an action or an erasure gets neither through a run', async () => {
  for (const kind of ['action', 'erasure']) {
    const tenant = await tenantWithAction()
    const ref = await tenant.remember('The gate is green')
    if (kind === 'erasure') {
      await tenant.ok('POST', '/llm/tools', { name: 'erase', description: '', tool_type: kind })
      model.answer = () =>
        model.asked.length === 1
          ? { calls: [{ tool: 'erase', args: { ref } }] }
          : { text: 'It is not.' }
    }
    const scopes = ['orchestrator:run', 'memory:read']
    const { api_key } = await tenant.ok('POST', '/keys', { name: 'limited', scopes })
    const body = { executor: 'managed', input_text: 'do it', agent_id: tenant.agent_id }
    const started = await tenant.ask('POST', '/orchestrator/runs', body, { key: api_key })
    assert.equal(started.status, 201, started.text)
    const run = await tenant.ended(started.body.run_id)
    assert.deepEqual([callOf(run).state, callOf(run).reason], ['failed', 'tool_failed'])
    assert.match(told(), /scope_missing/)
    assert.deepEqual(await actionsOf(tenant), [])
    assert.equal((await tenant.ask('GET', `/erasure/fact/${ref}`)).status, 404)
  }
})

test('an erasure by a tool certifies; a run that was told the memory ends with it', async () => {
  for (const told_it of [false, true]) {
    const tenant = await tenantWith({ name: 'erase', tool_type: 'erasure' }, {})
    const ref = await tenant.remember(told_it ? 'do it: the gate is green' : 'Unrelated words')
    model.answer = () =>
      model.asked.length === 1
        ? { calls: [{ tool: 'erase', args: { ref, store_id: 'notes' } }] }
        : { text: 'It is gone.' }
    const agent = {
      name: 'eraser',
      model_id: 'model-a',
      memory_stores: told_it ? ['notes'] : ['other', 'notes'],
    }
    await tenant.ok('POST', '/stores', { store_id: 'other' })
    const { agent_id } = await tenant.ok('POST', '/orchestrator/agents', agent)
    const run_id = await manage(tenant, { agent_id })
    const run = await tenant.ended(run_id)
    const certificate = await tenant.ok('GET', `/erasure/fact/${ref}`)
    assert.ok(JSON.stringify(certificate).includes(`run ${run_id}`))
    assert.equal(run.steps[0].retrieved_refs.includes(ref), told_it)
    if (told_it)
      assert.deepEqual([run.state, run.termination_reason], ['terminated', 'input_erased'])
    else assert.deepEqual([run.state, callOf(run).state], ['completed', 'done'])
    await valid(tenant, run_id)
  }
})

test('tools that do not fit their kind are refused', async () => {
  const tenant = await tenantWith(LOOK_UP, {})
  const url = 'https://example.com/x'
  const bad: Record<string, unknown>[] = [
    { tool_type: 'client', url },
    { tool_type: 'client', headers: { a: 'b' } },
    { tool_type: 'action' },
    { tool_type: 'action', action_name: 'refund', method: 'GET' },
    { tool_type: 'client', action_name: 'refund' },
    { tool_type: 'erasure', input_schema: { type: 'object' } },
    { tool_type: 'erasure', effect: 'read' },
    { input_schema: { type: 'string' } },
  ]
  for (const more of bad) {
    const answer = await tenant.ask('POST', '/llm/tools', { name: 'x', description: '', ...more })
    assert.deepEqual([answer.status, answer.body.error], [422, 'rejected'], JSON.stringify(more))
  }
})
