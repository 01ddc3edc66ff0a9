// Tools of memories: the ordinary operations, with the rights of the run's key and in the stores of
// the agent.

import { memory as contract, type OperationSpec, scopeCovers } from '@custos/contract'
import { canonicalize, type JsonObject } from '@custos/proof'
import type { Call, IdempotentUnit } from '../../../platform/kernel/call.ts'
import { runOnce } from '../../../platform/kernel/idempotency.ts'
import { RawJson } from '../../../platform/raw-json.ts'
import { Refusal } from '../../../platform/refusal.ts'
import type { MemoryKind, ToolOutcome } from '../../llm/index.ts'
import { memoryHandlers } from '../../memory/index.ts'
import { ownCall } from '../runs/own-call.ts'

const BUDGET_DEFAULT = 1_024
/** Memories that a written one says it was made from. */
const MADE_FROM_MAX = 100

interface MemoryRequest {
  readonly kind: MemoryKind
  readonly args: JsonObject
  readonly call_id: string
  readonly run_id: string
  readonly step_id: string
  /** Stores of the agent; empty: every store. */
  readonly stores: readonly string[]
  /** What the model was told. */
  readonly refs: readonly number[]
}

/** Refusals are told to the model by their code, which names no content. */
export async function callMemory(
  caller: Parameters<typeof ownCall>[1],
  request: MemoryRequest,
): Promise<ToolOutcome> {
  const store_id = request.args['store_id'] ?? request.stores[0]
  if (typeof store_id !== 'string') return { fault: 'store_missing', acted: 'refused' }
  if (request.stores.length > 0 && !request.stores.includes(store_id))
    return { fault: 'store_not_found', acted: 'refused' }
  try {
    return await executeKind(caller, request, store_id)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const passes = error.status === 429 || error.status === 503
    return { fault: error.code, acted: passes ? 'unknown' : 'refused' }
  }
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

// Handlers may write their answer as text.
const replyOf = <T>(answered: T | RawJson<T>): T =>
  answered instanceof RawJson ? JSON.parse(answered.text) : answered

/** Happens once for each call of the run, whichever process repeats it. Refuses a missing scope. */
function keyedCall<S extends OperationSpec>(
  operation: S,
  caller: Parameters<typeof ownCall>[1],
  { call_id, args }: MemoryRequest,
): Call<S> {
  const { kernel, tenant_id, principal } = caller
  if (operation.scope && !scopeCovers(principal.scopes, operation.scope))
    throw new Refusal('scope_missing')
  const { id, status } = operation
  const content = Buffer.from(canonicalize(args))
  const keyed = { kernel, tenant_id, operation: id, status, key: `run call ${call_id}`, content }
  return {
    ...ownCall(operation, caller),
    once: async <T>(unit: IdempotentUnit<T>) => (await runOnce(keyed, unit)).reply,
  }
}
