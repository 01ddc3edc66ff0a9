// kill -9 around every unit and every question of a managed run: it ends all the same, no question
// that may have been asked is unpaid, and what happened verifies without the service.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readSavedDocuments, verifySavedDocument } from '@custos/proof'
import { startTlsServer } from '../../packages/server/src/platform/egress/testing/tls-server.ts'
import {
  type ModelServer,
  startModelServer,
} from '../../packages/server/src/slices/orchestrator/testing/model-server.ts'
import {
  poll,
  writeTestCertificate,
} from '../../packages/server/src/slices/webhooks/testing/scene.ts'
import { casesOf } from '../../packages/server/src/testing/sweep.ts'
import type { Client } from './testing/client.ts'
import { fsck } from './testing/command-line.ts'
import { Stage } from './testing/stage.ts'
import { tempDirectory } from './testing/temp-directory.ts'

const STEP_TOKENS = 400
const ANSWER_TOKENS = 15

/** The model is on loopback, with a certificate that the service trusts. */
async function stageWith(t: TestContext, model: ModelServer): Promise<[Stage, string]> {
  const certificate = writeTestCertificate(join(tempDirectory(t), 'model.pem'))
  const stage = new Stage(t, {
    env: { CUSTOS_EGRESS_ALLOW: '127.0.0.1', NODE_EXTRA_CA_CERTS: certificate },
  })
  const client = await stage.start()
  const provider = { provider: 'openai', model_id: 'model-a', base_url: model.base_url }
  await client.ok('POST', '/v1/llm/providers', { body: provider })
  await client.ok('POST', '/v1/stores', { body: { store_id: 'notes' } })
  const content = 'The lighthouse opens at nine'
  await client.ok('POST', '/v1/stores/notes/write', { body: { content } })
  const agent = { name: 'a', model_id: 'model-a', memory_stores: ['notes'] }
  const { agent_id } = await client.ok('POST', '/v1/orchestrator/agents', {
    body: { ...agent, max_tokens_per_step: STEP_TOKENS },
  })
  return [stage, agent_id]
}

async function ended(client: Client, run_id: string) {
  const path = `/v1/orchestrator/runs/${run_id}`
  await poll(async () => (await client.ok('GET', path)).ended_at !== null)
  return client.ok('GET', path)
}

async function verify(client: Client, run_id: string) {
  const { text } = await client.ask('GET', `/v1/orchestrator/runs/${run_id}/bundle`)
  const [document] = readSavedDocuments(text)
  assert.ok(document)
  const { keys } = await client.ok('GET', '/v1/gcrumbs/public_key')
  return verifySavedDocument(document, { keys, entry: undefined })
}

/** Points of a run, and how many questions are lost with the process that dies there. */
const POINTS = [
  ['run:begun', 0],
  ['run:asking', 1],
  ['run:answered', 1],
  ['run:stored', 0],
  ['run:settled', 0],
] as const

test('a managed run that is killed at any point goes on, and what was lost is paid', async (t) => {
  const model = await startModelServer(t)
  const [stage, agent_id] = await stageWith(t, model)
  for (const [name, lost] of POINTS) {
    model.asked.length = 0
    await stage.server.arm([{ name, how: 'kill' }])
    const body = { agent_id, executor: 'managed', input_text: 'when does it open?' }
    // A fast run may be at the point before the answer is out.
    const headers = { 'idempotency-key': `run-${name}` }
    await stage.client.ask('POST', '/v1/orchestrator/runs', { body, headers }).catch(() => {})
    await stage.died()
    const client = await stage.start()
    const { run_id } = await client.ok('POST', '/v1/orchestrator/runs', { body, headers })
    const run = await ended(client, run_id)
    assert.equal(run.state, 'completed', name)
    assert.deepEqual(
      run.steps.map(({ reason }: { reason: string | null }) => reason),
      [...Array.from({ length: lost }, () => 'attempt_lost'), null],
      name,
    )
    assert.equal(run.spent.tokens, lost * STEP_TOKENS + ANSWER_TOKENS, name)
    assert.ok(model.asked.length >= 1 && model.asked.length <= 1 + lost, name)
    const verdict = await verify(client, run_id)
    assert.equal(verdict.valid, true, `${name}: ${verdict.reason}`)
  }
  await stage.server.stop()
  await fsck(stage.options)
})

/** Points around a call of a tool, and whether the request may be out when the process dies. */
const CALL_POINTS = [
  ['run:intended', false],
  ['run:sending', true],
  ['run:acted', true],
  ['run:called', false],
  ['run:finished', false],
] as const

/** What the tool got, by the key of its call. */
async function startTool(t: TestContext): Promise<{ url: string; keys: string[] }> {
  const keys: string[] = []
  const { port } = await startTlsServer(t, (request, response) => {
    keys.push(String(request.headers['idempotency-key']))
    response.end('sent')
  })
  return { url: `https://127.0.0.1:${port}/send`, keys }
}

test('a tool is called as often as its effect class says, wherever the process dies', async (t) => {
  const model = await startModelServer(t)
  const [stage, agent_id] = await stageWith(t, model)
  const tool = await startTool(t)
  // A call, and an answer to what it returned.
  model.answer = ({ body }) =>
    body.messages.at(-1).role === 'tool'
      ? { text: 'It was sent.' }
      : { calls: [{ tool: 'send', args: {} }] }
  for (const effect of casesOf(['once', 'idempotent', 'read'] as const, 2))
    for (const [name, open] of casesOf(CALL_POINTS, 3)) {
      const what = `${effect} at ${name}`
      tool.keys.length = 0
      const body = { name: 'send', description: 'Sends', effect, input_schema: { type: 'object' } }
      await stage.client.ok('POST', '/v1/llm/tools', { body: { ...body, url: tool.url } })
      await stage.server.arm([{ name, how: 'kill' }])
      const start = { agent_id, executor: 'managed', input_text: what }
      const headers = { 'idempotency-key': what.replaceAll(' ', '-') }
      const sent = { body: start, headers }
      await stage.client.ask('POST', '/v1/orchestrator/runs', sent).catch(() => {})
      await stage.died()
      const client = await stage.start()
      const { run_id } = await client.ok('POST', '/v1/orchestrator/runs', sent)
      const path = `/v1/orchestrator/runs/${run_id}`
      if (effect === 'once' && open) {
        await poll(async () => (await client.ok('GET', path)).state === 'waiting_resolution')
        const { call_id } = (await client.ok('GET', path)).steps[0].calls[0]
        const resolution = { body: { happened: true } }
        await client.ok('POST', `${path}/calls/${call_id}/resolve`, resolution)
      }
      const run = await ended(client, run_id)
      assert.equal(run.state, 'completed', what)
      assert.ok(tool.keys.length <= (effect === 'once' ? 1 : 2), what)
      assert.ok(new Set(tool.keys).size <= 1, what)
      const verdict = await verify(client, run_id)
      assert.equal(verdict.valid, true, `${what}: ${verdict.reason}`)
    }
  await stage.server.stop()
  await fsck(stage.options)
})

/** Points of a compensation, and whether its request may be out when the process dies. */
const UNDO_POINTS = [
  ['run:undo-intended', false],
  ['run:undo-sending', true],
  ['run:undo-acted', true],
  ['run:undone', false],
  ['run:compensated', false],
] as const

test('what a run did is undone at most once, wherever the process dies', async (t) => {
  const model = await startModelServer(t)
  const [stage] = await stageWith(t, model)
  const agent = { name: 'undoing', model_id: 'model-a' }
  const { agent_id } = await stage.client.ok('POST', '/v1/orchestrator/agents', { body: agent })
  const tool = await startTool(t)
  // Two calls; then the model refuses, and the run fails.
  model.answer = ({ body }) =>
    body.messages.at(-1).role === 'tool'
      ? { status: 401 }
      : { calls: ['a', 'b'].map((id) => ({ tool: 'send', args: { id } })) }
  for (const effect of ['once', 'idempotent'] as const)
    for (const [name, open] of casesOf(UNDO_POINTS, 3)) {
      const what = `${effect} undo at ${name}`
      tool.keys.length = 0
      const body = { description: 'x', input_schema: { type: 'object' }, url: tool.url }
      const compensation = { tool: 'unsend', map: { id: 'args.id' } }
      await stage.client.ok('POST', '/v1/llm/tools', { body: { ...body, name: 'unsend', effect } })
      await stage.client.ok('POST', '/v1/llm/tools', {
        body: { ...body, name: 'send', compensation },
      })
      await stage.server.arm([{ name, how: 'kill' }])
      const headers = { 'idempotency-key': what.replaceAll(' ', '-') }
      const start = { agent_id, executor: 'managed', input_text: what, on_failure: 'compensate' }
      const sent = { body: start, headers }
      await stage.client.ask('POST', '/v1/orchestrator/runs', sent).catch(() => {})
      await stage.died()
      const client = await stage.start()
      const { run_id } = await client.ok('POST', '/v1/orchestrator/runs', sent)
      const run = await ended(client, run_id)
      const uncertain = effect === 'once' && open
      const expected = ['failed', uncertain ? 'partial' : 'complete']
      assert.deepEqual([run.state, run.compensation], expected, what)
      const undone = new Set(run.undone.map((one: { undone_by: string }) => one.undone_by))
      const times = [...undone].map((key) => tool.keys.filter((one) => one === key).length)
      assert.ok(undone.size === 2 && times.every((n) => n <= (effect === 'once' ? 1 : 2)), what)
      const verdict = await verify(client, run_id)
      assert.equal(verdict.valid, true, `${what}: ${verdict.reason}`)
    }
  await stage.server.stop()
  await fsck(stage.options)
})

/** Points of a run of a workflow, each of which comes in several of its turns. */
const TURN_POINTS = ['begun', 'asking', 'answered', 'stored', 'intended', 'finished', 'settled']

test('a workflow goes on wherever its process dies, in each mode', async (t) => {
  const model = await startModelServer(t)
  const [stage] = await stageWith(t, model)
  const create = async (name: string): Promise<string> => {
    const body = { name, model_id: 'model-a', memory_stores: ['notes'] }
    return (await stage.client.ok('POST', '/v1/orchestrator/agents', { body })).agent_id
  }
  const [agent_id, worker] = [await create('first'), await create('second')]
  // The agent that has the tool delegates once; its answer is the last.
  model.answer = ({ body }) =>
    body.tools?.length > 0 && body.messages.at(-1).role !== 'tool'
      ? { calls: [{ tool: 'delegate', args: { agent_id: worker, task: 'look' } }] }
      : { text: 'At nine.' }
  for (const mode of casesOf(['sequential', 'parallel', 'supervisor', 'round_robin'] as const, 2))
    for (const point of casesOf(TURN_POINTS, 3)) {
      const what = `${mode} at ${point}`
      if (mode !== 'supervisor' && (point === 'intended' || point === 'finished')) continue
      const supervised = mode === 'supervisor'
      const { workflow_id } = await stage.client.ok('POST', '/v1/orchestrator/workflows', {
        body: {
          name: what,
          mode,
          agent_ids: supervised ? [worker] : [agent_id, worker],
          ...(supervised && { supervisor_agent_id: agent_id }),
        },
      })
      await stage.server.arm([{ name: `run:${point}`, how: 'kill' }])
      const headers = { 'idempotency-key': what.replaceAll(' ', '-') }
      const sent = { body: { workflow_id, input_text: what }, headers }
      await stage.client.ask('POST', '/v1/orchestrator/runs', sent).catch(() => {})
      await stage.died()
      const client = await stage.start()
      const { run_id } = await client.ok('POST', '/v1/orchestrator/runs', sent)
      const run = await ended(client, run_id)
      // Rounds in which nothing new is said end a run.
      const wanted = mode === 'round_robin' ? ['completed', 'terminated'] : ['completed']
      assert.ok(wanted.includes(run.state), `${what}: ${run.state} ${run.termination_reason}`)
      const verdict = await verify(client, run_id)
      assert.equal(verdict.valid, true, `${what}: ${verdict.reason}`)
    }
  await stage.server.stop()
  await fsck(stage.options)
})
