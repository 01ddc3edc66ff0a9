// Builds the HTTP server from the contract: Fastify routes and carries, nothing more.

import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Kernel } from '../platform/kernel.ts'
import { Refusal } from '../platform/refusal.ts'
import { flushReadMeter, readMeter } from '../slices/tenants/index.ts'
import { Authenticator, type AuthOptions } from './authenticate.ts'
import { Endpoint, type Route } from './endpoint.ts'
import { type Asset, loadExplorer, PUBLIC_PATHS, sendAsset } from './explorer.ts'
import { buildOpenapi } from './openapi.ts'
import { answerClientError, KnownPaths, refusalOfFramework, sendUnrouted } from './unrouted.ts'

export interface ServerOptions extends AuthOptions {
  readonly kernel: Kernel
  readonly routes: readonly Route[]
}

const HEADERS_TIMEOUT_MS = 60_000
// The largest import over a slow line; nothing else comes near it.
const REQUEST_TIMEOUT_MS = 3_600_000
const PARAM_CHARS_MAX = 8_192

/** The server, ready to listen. Closing it flushes the read counters. */
export async function buildServer(options: ServerOptions): Promise<FastifyInstance> {
  const { kernel, routes } = options
  const server = createFastify(kernel)
  carryBodies(server)
  const authenticator = new Authenticator(kernel, options)
  for (const route of routes) bindRoute(server, new Endpoint(route, kernel, authenticator), route)
  await bindAssets(server, routes, kernel)
  bindUnrouted(server, routes, kernel)
  readMeter(kernel).start()
  server.addHook('onClose', () => flushReadMeter(kernel))
  await server.ready()
  return server
}

function createFastify(kernel: Kernel): FastifyInstance {
  const server = Fastify({
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: REQUEST_TIMEOUT_MS,
    genReqId: () => '',
    // Node would answer with an empty body.
    http: { requireHostHeader: false },
    routerOptions: {
      ignoreTrailingSlash: true,
      maxParamLength: PARAM_CHARS_MAX,
    },
    frameworkErrors: (error, request, reply) => {
      reply.hijack()
      sendUnrouted(kernel, request.raw, reply.raw, refusalOfFramework(error))
    },
    clientErrorHandler: answerClientError,
  })
  server.server.headersTimeout = HEADERS_TIMEOUT_MS
  server.addHook('onRequest', ({ raw }, reply, done) => {
    if (raw.headers.host !== undefined || raw.httpVersion === '1.0') return done()
    reply.hijack()
    const refusal = new Refusal('bad_request', 'A request must name its host (RFC 9112, 3.2)')
    sendUnrouted(kernel, raw, reply.raw, refusal)
  })
  return server
}

// Bodies stay on the connection until the caller is known: the endpoint reads them.
function carryBodies(server: FastifyInstance): void {
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', (_request, _payload, done) => done(null))
}

function bindRoute(server: FastifyInstance, endpoint: Endpoint, { operation }: Route): void {
  server.route({
    method: operation.method,
    url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    handler(request, reply) {
      reply.hijack()
      void endpoint.serve(request, reply.raw)
    },
  })
}

async function bindAssets(
  server: FastifyInstance,
  routes: readonly Route[],
  kernel: Kernel,
): Promise<void> {
  const operations = routes.map(({ operation }) => operation)
  const document = buildOpenapi(operations, kernel.settings.version)
  const openapi: Asset = {
    path: PUBLIC_PATHS.openapi,
    type: 'application/json; charset=utf-8',
    content: Buffer.from(JSON.stringify(document)),
  }
  for (const asset of [openapi, ...(await loadExplorer())]) {
    server.get(asset.path, (_request, reply) => {
      reply.hijack()
      sendAsset(reply.raw, asset)
    })
  }
}

function bindUnrouted(server: FastifyInstance, routes: readonly Route[], kernel: Kernel): void {
  const assets = Object.values(PUBLIC_PATHS).map((path) => ({ method: 'GET' as const, path }))
  const known = new KnownPaths([...routes.map(({ operation }) => operation), ...assets])
  server.setNotFoundHandler((request: FastifyRequest, reply: FastifyReply) => {
    reply.hijack()
    sendUnrouted(kernel, request.raw, reply.raw, known.refusalFor(request.url))
  })
  server.setErrorHandler((error: { statusCode?: number }, request, reply) => {
    reply.hijack()
    sendUnrouted(kernel, request.raw, reply.raw, refusalOfFramework(error))
  })
}
