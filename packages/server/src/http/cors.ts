// CORS (Fetch standard, section 3.3): which pages of other origins may call, with a bearer
// credential. Cookies are never allowed: nobody's session can be used from another origin.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'

/** What a page may send; a strict list keeps headers that guard sessions out. */
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

/** What a page may read besides the headers that every page may. */
const EXPOSED_HEADERS = [
  'content-disposition',
  'idempotency-replayed',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'www-authenticate',
  'x-request-id',
].join(', ')

/** Seconds; browsers use less, Chromium two hours. */
const PREFLIGHT_SECONDS = '7200'

/**
 * Answers preflights and marks answers for the listed origins. @fastify/cors does not fit: its
 * headers belong to the framework's reply, and operations write to the connection themselves.
 */
export function allowOrigins(server: FastifyInstance, origins: readonly string[]): void {
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
