// Reads a log request: aliases, defaults and the checks a schema cannot say.

import type { decisions, JsonObject, LogDecisionRequest } from '@custos/contract'
import { limits } from '@custos/contract'
import type { Call } from '../../platform/call.ts'

/** A log request under its canonical names. */
export interface NewDecision {
  readonly store_id: string
  readonly model_id: string
  readonly query: string
  readonly output: string
  readonly session_id: string | null
  readonly refs: readonly number[]
  readonly contents: readonly string[]
  readonly scores: readonly number[]
  readonly token_count: number | null
  readonly latency_ms: number | null
  readonly parameters: JsonObject | null
  /** null: the log's size when the decision is appended. */
  readonly memory_seq: number | null
}

export type LogCall = Call<typeof decisions.log>

export function readLogRequest(call: LogCall, body: LogDecisionRequest): NewDecision {
  const output = body.output ?? body.raw_output
  if (output === undefined)
    return call.refuse('validation', undefined, {
      detail: [{ loc: ['body', 'output'], msg: 'Field required', type: 'missing' }],
    })
  const refs = body.retrieved_refs ?? body.retrieved_fact_refs ?? []
  const contents = body.retrieved_contents ?? []
  const scores = body.retrieved_scores ?? body.retrieval_scores ?? []
  refuseLengths(call, refs.length, { retrieved_contents: contents, retrieved_scores: scores })
  const { store_id, model_id, query, parameters = null } = body
  refuseSizes(call, query, parameters)
  const allowed = call.principal.allowed_stores
  if (allowed.length > 0 && !allowed.includes(store_id)) call.refuse('store_not_found')
  return {
    store_id,
    model_id,
    query,
    output,
    session_id: body.session_id ?? null,
    refs,
    contents,
    scores,
    token_count: body.token_count ?? body.output_tokens ?? null,
    latency_ms: body.latency_ms ?? null,
    parameters,
    memory_seq: body.memory_seq ?? null,
  }
}

function refuseLengths(
  call: LogCall,
  refs: number,
  arrays: Readonly<Record<string, readonly unknown[]>>,
): void {
  for (const [name, items] of Object.entries(arrays))
    if (items.length > 0 && items.length !== refs)
      call.refuse('lengths_differ', `${name} has ${items.length} items for ${refs} refs`)
}

function refuseSizes(call: LogCall, query: string, parameters: JsonObject | null): void {
  if (Buffer.byteLength(query) > limits.query_bytes)
    call.refuse('rejected', `query is longer than ${limits.query_bytes} bytes`)
  if (parameters === null) return
  if (Buffer.byteLength(JSON.stringify(parameters)) > limits.metadata_bytes)
    call.refuse('rejected', `parameters are longer than ${limits.metadata_bytes} bytes`)
}
