// 'orchestrator.propose': one call that an agent proposes, permitted, denied or approved; it
// executes nothing and gives nobody a right.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRunScene, type RunningTenant } from '../testing/run-scene.ts'

const scene = openRunScene()
const SEND = { tool: 'send_mail', args: { to: 'the team' }, reason: 'It is Friday.' }
const RUNS = '/orchestrator/runs'

const pathOf = ({ agent_id }: RunningTenant) => `/orchestrator/agents/${agent_id}/propose`

const act = (tenant: RunningTenant, { run_id, step_id, call_id }: Record<string, string>) =>
  tenant.complete(String(run_id), String(step_id), {
    output: 'sent',
    calls: [{ call_id, result: 'sent' }],
    final: true,
  })

test('what no policy minds may be done at once, and its run verifies', async () => {
  const tenant = await scene.tenant()
  const got = await tenant.ok('POST', pathOf(tenant), SEND)
  assert.deepEqual([got.state, got.denied, got.escalated], ['intended', false, false])
  assert.deepEqual([got.executed, got.action_id], [false, null])
  const call = await tenant.ok('GET', `${RUNS}/${got.run_id}/calls/${got.call_id}`)
  assert.deepEqual([call.tool, call.args, call.effect], [SEND.tool, SEND.args, 'once'])
  assert.equal((await act(tenant, got)).status, 200)
  const run = await tenant.run(got.run_id)
  assert.deepEqual([run.state, run.executor], ['completed', 'client'])
  const verdict = await tenant.verify(got.run_id)
  assert.equal(verdict.valid, true, verdict.reason)
})

test('what a person has to approve waits, and may be done as it was approved', async () => {
  const tenant = await scene.tenant()
  await tenant.policy({ policy_type: 'hitl_required', config: { operations: ['tool_execution'] } })
  const got = await tenant.ok('POST', pathOf(tenant), SEND)
  assert.deepEqual([got.state, got.escalated, got.denied], ['waiting_hitl', true, false])
  assert.equal((await act(tenant, got)).body.error, 'wrong_state')
  const action = `/orchestrator/actions/${got.action_id}`
  assert.ok((await tenant.ok('GET', action)).text.includes('the team'))
  await tenant.ok('POST', `${action}/approve`, { approver: 'ana' })
  assert.equal((await act(tenant, got)).status, 200)
  const verdict = await tenant.verify(got.run_id)
  assert.equal(verdict.valid, true, verdict.reason)
})

test('what is denied or rejected is never done', async () => {
  const tenant = await scene.tenant()
  await tenant.policy({ policy_type: 'tool_deny', config: { denied_tools: ['send_mail'] } })
  const denied = await tenant.ok('POST', pathOf(tenant), SEND)
  assert.deepEqual([denied.state, denied.denied], ['denied', true])
  assert.equal((await tenant.run(denied.run_id)).state, 'denied')
  await tenant.policy({ policy_type: 'hitl_required', config: { operations: ['tool_execution'] } })
  const waiting = await tenant.ok('POST', pathOf(tenant), { ...SEND, tool: 'call' })
  await tenant.ok('POST', `/orchestrator/actions/${waiting.action_id}/reject`, { approver: 'ana' })
  assert.equal((await act(tenant, waiting)).body.error, 'wrong_state')
  for (const { run_id } of [denied, waiting]) assert.ok((await tenant.verify(run_id)).valid)
})

test('a request that is repeated, or sent twice at once, proposes one call', async () => {
  const tenant = await scene.tenant()
  await tenant.policy({ policy_type: 'hitl_required', config: { operations: ['tool_execution'] } })
  const send = () => tenant.ask('POST', pathOf(tenant), SEND, { idempotency: 'friday' })
  const [first, second] = await Promise.all([send(), send()])
  assert.equal(first.status, 201, first.text)
  for (const again of [second, await send()]) assert.deepEqual(again.body, first.body)
  const { actions } = await tenant.ok('GET', '/orchestrator/actions')
  assert.equal(actions.length, 1)
  const { runs } = await tenant.ok('GET', `${RUNS}?state=waiting_hitl`)
  assert.equal(runs.length, 1)
})

test('a key without the rights proposes nothing, and what is refused leaves no run', async () => {
  const tenant = await scene.tenant()
  const { api_key } = await tenant.ok('POST', '/keys', { name: 'k', scopes: ['memory:read'] })
  const narrow = await tenant.ask('POST', pathOf(tenant), SEND, { key: api_key })
  assert.equal(narrow.body.error, 'scope_missing')
  const other = await scene.tenant()
  assert.equal((await other.ask('POST', pathOf(tenant), SEND)).body.error, 'agent_not_found')
  await tenant.policy({ policy_type: 'hitl_required', config: { operations: ['inference'] } })
  assert.equal((await tenant.ask('POST', pathOf(tenant), SEND)).body.error, 'approval_required')
  for (const { state } of (await tenant.ok('GET', RUNS)).runs) assert.equal(state, 'terminated')
})
