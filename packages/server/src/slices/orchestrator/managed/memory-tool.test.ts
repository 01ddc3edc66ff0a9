// Memory as a tool of managed runs: the rights of the key, the stores of the agent, erasure, once.
// 'llm.seed_builtins', 'llm.create_tool'

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { findByKeyId } from '../../tenants/index.ts'
import { startModelServer } from '../testing/model-server.ts'
import { openRunScene, type RunningTenant } from '../testing/run-scene.ts'
import { callMemory } from './memory-tool.ts'

const scene = openRunScene({ config: { egress: { allow: ['127.0.0.1'], proxy: null } } })
const model = await startModelServer({ after })

/** The model asks for these calls, one an answer, and then says that it is done. */
async function tenantCalling(
  ...calls: readonly { tool: string; args: unknown }[]
): Promise<RunningTenant> {
  model.asked.length = 0
  model.answer = () => {
    const call = calls[model.asked.length - 1]
    return call ? { calls: [call] } : { text: 'Done.' }
  }
  const tenant = await scene.tenant()
  await tenant.provider(model.base_url)
  assert.deepEqual(await tenant.ok('POST', '/llm/tools/seed-builtins'), { seeded: 3 })
  return tenant
}

/** The first step is told nothing: what it knows it has from its calls. */
const manage = (tenant: RunningTenant, key?: string) =>
  tenant
    .ask(
      'POST',
      '/orchestrator/runs',
      { executor: 'managed', agent_id: tenant.agent_id, input_text: 'zzz' },
      key === undefined ? {} : { key },
    )
    .then(({ body }) => String(body.run_id))

const callsOf = (run: { steps: { calls: { state: string; reason: string | null }[] }[] }) =>
  run.steps.flatMap(({ calls }) => calls.map(({ state, reason }) => [state, reason]))
const lastMessage = (question = 1) => String(model.asked[question]?.body.messages.at(-1).content)

test('built-in tools are seeded once, their names are reserved, a kind has a schema', async () => {
  const tenant = await tenantCalling()
  assert.deepEqual(await tenant.ok('POST', '/llm/tools/seed-builtins'), { seeded: 0 })
  const { tools } = await tenant.ok('GET', '/llm/tools')
  assert.deepEqual(
    tools.map((tool: Record<string, unknown>) => [
      tool['name'],
      tool['tool_type'],
      tool['effect'],
      tool['url'],
      tool['builtin'],
    ]),
    [
      ['memory_retrieve', 'memory.retrieve', 'read', null, true],
      ['memory_write', 'memory.write', 'idempotent', null, true],
      ['memory_supersede', 'memory.supersede', 'idempotent', null, true],
    ],
  )
  const define = (more: object) =>
    tenant.ask('POST', '/llm/tools', { name: 'recall', description: 'x', ...more })
  for (const name of ['memory_write', 'delegate']) {
    const reserved = await define({ name, tool_type: 'memory.write' })
    assert.deepEqual([reserved.status, reserved.body.error], [409, 'name_taken'], name)
  }
  for (const more of [
    { url: 'https://tools.invalid/' },
    { input_schema: {} },
    { effect: 'once' },
    { headers: { 'x-a': 'b' } },
  ])
    assert.equal((await define({ tool_type: 'memory.write', ...more })).body.error, 'rejected')
  assert.equal((await define({ tool_type: 'http' })).body.error, 'rejected')
  const own = await define({ tool_type: 'memory.write' })
  assert.deepEqual([own.status, own.body.effect, own.body.builtin], [201, 'idempotent', false])
  assert.deepEqual(await tenant.ok('DELETE', '/llm/tools/memory_write'), {
    deleted: true,
    tool_name: 'memory_write',
  })
  assert.deepEqual(await tenant.ok('POST', '/llm/tools/seed-builtins'), { seeded: 1 })
})

test('a model finds, writes and replaces memories, and what it was told is noted', async () => {
  const tenant = await tenantCalling(
    { tool: 'memory_retrieve', args: { query: 'when does the lighthouse open?' } },
    { tool: 'memory_write', args: { content: 'Visits begin when the lighthouse opens' } },
    { tool: 'memory_supersede', args: { old_ref: 0, content: 'The lighthouse opens at ten' } },
  )
  const found = await tenant.remember('The lighthouse opens at nine')
  const replacing = model.answer
  model.answer = async (question) => {
    const reply = await replacing(question)
    const call = reply.calls?.[0]
    return call?.tool === 'memory_supersede'
      ? { calls: [{ ...call, args: { ...Object(call.args), old_ref: found } }] }
      : reply
  }
  await tenant.ok('PUT', `/orchestrator/agents/${tenant.agent_id}`, { memory_stores: ['notes'] })
  const run_id = await manage(tenant)
  const run = await tenant.ended(run_id)
  assert.equal(run.state, 'completed', JSON.stringify(run))
  assert.deepEqual(callsOf(run), [
    ['done', null],
    ['done', null],
    ['done', null],
  ])
  assert.match(lastMessage(), /^<<<data tool [0-9a-f]{32}>>>\n.*opens at nine.*\n<<<end/)
  assert.deepEqual(run.steps[1].inherited_refs, [found])
  const { memories } = await tenant.ok('GET', '/stores/notes/memories')
  const written = memories.find(({ content }: { content: string }) => /^Visits/.test(content))
  assert.deepEqual(written.metadata, {
    run_id,
    step_id: run.steps[1].step_id,
    made_from: [found],
  })
  const old = await tenant.ok('GET', `/stores/notes/memories/${found}`)
  assert.equal(typeof old.superseded_by, 'number')
  assert.equal((await tenant.verify(run_id)).valid, true)
  const { receipts } = await tenant.ok('GET', `/orchestrator/runs/${run_id}/receipts`)
  assert.deepEqual(receipts[0].memory.called_refs, [found])
})

test('erasing what a call was told leaves it in no text of the run', async () => {
  const tenant = await tenantCalling({ tool: 'memory_retrieve', args: { query: 'canary' } })
  const ref = await tenant.remember('The canary sings in Larkspur Lane')
  // The input finds nothing by itself: only the call is told.
  await tenant.ok('PUT', `/orchestrator/agents/${tenant.agent_id}`, { memory_stores: ['notes'] })
  model.answer = () =>
    model.asked.length === 1
      ? { calls: [{ tool: 'memory_retrieve', args: { query: 'where does the canary sing?' } }] }
      : { text: 'It sings in Larkspur Lane.' }
  const run_id = await manage(tenant)
  assert.equal((await tenant.ended(run_id)).state, 'completed')
  assert.match(lastMessage(), /Larkspur/)
  await tenant.ok('POST', '/stores/notes/delete', { ref })
  const bundle = JSON.stringify(await tenant.bundle(run_id))
  assert.doesNotMatch(bundle, /Larkspur/)
  const verdict = await tenant.verify(run_id)
  assert.equal(verdict.valid, true, verdict.reason)
  const { steps } = await tenant.ok('GET', `/orchestrator/runs/${run_id}/steps`)
  assert.equal(steps[1].output_text, null)
})

test('a tool of memories does no more than the key and the agent may', async () => {
  const write = { tool: 'memory_write', args: { content: 'x' } }
  const foreign = { tool: 'memory_write', args: { content: 'x', store_id: 'private' } }
  const tenant = await tenantCalling(write, foreign, {
    tool: 'memory_retrieve',
    args: { query: 'x', store_id: 'private' },
  })
  await tenant.ok('POST', '/stores', { store_id: 'private' })
  await tenant.ok('PUT', `/orchestrator/agents/${tenant.agent_id}`, { memory_stores: ['notes'] })
  const scopes = ['orchestrator:run', 'memory:read']
  const { api_key } = await tenant.ok('POST', '/keys', { name: 'reader', scopes })
  const run = await tenant.ended(await manage(tenant, api_key))
  assert.equal(run.state, 'completed')
  const failed = ['failed', 'tool_failed']
  assert.deepEqual(callsOf(run), [failed, failed, failed])
  assert.match(lastMessage(1), /tool_failed: scope_missing/)
  assert.match(lastMessage(2), /tool_failed: store_not_found/)
  for (const store of ['notes', 'private'])
    assert.equal((await tenant.ok('GET', `/stores/${store}/stats`)).facts, 0)
})

test('a policy holds for a memory that a model writes', async () => {
  const tenant = await tenantCalling({ tool: 'memory_write', args: { content: 'top secret' } })
  await tenant.policy({ policy_type: 'content_filter', config: { patterns: ['top secret'] } })
  const run = await tenant.ended(await manage(tenant))
  assert.ok(['completed', 'denied'].includes(run.state))
  assert.equal((await tenant.ok('GET', '/stores/notes/stats')).facts, 0)
})

test('a write that is repeated after a crash is one memory', async () => {
  const tenant = await tenantCalling()
  const { kernel } = scene.service
  const { keys } = await tenant.ok('GET', '/keys')
  const principal = await findByKeyId(kernel, keys[0].key_id)
  assert.ok(principal)
  const caller = {
    kernel,
    tenant_id: tenant.tenant_id,
    principal,
    request_id: 'r',
    gone: new AbortController().signal,
  }
  const request = {
    kind: 'memory.write',
    args: { content: 'once only' },
    call_id: '7'.repeat(32),
    run_id: '8'.repeat(32),
    step_id: '9'.repeat(32),
    stores: ['notes'],
    refs: [],
  } as const
  const results = await Promise.all([1, 2, 3].map(() => callMemory(caller, request)))
  assert.equal(new Set(results.map((one) => JSON.stringify(one))).size, 1)
  assert.ok('result' in (results[0] ?? {}), JSON.stringify(results))
  assert.equal((await tenant.ok('GET', '/stores/notes/stats')).facts, 1)
})
