// Tools that are operations of this service. They run with the rights of the run's key and access
// only the stores of the agent.

import {
  type Action,
  memory as contract,
  erasure,
  type InvokeRequest,
  type OperationSpec,
  REPLY_KIND,
  scopeCovers,
  worldModel,
} from '@custos/contract'
import { canonicalize, isObject, type JsonObject } from '@custos/proof'
import type { Call, IdempotentUnit } from '../../../platform/kernel/call.ts'
import { runOnce } from '../../../platform/kernel/idempotency.ts'
import { RawJson } from '../../../platform/raw-json.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { erasureHandlers } from '../../erasure/index.ts'
import type { MemoryKind, ToolOutcome } from '../../llm/index.ts'
import { memoryHandlers } from '../../memory/index.ts'
import { worldModelHandlers } from '../../world-model/index.ts'
import type { CallRow } from '../runs/orchestrator.sql.ts'
import { ownCall } from '../runs/own-call.ts'

const BUDGET_DEFAULT = 1_024
/** The most memories that a written memory names as its sources. */
const MADE_FROM_MAX = 100
const LEGAL_BASIS = 'an agent asked for it'

interface OwnRequest {
  readonly args: JsonObject
  readonly call_id: string
}

interface MemoryRequest extends OwnRequest {
  readonly kind: MemoryKind
  readonly run_id: string
  readonly step_id: string
  /** The stores of the agent. Empty means every store. */
  readonly stores: readonly string[]
  /** The memories that the model was shown. */
  readonly refs: readonly number[]
}

/** The model is told a refusal by its code, which reveals no content. */
export async function callMemory(
  caller: Parameters<typeof ownCall>[1],
  request: MemoryRequest,
): Promise<ToolOutcome> {
  const store_id = request.args['store_id'] ?? request.stores[0]
  if (typeof store_id !== 'string') return { fault: 'store_missing', acted: 'refused' }
  if (request.stores.length > 0 && !request.stores.includes(store_id))
    return { fault: 'store_not_found', acted: 'refused' }
  return orFault(() => executeKind(caller, request, store_id))
}

async function orFault<T>(act: () => Promise<ToolOutcome | T>): Promise<ToolOutcome | T> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const passes = error.status === 429 || error.status === 503
    return { fault: error.code, acted: passes ? 'unknown' : 'refused' }
  }
}

/** An action of the world model that waits for approval, by the id of its record. */
export interface WaitingAction {
  readonly waiting: string
}

/** Invokes the action once for each call. An action that waited before is only polled. */
export function callAction(
  caller: Parameters<typeof ownCall>[1],
  request: OwnRequest & { readonly action_name: string },
  { record_id }: Pick<CallRow, 'record_id'>,
): Promise<ToolOutcome | WaitingAction> {
  return orFault<WaitingAction>(async () => {
    const { args, action_name } = request
    const call = keyedCall(worldModel.invoke, caller, request)
    if (record_id !== null) return lookAt(caller, record_id)
    // The arguments have been checked against the schema of the tool.
    const subject_refs = args['subject_refs'] as InvokeRequest['subject_refs']
    const params = isObject(args['params']) ? args['params'] : {}
    // The run claims the highest trust tier that its key may claim; none if the key has no maximum.
    const { max_trust_tier } = caller.principal
    const authority = max_trust_tier ? { trust_tier: max_trust_tier } : null
    const body = { action_name, subject_refs, params, authority }
    const answered = replyOf(await worldModelHandlers.invoke(call, { ...NOTHING_NAMED, body }))
    if (REPLY_KIND in answered) return { waiting: answered.accepted.detail.action_id }
    return shownAction(answered)
  })
}

const NOTHING_NAMED = { params: undefined, query: undefined } as const

const shownAction = ({ action_id, status }: Pick<Action, 'action_id' | 'status'>): ToolOutcome => ({
  result: JSON.stringify({ action_id, status }),
})

async function lookAt(
  caller: Parameters<typeof ownCall>[1],
  action_id: string,
): Promise<ToolOutcome | WaitingAction> {
  const call = ownCall(worldModel.get_action, caller)
  const at = { params: { action_id }, query: undefined, body: undefined }
  const action = await worldModelHandlers.get_action(call, at)
  if (action.status === 'waiting_hitl') return { waiting: action_id }
  if (action.status === 'invoked') return shownAction(action)
  return { fault: `action_${action.status}`, acted: 'refused' }
}

async function executeKind(
  caller: Parameters<typeof ownCall>[1],
  request: MemoryRequest,
  store_id: string,
): Promise<ToolOutcome> {
  const { kind, args, refs, run_id, step_id } = request
  const at = { params: { store_id }, query: undefined }
  if (kind === 'memory.retrieve') {
    const call = keyedCall(contract.retrieve, caller, request)
    const query = String(args['query'])
    const budget_tokens = Number(args['budget_tokens'] ?? BUDGET_DEFAULT)
    const body = { query, budget_tokens, view: 'compact' as const }
    const { memories } = replyOf(await memoryHandlers.retrieve(call, { ...at, body }))
    const shown = memories.map(({ ref, content }) => ({ ref, content }))
    const refs = shown.map(({ ref }) => ref)
    return { result: JSON.stringify({ memories: shown }), refs }
  }
  if (kind === 'erasure') {
    const call = keyedCall(erasure.issue, caller, request)
    const reasons = { legal_basis: LEGAL_BASIS, requested_by: `run ${run_id}` }
    const body = { ...reasons, fact_ref: Number(args['ref']), store_id }
    const { certificate_id, outcome } = replyOf(
      await erasureHandlers.issue(call, { params: undefined, query: undefined, body }),
    )
    return { result: JSON.stringify({ certificate_id, outcome }) }
  }
  const made_from = refs.slice(0, MADE_FROM_MAX)
  const body = { content: String(args['content']), metadata: { run_id, step_id, made_from } }
  if (kind === 'memory.write') {
    const call = keyedCall(contract.write, caller, request)
    const { ref } = replyOf(await memoryHandlers.write(call, { ...at, body }))
    return { result: JSON.stringify({ ref }) }
  }
  const call = keyedCall(contract.supersede, caller, request)
  const old_ref = Number(args['old_ref'])
  const next = { ...at, body: { ...body, old_ref } }
  const { ref } = replyOf(await memoryHandlers.supersede(call, next))
  return { result: JSON.stringify({ ref, old_ref }) }
}

// Handlers may return their reply as JSON text.
const replyOf = <T>(answered: T | RawJson<T>): T =>
  answered instanceof RawJson ? JSON.parse(answered.text) : answered

/**
 * Returns a `Call` of the operation. It takes effect once for each tool call of the run, even if
 * another process repeats it. Throws a refusal if the key lacks the scope.
 */
function keyedCall<S extends OperationSpec>(
  operation: S,
  caller: Parameters<typeof ownCall>[1],
  { call_id, args }: OwnRequest,
): Call<S> {
  const { kernel, tenant_id, principal } = caller
  if (operation.scope && !scopeCovers(principal.scopes, operation.scope))
    throw new Refusal('scope_missing')
  const { id, status } = operation
  const content = Buffer.from(canonicalize(args))
  const keyed = { kernel, tenant_id, operation: id, status, key: `run call ${call_id}`, content }
  return {
    ...ownCall(operation, caller),
    idempotency_key: keyed.key,
    once: async <T>(unit: IdempotentUnit<T>) => (await runOnce(keyed, unit)).reply,
  }
}
