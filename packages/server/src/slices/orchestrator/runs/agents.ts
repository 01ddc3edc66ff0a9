// Agents: created, listed, shown, changed and deleted; their words are sealed, their names found by
// HMAC.

import {
  type AGENT_ROLES,
  type Agent,
  type orchestrator as contract,
  runLimits,
} from '@custos/contract'
import { canonicalize, type JsonObject } from '@custos/proof'
import { formatTime } from '../../../platform/clock.ts'
import { Conflict, retryOnConflict } from '../../../platform/concurrency.ts'
import type { TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import type { Call, Handler, Principal } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import {
  jsonPayload,
  REDACTED_SECRET,
  sealedColumn,
} from '../../../platform/kernel/sealed-column.ts'
import { REDACTED_TEXT, textSource } from '../../../platform/kernel/text-source.ts'
import { pageOf } from '../../../platform/page.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { appendCrumb } from '../../gcrumbs/index.ts'
import { meter } from '../../tenants/index.ts'
import {
  type AgentRow,
  countAgents,
  countLiveRunsOf,
  deleteAgentRow,
  findAgent,
  findAgentByName,
  insertAgent,
  listAgents,
  listAgentsAfter,
  updateAgent,
} from './orchestrator.sql.ts'

const ID_BYTES = 16
const TEMPERATURE_DEFAULT = 0.7

interface AgentPayload {
  readonly name: string
  readonly role: (typeof AGENT_ROLES)[number]
  readonly description: string
  readonly model_id: string
  readonly system_prompt: string
  readonly memory_stores: readonly string[]
  readonly fallback_models?: readonly string[]
  readonly tools: readonly string[]
  readonly temperature: number
}

export interface OpenAgent {
  readonly row: AgentRow
  readonly words: AgentPayload
}

const agentColumn = sealedColumn({
  domain: 'agent',
  ids: (tenant_id, { agent_id, version }: Pick<AgentRow, 'agent_id' | 'version'>) => [
    tenant_id,
    agent_id,
    version,
  ],
  payload: jsonPayload<AgentPayload>(),
})

/** Refuses a key limited to some stores, because a run may quote memories of any store. */
export function refuseLimited({ principal }: { readonly principal: Principal }): void {
  if (principal.allowed_stores.length > 0)
    throw new Refusal('scope_missing', 'runs may read every store; the key is limited to some')
}

const agentNameKey = async (
  { keyring }: Kernel,
  tenant_id: string,
  name: string,
): Promise<string> => (await keyring.tenant(tenant_id)).label(`agent name\n${name}`)

/** Replaces the agent's `name_key` during its deletion, so that its name is free. */
export const deletedNameKey = (agent_id: string): string => `deleted ${agent_id}`

/** Omits agents whose secret is destroyed, even if a crash interrupted their deletion. */
async function openAgents(
  kernel: Kernel,
  tenant_id: string,
  rows: readonly AgentRow[],
): Promise<OpenAgent[]> {
  const words = await agentColumn.openAll(kernel, tenant_id, rows)
  return rows.flatMap((row, i) => {
    const opened = words[i]
    if (opened) return [{ row, words: opened }]
    if (row.enabled === 0) return []
    throw new Refusal('unavailable', 'an agent cannot be opened')
  })
}

/** Returns `null` if the agent does not exist. */
export async function loadAgent(
  kernel: Kernel,
  db: TenantDb,
  agent_id: string,
): Promise<OpenAgent | null> {
  const row = await findAgent(db, agent_id)
  return row ? ((await openAgents(kernel, db.tenant_id, [row]))[0] ?? null) : null
}

/** Returns `null` for a deleted or redacted agent: nothing is left that says what it may use. */
export const knownAgent = (agent: OpenAgent | null): OpenAgent | null =>
  agent?.row.secret_no === REDACTED_SECRET ? null : agent

function showAgent({ row, words }: OpenAgent, tenant_id: string): Agent {
  const { memory_stores, fallback_models = [], tools, ...shown } = words
  return {
    agent_id: row.agent_id,
    tenant_id,
    ...shown,
    memory_stores: [...memory_stores],
    fallback_models: [...fallback_models],
    tools: [...tools],
    max_steps: row.max_steps,
    max_tokens_per_step: row.max_tokens_per_step,
    version: row.version,
    enabled: row.enabled === 1,
    created_at: formatTime(row.created_us),
    updated_at: formatTime(row.updated_us ?? row.created_us),
  }
}

export const createAgent: Handler<typeof contract.create_agent> = async (call, { body }) => {
  refuseLimited(call)
  const { kernel, tenant_id } = call
  const agent_id = kernel.ids.hex(ID_BYTES)
  const memory_stores = storesOf(body) ?? []
  const words: AgentPayload = {
    name: body.name,
    role: body.role ?? 'custom',
    description: body.description ?? '',
    model_id: body.model_id,
    system_prompt: body.system_prompt ?? '',
    memory_stores,
    fallback_models: body.fallback_models ?? [],
    tools: body.tools ?? [],
    temperature: body.temperature ?? TEMPERATURE_DEFAULT,
  }
  const numbers = {
    max_steps: body.max_steps ?? runLimits.max_steps.default,
    max_tokens_per_step: body.max_tokens_per_step ?? runLimits.max_tokens_per_step.default,
  }
  const given = {
    ...numbers,
    agent_id,
    version: 1,
    name_key: await agentNameKey(kernel, tenant_id, words.name),
    definition_label: await labelDefinition(kernel, tenant_id, words, numbers),
    enabled: 1,
    ...(await agentColumn.sealNew(kernel, tenant_id, { agent_id, version: 1 }, words)),
  }
  const shown = await call.once<{ agent: Agent } | { agent_id: string }>({
    async run(tx) {
      const row = await insertNew(call, tx, given)
      return { reply: { agent: showAgent({ row, words }, tenant_id) }, ids: { agent_id } }
    },
    replay: async (_, ids) => ({ agent_id: String(ids['agent_id']) }),
  })
  if ('agent' in shown) return shown.agent
  const known = await call.read((db) => loadAgent(kernel, db, shown.agent_id))
  return known ? showAgent(known, tenant_id) : call.refuse('unavailable')
}

/** Returns `null` if neither is given. Refuses both. */
function storesOf({
  memory_stores,
  store_id,
}: {
  readonly memory_stores?: readonly string[] | null | undefined
  readonly store_id?: string | null | undefined
}): readonly string[] | null {
  if (store_id == null) return memory_stores ?? null
  if (memory_stores == null) return [store_id]
  throw new Refusal('rejected', 'give either store_id or memory_stores')
}

/** The label digest of a whole definition, for the audit log. */
async function labelDefinition(
  { keyring }: Kernel,
  tenant_id: string,
  words: AgentPayload,
  numbers: Pick<AgentRow, 'max_steps' | 'max_tokens_per_step'>,
): Promise<string> {
  const definition: JsonObject = {
    ...words,
    max_steps: numbers.max_steps,
    max_tokens_per_step: numbers.max_tokens_per_step,
    memory_stores: [...words.memory_stores],
    fallback_models: [...(words.fallback_models ?? [])],
    tools: [...words.tools],
  }
  return (await keyring.tenant(tenant_id)).label(`agent\n${canonicalize(definition)}`)
}

async function insertNew(
  call: Call<typeof contract.create_agent>,
  tx: Tx,
  given: Omit<AgentRow, 'created_us' | 'updated_us'>,
): Promise<AgentRow> {
  if (await findAgentByName(tx, given.name_key)) return call.refuse('name_taken')
  if ((await countAgents(tx)) >= runLimits.agents_per_tenant) return call.refuse('too_many')
  const row: AgentRow = { ...given, created_us: tx.now(), updated_us: null }
  await insertAgent(tx, row)
  meter(tx, call.operation.id, row.sealed.length)
  await appendCrumb(tx, {
    event_type: 'agent.changed',
    subject: row.agent_id,
    payload: {
      change: 'created',
      version: row.version,
      definition: row.definition_label,
      changed_by: call.principal.key_id,
    },
  })
  return row
}

export const listAgentPage: Handler<typeof contract.list_agents> = async (call, { query }) => {
  refuseLimited(call)
  const page = pageOf(query, runLimits.page.default, call.operation.id)
  const { enabled_only = false } = query
  const rows = await call.read((db) => listAgents(db, { ...page, enabled_only }))
  const opened = await openAgents(call.kernel, call.tenant_id, rows)
  const shown = opened.map((agent) => showAgent(agent, call.tenant_id))
  const last = rows.at(-1)
  const end = last ? { at: last.created_us, id: last.agent_id } : null
  const { next_cursor } = page.envelope('agents', rows, end)
  return { ...page.envelope('agents', shown), next_cursor }
}

export const getAgent: Handler<typeof contract.get_agent> = async (call, { params }) => {
  refuseLimited(call)
  const agent = await call.read((db) => loadAgent(call.kernel, db, params.agent_id))
  return agent ? showAgent(agent, call.tenant_id) : call.refuse('agent_not_found')
}

/** A redacted agent has no texts and is disabled. */
export const agentTextSource = textSource<
  AgentRow,
  { readonly name: string; readonly description: string; readonly prompt: string }
>({
  kind: 'agent',
  list: (db, after, limit) => listAgentsAfter(db, after?.agent_id ?? '', limit),
  find: findAgent,
  idOf: ({ agent_id }) => agent_id,
  createdUs: ({ created_us }) => created_us,
  async open(kernel, tenant_id, rows) {
    const opened = await agentColumn.openAll(kernel, tenant_id, rows)
    return opened.map(
      (words) =>
        words && { name: words.name, description: words.description, prompt: words.system_prompt },
    )
  },
  redact: async (kernel, tenant_id, { row }) => [
    await agentColumn.sealRedacted(kernel, tenant_id, row, {
      name: REDACTED_TEXT,
      role: 'custom',
      description: '',
      model_id: REDACTED_TEXT,
      system_prompt: '',
      memory_stores: [],
      tools: [],
      temperature: TEMPERATURE_DEFAULT,
    }),
  ],
  update: (tx, { agent_id }, [sealed]) =>
    updateAgent(tx, agent_id, { secret_no: REDACTED_SECRET, sealed, enabled: 0 }),
})

type UpdateBody = Parameters<Handler<typeof contract.update_agent>>[1]['body']

const ATTEMPTS = 8

export const changeAgent: Handler<typeof contract.update_agent> = (call, { params, body }) => {
  refuseLimited(call)
  return retryOnConflict(() => storeNext(call, params.agent_id, body), {
    on: 'agent',
    attempts: ATTEMPTS,
    message: 'the agent is being changed',
  })
}

/** Throws a conflict if the agent's version has changed since it was read. */
async function storeNext(
  call: Call<typeof contract.update_agent>,
  agent_id: string,
  body: UpdateBody,
): Promise<Agent> {
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
