// PUT and DELETE /v1/orchestrator/agents/{agent_id}: stores an agent's next version, or deletes it.

import type { Agent, orchestrator as contract } from '@custos/contract'
import { Conflict, retryOnConflict } from '../../../platform/concurrency.ts'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../../platform/kernel/call.ts'
import { REDACTED_SECRET } from '../../../platform/kernel/sealed-column.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { appendCrumb } from '../../gcrumbs/index.ts'
import { meter } from '../../tenants/index.ts'
import {
  type AgentPayload,
  agentColumn,
  agentNameKey,
  deletedNameKey,
  labelDefinition,
  loadAgent,
  refuseLimited,
  showAgent,
  storesOf,
} from '../runs/agents.ts'
import {
  type AgentRow,
  countLiveRunsOf,
  deleteAgentRow,
  findAgent,
  findAgentByName,
  updateAgent,
} from '../runs/orchestrator.sql.ts'

type Update = typeof contract.update_agent
type UpdateBody = Parameters<Handler<Update>>[1]['body']

const ATTEMPTS = 8

export const changeAgent: Handler<Update> = (call, { params, body }) => {
  refuseLimited(call)
  return retryOnConflict(() => storeNext(call, params.agent_id, body), {
    on: 'agent',
    attempts: ATTEMPTS,
    message: 'the agent is being changed',
  })
}

/** Throws a conflict if the agent's version has changed since it was read. */
async function storeNext(call: Call<Update>, agent_id: string, body: UpdateBody): Promise<Agent> {
  const { kernel, tenant_id } = call
  const known = await call.read((db) => loadAgent(kernel, db, agent_id))
  if (!known) return call.refuse('agent_not_found')
  const { row } = known
  if (row.name_key === deletedNameKey(agent_id)) return call.refuse('agent_not_found')
  if (row.secret_no === REDACTED_SECRET) requireNewWords(body)
  const words = changeWords(known.words, body)
  const numbers = {
    max_steps: body.max_steps ?? row.max_steps,
    max_tokens_per_step: body.max_tokens_per_step ?? row.max_tokens_per_step,
  }
  const next = { agent_id, version: row.version + 1, secret_no: row.secret_no }
  // One secret seals all versions, so that a redaction destroys them together.
  const again = await agentColumn.sealAgain(kernel, tenant_id, next, words)
  const sealing = again
    ? { sealed: again, secret_no: row.secret_no }
    : await agentColumn.sealNew(kernel, tenant_id, next, words)
  const change = {
    ...numbers,
    ...sealing,
    version: next.version,
    definition_label: await labelDefinition(kernel, tenant_id, words, numbers),
    enabled: body.enabled == null ? row.enabled : Number(body.enabled),
    ...(body.name != null && { name_key: await agentNameKey(kernel, tenant_id, body.name) }),
  }
  return call.transact(async (tx) => {
    const now = await findAgent(tx, agent_id)
    if (!now) return call.refuse('agent_not_found')
    const same = now.version === row.version && now.secret_no === row.secret_no
    // A change based on a stale read must not undo a deletion that has begun.
    if (!same || now.name_key !== row.name_key) throw new Conflict('agent')
    if (change.name_key !== undefined) {
      const other = await findAgentByName(tx, change.name_key)
      if (other && other.agent_id !== agent_id) return call.refuse('name_taken')
    }
    const changed: AgentRow = { ...now, ...change, updated_us: tx.now() }
    await updateAgent(tx, agent_id, { ...change, updated_us: changed.updated_us })
    meter(tx, call.operation.id, changed.sealed.length)
    await appendChange(call, tx, changed, 'updated')
    return showAgent({ row: changed, words }, tenant_id)
  })
}

/** A redaction removes the lists of what the agent may use, and an empty list would allow all. */
function requireNewWords(body: UpdateBody): void {
  const { name, model_id, tools } = body
  const missing = Object.entries({ name, model_id, tools, memory_stores: storesOf(body) })
    .filter(([, value]) => value == null)
    .map(([key]) => key)
  if (missing.length > 0)
    throw new Refusal('rejected', `the agent is redacted: name its ${missing.join(', ')} again`)
}

/** Members that are `null` or absent keep their value. */
function changeWords(words: AgentPayload, body: UpdateBody): AgentPayload {
  return {
    name: body.name ?? words.name,
    role: body.role ?? words.role,
    description: body.description ?? words.description,
    model_id: body.model_id ?? words.model_id,
    system_prompt: body.system_prompt ?? words.system_prompt,
    memory_stores: storesOf(body) ?? words.memory_stores,
    fallback_models: body.fallback_models ?? words.fallback_models ?? [],
    tools: body.tools ?? words.tools,
    temperature: body.temperature ?? words.temperature,
  }
}

/**
 * Disables the agent first, so that it begins no run, and frees its name, so that pending changes
 * conflict; then destroys its secret. After a crash the deletion can be repeated.
 */
export const deleteAgent: Handler<typeof contract.delete_agent> = async (call, { params }) => {
  refuseLimited(call)
  const { kernel, tenant_id } = call
  const { agent_id } = params
  const { secret_no } = await call.transact(async (tx) => {
    const row = await findAgent(tx, agent_id)
    if (!row) return call.refuse('agent_not_found')
    const live = await countLiveRunsOf(tx, agent_id)
    if (live > 0) return call.refuse('wrong_state', `${live} runs of the agent are under way`)
    await updateAgent(tx, agent_id, { enabled: 0, name_key: deletedNameKey(agent_id) })
    return row
  })
  if (secret_no !== REDACTED_SECRET)
    await kernel.keyring.destroySecrets(tenant_id, 'decision', [secret_no])
  return call.transact(async (tx) => {
    const row = await findAgent(tx, agent_id)
    if (!row) return call.refuse('agent_not_found')
    await deleteAgentRow(tx, agent_id)
    meter(tx, call.operation.id)
    await appendChange(call, tx, { ...row, enabled: 0 }, 'deleted')
    return { deleted: true as const, agent_id }
  })
}

const appendChange = (
  call: Pick<Call, 'principal'>,
  tx: Tx,
  row: AgentRow,
  change: 'updated' | 'deleted',
) =>
  appendCrumb(tx, {
    event_type: 'agent.changed',
    subject: row.agent_id,
    payload: {
      change,
      version: row.version,
      enabled: row.enabled === 1,
      definition: row.definition_label,
      changed_by: call.principal.key_id,
    },
  })
