// Steps and calls that wait for a person: by name, by signature, rejected, expired, altered.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeKey } from '../../approvals/testing/approval-scene.ts'
import { openRunScene, type RunningTenant } from '../testing/run-scene.ts'
import { settleDueRuns } from './settle-runs.ts'

const scene = openRunScene()

async function waitingCall(tenant: RunningTenant) {
  await tenant.policy({ policy_type: 'hitl_required', config: { operations: ['tool_execution'] } })
  const run_id = await tenant.start()
  const { step_id } = await tenant.permitted(run_id, { input_text: 'a' })
  const waiting = await tenant.call(run_id, step_id, { tool: 'pay', args: { amount: 7 } })
  assert.equal(waiting.status, 202, waiting.text)
  return { run_id, step_id, ...waiting.body.detail }
}

test("a waiting step gets its permit as 'orchestrator.approve_action' commits", async () => {
  const tenant = await scene.tenant()
  await tenant.policy({ policy_type: 'hitl_required', config: { operations: ['inference'] } })
  const run_id = await tenant.start({ budget: { tokens: 50 } })
  const begun = await tenant.begin(run_id, { input_text: 'may I?', budget_tokens: 0 })
  assert.equal(begun.status, 202, begun.text)
  const { action_id, step_id } = begun.body.detail
  const run = await tenant.run(run_id)
  assert.deepEqual([run.state, run.reserved.tokens], ['waiting_hitl', 50])
  assert.equal((await tenant.complete(run_id, step_id)).body.error, 'wrong_state')
  // 'orchestrator.get_action'
  const shown = await tenant.ok('GET', `/orchestrator/actions/${action_id}`)
  const { actions } = await tenant.ok('GET', '/orchestrator/actions')
  assert.deepEqual(actions, [{ ...shown, text: null }], "'orchestrator.list_actions' has no texts")
  assert.deepEqual([shown.text, shown.status], ['may I?', 'waiting_hitl'])
  const body = { approver: 'ana' }
  const approved = await tenant.ok('POST', `/orchestrator/actions/${action_id}/approve`, body)
  assert.equal(approved.status, 'approved')
  assert.equal(approved.document.commitment, shown.commitment)
  const permitted = await tenant.step(run_id, step_id)
  assert.equal(permitted.step.state, 'permitted')
  assert.equal((await tenant.run(run_id)).state, 'running')
  assert.equal((await tenant.complete(run_id, step_id, { final: true })).status, 200)
})

test('twenty approvals of one call permit it once, by name or by signature', async () => {
  const tenant = await scene.tenant()
  const waiting = await waitingCall(tenant)
  const pair = makeKey()
  const enrolled = { name: 'Ana', public_key: pair.public_key }
  const { approver_id } = await tenant.ok('POST', '/hitl/approvers', enrolled)
  const request = await tenant.ok('GET', `/hitl/requests/${waiting.request_id}`)
  const message = Buffer.from(request.signing_input.approve, 'base64')
  const signature = pair.sign(message).toString('base64')
  const attest = { decision: 'approve', signer_id: approver_id, signature }
  const path = `/orchestrator/actions/${waiting.action_id}/approve`
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      i % 2 === 0
        ? tenant.ask('POST', `/hitl/requests/${waiting.request_id}/attest`, attest)
        : tenant.ask('POST', path, { approver: `person ${i}` }),
    ),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  assert.equal((await tenant.events()).filter((type) => type === 'tool.intended').length, 1)
  const calls = [{ call_id: waiting.call_id, result: 'paid' }]
  const done = await tenant.complete(waiting.run_id, waiting.step_id, { calls, final: true })
  assert.equal(done.body.step.calls[0].state, 'done', done.text)
  assert.equal(done.body.receipt.calls[0].action_id, waiting.action_id)
})

test("'orchestrator.reject_action' denies the run, which executes nothing more", async () => {
  const tenant = await scene.tenant()
  const { action_id, run_id, step_id } = await waitingCall(tenant)
  await tenant.ok('POST', `/orchestrator/actions/${action_id}/reject`, { approver: 'ana' })
  assert.ok((await tenant.events()).includes('run.denied'), 'the rejection did not end the run')
  assert.equal((await tenant.complete(run_id, step_id)).body.error, 'wrong_state')
  const run = await tenant.run(run_id)
  assert.deepEqual([run.state, run.termination_reason], ['denied', 'hitl_rejected'])
  assert.equal(run.steps[0].calls[0].state, 'denied')
})

test('an approval asks new policies with the origins that the proposal had', async () => {
  const guards = [
    { operation: 'tool_execution', origins: ['tool:look'] },
    { operation: 'inference', origins: ['model'] },
  ]
  for (const { operation, origins } of guards) {
    const tenant = await scene.tenant()
    const run_id = await tenant.start()
    const first = await tenant.permitted(run_id, { input_text: 'a' })
    const look = await tenant.call(run_id, first.step_id, { tool: 'look' })
    const calls = [{ call_id: look.body.call_id, result: 'x' }]
    await tenant.complete(run_id, first.step_id, { calls })
    const propose = async () => {
      if (operation === 'inference') return tenant.begin(run_id, { input_text: 'b' })
      const { step_id } = await tenant.permitted(run_id, { input_text: 'b' })
      return tenant.call(run_id, step_id, { tool: 'pay' })
    }
    await tenant.policy({ policy_type: 'hitl_required', config: { operations: [operation] } })
    const waiting = await propose()
    assert.equal(waiting.status, 202, waiting.text)
    const path = `/orchestrator/actions/${waiting.body.detail.action_id}/approve`
    const guard = { policy_type: 'hitl_required', config: { operations: [operation], origins } }
    const { policy_id } = await tenant.policy({ ...guard, name: 'guard', action: 'deny' })
    const refused = await tenant.ask('POST', path, { approver: 'ana' })
    assert.deepEqual([refused.status, refused.body.error], [403, 'policy_denied'], operation)
    await tenant.ok('DELETE', `/governance/policies/${policy_id}`)
    assert.equal((await tenant.ask('POST', path, { approver: 'ana' })).status, 200)
  }
})

test('an approval after a cancellation permits nothing', async () => {
  const tenant = await scene.tenant()
  const { action_id, run_id } = await waitingCall(tenant)
  await tenant.ok('POST', `/orchestrator/runs/${run_id}/cancel`)
  const path = `/orchestrator/actions/${action_id}/approve`
  assert.equal((await tenant.ask('POST', path, { approver: 'ana' })).body.error, 'not_waiting')
  assert.equal((await tenant.events()).includes('tool.intended'), false)
})

test('nobody is asked about a step or call of a run that has ended', async () => {
  const tenant = await scene.tenant()
  const call = await waitingCall(tenant)
  await tenant.policy({ policy_type: 'hitl_required', config: { operations: ['inference'] } })
  const other = await tenant.start()
  const step = (await tenant.begin(other, { input_text: 'b' })).body.detail
  const asked = async (query = '') =>
    (await tenant.ok('GET', `/hitl/requests${query}`)).requests.length
  assert.equal(await asked(), 2)
  for (const run_id of [call.run_id, other])
    await tenant.ok('POST', `/orchestrator/runs/${run_id}/cancel`)
  const { actions } = await tenant.ok('GET', '/orchestrator/actions')
  const stateOf = ({ status }: { status: string }) => status
  assert.deepEqual(actions.map(stateOf), ['expired', 'expired'])
  assert.deepEqual([await asked(), await asked('?status=expired')], [0, 2])
  const shown = await tenant.ok('GET', `/hitl/requests/${step.request_id}`)
  assert.equal(shown.status, 'expired')
  const path = `/orchestrator/actions/${step.action_id}/reject`
  for (const more of [{}, { idempotency: 'late' }])
    assert.equal(
      (await tenant.ask('POST', path, { approver: 'ana' }, more)).body.error,
      'not_waiting',
    )
  const events = await tenant.events()
  for (const event of ['approval.expired', 'agent_action.expired'])
    assert.equal(events.filter((one) => one === event).length, 2, event)
})

test('the timer ends a permit that nobody used, and counts what it reserved as spent', async () => {
  const tenant = await scene.tenant()
  const run_id = await tenant.start({ budget: { tokens: 100 } })
  const { step_id } = await tenant.permitted(run_id, {
    ...{ input_text: 'a', budget_tokens: 0, max_tokens: 60, permit_s: 1 },
  })
  const until = Date.now() + 20_000
  for (;;) {
    await settleDueRuns(scene.service.kernel)
    if ((await tenant.run(run_id)).steps[0].state === 'failed') break
    assert.ok(Date.now() < until, 'the permit never ended')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const run = await tenant.run(run_id)
  assert.deepEqual([run.spent.tokens, run.reserved.tokens], [60, 0])
  assert.equal((await tenant.complete(run_id, step_id)).body.error, 'permit_expired')
})

test('the timer ends a run at its deadline', async () => {
  const tenant = await scene.tenant()
  const run_id = await tenant.start({ deadline_s: 1 })
  const until = Date.now() + 20_000
  for (;;) {
    await settleDueRuns(scene.service.kernel)
    if ((await tenant.run(run_id)).termination_reason === 'deadline_exceeded') return
    assert.ok(Date.now() < until, 'the run never ended')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
})
