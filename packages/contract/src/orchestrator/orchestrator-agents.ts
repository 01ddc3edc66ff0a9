// Operations on agents, which configure steps, and the totals of all runs of a tenant.

import Type from 'typebox'
import {
  about,
  boolean,
  Counts,
  Cursor,
  count,
  Hex16,
  Label,
  Limit,
  Offset,
  OptionalNullable,
  page,
  text,
} from '../core/common.ts'
import { operation } from '../core/operation.ts'
import { Agent, AgentRole, agentFields, runLimits } from './orchestrator-records.ts'

const run = { access: 'tenant', scope: 'orchestrator:run' } as const
const admin = { access: 'tenant', scope: 'orchestrator:admin' } as const
const path = '/v1/orchestrator'
const agentPath = `${path}/agents/{agent_id}` as const
const agentParams = Type.Object({ agent_id: about(Hex16, 'Id of the agent') })

const wordsOfAgent = {
  description: OptionalNullable(agentFields.description),
  system_prompt: OptionalNullable(agentFields.system_prompt),
  memory_stores: OptionalNullable(agentFields.memory_stores),
  store_id: OptionalNullable(about(Label, 'Instead of `memory_stores`, if there is only one')),
  fallback_models: OptionalNullable(agentFields.fallback_models),
  tools: OptionalNullable(agentFields.tools),
  max_steps: OptionalNullable(agentFields.max_steps),
  max_tokens_per_step: OptionalNullable(agentFields.max_tokens_per_step),
  temperature: OptionalNullable(agentFields.temperature),
}

export const agentOperations = {
  create_agent: operation({
    ...admin,
    id: 'orchestrator.create_agent',
    method: 'POST',
    path: `${path}/agents`,
    summary: 'Creates an agent',
    description: 'Use it once for each part that a model plays. Its words are sealed.',
    body: Type.Object({
      name: agentFields.name,
      role: Type.Optional(about({ ...AgentRole, default: 'custom' }, 'What it is for')),
      model_id: agentFields.model_id,
      ...wordsOfAgent,
    }),
    example: { name: 'researcher', role: 'researcher', model_id: 'gpt-example' },
    status: 201,
    reply: Agent,
    refuses: ['name_taken', 'rejected', 'too_many', 'idempotency_key_reused'],
    idempotent: true,
  }),
  list_agents: operation({
    ...run,
    id: 'orchestrator.list_agents',
    method: 'GET',
    path: `${path}/agents`,
    summary: 'Lists the agents, oldest first',
    description: 'Use it to find the id of an agent.',
    query: Type.Object({
      enabled_only: Type.Optional(
        Type.Boolean({ default: false, description: 'Returns only enabled agents' }),
      ),
      limit: Limit(runLimits.page),
      offset: Offset,
      cursor: Cursor,
    }),
    status: 200,
    reply: page('agents', Agent),
    refuses: ['rejected'],
  }),
  get_agent: operation({
    ...run,
    id: 'orchestrator.get_agent',
    method: 'GET',
    path: `${path}/agents/{agent_id}`,
    summary: 'Returns one agent',
    description: 'Use it to see its model, prompt and stores.',
    params: agentParams,
    status: 200,
    reply: Agent,
    refuses: ['agent_not_found'],
  }),
  update_agent: operation({
    ...admin,
    id: 'orchestrator.update_agent',
    method: 'PUT',
    path: agentPath,
    summary: 'Changes an agent and returns its next version',
    description:
      'Use it to change the fields you send; null and absent fields stay unchanged. Active ' +
      'runs continue, with the new version from their next step on. A disabled agent begins no ' +
      'step. One that is redacted needs its name, model, tools and stores again.',
    params: agentParams,
    body: Type.Object({
      name: OptionalNullable(agentFields.name),
      role: OptionalNullable(agentFields.role),
      model_id: OptionalNullable(agentFields.model_id),
      ...wordsOfAgent,
      enabled: OptionalNullable(boolean('Whether it may begin steps')),
    }),
    example: { model_id: 'gpt-example-2' },
    status: 200,
    reply: Agent,
    refuses: ['agent_not_found', 'name_taken', 'rejected'],
  }),
  delete_agent: operation({
    ...admin,
    id: 'orchestrator.delete_agent',
    method: 'DELETE',
    path: agentPath,
    summary: 'Deletes an agent that has no run under way; its words are destroyed',
    description:
      'Use it when nobody starts runs of it any longer. While a run of it is under way it is ' +
      'refused: cancel the run, or disable the agent. Ended runs and their receipts stay.',
    params: agentParams,
    status: 200,
    reply: Type.Object({
      deleted: Type.Literal(true, { description: 'Always true' }),
      agent_id: Hex16,
    }),
    refuses: ['agent_not_found', 'wrong_state'],
  }),
  list_roles: operation({
    ...run,
    id: 'orchestrator.list_roles',
    method: 'GET',
    path: `${path}/roles`,
    summary: 'Lists the roles that an agent can have',
    description: 'Use it to offer a choice. A role gives no rights.',
    status: 200,
    reply: Type.Object({
      roles: Type.Array(
        Type.Object(
          { value: AgentRole, label: text('The role for people') },
          { title: 'RoleChoice', description: 'A role of agents' },
        ),
        { description: 'Every role' },
      ),
    }),
    refuses: [],
  }),
  stats: operation({
    ...run,
    id: 'orchestrator.stats',
    method: 'GET',
    path: `${path}/stats`,
    summary: 'Counts agents, runs, steps and calls, and the total use of all runs',
    description: 'Use it for an overview. The numbers are counted from stored rows.',
    status: 200,
    reply: Type.Object({
      agents_total: count('Agents'),
      agents_active: count('Agents that are enabled'),
      runs_total: count('Runs'),
      runs_active: count('Runs that have not ended'),
      runs: about(Counts, 'Runs by state'),
      steps_total: count('Steps'),
      steps_denied: count('Steps that a policy or a person denied'),
      steps_escalated: count('Steps that required approval'),
      calls_total: count('Calls of tools'),
      calls_denied: count('Calls that a policy or a person denied'),
      calls_escalated: count('Calls that required approval'),
      receipts_total: count('Receipts that were signed'),
      tokens_total: count('Tokens that runs have used'),
      cost_micro_total: count('Cost of runs, in millionths of the currency'),
    }),
    refuses: [],
  }),
} as const
