// One connection to a checked address and one request on it, limited in time and bytes.

import { type IncomingMessage, request as requestHttp } from 'node:http'
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { hostOf, portOf } from './addresses.ts'

/** A closed list of codes: a fault never contains anything that the peer sent. */
type EgressFault =
  | 'refused_address'
  | 'dns'
  | 'connect'
  | 'tls'
  | 'timeout'
  | 'redirect'
  | 'too_large'

/** The response body is set only if the request has `keep_bytes`. */
export type EgressReply =
  | { readonly status: number; readonly retry_after_s: number | null; readonly body?: Buffer }
  | { readonly fault: EgressFault }

export interface HostAddress {
  readonly address: string
  readonly family: number
}

export interface OutgoingRequest {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  /** Maximum bytes of the response body, which is then part of the reply. Default: no body. */
  readonly keep_bytes?: number
  /** Receives the body of a 2xx response in chunks; the body is then not kept. */
  readonly on_chunk?: (chunk: Uint8Array) => void
}

const HEADER_BYTES_MAX = 16 * 1024
const BODY_BYTES_MAX = 4 * 1024
const BODY_MS = 1_000

export class EgressError extends Error {
  override readonly name = 'EgressError'
  readonly fault: EgressFault

  constructor(fault: EgressFault) {
    super(fault)
    this.fault = fault
  }
}

export const faultOf = (error: unknown): EgressFault =>
  error instanceof EgressError ? error.fault : 'connect'

/** Rejects with `fault` if the work fails, and with `timeout` once the signal is aborted. */
export async function abortable<T>(
  work: Promise<T>,
  signal: AbortSignal,
  fault: EgressFault,
): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(new EgressError('timeout'))
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work, aborted.promise])
  } catch (error) {
    throw error instanceof EgressError ? error : new EgressError(fault)
  } finally {
    signal.removeEventListener('abort', abort)
    // Nobody waits for the work any more, so ignore its rejection.
    work.catch(() => {})
  }
}

/** Opens a connection, for https verified against the host name. Sends no request. */
export async function openConnection(
  route: {
    readonly url: URL
    /** Checked addresses of the host; null if the proxy resolves it. */
    readonly addresses: readonly HostAddress[] | null
    readonly proxy: URL | null
  },
  signal: AbortSignal,
): Promise<Socket> {
  const { url, addresses, proxy } = route
  const socket = proxy
    ? await openTunnel(url, proxy, signal)
    : await openSocket({ host: hostOf(url), port: portOf(url), addresses }, signal)
  if (url.protocol !== 'https:') return socket
  const host = hostOf(url)
  const secured = connectTls({
    socket,
    host,
    ALPNProtocols: ['http/1.1'],
    // An address is no server name (RFC 6066, section 3); the certificate is checked against it.
    ...(isIP(host) === 0 ? { servername: host } : {}),
  })
  return settled(secured, 'secureConnect', { signal, fault: 'tls' })
}

async function openSocket(
  {
    host,
    port,
    addresses,
  }: { host: string; port: number; addresses: readonly HostAddress[] | null },
  signal: AbortSignal,
): Promise<Socket> {
  const lookup = addresses === null ? {} : { lookup: answerOf(addresses) }
  const socket = connectTcp({ host, port, noDelay: true, ...lookup })
  return settled(socket, 'connect', { signal, fault: 'connect' })
}

/** A lookup that returns the checked addresses, so that nothing is resolved a second time. */
function answerOf(addresses: readonly HostAddress[]): LookupFunction {
  return (_, { all }, done) => {
    const [first] = addresses
    if (all) done(null, [...addresses])
    else done(null, first?.address ?? '', first?.family)
  }
}

async function openTunnel(url: URL, proxy: URL, signal: AbortSignal): Promise<Socket> {
  const place = { host: hostOf(proxy), port: portOf(proxy), addresses: null }
  const socket = await openSocket(place, signal)
  const authority = `${url.hostname}:${portOf(url)}`
  const connecting = requestHttp({
    method: 'CONNECT',
    path: authority,
    headers: { host: authority },
    createConnection: () => socket,
    maxHeaderSize: HEADER_BYTES_MAX,
  })
  const opened = new Promise<void>((resolve, reject) => {
    connecting.on('connect', ({ statusCode }: IncomingMessage) => {
      if (statusCode === 200) resolve()
      // A proxy that checks addresses refuses forbidden ones with 403.
      else reject(new EgressError(statusCode === 403 ? 'refused_address' : 'connect'))
    })
    connecting.on('response', () => reject(new EgressError('connect')))
    connecting.on('error', reject)
  })
  connecting.end()
  try {
    await abortable(opened, signal, 'connect')
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

async function settled(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  { signal, fault }: { signal: AbortSignal; fault: EgressFault },
): Promise<Socket> {
  const opened = new Promise<void>((resolve, reject) => {
    socket.once(event, resolve)
    socket.once('error', reject)
    socket.once('close', () => reject(new EgressError(fault)))
  })
  try {
    await abortable(opened, signal, fault)
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

/** Sends the request and passes the response to `take` after its head; closes the connection. */
export async function exchange<T>(
  socket: Socket,
  { url, method, headers, body }: OutgoingRequest & { readonly url: URL },
  signal: AbortSignal,
  take: (response: IncomingMessage) => Promise<T>,
): Promise<T> {
  const sending = requestHttp({
    method,
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, host: url.host, 'content-length': Buffer.byteLength(body) },
    createConnection: () => socket,
    maxHeaderSize: HEADER_BYTES_MAX,
  })
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    sending.once('response', resolve)
    // A peer that switches protocols unasked has responded, with status 101 and no body.
    sending.once('upgrade', (response) => {
      response.push(null)
      resolve(response)
    })
    sending.on('error', reject)
  })
  sending.end(body)
  try {
    return await take(await abortable(answered, signal, 'connect'))
  } finally {
    sending.destroy()
    socket.destroy()
  }
}

/** Status and `Retry-After` of the response; also the body if the request has `keep_bytes`. */
export async function takeReply(
  response: IncomingMessage,
  { keep_bytes, on_chunk }: Pick<OutgoingRequest, 'keep_bytes' | 'on_chunk'>,
  signal: AbortSignal,
): Promise<EgressReply> {
  if (keep_bytes === undefined) await readBounded(response)
  const { statusCode: status = 0, headers } = response
  refuseRedirect(response)
  const reply = { status, retry_after_s: retryAfter(headers['retry-after']) }
  if (keep_bytes === undefined) return reply
  const isGood = status >= 200 && status < 300
  const taken = await takeWhole(response, keep_bytes, signal, isGood ? on_chunk : undefined)
  return { ...reply, body: taken.body }
}

/** The whole response, of at most `bytesMax`; its body is empty if `onChunk` receives it. */
export async function takeWhole(
  response: IncomingMessage,
  bytesMax: number,
  signal: AbortSignal,
  onChunk?: (chunk: Uint8Array) => void,
): Promise<{ status: number; headers: IncomingMessage['headers']; body: Buffer }> {
  const { statusCode: status = 0, headers } = response
  refuseRedirect(response)
  const chunks: Buffer[] = []
  let bytes = 0
  const reading = async () => {
    for await (const chunk of response) {
      bytes += chunk.length
      if (bytes > bytesMax) throw new EgressError('too_large')
      if (onChunk) onChunk(chunk)
      else chunks.push(chunk)
    }
  }
  await abortable(reading(), signal, 'connect')
  return { status, headers, body: Buffer.concat(chunks) }
}

function refuseRedirect({ statusCode = 0 }: IncomingMessage): void {
  if (statusCode >= 300 && statusCode < 400) throw new EgressError('redirect')
}

/**
 * Reads and discards the body, because a receiver that is still writing when the connection closes
 * would report an error. The status is known already, so failures here are ignored.
 */
async function readBounded(response: IncomingMessage): Promise<void> {
  let bytes = 0
  const late = setTimeout(() => response.destroy(), BODY_MS)
  try {
    for await (const chunk of response) {
      bytes += chunk.length
      if (bytes > BODY_BYTES_MAX) return
    }
  } catch {
    // The peer or the time limit cut the body off.
  } finally {
    clearTimeout(late)
  }
}

/** Retry-After in seconds (RFC 9110, 10.2.3). Ignores a date, since clocks differ. */
const retryAfter = (header: string | undefined): number | null =>
  header !== undefined && /^\d{1,9}$/.test(header.trim()) ? Number(header) : null
