// One operation on the wire: authenticate, authorize, read, validate, handle, answer, log.

import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type AcceptedReply,
  type EventStreamReply,
  type FileReply,
  type InputOf,
  limits,
  type OperationSpec,
  type PreviewReply,
  REPLY_KIND,
  type RedirectReply,
  type StreamReply,
} from '@custos/contract'
import Type, { type TSchema } from 'typebox'
import { parseJsonBody, refuseSigningKey } from '../platform/input/json-text.ts'
import { compileDropper } from '../platform/input/tolerated-names.ts'
import type { Handler, Principal } from '../platform/kernel/call.ts'
import type { Kernel } from '../platform/kernel/kernel.ts'
import { KeyringError } from '../platform/keys/keyring-error.ts'
import { RawJson } from '../platform/raw-json.ts'
import { Refusal } from '../platform/refusal.ts'
import type { RouteMeter } from '../platform/telemetry/metrics.ts'
import { parseTraceParent, type TraceParent } from '../platform/telemetry/trace-parent.ts'
import { recordSpan } from '../platform/telemetry/tracer.ts'
import { Shape, validationDetail } from '../platform/validation.ts'
import { formatLimits, loadTenant, readMeter, takeRequest } from '../slices/tenants/index.ts'
import { ANONYMOUS, type Authenticator } from './access/authenticate.ts'
import { authorize, pinNamespace } from './access/authorize.ts'
import {
  answerHeaders,
  type Headers,
  JSON_TYPE,
  NO_CONTENT,
  sendEvents,
  sendFile,
  sendNothing,
  sendStream,
  sendText,
} from './answer.ts'
import { HttpCall, type IdempotencyKey, type RequestIds, requestIds } from './call.ts'
import { Coercion, compileDefaults } from './coerce-and-default.ts'
import { allowStream, hasBody, readBody, streamBody } from './read-body.ts'
import { asRefusal, renderPage, renderRefusal } from './render-refusal.ts'

export interface Route {
  readonly operation: OperationSpec
  readonly handler: Handler<OperationSpec>
}

interface ArrivedRequest {
  readonly raw: IncomingMessage
  readonly params: unknown
  readonly query: unknown
}

const NDJSON_TYPE = 'application/x-ndjson'
const SVG_TYPE = 'image/svg+xml'
const TEXT_TYPE = 'text/plain'
const EVENTS_TYPE = 'text/event-stream'
/** A picture opened as a page runs nothing and loads nothing. */
const INERT = { 'content-security-policy': "default-src 'none'; sandbox" }
const IDEMPOTENCY_KEY = /^[\x21-\x7e]+$/
const EMPTY = Buffer.alloc(0)
/** The parameter at the end of the path of a greedy operation. */
export const LAST_PARAMETER = /\{(\w+)\}$/

/** The schema of an operation without a query or a body, which allows no members. */
const NOTHING = Type.Object({}, { additionalProperties: false })

/** Parameters of the query or the path, which it converts, defaults and validates. */
class Parameters {
  readonly #coercion: Coercion
  readonly #fill: ((value: unknown) => void) | null
  readonly #shape: Shape
  readonly #drop: ((value: unknown) => void) | null

  constructor(schema: TSchema, where: string, drop: ((value: unknown) => void) | null = null) {
    this.#coercion = new Coercion(schema, where)
    this.#fill = compileDefaults(schema)
    this.#shape = new Shape(schema, where)
    this.#drop = drop
  }

  parse(given: unknown): Record<string, unknown> {
    const values = this.#coercion.apply(given)
    this.#drop?.(values)
    this.#fill?.(values)
    this.#shape.assert(values)
    return values
  }
}

interface ReceivedBody {
  readonly body: unknown
  /** The bytes of a body, or the SHA-256 of a streamed one. */
  content(): Promise<Uint8Array>
}

/** What is known of a running request, for the log line, the metrics and the span. */
interface Trace {
  readonly request_id: string
  /** The operation's method, or HEAD. */
  readonly method: string | undefined
  readonly started_ms: number
  readonly parent: TraceParent | null
  principal: Principal
  tenant_id: string
  /** The code of the refusal, or null. */
  error: string | null
  /** Bytes of the body that was sent; null for a stream, or before anything is sent. */
  bytes: number | null
  params: unknown
  reply: unknown
}

export class Endpoint {
  readonly #operation: OperationSpec
  readonly #handler: Handler<OperationSpec>
  readonly #kernel: Kernel
  readonly #authenticator: Authenticator
  readonly #requestIds: RequestIds
  readonly #params: Parameters | null
  /** The parameter that matches the rest of the path. */
  readonly #rest: string | null
  readonly #query: Parameters
  readonly #body: Shape
  readonly #dropFromBody: ((value: unknown) => void) | null
  readonly #fillBody: ((value: unknown) => void) | null
  readonly #bodyType: string
  readonly #bodyBytesMax: number
  readonly #streamMs: number
  readonly #meter: RouteMeter
  /** True for probes, which an orchestrator calls every few seconds. */
  readonly #isProbe: boolean

  /** @param streamMs how long a streamed body may take to arrive */
  constructor(
    { operation, handler }: Route,
    kernel: Kernel,
    authenticator: Authenticator,
    streamMs: number,
  ) {
    this.#operation = operation
    this.#handler = handler
    this.#kernel = kernel
    this.#authenticator = authenticator
    this.#requestIds = requestIds(kernel)
    this.#params = operation.params ? new Parameters(operation.params, 'path') : null
    this.#rest = operation.greedy ? (LAST_PARAMETER.exec(operation.path)?.[1] ?? null) : null
    const dropFromQuery = compileDropper(operation.tolerated, 'query')
    this.#query = new Parameters(operation.query ?? NOTHING, 'query', dropFromQuery)
    this.#body = new Shape(operation.body ?? NOTHING, 'body')
    this.#dropFromBody = compileDropper(operation.tolerated, 'body')
    this.#fillBody = compileDefaults(operation.body)
    this.#bodyType = operation.body_type ?? 'application/json'
    this.#streamMs = streamMs
    this.#bodyBytesMax = operation.body_bytes_max ?? limits.body_bytes
    this.#meter = kernel.metrics.routeMeter(operation)
    this.#isProbe = operation.id.startsWith('platform.')
  }

  async serve(arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
    const trace: Trace = {
      request_id: this.#requestIds.of(arrived.raw.headers['x-request-id']),
      method: arrived.raw.method,
      started_ms: performance.now(),
      parent: parseTraceParent(arrived.raw.headers.traceparent),
      principal: ANONYMOUS,
      tenant_id: '',
      error: null,
      bytes: null,
      params: null,
      reply: null,
    }
    this.#meter.begin()
    let status: number = this.#operation.status
    try {
      status = await this.#answer(arrived, response, trace)
    } catch (error) {
      status = this.#refuse(await this.#locate(error, trace), response, trace)
    }
    this.#measure(status, trace)
    this.#log(status, trace)
  }

  /** Returns the status of the answer. */
  async #answer(arrived: ArrivedRequest, response: ServerResponse, trace: Trace): Promise<number> {
    const operation = this.#operation
    const { headers } = arrived.raw
    if (operation.access !== 'public') {
      const found = this.#findCaller(arrived)
      trace.principal = found instanceof Promise ? await found : found
    } else if (operation.same_origin) this.#authenticator.assertOwnPage(headers)
    const params = this.#params?.parse(this.#named(arrived.params)) ?? {}
    trace.params = params
    trace.tenant_id = authorize(operation, trace.principal, params)
    // Without plan limits there is nothing to wait for.
    const limited = this.#kernel.settings.plans !== null
    const rate = limited ? await takeRequest(this.#kernel, trace.principal, operation.id) : null
    const query = this.#query.parse(arrived.query)
    const { body, content } = await this.#readBody(arrived.raw)
    pinNamespace(trace.principal, { query, body })
    const call = new HttpCall({
      kernel: this.#kernel,
      operation,
      request_id: trace.request_id,
      principal: trace.principal,
      tenant_id: trace.tenant_id,
      keyed: keyedBy(operation, trace.principal, headers['idempotency-key'], {
        params,
        query,
        content,
      }),
      headers,
      response,
    })
    // The schemas that type the handler's input have validated it above.
    const input = { params, query, body } as InputOf<OperationSpec>
    const reply: unknown = await this.#handler(call, input)
    trace.reply = reply

    // Reads of an operator do not count as use by the tenant.
    if (!call.wrote && trace.principal.tenant_id !== '')
      readMeter(this.#kernel).count(trace.tenant_id, operation.id)
    const answering = answerHeaders(trace.request_id, operation.reply_type ?? JSON_TYPE)
    Object.assign(answering, rate)
    if (operation.cache_control) answering['cache-control'] = operation.cache_control
    if (call.cookies.length > 0) response.setHeader('set-cookie', call.cookies)
    if (call.replayed) answering['idempotency-replayed'] = 'true'
    if (hasKind(reply)) return this.#sendKind(response, answering, { reply, trace })
    const picture = operation.reply_type === SVG_TYPE
    if (picture) Object.assign(answering, INERT)
    const plain = operation.reply_type === TEXT_TYPE
    if (plain) answering['content-type'] = `${TEXT_TYPE}; charset=utf-8`
    const text = picture || plain ? String(reply) : textOf(reply)
    trace.bytes = sendText(response, operation.status, answering, text)
    return operation.status
  }

  /** A stream may be opened with a ticket instead of a credential. */
  #findCaller({ raw, query }: ArrivedRequest): Principal | Promise<Principal> {
    const given = this.#operation.reply_type === EVENTS_TYPE ? Object(query).ticket : undefined
    if (given === undefined) return this.#authenticator.find(raw.headers, raw.method ?? '')
    const path = (raw.url ?? '').split('?', 1)[0]?.replace(/\/$/, '')
    return this.#authenticator.redeem(String(given), path ?? '', raw.headers)
  }

  async #sendKind(
    response: ServerResponse,
    answering: Headers,
    { reply, trace }: { reply: ReplyOfKind; trace: Trace },
  ): Promise<number> {
    const { status } = this.#operation
    switch (reply[REPLY_KIND]) {
      case 'stream':
        await sendStream(
          response,
          { ...answering, 'content-type': reply.type ?? NDJSON_TYPE },
          reply,
        )
        return status
      case 'events': {
        const { frames, cut } = reply
        if (frames === null) {
          sendNothing(response, answering)
          return NO_CONTENT
        }
        await sendEvents(response, answering, frames, cut)
        return status
      }
      case 'file':
        trace.bytes = sendFile(response, status, answering, reply)
        return status
      case 'accepted':
        trace.bytes = sendText(response, ACCEPTED, answering, JSON.stringify(reply.accepted))
        return ACCEPTED
      case 'redirect':
        answering['location'] = reply.location
        trace.bytes = sendText(response, status, answering, '')
        return status
      case 'preview':
        trace.bytes = sendText(response, OK, answering, JSON.stringify(reply.previewed))
        return OK
    }
  }

  // The router does not name the parameter of a wildcard path.
  #named(params: unknown): unknown {
    const name = this.#rest
    return name === null ? params : { ...Object(params), [name]: Object(params)['*'] }
  }

  async #readBody(raw: IncomingMessage): Promise<ReceivedBody> {
    const announced = hasBody(raw)
    const isRead = this.#operation.method !== 'GET'
    const typed = raw.headers['content-type'] !== undefined && isRead
    if (this.#operation.raw_body) {
      const bytes = await readBody(raw, this.#bodyBytesMax)
      return { body: bytes, content: async () => bytes }
    }
    if (this.#authenticator.isLocal ? announced || typed : announced && isRead)
      this.#assertMediaType(raw)
    if (this.#bodyType === NDJSON_TYPE) return this.#streamedBody(raw)
    const bytes = isRead ? await readBody(raw, this.#bodyBytesMax) : EMPTY
    if (!this.#operation.body) {
      this.#refuseMembers(bytes)
      return { body: undefined, content: async () => EMPTY }
    }
    if (bytes.length === 0 && !this.#operation.body_optional)
      throw validationDetail(['body'], 'Field required', 'missing')
    const body = bytes.length === 0 ? {} : parseJsonBody(bytes)
    refuseSigningKey(body)
    this.#dropFromBody?.(body)
    this.#fillBody?.(body)
    this.#body.assert(body)
    return { body, content: async () => bytes }
  }

  /** Refuses a body with members. An empty body, `null` or `{}` is accepted. */
  #refuseMembers(bytes: Buffer): void {
    const body = bytes.length === 0 ? null : parseJsonBody(bytes)
    if (body !== null) this.#body.assert(body)
  }

  #streamedBody(raw: IncomingMessage): ReceivedBody {
    const keyed = this.#operation.idempotent && raw.headers['idempotency-key'] !== undefined
    const digest = keyed ? createHash('sha256') : null
    allowStream(raw, this.#streamMs)
    const body = streamBody(raw, this.#bodyBytesMax, digest)
    return {
      body,
      async content() {
        // Reads what the handler left. After the end of the body there is nothing to read.
        for await (const _ of body);
        return digest?.digest() ?? EMPTY
      },
    }
  }

  #assertMediaType({ headers }: IncomingMessage): void {
    if (mediaType(headers['content-type']) !== this.#bodyType)
      throw new Refusal('unsupported_media_type', `The body must be ${this.#bodyType}`)
    if ((headers['content-encoding'] ?? 'identity') !== 'identity')
      throw new Refusal('unsupported_media_type', 'The body must not be compressed')
  }

  /** Replaces the error by a refusal with the address if another cluster serves the tenant. */
  async #locate(error: unknown, { tenant_id }: Trace): Promise<unknown> {
    if (!isGone(error) || tenant_id === '') return error
    const moved = await this.#kernel.db.read(tenant_id, loadTenant).catch((reason) => reason)
    return moved instanceof Refusal && moved.code === 'tenant_moved' ? moved : error
  }

  #refuse(error: unknown, response: ServerResponse, trace: Trace): number {
    const { request_id } = trace
    const refusal = asRefusal(error, this.#kernel.logger, request_id)
    trace.error = refusal.code
    // The stream was cut off after its status line, which said 200.
    if (response.headersSent) return 500
    const rendered = renderRefusal(refusal, request_id)
    const { status, headers } = rendered
    const forBrowser = this.#operation.status === 302 && acceptsPage(response.req.headers)
    const text = forBrowser ? renderPage(rendered, request_id) : rendered.text
    trace.bytes = sendText(response, status, headers, text)
    return status
  }

  #measure(status: number, { started_ms, bytes }: Trace): void {
    const stays = this.#operation.reply_type === EVENTS_TYPE && status < 300
    const seconds = stays ? null : (performance.now() - started_ms) / 1_000
    this.#meter.end({ status, seconds, bytes })
  }

  #log(status: number, trace: Trace): void {
    const { request_id, method, started_ms, principal, tenant_id, error, parent } = trace
    const { tracer, logger } = this.#kernel
    const operation = this.#operation
    const trace_id = tracer ? recordSpan(tracer, { ...trace, operation, status }) : parent?.trace_id
    // An unknown tenant id in an operator's request is text of the caller, so it is not logged.
    const known = tenant_id !== '' && status !== 404
    const level = this.#isProbe && status < 400 ? 'debug' : 'info'
    logger[level]('request', {
      method,
      operation: operation.id,
      status,
      ...(error !== null && { error }),
      ms: Math.round((performance.now() - started_ms) * 100) / 100,
      request_id,
      key_id: principal.key_id,
      tenant_id: known ? tenant_id : principal.tenant_id,
      ...(trace_id !== undefined && { trace_id }),
    })
  }
}

const textOf = (reply: unknown): string =>
  reply instanceof RawJson ? reply.text : JSON.stringify(reply)

const acceptsPage = ({ accept = '' }: IncomingMessage['headers']): boolean =>
  accept.includes('text/html')

/** The status of a preview, which changes nothing. */
const OK = 200
/** The status of a request that waits for a person. */
const ACCEPTED = 202

type ReplyOfKind =
  | StreamReply
  | EventStreamReply
  | FileReply
  | RedirectReply
  | AcceptedReply<unknown>
  | PreviewReply<unknown>

const hasKind = (reply: unknown): reply is ReplyOfKind =>
  typeof reply === 'object' && reply !== null && REPLY_KIND in reply

function mediaType(header: string | undefined): string {
  if (header === undefined) return ''
  const end = header.indexOf(';')
  return (end === -1 ? header : header.slice(0, end)).trim().toLowerCase()
}

function keyedBy(
  operation: OperationSpec,
  principal: Principal,
  header: string | string[] | undefined,
  { params, query, content }: { params: unknown; query: unknown; content: ReceivedBody['content'] },
): IdempotencyKey | null {
  if (!operation.idempotent || header === undefined) return null
  const key = String(header)
  if (key.length > limits.idempotency_key_chars || !IDEMPOTENCY_KEY.test(key))
    throw validationDetail(
      ['header', 'idempotency-key'],
      `must be 1 to ${limits.idempotency_key_chars} visible ASCII characters`,
      'string_pattern_mismatch',
    )
  // The same body sent to another store is another request.
  const target = Buffer.from(`${JSON.stringify([params, query])}\n`)
  // A credential must not get an answer that was given to one with other limits. Its id is not
  // included, so that a key that replaces it can repeat its requests.
  const limited = formatLimits(principal)
  const scoped = limited === '' ? key : `${key}\n${limited}`
  return { key: scoped, content: async () => Buffer.concat([target, await content()]) }
}

/** Keys of a moved tenant are destroyed here, like those of an off-boarded one. */
const isGone = (error: unknown): boolean =>
  (error instanceof Refusal || error instanceof KeyringError) &&
  (error.code === 'tenant_moved' || error.code === 'tenant_destroyed')
