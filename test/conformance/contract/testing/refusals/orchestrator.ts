// For every refusal an operation of the orchestrator declares, a request that provokes it.

import { llmLimits, type RefusalCode, runLimits } from '@custos/contract'
import {
  type ModelServer,
  startModelServer,
} from '../../../../../packages/server/src/slices/orchestrator/testing/model-server.ts'
import { exampleOf } from '../../examples.ts'
import { runSql } from '../rows.ts'
import { GHOSTS, type World } from '../world.ts'
import { askWith, decidingCases, type Provoke } from './provoke.ts'

const REPLAY = 'orchestrator.replay'
const BEGIN = 'orchestrator.begin_step'
const CALL = 'orchestrator.call_tool'
const PROPOSE = 'orchestrator.propose'
const COMPLETE = 'orchestrator.complete_step'

/** Operations that honour an Idempotency-Key, and no registry's own. */
export const ORCHESTRATOR_REUSED = [
  'orchestrator.report_call',
  'orchestrator.create_agent',
  'orchestrator.start_run',
  'workflows.create',
  'workflows.run',
  'workflows.run_step',
  'llm.create_provider',
  'llm.create_tool',
  'llm.seed_builtins',
  BEGIN,
  CALL,
  COMPLETE,
  'orchestrator.approve_action',
  'orchestrator.reject_action',
] as const

const ofNone = (id: string, code: RefusalCode): [string, Provoke] => [
  `${id} ${code}`,
  ({ tenant }) => tenant.ask(id, exampleOf(id, GHOSTS)),
]

const badCursor = (id: string): [string, Provoke] => [
  `${id} rejected`,
  ({ tenant }) => tenant.ask(id, { query: { cursor: 'none' } }),
]

const OF_RUN = [
  'get_run',
  'cancel_run',
  'get_call',
  'report_call',
  'resolve_call',
  'begin_step',
  'get_step',
  'call_tool',
  'complete_step',
]
  .concat('list_steps', 'receipts', 'verify', 'bundle')
  .map((verb) => `orchestrator.${verb}`)

const noStep = (id: string): [string, Provoke] => [
  `${id} step_not_found`,
  ({ tenant, ids }) => tenant.ask(id, exampleOf(id, { ...ids, step_id: GHOSTS.step_id })),
]

const cancelled = (id: string): [string, Provoke] => [
  `${id} wrong_state`,
  async ({ tenant, ids }) => {
    await tenant.ok('orchestrator.cancel_run', exampleOf('orchestrator.cancel_run', ids))
    return tenant.ask(id, exampleOf(id, ids))
  },
]

const expired = (id: string): [string, Provoke] => [
  `${id} permit_expired`,
  async ({ tenant, ids }) => {
    const sql = 'update run_steps set expires_us = 1 where step_id = ?'
    await runSql(tenant.service, sql, ids.step_id)
    return tenant.ask(id, exampleOf(id, ids))
  },
]

const underGate =
  (id: string, gate: string, action: 'deny' | 'escalate'): Provoke =>
  async (world) => {
    const config = { operations: [gate] }
    const body = { name: 'a new one', policy_type: 'hitl_required', action, config }
    await world.tenant.ok('governance.create_policy', { body })
    return askWith(world, id)
  }

const withBody =
  (id: string, more: object): Provoke =>
  (world) =>
    askWith(world, id, more)

const EXTRACT = { mode: 'extract', model_id: 'another' }

async function extract(world: World, reply: Awaited<ReturnType<ModelServer['answer']>>) {
  const closing: (() => void)[] = []
  const model = await startModelServer({ after: (close) => closing.push(close) })
  model.answer = () => reply
  const body = { provider: 'openai', model_id: 'another', base_url: model.base_url }
  await world.tenant.ok('llm.create_provider', { body })
  const answer = await askWith(world, 'memory.ingest', EXTRACT)
  for (const close of closing) close()
  return answer
}

/** A run of another agent. */
async function startedBy({ tenant }: World, agent: object, run: object = {}) {
  const body = { name: 'another one', model_id: 'model-a', ...agent }
  const { agent_id } = await tenant.ok('orchestrator.create_agent', { body })
  const started = await tenant.ok('orchestrator.start_run', { body: { agent_id, ...run } })
  return String(started.run_id)
}

const step = { input_text: 'x', budget_tokens: 0, max_tokens: 10 }
const LONG = 'é'.repeat(200_000)
const bodyOf = (id: string) => Object(exampleOf(id, GHOSTS).body)

async function fillTools(tenant: World['tenant']): Promise<void> {
  await tenant.ok('llm.create_tool', { body: bodyOf('llm.create_tool') })
  const columns = 'version, kind, effect, enabled, definition_label, secret_no'
  for (let count = 1, i = 0; count < llmLimits.tools_per_tenant; count *= 2, i += 1)
    await runSql(
      tenant.service,
      `insert into llm_tools (tenant_id, tool_id, name_key, ${columns}, sealed, created_us)
       select tenant_id, tool_id || '-${i}', name_key || '-${i}', ${columns}, sealed, created_us
       from llm_tools where tenant_id = ?`,
      tenant.tenant_id,
    )
}

async function asker({ tenant, ids }: World): Promise<string> {
  const params = { action_id: ids.agent_action_id }
  return (await tenant.ok('orchestrator.get_action', { params })).requested_by
}

const WORKFLOW_RUN = 'workflows.run'
const WITHOUT_RUN = ['resume', 'terminate'] as const

/** No provider, no agent, no room: what starting a managed run refuses. */
const managedCases = (id: string): readonly [string, Provoke][] => [
  [`${id} rejected`, withBody(id, { input_text: LONG })],
  [
    `${id} provider_not_found`,
    async (world) => {
      const params = { model_id: world.ids.model_id }
      await world.tenant.ok('llm.delete_provider', { params })
      return askWith(world, id)
    },
  ],
  [
    `${id} agent_not_found`,
    async (world) => {
      const sql = 'delete from agents where agent_id = ?'
      await runSql(world.tenant.service, sql, world.ids.modelled_agent_id)
      return askWith(world, id)
    },
  ],
  [
    `${id} too_many`,
    async (world) => {
      const example = exampleOf('orchestrator.start_run', world.ids)
      for (let count = 0; count < 16; count += 1)
        await world.tenant.ask('orchestrator.start_run', example)
      return askWith(world, id)
    },
  ],
]

const provokingWorkflows: Readonly<Record<string, Provoke>> = {
  ...Object.fromEntries(
    ['get', 'delete', 'run', 'resume', 'terminate', 'receipts', 'verify_chain']
      .map((verb) => `workflows.${verb}`)
      .concat('streams.workflow')
      .map((id) => ofNone(id, 'workflow_not_found')),
  ),
  ...Object.fromEntries([WORKFLOW_RUN, 'workflows.run_step'].flatMap(managedCases)),
  ...Object.fromEntries(
    WITHOUT_RUN.map((verb): [string, Provoke] => [
      `workflows.${verb} wrong_state`,
      ({ tenant, ids }) => {
        const id = `workflows.${verb}`
        return tenant.ask(id, exampleOf(id, { ...ids, waiting_workflow_id: ids.workflow_id }))
      },
    ]),
  ),
  ...Object.fromEntries([
    ofNone('workflows.find_step', 'step_not_found'),
    ofNone('workflows.create', 'agent_not_found'),
    badCursor('workflows.list'),
  ]),
  'streams.workflow wrong_state': ({ tenant, ids: { workflow_id } }) =>
    tenant.ask('streams.workflow', { params: { workflow_id } }),
  'workflows.create rejected': withBody('workflows.create', { mode: 'supervisor' }),
  'workflows.create too_many': async ({ tenant, ids }) => {
    const columns = 'mode, agent_ids, max_rounds, max_total_steps, one_at_a_time, definition_label'
    for (let count = 1, i = 0; count < runLimits.workflows_per_tenant; count *= 2, i += 1)
      await runSql(
        tenant.service,
        `insert into workflows (tenant_id, workflow_id, ${columns}, secret_no, sealed, created_us)
         select tenant_id, workflow_id || '-${i}', ${columns}, secret_no, sealed, created_us
         from workflows where tenant_id = ?`,
        tenant.tenant_id,
      )
    return tenant.ask('workflows.create', exampleOf('workflows.create', ids))
  },
  'workflows.delete wrong_state': async ({ tenant, ids }) => {
    const params = { workflow_id: ids.waiting_workflow_id }
    const newest = 'select run_id from workflows where workflow_id = ?'
    const sql = `update runs set workflow_id = ? where run_id = (${newest})`
    await runSql(tenant.service, sql, params.workflow_id, params.workflow_id)
    return tenant.ask('workflows.delete', { params })
  },
  'workflows.resume action_not_found': withBody('workflows.resume', {
    action_id: GHOSTS.agent_action_id,
  }),
  [`${WORKFLOW_RUN} wrong_state`]: async ({ tenant, ids }) => {
    await holdWorkflow({ tenant, ids })
    const { body } = exampleOf(WORKFLOW_RUN, ids)
    return tenant.ask(WORKFLOW_RUN, { params: { workflow_id: ids.waiting_workflow_id }, body })
  },
  'orchestrator.start_run workflow_not_found': withBody('orchestrator.start_run', {
    agent_id: null,
    workflow_id: GHOSTS.workflow_id,
  }),
  'orchestrator.start_run wrong_state': async ({ tenant, ids }) => {
    await holdWorkflow({ tenant, ids })
    const body = { workflow_id: ids.waiting_workflow_id, input_text: 'x' }
    return tenant.ask('orchestrator.start_run', { body })
  },
}

/** It takes no other run while its newest goes on. */
function holdWorkflow({ tenant, ids }: Pick<World, 'tenant' | 'ids'>): Promise<unknown> {
  const sql = 'update workflows set one_at_a_time = 1 where workflow_id = ?'
  return runSql(tenant.service, sql, ids.waiting_workflow_id)
}

/** Cases by `operation code`. */
/** An unknown call, a result that is too long, a call that is settled already. */
function refusalsOfCall(id: string): Record<string, Provoke> {
  const unknown: Provoke = ({ tenant, ids }) => {
    const { call_id } = GHOSTS
    return tenant.ask(id, exampleOf(id, { ...ids, call_id, reported_call_id: call_id }))
  }
  const twice: Provoke = async ({ tenant, ids }) => {
    await tenant.ok(id, exampleOf(id, ids))
    return tenant.ask(id, exampleOf(id, ids))
  }
  if (id === 'orchestrator.get_call') return { [`${id} call_not_found`]: unknown }
  return {
    [`${id} call_not_found`]: unknown,
    [`${id} rejected`]: withBody(id, { result: LONG }),
    [`${id} wrong_state`]: twice,
  }
}

export const provokingOrchestrator: Readonly<Record<string, Provoke>> = {
  ...decidingCases({
    approve: 'orchestrator.approve_action',
    reject: 'orchestrator.reject_action',
    gate: 'inference',
    waiting: ({ ids }) => ids.agent_action_id,
    asker,
  }),
  ...decidingCases({
    approve: 'workflows.resume',
    reject: 'orchestrator.reject_action',
    gate: 'inference',
    waiting: ({ ids }) => ids.agent_action_id,
    asker,
  }),
  ...provokingWorkflows,
  'orchestrator.get_receipt wrong_state': ({ tenant, ids: { step_id } }) =>
    tenant.ask('orchestrator.get_receipt', { params: { receipt_id: step_id } }),
  ...Object.fromEntries([...OF_RUN, 'streams.run'].map((id) => ofNone(id, 'run_not_found'))),
  ...Object.fromEntries(
    ['get_action', 'approve_action', 'reject_action'].map((verb) =>
      ofNone(`orchestrator.${verb}`, 'action_not_found'),
    ),
  ),
  ...Object.fromEntries([
    ofNone('orchestrator.get_agent', 'agent_not_found'),
    ofNone('orchestrator.update_agent', 'agent_not_found'),
    ofNone('orchestrator.delete_agent', 'agent_not_found'),
    ofNone('orchestrator.start_run', 'agent_not_found'),
    ofNone(PROPOSE, 'agent_not_found'),
    ofNone(REPLAY, 'decision_not_found'),
    ofNone('orchestrator.get_receipt', 'step_not_found'),
    ofNone('llm.delete_provider', 'provider_not_found'),
    badCursor('llm.list_providers'),
    ofNone('llm.delete_tool', 'tool_not_found'),
    badCursor('llm.list_tools'),
  ]),
  ...Object.fromEntries(
    ['list_agents', 'list_runs', 'list_actions'].map((verb) => badCursor(`orchestrator.${verb}`)),
  ),
  ...Object.fromEntries(['orchestrator.get_step', CALL, COMPLETE].map(noStep)),
  ...Object.fromEntries(['orchestrator.cancel_run', BEGIN, CALL, COMPLETE].map(cancelled)),
  ...Object.fromEntries([CALL, COMPLETE].map(expired)),
  'orchestrator.cancel_run rejected': withBody('orchestrator.cancel_run', { compensate: true }),
  'orchestrator.create_agent name_taken': async ({ tenant }) => {
    const body = bodyOf('orchestrator.create_agent')
    await tenant.ok('orchestrator.create_agent', { body })
    return tenant.ask('orchestrator.create_agent', { body })
  },
  'orchestrator.create_agent too_many': async ({ tenant }) => {
    const columns = 'version, definition_label, enabled, max_steps, max_tokens_per_step, secret_no'
    for (let count = 1, i = 0; count < runLimits.agents_per_tenant; count *= 2, i += 1)
      await runSql(
        tenant.service,
        `insert into agents (tenant_id, agent_id, name_key, ${columns}, sealed, created_us)
         select tenant_id, agent_id || '-${i}', name_key || '-${i}', ${columns}, sealed, created_us
         from agents where tenant_id = ?`,
        tenant.tenant_id,
      )
    return tenant.ask('orchestrator.create_agent', { body: bodyOf('orchestrator.create_agent') })
  },
  ...Object.fromEntries(
    ['orchestrator.create_agent', 'orchestrator.update_agent'].map((id) => [
      `${id} rejected`,
      withBody(id, { store_id: 'one', memory_stores: ['two'] }),
    ]),
  ),
  'orchestrator.update_agent name_taken': async (world) => {
    const body = { name: 'another one', model_id: 'model-a' }
    await world.tenant.ok('orchestrator.create_agent', { body })
    return askWith(world, 'orchestrator.update_agent', { name: body.name })
  },
  'orchestrator.delete_agent wrong_state': ({ tenant, ids: { agent_id } }) =>
    tenant.ask('orchestrator.delete_agent', { params: { agent_id } }),
  'orchestrator.start_run provider_not_found': withBody('orchestrator.start_run', {
    executor: 'managed',
    input_text: 'x',
  }),
  'memory.ingest provider_not_found': (world) => askWith(world, 'memory.ingest', EXTRACT),
  'memory.ingest model_unavailable': (world) => extract(world, { status: 401 }),
  'memory.ingest model_answer_invalid': (world) => extract(world, { text: 'no JSON' }),
  'llm.create_tool url_refused': withBody('llm.create_tool', { url: 'https://10.0.0.1:8443/' }),
  'llm.create_tool rejected': withBody('llm.create_tool', { input_schema: { type: 'array' } }),
  'llm.create_tool name_taken': withBody('llm.create_tool', { name: 'memory_write' }),
  'llm.create_tool too_many': async ({ tenant }) => {
    await fillTools(tenant)
    return tenant.ask('llm.create_tool', { body: bodyOf('llm.create_tool') })
  },
  'llm.seed_builtins too_many': async ({ tenant }) => {
    await fillTools(tenant)
    return tenant.ask('llm.seed_builtins', { body: {} })
  },
  [`${REPLAY} budget_exhausted`]: withBody(REPLAY, { max_tokens: 1 }),
  [`${REPLAY} policy_denied`]: underGate(REPLAY, 'inference', 'deny'),
  [`${REPLAY} approval_required`]: underGate(REPLAY, 'inference', 'escalate'),
  ...refusalsOfCall('orchestrator.get_call'),
  ...refusalsOfCall('orchestrator.report_call'),
  ...refusalsOfCall('orchestrator.resolve_call'),
  'llm.create_provider url_refused': withBody('llm.create_provider', {
    base_url: 'https://10.0.0.1:8443/v1',
  }),
  'llm.create_provider too_many': async ({ tenant }) => {
    await tenant.ok('llm.create_provider', { body: bodyOf('llm.create_provider') })
    const columns = 'kind, enabled, price_in_micro, price_out_micro, definition_label, secret_no'
    for (let count = 1, i = 0; count < llmLimits.providers_per_tenant; count *= 2, i += 1)
      await runSql(
        tenant.service,
        `insert into llm_providers (tenant_id, provider_id, model_key, ${columns}, sealed,
           created_us)
         select tenant_id, provider_id || '-${i}', model_key || '-${i}', ${columns}, sealed,
           created_us
         from llm_providers where tenant_id = ?`,
        tenant.tenant_id,
      )
    return tenant.ask('llm.create_provider', { body: bodyOf('llm.create_provider') })
  },
  'orchestrator.start_run rejected': withBody('orchestrator.start_run', { input_text: LONG }),
  'orchestrator.start_run too_many': async ({ tenant, ids }) => {
    const example = exampleOf('orchestrator.start_run', ids)
    // Without a plan a tenant has 16 runs at once.
    for (let count = 0; count < 16; count += 1) await tenant.ask('orchestrator.start_run', example)
    return tenant.ask('orchestrator.start_run', example)
  },
  [`${BEGIN} agent_not_found`]: withBody(BEGIN, { agent_id: GHOSTS.agent_id }),
  [`${BEGIN} step_not_found`]: withBody(BEGIN, { input_text: null, input_from: GHOSTS.step_id }),
  [`${BEGIN} store_not_found`]: withBody(BEGIN, { store_id: GHOSTS.store_id }),
  [`${BEGIN} rejected`]: withBody(BEGIN, { input_text: LONG }),
  [`${BEGIN} budget_exhausted`]: async (world) => {
    const run_id = await startedBy(world, {}, { budget: { tokens: 0 } })
    return world.tenant.ask(BEGIN, { params: { run_id }, body: step })
  },
  [`${BEGIN} too_many`]: async (world) => {
    const run_id = await startedBy(world, { max_steps: 1 })
    await world.tenant.ok(BEGIN, { params: { run_id }, body: step })
    return world.tenant.ask(BEGIN, { params: { run_id }, body: step })
  },
  [`${BEGIN} too_many_sources`]: async (world) => {
    const inherited = Array.from({ length: runLimits.sources + 1 }, (_, i) => 700_000 + i)
    const sources = JSON.stringify({ retrieved: [], inherited })
    const sql = `update run_steps set sources = '${sources}' where step_id = ?`
    await runSql(world.tenant.service, sql, world.ids.step_id)
    return askWith(world, BEGIN)
  },
  [`${BEGIN} policy_denied`]: underGate(BEGIN, 'inference', 'deny'),
  [`${BEGIN} approval_required`]: underGate(BEGIN, 'memory.retrieve', 'escalate'),
  [`${PROPOSE} tool_refused`]: async ({ tenant }) => {
    const body = { name: 'another one', model_id: 'model-a', tools: ['one'] }
    const { agent_id } = await tenant.ok('orchestrator.create_agent', { body })
    return tenant.ask(PROPOSE, { params: { agent_id }, body: { tool: 'two' } })
  },
  [`${PROPOSE} too_many`]: async (world) => {
    for (let count = 0; count < 16; count += 1) await askWith(world, PROPOSE)
    return askWith(world, PROPOSE)
  },
  [`${PROPOSE} rejected`]: withBody(PROPOSE, { args: { text: LONG } }),
  [`${PROPOSE} approval_required`]: underGate(PROPOSE, 'inference', 'escalate'),
  [`${CALL} tool_refused`]: async (world) => {
    const run_id = await startedBy(world, { tools: ['one'] })
    const { step_id } = await world.tenant.ok(BEGIN, { params: { run_id }, body: step })
    return world.tenant.ask(CALL, { params: { run_id, step_id }, body: { tool: 'two' } })
  },
  [`${CALL} too_many`]: async ({ tenant, ids }) => {
    const example = exampleOf(CALL, ids)
    for (let count = 0; count < runLimits.calls_per_step; count += 1) await tenant.ok(CALL, example)
    return tenant.ask(CALL, example)
  },
  [`${CALL} rejected`]: withBody(CALL, { args: { text: LONG } }),
  [`${CALL} policy_denied`]: underGate(CALL, 'tool_execution', 'deny'),
  [`${COMPLETE} rejected`]: withBody(COMPLETE, {
    calls: [{ call_id: GHOSTS.step_id, result: 'x' }],
  }),
  [`${COMPLETE} policy_denied`]: underGate(COMPLETE, 'output_check', 'deny'),
  [`${COMPLETE} approval_required`]: underGate(COMPLETE, 'output_check', 'escalate'),
}
