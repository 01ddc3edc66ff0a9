// Agents: their versions, their end, and the numbers of their runs.
// 'orchestrator.update_agent', 'orchestrator.delete_agent', 'orchestrator.list_roles',
// 'orchestrator.stats', 'orchestrator.list_agents', 'orchestrator.get_agent'

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { AGENT_ROLES } from '@custos/contract'
import { rawSql } from '../../../testing/raw-sql.ts'
import { agentTextSource } from '../runs/agents.ts'
import { openRunScene, type RunningTenant } from '../testing/run-scene.ts'

const scene = openRunScene()
const step = { input_text: 'x', budget_tokens: 0, max_tokens: 50 }

test('a change makes the next version, keeps what was not sent, and runs go on', async () => {
  const tenant = await scene.tenant()
  const path = `/orchestrator/agents/${tenant.agent_id}`
  const before = await tenant.ok('GET', path)
  const run_id = await tenant.start()
  const changed = await tenant.ok('PUT', path, {
    model_id: 'model-b',
    system_prompt: 'Be brief.',
    max_tokens_per_step: 40,
    temperature: null,
  })
  assert.deepEqual(changed, {
    ...before,
    model_id: 'model-b',
    system_prompt: 'Be brief.',
    max_tokens_per_step: 40,
    version: 2,
    updated_at: changed.updated_at,
  })
  assert.ok(changed.updated_at > before.updated_at)
  assert.deepEqual(await tenant.ok('GET', path), changed)
  const begun = await tenant.permitted(run_id, { ...step, max_tokens: 100 })
  assert.deepEqual([begun.step.model_id, begun.max_tokens], ['model-b', 40])
  assert.equal((await tenant.complete(run_id, begun.step_id, { final: true })).status, 200)
  assert.equal((await tenant.verify(run_id)).valid, true)
})

test('twenty changes at once are twenty versions', async () => {
  const tenant = await scene.tenant()
  const path = `/orchestrator/agents/${tenant.agent_id}`
  const changes = await Promise.all(
    Array.from({ length: 20 }, (_, i) => tenant.ask('PUT', path, { description: `take ${i}` })),
  )
  const stored = changes.filter(({ status }) => status === 200)
  // Where eight tries were not enough the caller is told to come back.
  assert.ok(changes.every(({ status }) => status === 200 || status === 503))
  const versions = stored.map(({ body }) => body.version).sort((a, b) => a - b)
  assert.deepEqual(
    versions,
    versions.map((_, i) => i + 2),
  )
  assert.equal((await tenant.ok('GET', path)).version, versions.at(-1))
})

test('a disabled agent begins no step, and a list leaves it out when asked to', async () => {
  const tenant = await scene.tenant()
  const run_id = await tenant.start()
  const other = { name: 'writer', model_id: 'm', store_id: 'notes', system_prompt: null }
  const { agent_id, memory_stores, system_prompt } = await tenant.ok(
    'POST',
    '/orchestrator/agents',
    other,
  )
  assert.deepEqual([memory_stores, system_prompt], [['notes'], ''])
  await tenant.ok('PUT', `/orchestrator/agents/${tenant.agent_id}`, { enabled: false })
  assert.equal((await tenant.begin(run_id, step)).body.error, 'wrong_state')
  const ids = async (query: string) =>
    (await tenant.ok('GET', `/orchestrator/agents${query}`)).agents.map(
      (agent: { agent_id: string }) => agent.agent_id,
    )
  assert.deepEqual(await ids('?enabled_only=true'), [agent_id])
  assert.deepEqual(await ids(''), [tenant.agent_id, agent_id])
})

test('the name of another agent and a store given twice are refused', async () => {
  const tenant = await scene.tenant()
  await tenant.ok('POST', '/orchestrator/agents', { name: 'writer', model_id: 'm' })
  const path = `/orchestrator/agents/${tenant.agent_id}`
  assert.equal((await tenant.ask('PUT', path, { name: 'writer' })).body.error, 'name_taken')
  assert.equal((await tenant.ask('PUT', path, { name: 'researcher' })).status, 200)
  const both = { store_id: 'notes', memory_stores: ['notes'] }
  assert.equal((await tenant.ask('PUT', path, both)).body.error, 'rejected')
  assert.equal((await tenant.ask('PUT', path, { role: 'king' })).status, 422)
  const foreign = await scene.tenant()
  for (const method of ['PUT', 'DELETE'])
    assert.equal(
      (await foreign.ask(method, path, method === 'PUT' ? {} : undefined)).status,
      404,
      method,
    )
})

test('an agent is deleted once it has no run, and then its words open no longer', async () => {
  const tenant = await scene.tenant()
  const path = `/orchestrator/agents/${tenant.agent_id}`
  await tenant.ok('PUT', path, { system_prompt: 'the canary' })
  const sql = 'select secret_no from agents where agent_id = ?'
  const [row] = await rawSql(scene.service, sql, [tenant.agent_id])
  const run_id = await tenant.start()
  const refused = await tenant.ask('DELETE', path)
  assert.deepEqual([refused.status, refused.body.error], [409, 'wrong_state'])
  assert.equal((await tenant.ok('GET', path)).enabled, true)
  await tenant.ok('POST', `/orchestrator/runs/${run_id}/cancel`)
  assert.deepEqual(await tenant.ok('DELETE', path), { deleted: true, agent_id: tenant.agent_id })
  assert.equal((await tenant.ask('GET', path)).status, 404)
  assert.equal((await tenant.ask('DELETE', path)).status, 404)
  const { keyring } = scene.service.kernel
  const number = Number(row?.['secret_no'])
  const secrets = await keyring.secrets(tenant.tenant_id, 'decision', [number])
  assert.equal(secrets.get(number) ?? null, null)
  assert.equal((await tenant.run(run_id)).agent_id, tenant.agent_id)
  assert.equal((await tenant.verify(run_id)).valid, true)
  const types = await tenant.events()
  assert.equal(types.filter((type) => type === 'agent.changed').length, 3)
})

async function redact({ tenant_id }: RunningTenant, agent_id: string): Promise<void> {
  const { kernel } = scene.service
  const columns = await agentTextSource.prepare(kernel, tenant_id, agent_id)
  assert.ok(columns)
  await kernel.db.transact(tenant_id, (tx) => agentTextSource.apply(tx, agent_id, columns, kernel))
}

const remove = (tenant: RunningTenant, agent_id: string) =>
  tenant.ok('DELETE', `/orchestrator/agents/${agent_id}`)

test('a step under way of an agent that is gone calls nothing', async () => {
  const tenant = await scene.tenant()
  for (const [name, end] of [['deleted', remove] as const, ['redacted', redact] as const]) {
    const agent = { name, model_id: 'm', tools: ['look'] }
    const { agent_id } = await tenant.ok('POST', '/orchestrator/agents', agent)
    const run_id = await tenant.start()
    const { step_id } = await tenant.permitted(run_id, { ...step, agent_id })
    const pay = await tenant.call(run_id, step_id, { tool: 'pay' })
    assert.equal(pay.body.error, 'tool_refused')
    await end(tenant, agent_id)
    for (const tool of ['pay', 'look']) {
      const refused = await tenant.call(run_id, step_id, { tool })
      assert.deepEqual([refused.status, refused.body.error], [409, 'wrong_state'], name)
    }
    assert.equal((await tenant.complete(run_id, step_id, { final: true })).status, 200)
    assert.equal((await tenant.verify(run_id)).valid, true)
  }
})

test('a redacted agent gets no right back that is not named again', async () => {
  const tenant = await scene.tenant()
  const path = `/orchestrator/agents/${tenant.agent_id}`
  await tenant.ok('PUT', path, { tools: ['look'] })
  await redact(tenant, tenant.agent_id)
  const named = { name: 'writer', model_id: 'm', tools: ['look'] }
  for (const change of [
    { enabled: true },
    { description: 'as before' },
    { ...named, enabled: true },
    { ...named, tools: null, store_id: 'notes', enabled: true },
  ]) {
    const refused = await tenant.ask('PUT', path, change)
    assert.equal(refused.body.error, 'rejected', JSON.stringify(change))
  }
  assert.equal((await tenant.ok('GET', path)).enabled, false)
  const shown = await tenant.ok('PUT', path, { ...named, store_id: 'notes', enabled: true })
  assert.deepEqual([shown.tools, shown.memory_stores, shown.enabled], [['look'], ['notes'], true])
  await tenant.ok('PUT', path, { description: 'back' })
})

test('an approval gives no right to an agent that may act no longer', async () => {
  const ends: Record<string, (tenant: RunningTenant, agent_id: string) => Promise<unknown>> = {
    remove,
    redact,
    disable: (tenant, agent_id) =>
      tenant.ok('PUT', `/orchestrator/agents/${agent_id}`, { enabled: false }),
    narrow: (tenant, agent_id) =>
      tenant.ok('PUT', `/orchestrator/agents/${agent_id}`, {
        tools: ['look'],
        memory_stores: ['other'],
      }),
  }
  for (const operation of ['inference', 'tool_execution'])
    for (const [name, end] of Object.entries(ends)) {
      const tenant = await scene.tenant()
      const agent = { name: 'payer', model_id: 'm', tools: ['pay'], memory_stores: ['notes'] }
      const { agent_id } = await tenant.ok('POST', '/orchestrator/agents', agent)
      await tenant.policy({ policy_type: 'hitl_required', config: { operations: [operation] } })
      const run_id = await tenant.start()
      const begun = await tenant.begin(run_id, { input_text: 'x', agent_id })
      const waiting =
        operation === 'inference'
          ? begun
          : await tenant.call(run_id, begun.body.step_id, { tool: 'pay' })
      assert.equal(waiting.status, 202, waiting.text)
      await end(tenant, agent_id)
      const action = `/orchestrator/actions/${waiting.body.detail.action_id}`
      const refused = await tenant.ask('POST', `${action}/approve`, { approver: 'ana' })
      assert.deepEqual([refused.status, refused.body.error], [409, 'not_waiting'], name)
      assert.equal((await tenant.ok('GET', action)).status, 'waiting_hitl', name)
      assert.equal((await tenant.run(run_id)).state, 'waiting_hitl', name)
      if (name === 'disable') {
        await tenant.ok('PUT', `/orchestrator/agents/${agent_id}`, { enabled: true })
        await tenant.ok('POST', `${action}/approve`, { approver: 'ana' })
      } else await tenant.ok('POST', `${action}/reject`, { approver: 'ana' })
      assert.equal((await tenant.verify(run_id)).valid, true)
    }
})

test('an agent whose deletion was cut off hides no other one, and is deleted again', async () => {
  const tenant = await scene.tenant()
  const path = `/orchestrator/agents/${tenant.agent_id}`
  const other = await tenant.ok('POST', '/orchestrator/agents', { name: 'b', model_id: 'model-b' })
  const { name } = await tenant.ok('GET', path)
  const keyring = scene.service.kernel.keyring
  mock.method(keyring, 'destroySecrets', () => Promise.reject(new Error('cut off')), { times: 1 })
  assert.equal((await tenant.ask('DELETE', path)).status, 500)
  assert.equal((await tenant.ok('GET', path)).enabled, false)
  for (const change of [{ name: 'c' }, { enabled: true }])
    assert.equal((await tenant.ask('PUT', path, change)).body.error, 'agent_not_found')
  const again = await tenant.ok('POST', '/orchestrator/agents', { name, model_id: 'model-a' })
  const sql = 'select secret_no from agents where agent_id = ?'
  const [row] = await rawSql(scene.service, sql, [tenant.agent_id])
  await keyring.destroySecrets(tenant.tenant_id, 'decision', [Number(row?.['secret_no'])])
  const { agents, count } = await tenant.ok('GET', '/orchestrator/agents')
  assert.deepEqual([agents, count], [[other, again], 2])
  assert.equal((await tenant.ask('GET', path)).body.error, 'agent_not_found')
  await tenant.ok('DELETE', path)
  assert.equal((await tenant.ask('DELETE', path)).status, 404)
})

test('roles and numbers are those of the rows', async () => {
  const tenant = await scene.tenant()
  const { roles } = await tenant.ok('GET', '/orchestrator/roles')
  assert.deepEqual(
    roles.map(({ value }: { value: string }) => value),
    AGENT_ROLES,
  )
  const empty = await tenant.ok('GET', '/orchestrator/stats')
  assert.deepEqual([empty.agents_total, empty.runs_total, empty.tokens_total], [1, 0, 0])
  const first = await tenant.start()
  const begun = await tenant.permitted(first, step)
  await tenant.call(first, begun.step_id, { tool: 'search', effect: 'read' })
  await tenant.complete(first, begun.step_id, { final: true, cost_micro: 7 })
  const second = await tenant.start()
  await tenant.policy({ policy_type: 'hitl_required', config: { operations: ['inference'] } })
  assert.equal((await tenant.begin(second, step)).status, 202)
  await tenant.policy({
    policy_type: 'tool_deny',
    name: 'none',
    config: { denied_tools: ['.*'] },
  })
  await tenant.policy({ policy_type: 'model_allowlist', name: 'm', config: { models: ['x'] } })
  assert.equal((await tenant.begin(await tenant.start(), step)).status, 403)
  assert.deepEqual(await tenant.ok('GET', '/orchestrator/stats'), {
    agents_total: 1,
    agents_active: 1,
    runs_total: 3,
    runs_active: 1,
    runs: { completed: 1, waiting_hitl: 1, denied: 1 },
    steps_total: 3,
    steps_denied: 1,
    steps_escalated: 1,
    calls_total: 1,
    calls_denied: 0,
    calls_escalated: 0,
    receipts_total: 2,
    tokens_total: 15,
    cost_micro_total: 7,
  })
})
