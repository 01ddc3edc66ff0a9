// The one HTTP request of a tool. Its host is fixed, and a model fills only declared parameters.

import type { Json, JsonObject } from '@custos/proof'
import type { Kernel } from '../../platform/kernel/kernel.ts'

export interface HttpTarget {
  readonly method: 'GET' | 'POST'
  /** May contain `{name}` placeholders for arguments in its path and query. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * The result of a call. `refs`: memories that the result quotes. `unsent`: the tool did not act.
 * `unknown`: it may have acted.
 */
export type ToolOutcome =
  | { readonly result: string; readonly refs?: readonly number[] }
  | { readonly fault: string; readonly acted: 'unsent' | 'refused' | 'unknown' }

const CALL_MS = 30_000
const RESULT_BYTES = 64 * 1024
const PARAMETER = /\{(\w+)\}/g
/** Headers that a tool may not define, because they describe the request itself. */
const RESERVED: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'content-type',
  'transfer-encoding',
  'connection',
  'idempotency-key',
  'user-agent',
  'upgrade',
  'te',
  'trailer',
  'expect',
  'keep-alive',
])

/** Returns why the template cannot be used, or `null` if it can. */
export function checkTemplate({ url, headers }: HttpTarget): string | null {
  const end = /^https?:\/\/[^/?#{}]+(?=[/?]|$)/i.exec(url)?.[0].length
  if (end === undefined) return 'url: the host must be fixed, and follow https://'
  if (/[{}#\s\\]/.test(url.slice(end).replace(PARAMETER, ''))) return 'url: not a template'
  if (URL.parse(url.replace(PARAMETER, 'x')) === null) return 'url: not a URL'
  const reserved = Object.keys(headers).find((name) => RESERVED.has(name.toLowerCase()))
  return reserved === undefined ? null : `headers: ${reserved} is set by the service`
}

const textOf = (value: Json | undefined): string =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)

/** A path segment of one or two dots would change the path. */
const isDots = (text: string): boolean => /^\.{1,2}$/.test(text)

/** Returns `null` if an argument cannot be part of the path. */
function buildRequest(
  { method, url }: HttpTarget,
  args: JsonObject,
): { readonly url: string; readonly body: string } | null {
  const named = new Set([...url.matchAll(PARAMETER)].map(([, name]) => name))
  const values = [...named].map((name) => textOf(args[name ?? '']))
  if (values.some((value) => isDots(value) || !value.isWellFormed())) return null
  const filled = url.replace(PARAMETER, (_, name) => encodeURIComponent(textOf(args[name])))
  const rest = Object.entries(args).filter(([name]) => !named.has(name))
  if (method === 'POST') return { url: filled, body: JSON.stringify(Object.fromEntries(rest)) }
  const query = new URLSearchParams(
    Object.fromEntries(rest.map(([name, value]) => [name, textOf(value)])),
  ).toString()
  if (query === '') return { url: filled, body: '' }
  return { url: `${filled}${filled.includes('?') ? '&' : '?'}${query}`, body: '' }
}

/** Sends the delivery. Rejects only once `signal` is aborted. */
export async function callHttp(
  kernel: Kernel,
  target: HttpTarget,
  { args, call_id }: { readonly args: JsonObject; readonly call_id: string },
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const request = buildRequest(target, args)
  if (request === null) return { fault: 'args', acted: 'unsent' }
  const reply = await kernel.egress.send(request.url, {
    method: target.method,
    headers: {
      ...target.headers,
      ...(target.method === 'POST' && { 'content-type': 'application/json' }),
      'user-agent': `Custos/${kernel.settings.version}`,
      'idempotency-key': call_id,
    },
    body: request.body,
    keep_bytes: RESULT_BYTES,
    total_ms: CALL_MS,
    signal,
  })
  if ('fault' in reply) {
    const unsent = ['refused_address', 'dns', 'tls'].includes(reply.fault)
    return { fault: reply.fault, acted: unsent ? 'unsent' : 'unknown' }
  }
  const { status, body = Buffer.alloc(0) } = reply
  if (status >= 200 && status < 300) return { result: body.toString() }
  return { fault: `status_${status}`, acted: status < 500 ? 'refused' : 'unknown' }
}
