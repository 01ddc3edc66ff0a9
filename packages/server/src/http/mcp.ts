// POST /mcp: the Model Context Protocol. Its tools call operations with the caller's credential.

import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { limits } from '@custos/contract'
import type { FastifyInstance } from 'fastify'
import { loadOnce } from '../platform/concurrency.ts'
import type { Principal } from '../platform/kernel/call.ts'
import type { Kernel } from '../platform/kernel/kernel.ts'
import { formatNamespace } from '../platform/namespace.ts'
import { Refusal } from '../platform/refusal.ts'
import type { RouteMeter } from '../platform/telemetry/metrics.ts'
import { parseTraceParent } from '../platform/telemetry/trace-parent.ts'
import { validationDetail } from '../platform/validation.ts'
import { ANONYMOUS, type Authenticator } from './access/authenticate.ts'
import { sendText } from './answer.ts'
import { requestIds } from './call.ts'
import { readBody } from './read-body.ts'
import { asRefusal, renderRefusal } from './render-refusal.ts'

export const MCP_PATH = '/mcp'

const STORE_HEADER = 'x-custos-store'
const STORE_DEFAULT = 'default'
const CREDENTIALS = ['authorization', 'x-api-key'] as const

/** Query parameters that a client may set in its configured address. */
const CHOICES: readonly string[] = ['store', 'tools', 'namespace']

export class McpRoute {
  readonly #server: FastifyInstance
  readonly #kernel: Kernel
  readonly #authenticator: Authenticator
  /** Loaded by the first request, because most processes serve none. */
  readonly #load = loadOnce(async () => {
    const { serveOverHttp, TOOL_SETS } = await import('@custos/mcp')
    const serving = serveOverHttp(limits.body_bytes)
    this.#close = serving.close
    return { serving, sets: TOOL_SETS }
  })
  #close: () => Promise<void> = async () => {}
  /** Signs confirmations of callers without a credential. */
  readonly #secret: string
  readonly #meter: RouteMeter

  constructor(server: FastifyInstance, kernel: Kernel, authenticator: Authenticator) {
    this.#server = server
    this.#kernel = kernel
    this.#authenticator = authenticator
    this.#secret = kernel.ids.hex(32)
    this.#meter = kernel.metrics.routeMeter({ id: 'mcp', method: 'POST', path: MCP_PATH })
  }

  bind(): void {
    this.#server.route({
      method: 'POST',
      url: MCP_PATH,
      handler: (request, reply) => {
        reply.hijack()
        void this.#serve(request.raw, request.query, reply.raw)
      },
    })
    this.#server.addHook('preClose', () => this.#close())
  }

  async #serve(raw: IncomingMessage, query: unknown, response: ServerResponse): Promise<void> {
    const request_id = requestIds(this.#kernel).of(raw.headers['x-request-id'])
    const trace = { request_id, principal: ANONYMOUS }
    let status = 500
    let error: string | undefined
    const started_ms = performance.now()
    this.#meter.begin()
    try {
      trace.principal = await this.#authenticator.findByKey(raw.headers)
      status = await this.#answer(raw, query, response, trace)
    } catch (thrown) {
      const refusal = asRefusal(thrown, this.#kernel.logger, request_id)
      error = refusal.code
      if (response.headersSent) response.destroy()
      else {
        const rendered = renderRefusal(refusal, request_id)
        status = rendered.status
        sendText(response, status, rendered.headers, rendered.text)
      }
    }
    const { key_id, tenant_id } = trace.principal
    const seconds = (performance.now() - started_ms) / 1_000
    this.#meter.end({ status, seconds, bytes: null })
    const trace_id = parseTraceParent(raw.headers.traceparent)?.trace_id
    this.#kernel.logger.info('request', {
      method: 'POST',
      operation: 'mcp',
      status,
      request_id,
      key_id,
      tenant_id,
      ...(error !== undefined && { error }),
      ...(trace_id !== undefined && { trace_id }),
    })
  }

  /** Returns the status of the answer. */
  async #answer(
    raw: IncomingMessage,
    query: unknown,
    response: ServerResponse,
    { principal, request_id }: { principal: Principal; request_id: string },
  ): Promise<number> {
    if (principal.kind === 'operator') throw new Refusal('tenant_required')
    const { serving, sets } = await this.#load()
    const { store, tools: wanted, namespace } = choicesOf(query, raw.headers)
    const tools = sets.find((set) => set === wanted)
    if (tools === undefined)
      throw validationDetail(['query', 'tools'], `must be one of ${sets.join(', ')}`, 'enum')
    const body = await readBody(raw, limits.body_bytes)
    const { tenant_id, key_id, scopes } = principal
    const own = principal.namespace
    const answer = await serving.serve(requestOf(raw, body, response), {
      store,
      tools,
      tenant_id,
      scopes,
      namespace: own === undefined ? namespace : formatNamespace(tenant_id, own),
      secret: `${key_id}\n${credentialOf(raw.headers) ?? this.#secret}`,
      fetch: this.#fetchAs(raw.headers, request_id),
    })
    await send(response, answer, request_id)
    return answer.status
  }

  /** A fetch that calls operations as this caller in the process, with all checks of a request. */
  #fetchAs(given: IncomingMessage['headers'], request_id: string): typeof fetch {
    return async (input, { method = 'GET', headers, body, signal } = {}) => {
      const { pathname, search } = new URL(String(input))
      const sent = Object.fromEntries(new Headers(headers))
      for (const name of CREDENTIALS) {
        const value = given[name]
        if (typeof value === 'string') sent[name] = value
      }
      sent['x-request-id'] = request_id
      if (typeof given['traceparent'] === 'string') sent['traceparent'] = given['traceparent']
      const reply = await this.#server.inject({
        method: methodOf(method),
        url: `${pathname}${search}`,
        headers: sent,
        ...(typeof body === 'string' ? { payload: body } : {}),
        ...(signal ? { signal } : {}),
      })
      const answered = new Headers()
      for (const [name, value] of Object.entries(reply.headers))
        if (value !== undefined) answered.set(name, String(value))
      const empty = reply.statusCode === 204
      const { statusCode: status } = reply
      return new Response(empty ? null : reply.body, { status, headers: answered })
    }
  }
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

function methodOf(text: string): (typeof METHODS)[number] {
  const method = METHODS.find((one) => one === text)
  assert(method, 'an operation has one of the methods of the contract')
  return method
}

function choicesOf(query: unknown, headers: IncomingMessage['headers']) {
  const given = new Map(Object.entries(Object(query)))
  for (const [name, value] of given)
    if (!CHOICES.includes(name))
      throw validationDetail(['query', name], 'Extra inputs are not permitted', 'extra_forbidden')
    else if (typeof value !== 'string' || value === '')
      throw validationDetail(['query', name], 'Give one value', 'string_type')
  const text = (name: string) => given.get(name)?.toString()
  const header = headers[STORE_HEADER]?.toString()
  const store = text('store') ?? header ?? STORE_DEFAULT
  if (header !== undefined && header !== store)
    throw validationDetail(['header', STORE_HEADER], 'The query names another store', 'value_error')
  return { store, tools: text('tools') ?? 'core', namespace: text('namespace') }
}

/** A secret that the caller has and a model has not: the same in every process of the service. */
function credentialOf(headers: IncomingMessage['headers']): string | undefined {
  return CREDENTIALS.map((name) => headers[name]?.toString()).find(
    (value) => value !== undefined && !/^(bearer)?\s*$/i.test(value),
  )
}

/** The request in the form of the protocol library, without the credential. */
function requestOf(raw: IncomingMessage, body: Buffer, response: ServerResponse): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(raw.headers))
    if (value !== undefined && !CREDENTIALS.some((one) => one === name))
      headers.set(name, String(value))
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const url = `http://127.0.0.1${MCP_PATH}`
  return new Request(url, {
    method: 'POST',
    headers,
    body: new Uint8Array(body),
    signal: gone.signal,
  })
}

async function send(response: ServerResponse, answer: Response, request_id: string): Promise<void> {
  const headers = { 'cache-control': 'no-store', ...Object.fromEntries(answer.headers) }
  response.writeHead(answer.status, {
    ...headers,
    'x-request-id': request_id,
    'x-content-type-options': 'nosniff',
  })
  if (answer.body === null) response.end()
  else await pipeline(Readable.fromWeb(answer.body), response)
}
