// The address before the service listens on it: checks that it is free, and runs a placeholder that
// is alive but not ready while the service waits for the database.

import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { systemIds } from '../platform/ids.ts'
import { OperatorError } from '../platform/operator-error.ts'
import { Refusal } from '../platform/refusal.ts'
import { startedAt, uptimeSeconds } from '../slices/monitoring/index.ts'
import { answerHeaders, JSON_TYPE, sendText } from './answer.ts'
import { renderRefusal } from './render-refusal.ts'

const RETRY_AFTER_S = 5

/** Answers liveness probes with 200; anything else, even `/readyz`, gets 503 with Retry-After. */
export async function startPlaceholderServer(
  { host, port }: { host: string; port: number },
  version: string,
): ReturnType<typeof listenOn> {
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

/** Lets a server listen until it is closed. The port is chosen by the system where it was 0. */
export async function listenOn(
  server: Server,
  { host, port }: { host: string; port: number },
): Promise<{ readonly port: number; close(): Promise<void> }> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return {
    // A listening TCP server has an address of this type.
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Throws OperatorError if this process cannot listen there. */
export async function requireFreePort(
  { host, port }: { host: string; port: number },
  flag = '--port',
): Promise<void> {
  const server = createTcpServer()
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host, port, exclusive: true }, resolve)
    })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    const reason = explainNoListening(String(code), { host, port, flag })
    throw reason === undefined ? error : new OperatorError(reason)
  }
  await new Promise((resolve) => server.close(resolve))
}

function explainNoListening(
  code: string,
  { host, port, flag }: { host: string; port: number; flag: string },
): string | undefined {
  const address = flag.replace('port', 'host')
  if (code === 'EADDRINUSE')
    return (
      `port ${port} of ${host} is in use: stop the program that listens there, ` +
      `which may be another custos, or choose another port with ${flag}`
    )
  if (code === 'EACCES')
    return `this user may not listen on port ${port} of ${host}: choose another with ${flag}`
  if (code === 'EADDRNOTAVAIL')
    return `${host} is no address of this machine: choose another with ${address}`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `the host name ${host} has no address: choose another with ${address}`
  return undefined
}
