// Builds the HTTP server from the contract. Fastify only routes and transports.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { scopeCovers } from '@custos/contract'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Principal } from '../platform/kernel/call.ts'
import type { Kernel } from '../platform/kernel/kernel.ts'
import { Refusal } from '../platform/refusal.ts'
import { renderMetrics } from '../slices/monitoring/index.ts'
import { flushReadMeter, readMeter } from '../slices/tenants/index.ts'
import { ANONYMOUS, Authenticator, type AuthOptions } from './access/authenticate.ts'
import { answerHeaders, sendText } from './answer.ts'
import {
  type Asset,
  bindConsole,
  CONSOLE_ROUTES,
  errorPages,
  loadConsole,
  loadExplorer,
  loadVerifyPage,
  PUBLIC_PATHS,
  sendAsset,
  startPage,
} from './assets.ts'
import { requestIds } from './call.ts'
import { Endpoint, LAST_PARAMETER, type Route } from './endpoint.ts'
import { MCP_PATH, McpRoute } from './mcp.ts'
import { buildOpenapi } from './openapi/openapi.ts'
import { listenOn } from './placeholder-server.ts'
import {
  answerClientError,
  asRefusal,
  KnownPaths,
  refusalOfFramework,
  renderRefusal,
  sendUnrouted,
  servedMethods,
} from './render-refusal.ts'

interface ServerOptions extends AuthOptions {
  readonly kernel: Kernel
  readonly routes: readonly Route[]
  readonly patience?: RequestDeadlines
  readonly metrics: MetricsOptions
}

/** How long a request may take to arrive, in milliseconds; an answer may take any time. */
export interface RequestDeadlines {
  /** Headers and body of any request. */
  readonly requestMs: number
  /** A streamed body, read as it arrives: allows the largest import over a slow line. */
  readonly streamMs: number
  /** Interval of the search for late requests. */
  readonly checkMs: number
}

const PATIENCE: RequestDeadlines = { requestMs: 60_000, streamMs: 3_600_000, checkMs: 10_000 }
/** Longer than any parameter: the headers and the URL of a request have 16 KiB in all. */
const PARAM_CHARS_MAX = 16_384

/**
 * `server` is ready to listen; closing it flushes the read counters. `metrics_url` null: metrics
 * have no address of their own.
 */
export async function buildServer(
  options: ServerOptions,
): Promise<{ readonly server: FastifyInstance; readonly metrics_url: string | null }> {
  const { kernel, routes, patience = PATIENCE, metrics } = options
  const server = createFastify(kernel, patience)
  closeAtStop(server)
  allowOrigins(server, options.cors_origins)
  carryBodies(server)
  const authenticator = new Authenticator(kernel, options)
  for (const route of routes) {
    const endpoint = new Endpoint(route, kernel, authenticator, patience.streamMs)
    bindRoute(server, endpoint, route)
  }
  const assets = await loadAssets(routes, kernel)
  for (const asset of assets) bindAsset(server, asset)
  const console = kernel.settings.pages ? CONSOLE_ROUTES : []
  if (kernel.settings.pages) bindConsole(server, await loadConsole(), servedMethods('GET'))
  new McpRoute(server, kernel, authenticator).bind()
  const measured = new MetricsRoute(kernel, authenticator, metrics)
  const reached: ConstructorParameters<typeof KnownPaths>[0][number][] = [
    { method: 'POST', path: MCP_PATH },
    ...assets,
    ...console,
  ]
  const own = metrics.address && (await measured.listen(metrics.address))
  if (own) server.addHook('onClose', own.close)
  else {
    measured.bind(server)
    reached.push({ path: METRICS_PATH })
  }
  bindUnrouted(server, [...routes.map(({ operation }) => operation), ...reached], kernel)
  readMeter(kernel).start()
  server.addHook('onClose', () => flushReadMeter(kernel))
  await server.ready()
  return { server, metrics_url: own ? own.url : null }
}

function noSchemas(): never {
  throw new Error('no route has a schema of the framework')
}

function createFastify(kernel: Kernel, patience: RequestDeadlines): FastifyInstance {
  const server = Fastify({
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: patience.requestMs,
    genReqId: () => '',
    // Operations validate their input; the framework's compilers would take 5 % of the start.
    schemaController: {
      compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas },
    },
    // Node would answer with an empty body.
    http: { requireHostHeader: false, connectionsCheckingInterval: patience.checkMs },
    routerOptions: {
      ignoreTrailingSlash: true,
      maxParamLength: PARAM_CHARS_MAX,
    },
    frameworkErrors: (error, request, reply) => {
      reply.hijack()
      sendUnrouted(kernel, request.raw, reply.raw, refusalOfFramework(error))
    },
    clientErrorHandler: (error, socket) => answerClientError(kernel, error, socket),
  })
  server.server.headersTimeout = patience.requestMs
  server.addHook('onRequest', ({ raw }, reply, done) => {
    const problem = explainHeaders(raw)
    if (problem === null) return done()
    reply.hijack()
    sendUnrouted(kernel, raw, reply.raw, new Refusal('bad_request', problem))
  })
  return server
}

/**
 * At a stop, closes connections that have sent no request (browsers open them in advance) and each
 * of the others with its answer. Node closes only those that are idle when the stop begins: it
 * would wait a minute for the first request of the former, and for the next request of a proxy that
 * now uses another server.
 */
function closeAtStop(server: FastifyInstance): void {
  const unused = new Set<Socket>()
  const answers = new Set<ServerResponse>()
  let stopping = false
  server.server.on('connection', (socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  server.server.on('request', ({ socket }, answer) => {
    unused.delete(socket)
    if (stopping) return closeAfter(answer)
    answers.add(answer)
    answer.once('close', () => answers.delete(answer))
  })
  server.addHook('preClose', async () => {
    stopping = true
    for (const socket of unused) socket.destroy()
    // The newest of pipelined requests is answered last.
    const newest = new Map([...answers].map((answer) => [answer.req.socket, answer]))
    for (const answer of newest.values()) closeAfter(answer)
  })
}

function closeAfter(answer: ServerResponse): void {
  if (!answer.headersSent) answer.setHeader('connection', 'close')
  else if (answer.writableFinished) answer.req.socket.destroySoon()
  else answer.once('finish', () => answer.req.socket.destroySoon())
}

/** Node keeps the first of several hosts or credentials, but a proxy may have used another one. */
function explainHeaders({ rawHeaders, httpVersion }: IncomingMessage): string | null {
  let [hosts, credentials] = [0, 0]
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
    if (name.length === 13 && name.toLowerCase() === 'authorization') credentials += 1
  }
  if (hosts !== 1 && (hosts > 1 || httpVersion !== '1.0'))
    return 'A request must name one host (RFC 9112, 3.2)'
  return credentials > 1 ? 'A request must have one header Authorization' : null
}

// Bodies stay on the connection until the caller is known; the endpoint reads them.
function carryBodies(server: FastifyInstance): void {
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', (_request, _payload, done) => done(null))
}

function bindRoute(server: FastifyInstance, endpoint: Endpoint, { operation }: Route): void {
  server.route({
    method: servedMethods(operation.method, operation.once),
    url: urlOf(operation),
    handler(request, reply) {
      reply.hijack()
      void endpoint.serve(request, reply.raw)
    },
  })
}

function urlOf({ path, greedy }: { path: string; greedy?: boolean }): string {
  const url = greedy ? path.replace(LAST_PARAMETER, '*') : path
  // A parameter before a suffix would not match a line end or an encoded slash by default.
  return url.replaceAll(/\{(\w+)\}(?=\.)/g, ':$1([\\s\\S]+)').replaceAll(/\{(\w+)\}/g, ':$1')
}

/** Assets served without a credential, besides the public operations. */
async function loadAssets(routes: readonly Route[], kernel: Kernel): Promise<Asset[]> {
  const operations = routes.map(({ operation }) => operation)
  let document: Buffer | undefined
  const openapi: Asset = {
    path: PUBLIC_PATHS.openapi,
    type: 'application/json; charset=utf-8',
    // Built on the first request, because most processes never serve it.
    get content() {
      document ??= Buffer.from(JSON.stringify(buildOpenapi(operations, kernel.settings.version)))
      return document
    },
  }
  const pages = kernel.settings.pages ? [await loadVerifyPage()] : []
  const explorer = await loadExplorer()
  return [startPage(kernel.settings), openapi, ...explorer, ...pages, ...errorPages()]
}

function bindAsset(server: FastifyInstance, asset: Asset): void {
  server.route({
    method: servedMethods('GET'),
    url: asset.path,
    handler(_request, reply) {
      reply.hijack()
      sendAsset(reply.raw, asset)
    },
  })
}

function bindUnrouted(
  server: FastifyInstance,
  reached: ConstructorParameters<typeof KnownPaths>[0],
  kernel: Kernel,
): void {
  const known = new KnownPaths(reached)
  for (const { method, ...template } of known.shadowed())
    server.route({
      method,
      url: urlOf(template),
      handler(request, reply) {
        reply.hijack()
        sendUnrouted(kernel, request.raw, reply.raw, known.refusalFor(request.method, request.url))
      },
    })
  server.setNotFoundHandler((request: FastifyRequest, reply: FastifyReply) => {
    reply.hijack()
    sendUnrouted(kernel, request.raw, reply.raw, known.refusalFor(request.method, request.url))
  })
  server.setErrorHandler((error: { statusCode?: number }, request, reply) => {
    reply.hijack()
    // The framework validates some methods before it knows that they are not served.
    const isServed = known.methodsOf(request.url).includes(request.method)
    const refusal = isServed
      ? refusalOfFramework(error)
      : known.refusalFor(request.method, request.url)
    sendUnrouted(kernel, request.raw, reply.raw, refusal)
  })
}

/** Headers that a page may send; a strict list excludes headers that protect sessions. */
const REQUEST_HEADERS = [
  'authorization',
  'content-type',
  'idempotency-key',
  'last-event-id',
  'mcp-protocol-version',
  'traceparent',
  'tracestate',
  'x-custos-store',
  'x-request-id',
].join(', ')

/** Headers that a page may read, besides those that every page may. */
const EXPOSED_HEADERS = [
  'content-disposition',
  'idempotency-replayed',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'www-authenticate',
  'x-request-id',
].join(', ')

/** Seconds; browsers use less: Chromium two hours. */
const PREFLIGHT_SECONDS = '7200'

/**
 * Answers preflights and adds headers for the listed origins. @fastify/cors does not fit: it sets
 * headers on the framework's reply, while operations write to the connection themselves.
 */
function allowOrigins(server: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return
  const allowed = new Set(origins)
  server.addHook('onRequest', ({ raw }, reply, done) => {
    const { origin } = raw.headers
    reply.raw.setHeader('vary', 'origin')
    if (origin === undefined || !allowed.has(origin)) return done()
    reply.raw.setHeader('access-control-allow-origin', origin)
    reply.raw.setHeader('access-control-expose-headers', EXPOSED_HEADERS)
    if (!isPreflight(raw)) return done()
    reply.hijack()
    answerPreflight(reply.raw)
  })
}

const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined

function answerPreflight(response: ServerResponse): void {
  response.removeHeader('access-control-expose-headers')
  response.writeHead(204, {
    'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
    'access-control-allow-headers': REQUEST_HEADERS,
    'access-control-max-age': PREFLIGHT_SECONDS,
  })
  response.end()
}

const METRICS_PATH = '/metrics'

interface MetricsOptions {
  /** A separate address; null if metrics are served with everything else. */
  readonly address: { readonly host: string; readonly port: number } | null
  /** Whether metrics need no credential. */
  readonly open: boolean
  readonly epoch_seconds: number
}

class MetricsRoute {
  readonly #kernel: Kernel
  readonly #authenticator: Authenticator
  readonly #options: MetricsOptions
  readonly #meter

  constructor(kernel: Kernel, authenticator: Authenticator, options: MetricsOptions) {
    this.#kernel = kernel
    this.#authenticator = authenticator
    this.#options = options
    const route = { id: 'metrics', method: 'GET', path: METRICS_PATH } as const
    this.#meter = kernel.metrics.routeMeter(route)
  }

  bind(server: FastifyInstance): void {
    server.route({
      method: servedMethods('GET'),
      url: METRICS_PATH,
      handler: (request, reply) => {
        reply.hijack()
        void this.#serve(request.raw, reply.raw)
      },
    })
  }

  /** Starts a separate server that serves only metrics. */
  async listen({ host, port }: { host: string; port: number }) {
    const server = createServer((request, response) => {
      const path = (request.url ?? '').split('?', 1)[0]
      const known = path === METRICS_PATH
      if (known && servedMethods('GET').includes(request.method ?? ''))
        return void this.#serve(request, response)
      const refusal = known
        ? new Refusal('method_not_allowed', undefined, { headers: { allow: 'GET, HEAD' } })
        : new Refusal('route_not_found')
      sendUnrouted(this.#kernel, request, response, refusal)
    })
    const { port: bound, close } = await listenOn(server, { host, port })
    const name = host.includes(':') ? `[${host}]` : host
    return { url: `http://${name}:${bound}${METRICS_PATH}`, close }
  }

  async #serve(raw: IncomingMessage, response: ServerResponse): Promise<void> {
    const request_id = requestIds(this.#kernel).of(raw.headers['x-request-id'])
    const started_ms = performance.now()
    this.#meter.begin()
    let principal = ANONYMOUS
    let status = 200
    let error: string | null = null
    try {
      if (!this.#options.open) {
        principal = await this.#authenticator.findByKey(raw.headers)
        assertOperator(principal)
      }
      const text = await renderMetrics(this.#kernel, this.#options.epoch_seconds)
      const { type } = this.#kernel.metrics
      sendText(response, status, answerHeaders(request_id, type), text)
    } catch (thrown) {
      const refusal = asRefusal(thrown, this.#kernel.logger, request_id)
      const rendered = renderRefusal(refusal, request_id)
      status = rendered.status
      error = refusal.code
      sendText(response, status, rendered.headers, rendered.text)
    }
    const seconds = (performance.now() - started_ms) / 1_000
    this.#meter.end({ status, seconds, bytes: null })
    const { key_id } = principal
    const fields = { method: raw.method, operation: 'metrics', status, error: error ?? undefined }
    const { logger } = this.#kernel
    if (error === null) logger.debug('request', { ...fields, request_id, key_id })
    else logger.info('request', { ...fields, request_id, key_id })
  }
}

function assertOperator({ kind, scopes }: Principal): void {
  if (kind !== 'operator') throw new Refusal('operator_required')
  if (!scopeCovers(scopes, 'admin:platform')) throw new Refusal('scope_missing')
}
