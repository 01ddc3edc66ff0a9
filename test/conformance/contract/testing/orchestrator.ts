// A run with a permitted step, and one whose step waits for a person.

import { rawSql } from '../../../../packages/server/src/testing/raw-sql.ts'
import type { Sent } from './table.ts'
import type { Tenant } from './tenant.ts'

const DAY_US = 86_400_000_000

export async function buildRuns(tenant: Tenant, store_id: string, word: string) {
  const agent = { name: word, model_id: 'model-a', memory_stores: [store_id] }
  const { agent_id } = await tenant.ok('orchestrator.create_agent', { body: agent })
  const idle = { name: `idle ${word}`, model_id: 'model-a' }
  const { agent_id: idle_agent_id } = await tenant.ok('orchestrator.create_agent', { body: idle })
  const model_id = `models/${word}`
  const base_url = `https://models.invalid/${word}`
  await tenant.ok('llm.create_provider', { body: { provider: 'openai', model_id, base_url } })
  const start = async () => {
    const body = { agent_id, input_text: `${word} asks` }
    return (await tenant.ok('orchestrator.start_run', { body })).run_id
  }
  const step = (run_id: string) => ({
    params: { run_id },
    body: { input_text: `${word} wants to know`, budget_tokens: 64, max_tokens: 100 },
  })
  const agent_run_id = await start()
  const { step_id } = await tenant.ok('orchestrator.begin_step', step(agent_run_id))
  // A sweep may take longer than a permit holds, and a permit that expires ends its run.
  const { service } = tenant
  const later_us = service.kernel.clock.now() + DAY_US
  const sql = 'update run_steps set expires_us = ? where step_id = ?'
  await rawSql(service, sql, [later_us, step_id])
  const decided = await buildDecided(tenant, await start(), model_id)
  const config = { operations: ['inference'] }
  const policy = { name: 'a person first', policy_type: 'hitl_required', config }
  const { policy_id } = await tenant.ok('governance.create_policy', { body: policy })
  const waiting_run_id = await start()
  const waiting = await tenant.ask('orchestrator.begin_step', step(waiting_run_id))
  if (waiting.status !== 202) throw new Error(waiting.text)
  await tenant.ok('governance.delete_policy', { params: { policy_id } })
  const agent_action_id: string = waiting.body.detail.action_id
  const unresolved = await buildUncertain(tenant, await start(), step)
  const tool = { name: `tool_${word}`, description: word, input_schema: { type: 'object' } }
  await tenant.ok('llm.create_tool', { body: { ...tool, url: `${base_url}/tool` } })
  const workflows = await buildWorkflows(tenant, { word, model_id, waiting_run_id })
  const made = {
    agent_id,
    idle_agent_id,
    ...decided,
    agent_run_id,
    step_id,
    agent_action_id,
    model_id,
  }
  return { ...made, ...unresolved, ...workflows, tool_name: tool.name }
}

/** One without a run, and one whose newest run waits for a person. */
async function buildWorkflows(
  tenant: Tenant,
  { word, model_id, waiting_run_id }: Record<'word' | 'model_id' | 'waiting_run_id', string>,
) {
  const body = { name: `${word} in turn`, model_id }
  const { agent_id } = await tenant.ok('orchestrator.create_agent', { body })
  const create = async (name: string): Promise<string> => {
    const workflow = { name, description: word, agent_ids: [agent_id] }
    return (await tenant.ok('workflows.create', { body: workflow })).workflow_id
  }
  const workflow_id = await create(word)
  const waiting_workflow_id = await create(`${word} waits`)
  const sql = 'update workflows set run_id = ? where workflow_id = ?'
  await rawSql(tenant.service, sql, [waiting_run_id, waiting_workflow_id])
  return { workflow_id, waiting_workflow_id, modelled_agent_id: String(agent_id) }
}

/** A decision of a step as a run that the service executes has them. */
async function buildDecided(tenant: Tenant, run_id: string, model_id: string) {
  const { step_id } = await tenant.ok('orchestrator.begin_step', {
    params: { run_id },
    body: { input_text: 'x', model_id, budget_tokens: 0, max_tokens: 200 },
  })
  const { step } = await tenant.ok('orchestrator.complete_step', {
    params: { run_id, step_id },
    body: { output: 'y', tokens_in: 1, tokens_out: 1, final: true },
  })
  const sql = "update runs set executor = 'managed' where run_id = ?"
  await rawSql(tenant.service, sql, [run_id])
  return { step_decision_id: String(step.decision_id), receipt_id: String(step_id) }
}

/** A call of a tool of which nobody knows whether it acted, as a process that dies leaves it. */
async function buildUncertain(
  tenant: Tenant,
  unresolved_run_id: string,
  step: (run_id: string) => Sent,
) {
  const { step_id } = await tenant.ok('orchestrator.begin_step', step(unresolved_run_id))
  const { call_id } = await tenant.ok('orchestrator.call_tool', {
    params: { run_id: unresolved_run_id, step_id },
    body: { tool: 'send', effect: 'once' },
  })
  const later_us = tenant.service.kernel.clock.now() + DAY_US
  const hold = 'update run_steps set expires_us = ? where step_id = ?'
  await rawSql(tenant.service, hold, [later_us, step_id])
  const sql = "update run_calls set state = 'uncertain' where call_id = ?"
  await rawSql(tenant.service, sql, [call_id])
  const reported = await tenant.ok('orchestrator.call_tool', {
    params: { run_id: unresolved_run_id, step_id },
    body: { tool: 'look_up', effect: 'read' },
  })
  const reported_call_id = String(reported.call_id)
  const asked = "update run_calls set kind = 'client', sent_us = created_us where call_id = ?"
  await rawSql(tenant.service, asked, [reported_call_id])
  return { unresolved_run_id, call_id: String(call_id), reported_call_id }
}
