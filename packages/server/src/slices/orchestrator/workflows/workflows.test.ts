// Workflows: turns of agents by mode, what each is told, limits, people, erasure, receipts.
// 'workflows.create', 'workflows.list', 'workflows.get', 'workflows.delete', 'workflows.run',
// 'workflows.resume', 'workflows.terminate', 'workflows.receipts', 'workflows.run_step',
// 'workflows.find_step', 'workflows.verify_chain', 'orchestrator.get_receipt'

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Answer } from '../../../testing/harness.ts'
import { rawSql } from '../../../testing/raw-sql.ts'
import { startModelServer } from '../testing/model-server.ts'
import { openRunScene, type RunningTenant } from '../testing/run-scene.ts'

const scene = openRunScene({ config: { egress: { allow: ['127.0.0.1'], proxy: null } } })
const model = await startModelServer({ after })
type Question = (typeof model.asked)[number]

/** The model of each agent has its name, so that answers can depend on who is asked. */
async function crew(...names: string[]): Promise<{ tenant: RunningTenant; ids: string[] }> {
  model.asked.length = 0
  model.answer = ({ body }) => ({ text: `${body.model} says so` })
  const tenant = await scene.tenant()
  const ids: string[] = []
  for (const name of names) {
    await tenant.provider(model.base_url, { model_id: name })
    const agent = { name, model_id: name, memory_stores: ['notes'], max_tokens_per_step: 2_000 }
    ids.push((await tenant.ok('POST', '/orchestrator/agents', agent)).agent_id)
  }
  return { tenant, ids }
}

const define = async (
  tenant: RunningTenant,
  agent_ids: string[],
  more: Record<string, unknown> = {},
): Promise<string> => {
  const body = { name: 'report', agent_ids, ...more }
  return (await tenant.ok('POST', '/orchestrator/workflows', body)).workflow_id
}

const run = (tenant: RunningTenant, workflow_id: string, more: Record<string, unknown> = {}) =>
  tenant.ask('POST', `/orchestrator/workflows/${workflow_id}/run`, {
    input_text: 'report on the lighthouse',
    ...more,
  })

const delegated = (agent_id: string | undefined, task: string) => ({
  tool: 'delegate',
  args: { agent_id, task },
})

/** What the model was told, without the room for its answer. */
const contentOf = ({ body: { max_tokens: _, ...told } }: Question): string => JSON.stringify(told)

const lastText = ({ body }: Question): string => body.messages.at(-1).content

const turnsOf = ({ body }: Answer) =>
  body.steps.map((step: { turn_no: number; output_text: string }) => [
    step.turn_no,
    step.output_text,
  ])

async function assertVerifies(tenant: RunningTenant, run_id: string): Promise<void> {
  const verdict = await tenant.verify(run_id)
  assert.equal(verdict.valid, true, verdict.reason)
}

test('sequential: each agent is asked with the answer of the one before', async () => {
  const { tenant, ids } = await crew('finder', 'writer', 'critic')
  const workflow_id = await define(tenant, ids)
  const ref = await tenant.remember('The lighthouse opens at nine')
  const answer = await run(tenant, workflow_id)
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(turnsOf(answer), [
    [0, 'finder says so'],
    [1, 'writer says so'],
    [2, 'critic says so'],
  ])
  assert.deepEqual(
    [answer.body.status, answer.body.total_tokens, answer.body.current_step],
    ['completed', 45, 3],
  )
  assert.match(lastText(model.asked[1] as Question), /finder says so$/)
  assert.match(lastText(model.asked[2] as Question), /writer says so$/)
  // What the second answers is made from what the first has read.
  assert.ok(answer.body.steps[1].inherited_refs.includes(ref))
  const receipts = await tenant.ok('GET', `/orchestrator/workflows/${workflow_id}/receipts`)
  assert.deepEqual(
    [receipts.count, receipts.receipts.map((one: { turn_no: number }) => one.turn_no)],
    [3, [0, 1, 2]],
  )
  await assertVerifies(tenant, answer.body.run_id)
})

test('round_robin: in rounds; the same turn three times ends it', async () => {
  const { tenant, ids } = await crew('one', 'two')
  const workflow_id = await define(tenant, ids, { mode: 'round_robin', max_rounds: 2 })
  let said = 0
  model.answer = () => ({ text: `answer ${++said}` })
  const answer = await run(tenant, workflow_id)
  assert.deepEqual([answer.body.status, answer.body.steps.length], ['completed', 4])
  assert.deepEqual(turnsOf(answer).at(-1), [3, 'answer 4'])
  await assertVerifies(tenant, answer.body.run_id)

  model.answer = () => ({ text: 'as before' })
  const endless = await define(tenant, ids, { mode: 'round_robin', max_rounds: 50 })
  const looped = await run(tenant, endless)
  const { status, termination_reason, steps } = looped.body
  assert.deepEqual([status, termination_reason], ['terminated', 'loop_detected'])
  assert.ok(steps.length <= 8, `${steps.length} steps`)
})

test('parallel: all are asked at once, and none inherits what another has read', async () => {
  const { tenant, ids } = await crew('a', 'b', 'c')
  const workflow_id = await define(tenant, ids, { mode: 'parallel' })
  const ref = await tenant.remember('The lighthouse opens at nine')
  let open = 0
  let most = 0
  model.answer = async ({ body }) => {
    open += 1
    most = Math.max(most, open)
    await new Promise((resolve) => setTimeout(resolve, 300))
    open -= 1
    return { text: `${body.model} says so` }
  }
  const answer = await run(tenant, workflow_id)
  assert.equal(answer.body.status, 'completed', answer.text)
  assert.ok(most > 1, 'the questions overlap')
  assert.deepEqual(turnsOf(answer).toSorted(), [
    [0, 'a says so'],
    [1, 'b says so'],
    [2, 'c says so'],
  ])
  for (const step of answer.body.steps) {
    assert.deepEqual(step.inherited_refs, [])
    assert.deepEqual(step.retrieved_refs, [ref])
  }
  await assertVerifies(tenant, answer.body.run_id)
})

test('parallel: of eight questions four are out at once', async () => {
  const { tenant, ids } = await crew('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')
  const workflow_id = await define(tenant, ids, { mode: 'parallel' })
  let out = 0
  let most = 0
  model.answer = async ({ body }) => {
    out += 1
    most = Math.max(most, out)
    // Held back until a fifth has come, or had the time to.
    const until = performance.now() + 1_000
    while (most <= 4 && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, 20))
    out -= 1
    return { text: `${body.model} says so` }
  }
  const answer = await run(tenant, workflow_id)
  assert.deepEqual([answer.body.status, answer.body.steps.length], ['completed', 8], answer.text)
  assert.equal(most, 4)
})

test('a step of a workflow is asked again as it was: with its own turn alone', async () => {
  const { tenant, ids } = await crew('boss', 'finder', 'writer')
  const [boss, ...workers] = ids
  await tenant.ok('POST', '/llm/tools/seed-builtins')
  await tenant.remember('The lighthouse opens at nine')
  const look = { tool: 'memory_retrieve', args: { query: 'lighthouse' } }
  const supervised = { mode: 'supervisor', supervisor_agent_id: boss }
  for (const [mode, agent_ids] of [
    [{ mode: 'parallel' }, workers],
    [{}, workers],
    [supervised, workers],
  ] as const) {
    const workflow_id = await define(tenant, [...agent_ids], mode)
    model.asked.length = 0
    model.answer = ({ body }) => {
      const told = body.messages.some(({ role }: { role: string }) => role === 'tool')
      const text = `${body.model} says so`
      if (told) return { text }
      if (body.model !== 'boss') return { text, calls: [look] }
      return { text, calls: workers.map((agent_id) => delegated(agent_id, 'find facts')) }
    }
    const { body } = await run(tenant, workflow_id)
    assert.equal(body.status, 'completed', JSON.stringify(body))
    const asked = model.asked.map((one) => contentOf(one))
    for (const { decision_id } of body.steps) {
      const again = await tenant.ok('POST', `/orchestrator/replay/${decision_id}`)
      assert.equal(again.status, 'identical', JSON.stringify(again))
      assert.ok(asked.includes(contentOf(model.asked.at(-1) as Question)), JSON.stringify(mode))
    }
    await tenant.ok('DELETE', `/orchestrator/workflows/${workflow_id}`)
    const [{ decision_id }] = body.steps
    const gone = await tenant.ok('POST', `/orchestrator/replay/${decision_id}`)
    assert.deepEqual([gone.status, gone.divergence_reason], ['impossible', 'workflow_gone'])
  }
})

test('an agent is not deleted while a run of a workflow that names it is under way', async () => {
  const { tenant, ids } = await crew('first', 'second', 'boss')
  const [first, second, boss] = ids
  const answering = model.answer
  for (const more of [{}, { mode: 'supervisor', supervisor_agent_id: boss }]) {
    const workflow_id = await define(tenant, [first ?? '', second ?? ''], more)
    const path = `/orchestrator/workflows/${workflow_id}`
    const held = Promise.withResolvers<void>()
    model.answer = async (question) => {
      await held.promise
      return answering(question)
    }
    await tenant.ask('POST', `${path}/run`, { input_text: 'go', timeout_seconds: 0 })
    for (const agent_id of 'mode' in more ? ids : [first, second]) {
      const refused = await tenant.ask('DELETE', `/orchestrator/agents/${agent_id}`)
      assert.deepEqual([refused.status, refused.body.error], [409, 'wrong_state'])
    }
    held.resolve()
    const { run_id } = await tenant.ok('GET', path)
    assert.equal((await tenant.ended(run_id)).state, 'completed')
  }
  await tenant.ok('DELETE', `/orchestrator/agents/${second}`)
  const again = await run(tenant, await define(tenant, [first ?? '', boss ?? '']))
  assert.equal(again.body.status, 'completed')
  const [named] = (
    await tenant.ok('GET', '/orchestrator/workflows?status=completed')
  ).workflows.slice(1)
  const without = await run(tenant, named.workflow_id)
  assert.deepEqual([without.status, without.body.error], [404, 'agent_not_found'])
})

test('parallel turns share a budget: none takes what another needs', async () => {
  const { tenant, ids } = await crew('a', 'b', 'c', 'd', 'e', 'f')
  const workflow_id = await define(tenant, ids, { mode: 'parallel' })
  // Two reservations of 2,000 at a time; each answer then costs 15.
  const answer = await run(tenant, workflow_id, { budget: { tokens: 4_100 } })
  assert.deepEqual([answer.body.status, answer.body.total_tokens], ['completed', 90], answer.text)
  await assertVerifies(tenant, answer.body.run_id)
})

test('supervisor: it delegates, and the answers of others are results of its calls', async () => {
  const { tenant, ids } = await crew('boss', 'finder', 'writer')
  const [boss, finder, writer] = ids
  const workflow_id = await define(tenant, [finder ?? '', writer ?? ''], {
    mode: 'supervisor',
    supervisor_agent_id: boss,
  })
  let asked = 0
  model.answer = ({ body }) => {
    if (body.model !== 'boss') return { text: `${body.model} did it` }
    asked += 1
    if (asked === 1) return { calls: [delegated(finder, 'find facts'), delegated(writer, 'write')] }
    if (asked === 2) return { calls: [delegated('0'.repeat(32), 'nobody')] }
    return { text: 'all is done' }
  }
  const answer = await run(tenant, workflow_id)
  assert.equal(answer.body.status, 'completed', answer.text)
  const told = model.asked.filter(({ body }) => body.model === 'boss')
  assert.deepEqual(
    told[0]?.body.tools.map((one: { function: { name: string } }) => one.function.name),
    ['delegate'],
  )
  assert.match(JSON.stringify(told[1]?.body.messages), /finder did it/)
  assert.match(JSON.stringify(told[1]?.body.messages), /writer did it/)
  assert.match(JSON.stringify(told[2]?.body.messages), /args_invalid/)
  const workers = model.asked.filter(({ body }) => body.model !== 'boss')
  assert.deepEqual(
    workers.map((one) => lastText(one)),
    ['find facts', 'write'],
  )
  assert.deepEqual(
    answer.body.steps.map((step: { turn_no: number }) => step.turn_no),
    [0, 1, 2, 0, 0],
  )
  assert.deepEqual(answer.body.steps[0].tools_called, ['delegate', 'delegate'])
  await assertVerifies(tenant, answer.body.run_id)
})

test('receipts are checked by workflow and found by step; a changed one is named', async () => {
  const { tenant, ids } = await crew('finder', 'writer')
  const workflow_id = await define(tenant, ids)
  const path = `/orchestrator/workflows/${workflow_id}`
  const empty = { status: 'empty', steps_verified: 0, tampered_at_step: null, reason: null }
  const checked = { ...empty, workflow_id, run_id: null, tampered_at: null }
  assert.deepEqual(await tenant.ok('GET', `${path}/verify-chain`), checked)
  const { run_id, steps } = (await run(tenant, workflow_id)).body
  const intact = { ...checked, run_id, status: 'intact', steps_verified: 2 }
  assert.deepEqual(await tenant.ok('GET', `${path}/verify-chain`), intact)
  const { receipts } = await tenant.ok('GET', `${path}/receipts`)
  const other = await scene.tenant()
  for (const [i, { step_id }] of steps.entries()) {
    const found = `/orchestrator/receipts/${step_id}`
    assert.deepEqual(await tenant.ok('GET', found), receipts[i])
    assert.equal((await other.ask('GET', found)).body.error, 'step_not_found')
  }
  assert.equal((await other.ask('GET', `${path}/verify-chain`)).status, 404)
  const sql = 'update run_steps set receipt = replace(receipt, \'"turn_no":1\', \'"turn_no":0\')'
  await rawSql(scene.service, `${sql} where run_id = ?`, [run_id])
  const broken = { status: 'tampered', steps_verified: 1, reason: 'receipt' }
  assert.deepEqual(await tenant.ok('GET', `${path}/verify-chain`), {
    ...intact,
    ...broken,
    tampered_at_step: 2,
    tampered_at: 2,
  })
})

test('a person approves within a workflow; a rejection denies it', async () => {
  const { tenant, ids } = await crew('finder', 'writer')
  const workflow_id = await define(tenant, ids)
  await tenant.policy({
    policy_type: 'hitl_required',
    config: { operations: ['inference'] },
  })
  const waiting = await run(tenant, workflow_id)
  assert.equal(waiting.status, 202, waiting.text)
  const resume = (body: Record<string, unknown>) =>
    tenant.ask('POST', `/orchestrator/workflows/${workflow_id}/resume`, body)
  assert.equal(waiting.body.status, 'waiting_hitl')
  const approved = await resume({ approved: true, approver: 'ben', feedback: 'as agreed' })
  assert.equal(approved.status, 200, approved.text)
  const waits = async () => (await tenant.ok('GET', '/orchestrator/actions')).actions
  const until = performance.now() + 10_000
  while ((await waits()).length < 2 && performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 20))
  await resume({ approved: true, approver: 'ben' })
  assert.equal((await tenant.ended(waiting.body.run_id)).state, 'completed')
  await assertVerifies(tenant, waiting.body.run_id)
  const again = await run(tenant, workflow_id)
  const rejected = await resume({ approved: false, approver: 'ben' })
  assert.equal(rejected.status, 200, rejected.text)
  assert.equal((await tenant.ended(again.body.run_id)).state, 'denied')
  assert.equal((await resume({ approved: true, approver: 'ben' })).status, 409)
})

test('a workflow is terminated, one at a time, deleted once its run has ended', async () => {
  const { tenant, ids } = await crew('slow')
  const path = `/orchestrator/workflows/${await define(tenant, ids, { one_at_a_time: true })}`
  let release: (() => void) | undefined
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  model.answer = async () => {
    await held
    return { text: 'late' }
  }
  const running = await tenant.ask('POST', `${path}/run`, { input_text: 'go', timeout_seconds: 0 })
  assert.deepEqual([running.status, running.body.status], [202, 'running'], running.text)
  const second = await tenant.ask('POST', `${path}/run`, { input_text: 'go' })
  assert.deepEqual([second.status, second.body.error], [409, 'wrong_state'])
  assert.equal((await tenant.ask('DELETE', path)).status, 409)
  assert.equal((await tenant.ok('POST', `${path}/terminate`)).terminated, true)
  release?.()
  const ended = await tenant.ok('GET', path)
  assert.deepEqual([ended.status, ended.termination_reason], ['terminated', 'cancelled'])
  assert.equal((await tenant.ok('DELETE', path)).deleted, true)
  assert.equal((await tenant.ask('GET', path)).status, 404)
  assert.equal((await tenant.run(running.body.run_id)).workflow_id, ended.workflow_id)
  await assertVerifies(tenant, running.body.run_id)
})

test('an erased memory ends a workflow that has read it', async () => {
  const { tenant, ids } = await crew('finder', 'writer')
  const workflow_id = await define(tenant, ids)
  const fact_ref = await tenant.remember('The canary of the lighthouse sings')
  let erased = false
  model.answer = async ({ body }) => {
    if (body.model === 'finder') return { text: 'The canary of the lighthouse sings' }
    if (!erased) {
      erased = true
      await tenant.ok('POST', '/erasure/issue', { fact_ref })
    }
    return { text: 'It sings' }
  }
  const answer = await run(tenant, workflow_id)
  assert.deepEqual(
    [answer.body.status, answer.body.termination_reason],
    ['terminated', 'input_erased'],
  )
  assert.doesNotMatch(answer.text, /sings/)
  await assertVerifies(tenant, answer.body.run_id)
})

test('lists, one step of an agent, and what is refused', async () => {
  const { tenant, ids } = await crew('finder', 'writer')
  const first = await define(tenant, ids)
  const second = await define(tenant, ids, { name: 'second' })
  await run(tenant, first)
  const list = async (query: string) =>
    (await tenant.ok('GET', `/orchestrator/workflows${query}`)).workflows.map(
      (one: { workflow_id: string }) => one.workflow_id,
    )
  assert.deepEqual(await list(''), [second, first])
  assert.deepEqual(await list('?status=completed'), [first])
  assert.deepEqual(await list('?status=created'), [second])
  const step = await tenant.ok('POST', '/orchestrator/step', {
    agent_id: ids[0],
    input_text: 'once',
  })
  assert.deepEqual([step.output_text, step.turn_no, step.step_index], ['finder says so', null, 0])
  const found = await tenant.ok('GET', `/orchestrator/steps/${step.step_id}`)
  assert.equal(found.output_text, 'finder says so')
  const shown = await tenant.step(step.run_id, step.step_id)
  assert.equal(shown.output_text, 'finder says so')

  const refused: [Record<string, unknown>, number][] = [
    [{ name: 'x', agent_ids: [] }, 422],
    [{ name: 'x', agent_ids: ids, mode: 'chaos' }, 422],
    [{ name: 'x', agent_ids: ids, mode: 'supervisor' }, 422],
    [{ name: 'x', agent_ids: ids, supervisor_agent_id: ids[0] }, 422],
    [{ name: 'x', agent_ids: ids, mode: 'supervisor', supervisor_agent_id: ids[0] }, 422],
    [{ name: 'x', agent_ids: [ids[0], ids[0]], mode: 'parallel' }, 422],
    [{ name: 'x', agent_ids: ['0'.repeat(32)] }, 404],
    [{ name: 'x', agent_ids: ids, colour: 'red' }, 422],
  ]
  for (const [body, status] of refused)
    assert.equal((await tenant.ask('POST', '/orchestrator/workflows', body)).status, status)
  const start = (body: Record<string, unknown>) => tenant.ask('POST', '/orchestrator/runs', body)
  const both = { agent_id: ids[0], workflow_id: first, input_text: 'x' }
  assert.equal((await start(both)).status, 422)
  assert.equal((await start({ input_text: 'x' })).status, 422)
  const client = { workflow_id: first, input_text: 'x', executor: 'client' }
  assert.equal((await start(client)).status, 422)
  const other = await scene.tenant()
  for (const path of [`/orchestrator/workflows/${first}`, `/orchestrator/steps/${step.step_id}`])
    assert.equal((await other.ask('GET', path)).status, 404)
  assert.equal((await run(other, first)).status, 404)
  const foreign = { name: 'x', agent_ids: ids }
  assert.equal((await other.ask('POST', '/orchestrator/workflows', foreign)).status, 404)
})
