// A provider that fails again and again is left alone for a while, by one tenant and not by others.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startModelServer } from '../testing/model-server.ts'
import { openRunScene, type RunningTenant } from '../testing/run-scene.ts'

const scene = openRunScene({ config: { egress: { allow: ['127.0.0.1'], proxy: null } } })
const model = await startModelServer({ after })

const askedOf = (model_id: string) => model.asked.filter(({ body }) => body.model === model_id)

/** Two runs ask a model that cuts each connection: five questions, and the third run sees it. */
async function failing(t: { after(act: () => void): void }): Promise<RunningTenant> {
  model.asked.length = 0
  model.answer = ({ body }) => (body.model === 'model-a' ? { cut: true } : { text: 'from b' })
  t.after(() => {
    model.answer = () => ({ text: 'an answer' })
  })
  const tenant = await scene.tenant()
  await tenant.provider(model.base_url)
  await tenant.provider(model.base_url, { model_id: 'model-b' })
  return tenant
}

const agentOf = async (tenant: RunningTenant, more: Record<string, unknown>) =>
  (await tenant.ok('POST', '/orchestrator/agents', { model_id: 'model-a', ...more })).agent_id

const manage = (tenant: RunningTenant, agent_id: string) =>
  tenant.start({ executor: 'managed', input_text: 'what changed?', agent_id })

test('a model that failed five times in a row is passed over at once, others go on', async (t) => {
  const tenant = await failing(t)
  const agent_id = await agentOf(tenant, { name: 'both', fallback_models: ['model-b'] })
  const steps: string[] = []
  for (let i = 0; i < 3; i += 1) {
    const run = await tenant.ended(await manage(tenant, agent_id))
    assert.equal(run.state, 'completed')
    steps.push(run.steps.map((one: { model_id: string }) => one.model_id.at(-1)).join(''))
  }
  assert.deepEqual(steps, ['aaab', 'aab', 'b'])
  assert.equal(askedOf('model-a').length, 5)
  const other = await scene.tenant()
  await other.provider(model.base_url)
  model.answer = () => ({ text: 'it works' })
  assert.equal((await other.ended(await manage(other, other.agent_id))).state, 'completed')
})

test('without another model the run waits, and goes on once the provider answers', async (t) => {
  const tenant = await failing(t)
  const agent_id = await agentOf(tenant, { name: 'alone' })
  assert.equal((await tenant.ended(await manage(tenant, agent_id))).state, 'failed')
  const run_id = await manage(tenant, agent_id)
  while (askedOf('model-a').length < 5) await new Promise((resolve) => setTimeout(resolve, 10))
  model.answer = () => ({ text: 'it works again' })
  const run = await tenant.ended(run_id)
  assert.deepEqual([run.state, run.steps.length], ['completed', 3])
  const [, failed, next] = run.steps
  const waited_ms = Date.parse(next.created_at) - Date.parse(failed.ended_at)
  assert.ok(waited_ms > 900, `it was asked again after ${waited_ms} ms`)
  assert.equal((await tenant.verify(run_id)).valid, true)
})
