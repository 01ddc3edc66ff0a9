// Calls a running service over HTTP; an error answer becomes a one-line CommandError.

import { CLIENT_SETTINGS, readClientEnvironment, settingsHelp } from '@custos/server'
import { CommandError, UsageError } from './command.ts'

export const CLIENT_OPTIONS = { url: { type: 'string' } } as const

export const CLIENT_HELP = settingsHelp(CLIENT_SETTINGS)

interface ClientRequest {
  readonly method?: string
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent unchanged with the content type `type`. */
  readonly stream?: ReadableStream<Uint8Array>
  readonly type?: string
}

export interface ServiceClient {
  readonly url: string
  /** A 2xx answer with its body unread. Throws CommandError for any other answer. */
  send(path: string, request?: ClientRequest): Promise<Response>
  /** The parsed body, in the shape that the caller expects from the contract. */
  json<T>(path: string, request?: ClientRequest): Promise<T>
}

/** @param role whose key is used: the operator's or a tenant's */
export function openClient(
  options: { url?: string | undefined; key?: string },
  role: keyof typeof KEY_ADVICE,
): ServiceClient {
  const env = readClientEnvironment()
  const url = baseUrl(options.url ?? env.CUSTOS_URL ?? 'http://127.0.0.1:8420')
  const key = options.key ?? (role === 'operator' ? env.CUSTOS_OPERATOR_KEY : env.CUSTOS_API_KEY)
  if (role === 'operator' && key === undefined)
    throw new UsageError('set CUSTOS_OPERATOR_KEY to the operator credential of the service')
  const send = (path: string, request: ClientRequest = {}) =>
    sendRequest(`${url}${path}`, { key, role }, request)
  return {
    url,
    send,
    async json<T>(path: string, request?: ClientRequest) {
      // The contract of the operation states this shape.
      return (await (await send(path, request)).json()) as T
    },
  }
}

export function baseUrl(text: string): string {
  const parsed = URL.canParse(text) ? new URL(text) : null
  if (parsed && ['http:', 'https:'].includes(parsed.protocol)) return text.replace(/\/+$/, '')
  throw new UsageError('the address of the service must be an http or https URL')
}

async function sendRequest(
  url: string,
  { key, role }: { key: string | undefined; role: keyof typeof KEY_ADVICE },
  { method = 'GET', json, stream, type = 'application/json' }: ClientRequest,
): Promise<Response> {
  const body = stream ?? (json === undefined ? undefined : JSON.stringify(json))
  const response = await fetchOrFail(url, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': type }),
    },
    ...(body === undefined ? {} : { body, duplex: 'half' }),
  })
  if (response.ok) return response
  const line = await refusalLine(response)
  throw new CommandError(response.status === 401 ? `${line}: ${KEY_ADVICE[role]}` : line)
}

const KEY_ADVICE = {
  operator: 'set CUSTOS_OPERATOR_KEY to the operator key that the service was started with',
  tenant: 'set CUSTOS_API_KEY to a key of a tenant of this service (custos tenant create)',
} as const

async function fetchOrFail(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (error) {
    const { origin } = new URL(url)
    throw new CommandError(`no answer from ${origin}: ${reasonOf(error)}`)
  }
}

// The message of fetch is "fetch failed"; the reason is in its cause.
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown reason'
  const cause: unknown = error.cause
  if (cause instanceof Error) return cause.message || ('code' in cause ? String(cause.code) : '')
  return error.message
}

async function refusalLine(response: Response): Promise<string> {
  const text = await response.text()
  return `${response.status} ${detailOf(text) ?? response.statusText}`
}

function detailOf(text: string): string | undefined {
  try {
    const { detail, title } = JSON.parse(text)
    if (typeof detail === 'string') return detail
    if (!Array.isArray(detail)) return title
    return detail.map(({ loc, msg }) => `${[loc].flat().join('.')}: ${msg}`).join('; ')
  } catch {
    return undefined
  }
}
