// Spans of requests, by the OpenTelemetry conventions for memory operations, sent by OTLP to a
// collector that the operator names; never content.

import type { OperationSpec } from '@custos/contract'
import type { Attributes } from '@opentelemetry/api'
import type { SpanExporter } from '@opentelemetry/sdk-trace-base'
import { OperatorError } from '../operator-error.ts'
import { RawJson } from '../raw-json.ts'
import type { Logger } from './logger.ts'
import type { TraceParent } from './trace-parent.ts'

interface EndedRequest {
  readonly name: string
  /** Milliseconds of `performance.now`. */
  readonly started_ms: number
  readonly parent: TraceParent | null
  readonly attributes: Attributes
  /** True for a failure of the service; a refusal is not one. */
  readonly failed: boolean
}

export interface Tracer {
  /** Records a request that has ended; returns its trace id. */
  record(request: EndedRequest): string
  /** Sends pending spans, within a time limit. */
  stop(): Promise<void>
}

const STOP_MS = 2_000
const LOSSES_MS = 60_000
const PACKAGES = [
  '@opentelemetry/api',
  '@opentelemetry/sdk-trace-base',
  '@opentelemetry/resources',
  '@opentelemetry/exporter-trace-otlp-http',
] as const

/** Throws OperatorError, with one clear line, if a package is missing. */
export async function openTracer(
  endpoint: string,
  { version, logger }: { readonly version: string; readonly logger: Logger },
): Promise<Tracer> {
  const { api, sdk, resources, otlp } = await loadPackages()
  const exporter = new otlp.OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces` })
  const losses = noteLosses(exporter, logger)
  const named = { 'service.name': 'custos', 'service.version': version }
  const detected = resources.detectResources({ detectors: [resources.envDetector] })
  const provider = new sdk.BasicTracerProvider({
    // The environment (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES) takes precedence.
    resource: resources.resourceFromAttributes(named).merge(detected),
    // No span if the caller does not sample its trace.
    sampler: new sdk.ParentBasedSampler({ root: new sdk.AlwaysOnSampler() }),
    spanProcessors: [new sdk.BatchSpanProcessor(exporter)],
  })
  const tracer = provider.getTracer('custos', version)
  return {
    record({ name, started_ms, parent, attributes, failed }) {
      const around = parent
        ? api.trace.setSpanContext(api.ROOT_CONTEXT, {
            traceId: parent.trace_id,
            spanId: parent.span_id,
            traceFlags: parent.flags,
            isRemote: true,
          })
        : api.ROOT_CONTEXT
      const kind = api.SpanKind.SERVER
      const startTime = performance.timeOrigin + started_ms
      const span = tracer.startSpan(name, { kind, attributes, startTime }, around)
      if (span.isRecording()) losses.note(span)
      if (failed) span.setStatus({ code: api.SpanStatusCode.ERROR })
      span.end(performance.timeOrigin + performance.now())
      return span.spanContext().traceId
    },
    async stop() {
      const late = new Promise<void>((resolve) => setTimeout(resolve, STOP_MS).unref())
      // A failed batch rejects the shutdown; forceFlush then waits for the results of the others.
      const flushed = provider.shutdown().catch(() => exporter.forceFlush())
      await Promise.race([flushed.catch(() => {}), late])
      losses.end()
    },
  }
}

/**
 * Logs, at most once per LOSSES_MS, how many spans the collector rejected and how many the full
 * queue dropped. The queue keeps the order and drops the newest: a span is lost if it ended before
 * one that is exported and was not exported itself.
 */
function noteLosses(exporter: SpanExporter, logger: Logger) {
  const send = exporter.export.bind(exporter)
  const numbers = new WeakMap<object, number>()
  let last_ended = 0
  let last_exported = 0
  let spans_lost = 0
  let again_ms = Number.NEGATIVE_INFINITY
  const countSkipped = (upTo: number, exported: number) => {
    spans_lost += upTo - last_exported - exported
    last_exported = upTo
  }
  const tell = () => {
    if (spans_lost === 0) return
    logger.warn('traces.not_sent', { spans_lost })
    spans_lost = 0
    again_ms = performance.now() + LOSSES_MS
  }
  exporter.export = (spans, ended) => {
    const last = spans.at(-1)
    countSkipped((last && numbers.get(last)) ?? last_exported + spans.length, spans.length)
    send(spans, (result) => {
      // 0 is SUCCESS of @opentelemetry/core.
      if (result.code !== 0) spans_lost += spans.length
      if (performance.now() >= again_ms) tell()
      ended(result)
    })
  }
  return {
    /** Numbers a span. Call it for each span, before it ends. */
    note(span: object): void {
      last_ended += 1
      numbers.set(span, last_ended)
    },
    /** Logs the rest. Call it when nothing is exported any more. */
    end(): void {
      countSkipped(last_ended, 0)
      tell()
    },
  }
}

/** The packages are optional: operators install them only for traces. */
async function loadPackages() {
  try {
    const [api, sdk, resources, otlp] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/sdk-trace-base'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/exporter-trace-otlp-http'),
    ])
    return { api, sdk, resources, otlp }
  } catch {
    throw new OperatorError(
      `OTEL_EXPORTER_OTLP_ENDPOINT needs packages: npm install ${PACKAGES.join(' ')}`,
    )
  }
}

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
