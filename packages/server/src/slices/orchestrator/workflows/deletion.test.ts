// Deletions of workflows and of their agents, beside runs that begin or are under way.

import assert from 'node:assert/strict'
import { after, mock, test } from 'node:test'
import { startModelServer } from '../testing/model-server.ts'
import { openRunScene, type RunningTenant } from '../testing/run-scene.ts'

const scene = openRunScene({ config: { egress: { allow: ['127.0.0.1'], proxy: null } } })
const model = await startModelServer({ after })

async function crew(...names: string[]): Promise<{ tenant: RunningTenant; ids: string[] }> {
  model.answer = () => ({ text: 'done' })
  const tenant = await scene.tenant()
  await tenant.provider(model.base_url, { model_id: 'any' })
  const ids: string[] = []
  for (const name of names) {
    const agent = { name, model_id: 'any', memory_stores: ['notes'] }
    ids.push((await tenant.ok('POST', '/orchestrator/agents', agent)).agent_id)
  }
  return { tenant, ids }
}

const define = async (tenant: RunningTenant, agent_ids: readonly string[]): Promise<string> =>
  (await tenant.ok('POST', '/orchestrator/workflows', { name: 'report', agent_ids })).workflow_id

test('a workflow is not deleted while a run before its newest one is under way', async () => {
  const { tenant, ids } = await crew('slow')
  const path = `/orchestrator/workflows/${await define(tenant, ids)}`
  const held = Promise.withResolvers<void>()
  model.answer = async () => {
    await held.promise
    return { text: 'late' }
  }
  const go = { input_text: 'go', timeout_seconds: 0 }
  const first = await tenant.ask('POST', `${path}/run`, go)
  await tenant.ask('POST', `${path}/run`, go)
  assert.equal((await tenant.ok('POST', `${path}/terminate`)).terminated, true)
  const refused = await tenant.ask('DELETE', path)
  assert.deepEqual([refused.status, refused.body.error], [409, 'wrong_state'], refused.text)
  held.resolve()
  assert.equal((await tenant.ended(first.body.run_id)).state, 'completed')
  assert.equal((await tenant.ok('DELETE', path)).deleted, true)
})

test('what is being deleted begins no run, and is deleted again after a crash', async () => {
  const { tenant, ids } = await crew('first', 'second')
  const both = await define(tenant, ids)
  const alone = await define(tenant, ids.slice(0, 1))
  const { keyring } = scene.service.kernel
  for (const [path, workflow_id, code] of [
    [`agents/${ids[1]}`, both, 'agent_not_found'],
    [`workflows/${alone}`, alone, 'workflow_not_found'],
  ]) {
    const begun: unknown[] = []
    // A run is asked for at the moment when the words are about to go.
    const cutOff = async () => {
      const asked = { input_text: 'go', timeout_seconds: 0 }
      const path = `/orchestrator/workflows/${workflow_id}/run`
      const { status, body } = await tenant.ask('POST', path, asked)
      begun.push([status, body.error])
      throw new Error('cut off')
    }
    mock.method(keyring, 'destroySecrets', cutOff, { times: 1 })
    assert.equal((await tenant.ask('DELETE', `/orchestrator/${path}`)).status, 500)
    assert.deepEqual(begun, [[404, code]])
    await tenant.ok('DELETE', `/orchestrator/${path}`)
    assert.equal((await tenant.ask('GET', `/orchestrator/${path}`)).status, 404)
  }
})
