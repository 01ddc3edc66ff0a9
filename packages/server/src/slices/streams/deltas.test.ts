// Text of answers as it comes, on the stream of a run: who gets it, and what is left of it.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startModelServer } from '../orchestrator/testing/model-server.ts'
import { openRunScene, type RunningTenant } from '../orchestrator/testing/run-scene.ts'
import { openFrames } from './testing/frame-reader.ts'

const scene = openRunScene({ config: { egress: { allow: ['127.0.0.1'], proxy: null } } })
const model = await startModelServer({ after })
const TEXT = 'The canary sings at nine'

async function streaming(provider: 'openai' | 'anthropic'): Promise<RunningTenant> {
  const tenant = await scene.tenant()
  await tenant.provider(model.base_url, { provider, streams: true })
  model.asked.length = 0
  return tenant
}

const start = (tenant: RunningTenant) =>
  tenant.start({ executor: 'managed', input_text: 'when does it sing?' })

const open = (tenant: RunningTenant, run_id: string, query = '?deltas=true', key?: string) =>
  openFrames(`${scene.service.url}/v1/orchestrator/runs/${run_id}/stream${query}`, {
    key: key ?? tenant.api_key,
  })

for (const provider of ['openai', 'anthropic'] as const)
  test(`${provider}: text comes before the answer is complete, and is stored as ever`, async () => {
    const tenant = await streaming(provider)
    const [shown, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    // The answer goes on once the reader has seen what there is of it.
    model.answer = () => ({
      text: TEXT,
      before_event: async (at) => {
        await (at < 5 ? opened.promise : shown.promise)
        return true
      },
    })
    const run_id = await start(tenant)
    const [reader, plain] = [await open(tenant, run_id), await open(tenant, run_id, '')]
    await reader.take(2)
    opened.resolve()
    const first = await reader.take(1)
    assert.deepEqual([first[0]?.event, first[0]?.id], ['step.delta', undefined])
    assert.equal((await tenant.run(run_id)).state, 'running')
    shown.resolve()
    const frames = [...first, ...(await reader.rest())]
    const deltas = frames.filter(({ event }) => event === 'step.delta')
    const parts = deltas.map(({ data = '' }) => JSON.parse(data))
    assert.equal(parts.map(({ text }) => text).join(''), TEXT)
    assert.deepEqual(
      frames.slice(deltas.length).map(({ event }) => event),
      ['step.completed', 'run.completed'],
    )
    const run = await tenant.ended(run_id)
    const [step] = run.steps
    assert.deepEqual([...new Set(parts.map(({ step_id }) => step_id))], [step.step_id])
    assert.deepEqual([run.state, step.tokens_in, step.tokens_out], ['completed', 10, 5])
    assert.equal((await tenant.step(run_id, step.step_id)).output_text, TEXT)
    assert.equal((await tenant.verify(run_id)).valid, true)
    assert.equal(model.asked[0]?.body.stream, true)
    // A reader who did not ask for it gets none, nor one who comes later.
    await plain.rest()
    const late = await open(tenant, run_id)
    await late.rest()
    for (const { text } of [plain, late]) assert.doesNotMatch(text, /canary|step\.delta/)
  })

test('a cut answer counts as one that may have been given, and is asked again', async () => {
  const tenant = await streaming('openai')
  model.answer = () => ({
    text: TEXT,
    ...(model.asked.length === 1 && { before_event: async (at: number) => at < 4 }),
  })
  const run_id = await start(tenant)
  const run = await tenant.ended(run_id)
  const [lost, done] = run.steps
  assert.deepEqual([lost.state, lost.reason, done.state], ['failed', 'model_failed', 'completed'])
  assert.equal(run.spent.tokens, lost.max_tokens + 15)
  assert.equal((await tenant.step(run_id, done.step_id)).output_text, TEXT)
})

test('calls of tools come in parts too', async () => {
  for (const provider of ['openai', 'anthropic'] as const) {
    const tenant = await streaming(provider)
    await tenant.ok('POST', '/llm/tools/seed-builtins')
    await tenant.remember('The canary sings at nine')
    model.answer = () =>
      model.asked.length === 1
        ? { text: 'I look', calls: [{ tool: 'memory_retrieve', args: { query: 'canary' } }] }
        : { text: TEXT }
    const run = await tenant.ended(await start(tenant))
    assert.equal(run.state, 'completed', JSON.stringify(run))
    assert.deepEqual(
      run.steps.map(({ calls }: { calls: { state: string }[] }) => calls.map((one) => one.state)),
      [['done'], []],
    )
  }
})

test('where a policy looks at answers, none is shown before it has', async () => {
  const policies = [
    { policy_type: 'content_filter', config: { patterns: ['canary'] } },
    { policy_type: 'hitl_required', config: { operations: ['output_check'] } },
    { policy_type: 'pii_guard', config: { entities: ['EMAIL_ADDRESS'] } },
    { policy_type: 'rate_limit', config: { max_requests: 100, window_seconds: 60 } },
  ]
  for (const policy of policies) {
    const tenant = await streaming('openai')
    await tenant.policy(policy)
    const opened = Promise.withResolvers<void>()
    model.answer = () => ({
      text: TEXT,
      before_event: async () => {
        await opened.promise
        return true
      },
    })
    const run_id = await start(tenant)
    const reader = await open(tenant, run_id)
    await reader.take(2)
    opened.resolve()
    await reader.rest()
    assert.doesNotMatch(reader.text, /canary|step\.delta/, policy.policy_type)
    assert.equal(model.asked.length, 1)
  }
})

test('text needs the right to read texts', async () => {
  const tenant = await streaming('openai')
  const run_id = await tenant.start()
  const key = { name: 'runner', scopes: ['orchestrator:run'] }
  const { api_key } = await tenant.ok('POST', '/keys', key)
  assert.equal((await open(tenant, run_id, '?deltas=true', api_key)).status, 403)
  const plain = await open(tenant, run_id, '?deltas=false', api_key)
  assert.equal(plain.status, 200)
  plain.close()
})
