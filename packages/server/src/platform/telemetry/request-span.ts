// The span of a request, by the OpenTelemetry conventions for memory operations, without content.

import type { OperationSpec } from '@custos/contract'
import { RawJson } from '../raw-json.ts'
import type { TraceParent } from './trace-parent.ts'
import type { Tracer } from './tracer.ts'

/** `gen_ai.operation.name` of the operations that have a name in the conventions. */
const MEMORY_OPERATIONS: Readonly<Record<string, string>> = {
  'memory.create_store': 'create_memory_store',
  'memory.delete_store': 'delete_memory_store',
  'memory.write': 'create_memory',
  'memory.write_batch': 'create_memory',
  'memory.import': 'create_memory',
  'memory.supersede': 'update_memory',
  'items.put': 'upsert_memory',
  'memory.retrieve': 'search_memory',
  'items.search': 'search_memory',
  'memory.delete': 'delete_memory',
  'items.delete': 'delete_memory',
  'erasure.issue': 'delete_memory',
}

const FIGURES = ['log_seq', 'tokens_used', 'budget_tokens'] as const

/** Refusal codes that express a policy decision. */
const POLICY_RESULTS: Readonly<Record<string, string>> = {
  policy_denied: 'denied',
  approval_required: 'escalated',
}

type Attributes = Record<string, string | number>

interface EndedOperation {
  readonly operation: OperationSpec
  readonly parent: TraceParent | null
  readonly started_ms: number
  readonly request_id: string
  readonly status: number
  /** The code of the refusal, or null. */
  readonly error: string | null
  /** Path parameters. Those of a refused request may be any text and are not recorded. */
  readonly params: unknown
  readonly reply: unknown
}

/** Records the span; returns the id of its trace. */
export function recordSpan(tracer: Tracer, ended: EndedOperation): string {
  const { operation, parent, started_ms, status, error } = ended
  const memory = MEMORY_OPERATIONS[operation.id]
  const attributes: Attributes = {
    'gen_ai.provider.name': 'custos',
    'http.request.method': operation.method,
    'http.route': operation.path,
    'http.response.status_code': status,
    'custos.operation': operation.id,
    'custos.request_id': ended.request_id,
    ...(memory !== undefined && { 'gen_ai.operation.name': memory }),
    ...(error === null ? resultOf(ended) : errorOf(error)),
  }
  const failed = status >= 500
  return tracer.record({ name: memory ?? operation.id, started_ms, parent, attributes, failed })
}

function errorOf(code: string): Attributes {
  const result = POLICY_RESULTS[code]
  return { 'error.type': code, ...(result !== undefined && { 'custos.policy.result': result }) }
}

/** Only ids that exist, and numbers: a request that succeeded named an existing store. */
function resultOf({ params, reply }: EndedOperation): Attributes {
  const attributes: Attributes = {}
  const { store_id } = Object(params)
  if (typeof store_id === 'string') attributes['gen_ai.memory.store.id'] = store_id
  const figures = reply instanceof RawJson ? reply.figures : Object(reply)
  for (const name of FIGURES)
    if (typeof figures[name] === 'number') attributes[`custos.${name}`] = figures[name]
  if (typeof figures.ref === 'number') attributes['gen_ai.memory.record.id'] = `${figures.ref}`
  const count = Array.isArray(figures.refs) ? figures.refs.length : figures.count
  if (typeof count === 'number') attributes['gen_ai.memory.record.count'] = count
  return attributes
}
