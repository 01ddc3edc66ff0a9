// 'orchestrator.propose': one call that an agent proposes, permitted, denied or approved; it
// executes nothing and gives nobody a right.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { movedClock } from '../../../testing/skewed-clock.ts'
import { settleDueRuns } from '../index.ts'
import { openRunScene, type RunningTenant } from '../testing/run-scene.ts'

const clock = movedClock()
const scene = openRunScene({ clock })
const MINUTE_US = 60_000_000
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

/** Proposes while some units of work of the tenant fail; they are counted from one. */
async function proposeWithout(
  tenant: RunningTenant,
  fails: (unit: number) => boolean,
): Promise<number> {
  const { db } = scene.service.kernel
  const transact = db.transact.bind(db)
  let units = 0
  const failing: typeof db.transact = (tenant_id, unit) => {
    if (tenant_id !== tenant.tenant_id) return transact(tenant_id, unit)
    units += 1
    return fails(units)
      ? Promise.reject(new Error('the process is gone'))
      : transact(tenant_id, unit)
  }
  const { mock: mocked } = mock.method(db, 'transact', failing)
  try {
    return (await tenant.ask('POST', pathOf(tenant), SEND)).status
  } finally {
    mocked.restore()
  }
}

async function liveRuns(tenant: RunningTenant): Promise<number> {
  const { runs } = await tenant.ok('GET', RUNS)
  return runs.filter(({ ended_at }: { ended_at: string | null }) => ended_at === null).length
}

test('a proposal that a crash cuts off leaves no run behind for longer than a minute', async () => {
  const tenant = await scene.tenant()
  let left = 0
  for (let nth = 1; ; nth += 1) {
    const status = await proposeWithout(tenant, (unit) => unit >= nth)
    if (status === 201) break
    assert.ok(status >= 500, String(status))
    left += await liveRuns(tenant)
    clock.forward(MINUTE_US + 1_000_000)
    await settleDueRuns(scene.service.kernel)
    assert.equal(await liveRuns(tenant), 0, `cut off at unit ${nth}`)
  }
  assert.ok(left > 0, 'a crash leaves a run')
})

test('a proposal that fails ends its run at once', async () => {
  const tenant = await scene.tenant()
  for (let nth = 1; (await proposeWithout(tenant, (unit) => unit === nth)) !== 201; nth += 1)
    assert.equal(await liveRuns(tenant), 0, `unit ${nth} failed`)
  assert.equal(await liveRuns(tenant), 1)
})

test('a proposal may be acted on for a day, and the log says so', async () => {
  const tenant = await scene.tenant()
  const got = await tenant.ok('POST', pathOf(tenant), SEND)
  const { deadline_at, created_at } = await tenant.run(got.run_id)
  const seconds = (Date.parse(deadline_at) - Date.parse(created_at)) / 1_000
  assert.ok(Math.abs(seconds - 86_400) < 60, String(seconds))
  const extended = (await tenant.bundle(got.run_id)).flatMap(({ proof }) =>
    proof?.breadcrumb.event_type === 'run.extended' ? [proof.breadcrumb.payload] : [],
  )
  assert.deepEqual(extended, [{ deadline_at }])
  clock.forward(1_000 * MINUTE_US)
  await settleDueRuns(scene.service.kernel)
  assert.equal((await act(tenant, got)).status, 200)
  assert.ok((await tenant.verify(got.run_id)).valid)
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
