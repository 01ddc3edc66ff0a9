// OpenTelemetry spans of calls, by the semantic conventions for generative AI memory operations.

import {
  type Attributes,
  context,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { ApiError } from './errors.ts'
import type { CallContext, Hooks } from './hooks.ts'

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

/** Hooks that create one span per call, with its retries as events. No content is recorded. */
export function otelHooks({ tracer }: { readonly tracer?: Tracer } = {}): Hooks {
  const spans = new WeakMap<CallContext, Span>()
  // A stream that reconnects sends another request, which gets its own span.
  const end = (call: CallContext) => {
    spans.get(call)?.end()
    spans.delete(call)
  }
  return {
    onRequest(call) {
      const span = spans.get(call) ?? start(call, tracer ?? trace.getTracer('@custos/client'))
      spans.set(call, span)
      propagation.inject(trace.setSpan(context.active(), span), call.headers, {
        set: (headers, name, value) => headers.set(name, value),
      })
    },
    onRetry(call) {
      spans.get(call)?.addEvent('retry', { 'custos.attempt': call.attempt, ...errorOf(call) })
    },
    onResponse(call) {
      spans.get(call)?.setAttributes(answerOf(call))
      end(call)
    },
    onError(call) {
      const span = spans.get(call)
      span?.setAttributes({ ...answerOf(call), ...errorOf(call) })
      span?.setStatus({ code: SpanStatusCode.ERROR })
      end(call)
    },
  }
}

function start(call: CallContext, tracer: Tracer): Span {
  const memory = MEMORY_OPERATIONS[call.operation]
  const { hostname, port, protocol } = new URL(call.url)
  const attributes: Attributes = {
    'gen_ai.provider.name': 'custos',
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    'custos.operation': call.operation,
  }
  if (memory !== undefined) attributes['gen_ai.operation.name'] = memory
  if (call.storeId !== undefined) attributes['gen_ai.memory.store.id'] = call.storeId
  if (call.ref !== undefined) attributes['gen_ai.memory.record.id'] = String(call.ref)
  return tracer.startSpan(memory ?? call.operation, { kind: SpanKind.CLIENT, attributes })
}

const FIGURES = ['log_seq', 'tokens_used', 'budget_tokens'] as const

function answerOf({ requestId, figures = {} }: CallContext): Attributes {
  const attributes: Attributes = {}
  if (requestId) attributes['custos.request_id'] = requestId
  if (figures['ref'] !== undefined) attributes['gen_ai.memory.record.id'] = `${figures['ref']}`
  for (const name of FIGURES)
    if (figures[name] !== undefined) attributes[`custos.${name}`] = figures[name]
  return attributes
}

/** The error code of the service, or the kind of failure. */
function errorOf({ error }: CallContext): Attributes {
  if (error instanceof ApiError) return { 'error.type': error.code }
  return { 'error.type': error instanceof Error ? error.name : 'unknown' }
}
