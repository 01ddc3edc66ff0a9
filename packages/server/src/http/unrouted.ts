// Answers requests that reach no operation: unknown paths, methods, bad URLs, broken HTTP.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { OperationSpec, RefusalCode } from '@custos/contract'
import { type Kernel, perKernel } from '../platform/kernel/kernel.ts'
import { Refusal } from '../platform/refusal.ts'
import { parseTraceParent } from '../platform/telemetry/trace-parent.ts'
import { sendText } from './answer.ts'
import { errorPath } from './assets.ts'
import { isStreaming } from './read-body.ts'
import { renderRefusal } from './render-refusal.ts'
import { requestIds } from './request-id.ts'

/**
 * The methods that reach an operation: HEAD works wherever GET does (RFC 9110, 9.3.2), unless the
 * GET uses something up.
 */
export const servedMethods = (method: OperationSpec['method'], once = false) =>
  method === 'GET' && !once ? ['GET', 'HEAD'] : [method]

/** A path of the service, with parameters, and the methods that it supports. */
interface Template {
  readonly path: string
  readonly greedy: boolean
  readonly pattern: RegExp
  readonly methods: readonly string[]
}

const NO_SAML =
  'SAML is not offered: docs/sso.md describes a bridge that is an OpenID provider towards Custos'

/** Finds the methods of a path, for 405 and its Allow header. */
export class KnownPaths {
  /** More specific templates first: if several match, the router uses the first. */
  readonly #templates: readonly Template[]

  /** @param reached operations, and pages, which support GET */
  constructor(
    reached: readonly {
      readonly method?: OperationSpec['method']
      readonly path: string
      readonly greedy?: boolean
      readonly once?: boolean
    }[],
  ) {
    const shapeOf = ({ path }: { path: string }) => path.replaceAll(/\{\w+\}/g, '{}')
    this.#templates = [...Map.groupBy(reached, shapeOf).values()]
      .map((same): Template => {
        const [{ path = '', greedy = false } = {}] = same
        const methods = new Set(
          same.flatMap(({ method = 'GET', once }) => servedMethods(method, once)),
        )
        return { path, greedy, pattern: patternOf(path, greedy), methods: [...methods].sort() }
      })
      .sort((one, other) => (rankOf(one) < rankOf(other) ? -1 : 1))
  }

  methodsOf(url: string): readonly string[] {
    const path = decodePath(url.split(/[?#]/, 1)[0] ?? '')
    return this.#templates.find(({ pattern }) => pattern.test(path))?.methods ?? []
  }

  refusalFor(method: string, url: string): Refusal {
    const allowed = this.methodsOf(url)
    if (/^\/v1\/portal\/sso\/saml(\/|$|\?)/.test(url))
      return new Refusal('route_not_found', NO_SAML)
    if (allowed.length === 0 || allowed.includes(method)) return new Refusal('route_not_found')
    const headers = { allow: allowed.join(', ') }
    return new Refusal('method_not_allowed', undefined, { headers })
  }

  /**
   * Methods that a path lacks but that the router would find at a less specific path, such as
   * DELETE of `/v1/reports/stats` at `/v1/reports/{report_id}`.
   */
  shadowed(): { path: string; greedy: boolean; method: string }[] {
    const wide = this.#templates.filter(({ path }) => path.includes('{'))
    return this.#templates.flatMap(({ path, greedy, methods }) => {
      const found = wide.filter(({ pattern }) => pattern.test(path)).flatMap((one) => one.methods)
      return [...new Set(found)]
        .filter((method) => !methods.includes(method))
        .map((method) => ({ path, greedy, method }))
    })
  }
}

function patternOf(path: string, greedy: boolean): RegExp {
  const whole = escapeText(path).replaceAll(/\\\{\w+\\\}/g, '[^/]+')
  return new RegExp(`^${greedy ? whole.replace(/\[\^\/\]\+$/, '.+') : whole}/?$`)
}

/** Sort key, segment by segment: fixed text, then a parameter, then the rest of a path. */
const rankOf = ({ path, greedy }: Template): string =>
  path
    .split('/')
    .map((segment) => (segment.includes('{') ? 'p' : 'a'))
    .join('')
    .replace(/p$/, greedy ? 'z' : 'p')

/** Decodes as the router does. Text that cannot be decoded never gets here. */
function decodePath(path: string): string {
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}

const escapeText = (path: string): string => path.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** One meter for all unrouted requests: an unknown path or method must not become a label. */
const unroutedMeter = perKernel((kernel) =>
  kernel.metrics.routeMeter({ id: 'none', method: 'GET', path: 'none' }),
)

/** Sends a refusal outside an operation. Does not log the path, which may contain anything. */
export function sendUnrouted(
  kernel: Kernel,
  { method = '', headers }: IncomingMessage,
  response: ServerResponse,
  refusal: Refusal,
): void {
  const request_id = requestIds(kernel).of(headers['x-request-id'])
  const rendered = renderRefusal(refusal, request_id)
  unroutedMeter(kernel).begin()
  const { status } = rendered
  const bytes = sendText(response, status, rendered.headers, rendered.text)
  unroutedMeter(kernel).end({ status, seconds: null, bytes })
  const trace_id = parseTraceParent(headers.traceparent)?.trace_id
  const fields = { method, operation: 'none', status, error: refusal.code, request_id }
  kernel.logger.info('request', trace_id === undefined ? fields : { ...fields, trace_id })
}

/** Converts errors of the framework to our refusals. */
export function refusalOfFramework(error: { statusCode?: number | undefined }): Refusal {
  const codes: Readonly<Record<number, RefusalCode>> = {
    404: 'route_not_found',
    413: 'body_too_large',
    415: 'unsupported_media_type',
  }
  const code = codes[error.statusCode ?? 0] ?? 'bad_request'
  return new Refusal(code)
}

const CLIENT_ERRORS: Readonly<Record<string, readonly [status: number, reason: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
}

/** Answers what could not be parsed as HTTP, if the socket is still writable. */
export function answerClientError(kernel: Kernel, error: { code?: string }, socket: Socket): void {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && isStreaming(socket)) return
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, reason] = CLIENT_ERRORS[error.code ?? ''] ?? [400, 'Bad Request']
  const request_id = requestIds(kernel).of(undefined)
  const body = JSON.stringify({
    type: errorPath('bad_request'),
    title: reason,
    status,
    detail: 'The request could not be read as HTTP',
    error: 'bad_request',
    request_id,
  })
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    'content-type: application/problem+json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${request_id}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  unroutedMeter(kernel).begin()
  unroutedMeter(kernel).end({ status, seconds: null, bytes: Buffer.byteLength(body) })
  kernel.logger.info('request', { operation: 'none', status, error: 'bad_request', request_id })
}
