// Turns what ended a request into its answer: problem+json (RFC 9457) or the validation list; also
// of requests that reach no operation: unknown paths, methods, bad URLs, broken HTTP.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type OperationSpec, type RefusalCode, refusals } from '@custos/contract'
import { type Kernel, perKernel } from '../platform/kernel/kernel.ts'
import { KeyringError } from '../platform/keys/keyring-error.ts'
import { SealError } from '../platform/keys/seal.ts'
import { Refusal } from '../platform/refusal.ts'
import { refusalOfStorage, storageFault } from '../platform/storage-fault.ts'
import { describeError, type Logger } from '../platform/telemetry/logger.ts'
import { parseTraceParent } from '../platform/telemetry/trace-parent.ts'
import { answerHeaders, type Headers, JSON_TYPE, PROBLEM_TYPE, sendText } from './answer.ts'
import { errorPath } from './assets.ts'
import { requestIds } from './call.ts'
import { isStreaming } from './read-body.ts'

interface RefusalReply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

const DAMAGED =
  'stored data or a stored key is damaged and does not open: run custos fsck, which names it'

/** Whether stored bits (a sealed row, its secret or a wrapped key) have changed. */
const isDamage = (error: unknown): boolean =>
  error instanceof SealError || (error instanceof KeyringError && error.code === 'keyring_damaged')

/** Converts an error to a refusal. Unexpected errors are logged and reveal nothing. */
export function asRefusal(error: unknown, logger: Logger, request_id: string): Refusal {
  if (error instanceof Refusal) return error
  if (error instanceof KeyringError && error.code === 'no_signing_key')
    return new Refusal('no_signing_key', undefined, { retry_after_s: 60 })
  if (error instanceof KeyringError && error.code === 'tenant_destroyed')
    return new Refusal('tenant_destroyed')
  if (error instanceof KeyringError && error.code === 'keyring_unavailable') {
    logger.warn('keyring.unavailable', { request_id, reason: error.message })
    return new Refusal('unavailable', undefined, { retry_after_s: 5 })
  }
  // Other processes were restarted with a new master key, and this one was not.
  if (error instanceof KeyringError && error.code === 'wrong_master_key') {
    logger.error('keyring.wrong_master_key', { request_id })
    return new Refusal('unavailable', undefined, { retry_after_s: 5 })
  }
  // The key was rotated during the request; a retry is signed with the new key.
  if (error instanceof KeyringError && error.code === 'signing_key_retired')
    return new Refusal('unavailable', undefined, { retry_after_s: 1 })
  if (isDamage(error)) {
    const reason = error instanceof Error ? error.message : undefined
    logger.error('storage.damaged', { request_id, reason, ...describeError(error) })
    return new Refusal('unavailable', DAMAGED)
  }
  const fault = storageFault(error)
  if (fault !== null) {
    logger.error('storage.fault', { request_id, fault, ...describeError(error) })
    return refusalOfStorage(fault)
  }
  logger.error('request.failed', { request_id, ...describeError(error) })
  return new Refusal('internal', 'The request failed; the log has the reason under this id')
}

export function renderRefusal(refusal: Refusal, request_id: string): RefusalReply {
  const { code, extras, status } = refusal
  const list = isValidation(refusal)
  const headers = answerHeaders(request_id, list ? JSON_TYPE : PROBLEM_TYPE)
  if (status === 401) headers['www-authenticate'] = 'Bearer realm="custos"'
  if (extras.retry_after_s !== undefined)
    headers['retry-after'] = Math.max(1, Math.ceil(extras.retry_after_s))
  Object.assign(headers, extras.headers)
  const body = list
    ? { detail: detailList(refusal), error: code, request_id }
    : {
        ...extras.members,
        type: errorPath(code),
        title: refusals[code].title,
        status,
        detail: extras.detail ?? refusal.message,
        error: code,
        request_id,
      }
  return { status, headers, text: JSON.stringify(body) }
}

/**
 * The error page for a browser that was redirected here. It is the same for every reason, so that
 * it does not reveal whom the tenant knows.
 */
export function renderPage({ headers }: RefusalReply, request_id: string): RefusalReply['text'] {
  Object.assign(headers, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  })
  return [
    '<!doctype html><html lang="en"><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width"><title>Not signed in</title>',
    '<main><h1>You are not signed in</h1>',
    '<p>The sign-in was not completed. Begin again, or ask an administrator of your tenant, who ',
    'finds the reason on the audit log.</p>',
    '<p><a href="/console">Sign in</a></p>',
    `<p>Request <code>${request_id}</code></p></main></html>`,
  ].join('')
}

const isValidation = ({ code }: Refusal): boolean =>
  code === 'validation' || code === 'malformed_json'

function detailList({ extras, message }: Refusal): unknown {
  if (Array.isArray(extras.detail)) return extras.detail
  return [{ loc: ['body'], msg: message, type: 'value_error' }]
}

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
