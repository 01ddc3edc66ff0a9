// The registry of agents' actions: steps and calls that wait for a person. A record holds only the
// salted commitment of the text; the text is bound to its memories and is opened when it is shown.
// A fact that a model found in a conversation, and a policy wants a person for, waits as they do
// and is written in the unit of the approval.

import {
  type AgentAction,
  type orchestrator as contract,
  memoryIngestion,
  scopeCovers,
} from '@custos/contract'
import {
  type AgentActionRequest,
  canonicalize,
  contentHash,
  isObject,
  type JsonObject,
} from '@custos/proof'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import { accepted, type Call, type Handler } from '../../../platform/kernel/call.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { isTextStored, openText } from '../../decisions/index.ts'
import { prepareWaitingFact } from '../../memory/index.ts'
import {
  answerWaiting,
  findRecord,
  loadRecord,
  type OpenRecord,
  type Registry,
  registryHandlers,
  showRow,
  type TenantRecords,
} from '../../records/index.ts'
import { loadAgent, refuseLimited } from './agents.ts'
import { findAgent, findStep, type StepRow } from './orchestrator.sql.ts'
import { findHolder } from './own-call.ts'
import { RunUnit } from './run-unit.ts'
import { executorOf } from './run-view.ts'

const PERMIT_US = 600_000_000

export const agentActionRegistry: Registry<AgentActionRequest> = {
  kind: 'agent_action',
  id_field: 'action_id',
  schema_version: 'run/1',
  issued_status: 'approved',
  approvable: true,
  not_found: 'action_not_found',
  operation: ({ operation }) => operation,
  context: async (request, tenant) =>
    contextOf(request, await loadUnchanged(request, tenant), tenant),
  async fields({ request, kernel, tenant_id }) {
    const text = await loadUnchanged(request, { kernel, tenant_id })
    const document = { ...request, gate: 'allowed' }
    if (request.operation === 'memory.write') {
      const opened = { text_id: request.text_id, text }
      return { document, effect: await prepareApprovedFact({ kernel, tenant_id }, opened) }
    }
    const { agent_id, call_id } = request
    const agent = await kernel.db.read(tenant_id, (db) => loadAgent(kernel, db, agent_id))
    return {
      document,
      // One unit of work grants the approval and the permit.
      effect: async (tx, action_id) => {
        const unit = await RunUnit.load(kernel, tx, request.run_id)
        const step = unit?.steps.find(({ step_id }) => step_id === request.step_id)
        const call = unit?.calls.find((one) => one.call_id === call_id)
        const waiting = call_id === null ? step : call
        const waits = waiting?.state === 'waiting_hitl' && waiting.action_id === action_id
        const due = call?.compensates ? unit?.undoing : unit?.live
        if (!unit || !due || !step || !waits) throw new Refusal('not_waiting', 'the run has ended')
        if (!call?.compensates) await requireEnabled(tx, agent_id)
        if (!call) requireListed(agent?.words.memory_stores, step.store_id)
        // Written by call-tool.ts. A managed run checks the tools of its own calls again when it
        // makes them.
        else if (executorOf(unit.run) === 'client')
          requireListed(agent?.words.tools, JSON.parse(text).tool)
        if (call) await unit.intend(call, step.step_id)
        else await unit.permit(step, PERMIT_US)
        await unit.wake()
      },
    }
  },
  // The rejection and the end of the run are one unit of work.
  onRejection:
    ({ run_id }, kernel) =>
    async (tx) =>
      (await RunUnit.load(kernel, tx, run_id))?.settle(),
}

/** Refuses an approval for an agent that was disabled, redacted or deleted while it waited. */
async function requireEnabled(tx: Tx, agent_id: string): Promise<void> {
  const agent = await findAgent(tx, agent_id)
  if (agent?.enabled !== 1) throw new Refusal('not_waiting', 'the agent is disabled or deleted')
}

/** Refuses what the agent may no longer use. An empty list allows everything. */
function requireListed(listed: readonly string[] = [], used: string | null): void {
  if (used === null || listed.length === 0 || listed.includes(used)) return
  throw new Refusal('not_waiting', 'the agent may use the tool or store no longer')
}

/** Loads the text of an action. Refuses if it is erased, or differs from the proposed text. */
async function loadUnchanged(
  request: AgentActionRequest,
  { kernel, tenant_id }: TenantRecords,
): Promise<string> {
  const found = await kernel.db.read(tenant_id, (db) => openText(kernel, db, request.text_id))
  if (!found) throw new Refusal('not_waiting', 'a memory that the action was made from is erased')
  if (contentHash(Buffer.from(found.salt, 'hex'), found.text) !== request.commitment)
    throw new Refusal('unavailable', 'what was proposed does not match its commitment')
  return found.text
}

async function contextOf(
  { run_id, step_id, call_id, agent_id, operation, effect }: AgentActionRequest,
  text: string,
  { kernel, tenant_id }: TenantRecords,
) {
  if (operation === 'memory.write') return factContext(text)
  const step = await kernel.db.read(tenant_id, (db) => findStep(db, run_id, step_id))
  if (!step) throw new Refusal('not_waiting')
  if (call_id === null) return stepContext(step, text)
  // Written by call-tool.ts.
  const { tool, args } = JSON.parse(text)
  return callContext({ run_id, agent_id, effect }, { tool, args })
}

/** The policy context of a step. */
export const stepContext = (
  step: Pick<StepRow, 'run_id' | 'agent_id' | 'model_id' | 'store_id' | 'reserved_tokens'>,
  query: string,
) => ({
  model_id: step.model_id,
  store_id: step.store_id,
  query,
  tokens: step.reserved_tokens,
  agent_id: step.agent_id,
  run_id: step.run_id,
})

/** The policy context of a call. */
export const callContext = (
  ids: Pick<AgentActionRequest, 'run_id' | 'agent_id' | 'effect'>,
  { tool, args }: { readonly tool: string; readonly args: unknown },
) => ({ tool_name: tool, args, ...ids })

// Records of this registry are proposed only here, so the request has this type.
const requestOf = ({ request }: OpenRecord): AgentActionRequest =>
  request as unknown as AgentActionRequest

function showAction(record: OpenRecord, tenant_id: string): AgentAction {
  const { run_id, step_id, call_id, agent_id, operation, effect, commitment } = requestOf(record)
  return {
    action_id: record.row.record_id,
    ...{ run_id, step_id, call_id, agent_id, operation, effect, commitment },
    text: null,
    ...showRow(record, tenant_id),
  }
}

const view = {
  id: 'action_id',
  listKey: 'actions',
  show: showAction,
  showListed: showAction,
} as const
const handlers = registryHandlers(agentActionRegistry, view)

export const getAction: Handler<typeof contract.get_action> = async (call, { params }) => {
  refuseLimited(call)
  const { kernel, tenant_id } = call
  const record = await loadRecord(call, agentActionRegistry, params.action_id)
  const shown = showAction(record, tenant_id)
  if (!mayReadTexts(call)) return shown
  const { text_id } = requestOf(record)
  const found = await call.read((db) => openText(kernel, db, text_id))
  return { ...shown, text: found?.text ?? null }
}

export const mayReadTexts = ({ principal }: Pick<Call, 'principal'>): boolean =>
  principal.scopes.some((scope) => scope === 'decisions:read' || scope === '*')

export const listActions: Handler<typeof contract.list_actions> = (call, input) => {
  refuseLimited(call)
  return handlers.list(call, input)
}

export const { approve: approveAction, reject: rejectAction } = handlers

/** The reply for a step or call that waits for a person. */
export async function answerAction(
  call: Call,
  {
    action_id,
    step_id,
    call_id,
  }: Record<'action_id' | 'step_id', string> & { call_id: string | null },
) {
  const { kernel, tenant_id } = call
  const record = await findRecord(kernel, tenant_id, { kind: 'agent_action', record_id: action_id })
  if (!record) throw new Refusal('unavailable')
  const { accepted: waiting } = await answerWaiting(kernel, tenant_id, record, 'action_id')
  return accepted({ detail: { ...waiting.detail, step_id, call_id } })
}

/** Returns the request as JSON, the form in which it is proposed. */
export const actionRequest = (request: AgentActionRequest): AgentActionRequest & JsonObject =>
  request

/** @param fact `key_id` is the key whose rights the write uses */
export const textOfFact = ({
  item,
  source_refs,
  ...rest
}: Parameters<typeof prepareWaitingFact>[1] & { readonly key_id: string }): string =>
  canonicalize({ ...rest, item: JSON.parse(JSON.stringify(item)), source_refs: [...source_refs] })

// Written by `textOfFact`.
const readFact = (text: string): Parameters<typeof textOfFact>[0] => JSON.parse(text)

/** The policy context of the write. */
function factContext(text: string) {
  const { store_id, item } = readFact(text)
  const metadata = isObject(item.metadata) ? item.metadata : {}
  return { store_id, content: item.content, metadata }
}

/**
 * Prepares the write that the approval commits. Refuses `not_waiting` if the key that sent the
 * turns may no longer write them, or the store no longer takes the fact.
 */
export async function prepareApprovedFact(
  { kernel, tenant_id }: TenantRecords,
  { text_id, text }: { readonly text_id: string; readonly text: string },
): Promise<(tx: Tx) => Promise<void>> {
  const { key_id, ...fact } = readFact(text)
  const principal = await findHolder(kernel, tenant_id, key_id)
  const mayWrite = principal && scopeCovers(principal.scopes, 'memory:write')
  // The mode `extract` has the same rule, because the model was shown memories of the tenant.
  if (!mayWrite || principal.allowed_stores.length > 0)
    throw new Refusal('not_waiting', 'the key that proposed it may write no more')
  const caller = { kernel, tenant_id, principal, operation: memoryIngestion.ingest }
  const write = await asNotWaiting(() => prepareWaitingFact(caller, fact))
  return async (tx) => {
    // A memory that the model was shown may have been erased since the text was opened.
    if (!(await isTextStored(tx, text_id)))
      throw new Refusal('not_waiting', 'a memory that it was made from is erased')
    const { outcome } = await asNotWaiting(() => write(tx))
    if (outcome === 'refused')
      throw new Refusal('not_waiting', 'a turn of it, or the memory that it replaces, has changed')
  }
}

/** Maps refusals that an approval does not declare (a missing store, a quota) to `not_waiting`. */
async function asNotWaiting<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === 'unavailable') throw error
    throw new Refusal('not_waiting', `the store does not take it: ${error.message}`)
  }
}
