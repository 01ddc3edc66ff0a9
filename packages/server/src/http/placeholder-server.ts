// The address before the service listens on it: whether it is free, and a server that stands in
// while the database is waited for, alive, not ready, and nothing else.

import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { systemIds } from '../platform/ids.ts'
import { OperatorError } from '../platform/operator-error.ts'
import { Refusal } from '../platform/refusal.ts'
import { startedAt, uptimeSeconds } from '../slices/monitoring/index.ts'
import { answerHeaders, JSON_TYPE, sendText } from './answer.ts'
import { renderRefusal } from './render-refusal.ts'

interface ListeningServer {
  /** Chosen by the system where it was 0. */
  readonly port: number
  close(): Promise<void>
}

const RETRY_AFTER_S = 5

/** Answers the liveness probes; everything else is 503 with Retry-After, `/readyz` included. */
export async function startPlaceholderServer(
  { host, port }: { host: string; port: number },
  version: string,
): Promise<ListeningServer> {
  const server = createServer(({ url = '' }, response) => {
    const request_id = systemIds.hex(8)
    const path = url.split('?', 1)[0]
    if (path === '/health' || path === '/healthz') {
      const facts = { uptime_seconds: uptimeSeconds(), started_at: startedAt() }
      const body = JSON.stringify({ status: 'ok', version, ...facts })
      sendText(response, 200, answerHeaders(request_id, JSON_TYPE), body)
      return
    }
    const refusal = new Refusal('unavailable', 'The database does not answer yet', {
      retry_after_s: RETRY_AFTER_S,
    })
    const { status, headers, text } = renderRefusal(refusal, request_id)
    sendText(response, status, headers, text)
  })
  return listenOn(server, { host, port })
}

/** Lets a server listen until it is closed. */
export async function listenOn(
  server: Server,
  { host, port }: { host: string; port: number },
): Promise<ListeningServer> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return {
    // A TCP server that listens has an address of this kind.
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Throws OperatorError when another program listens there, other listen errors as they are. */
export async function requireFreePort(
  { host, port }: { host: string; port: number },
  flag = '--port',
): Promise<void> {
  // The system chooses a free one.
  if (port === 0) return
  const server = createTcpServer()
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host, port, exclusive: true }, resolve)
    })
  } catch (error) {
    throw isInUse(error) ? new OperatorError(portInUse(host, port, flag)) : error
  }
  await new Promise((resolve) => server.close(resolve))
}

const isInUse = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'

const portInUse = (host: string, port: number, flag: string): string =>
  `port ${port} of ${host} is in use: stop the program that listens there, ` +
  `which may be another custos, or choose another port with ${flag}`
