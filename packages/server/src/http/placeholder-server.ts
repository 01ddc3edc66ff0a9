// Stands in while the database is waited for: alive, not ready, and nothing else.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemIds } from '../platform/ids.ts'
import { Refusal } from '../platform/refusal.ts'
import { startedAt, uptimeSeconds } from '../slices/monitoring/index.ts'
import { answerHeaders, JSON_TYPE, sendText } from './answer.ts'
import { renderRefusal } from './render-refusal.ts'

interface PlaceholderServer {
  /** The port it listens on; the service listens there afterwards. */
  readonly port: number
  close(): Promise<void>
}

const RETRY_AFTER_S = 5

/** Answers the liveness probes; everything else is 503 with Retry-After, `/readyz` included. */
export async function startPlaceholderServer(
  { host, port }: { host: string; port: number },
  version: string,
): Promise<PlaceholderServer> {
  const server = createServer(({ url = '' }, response) => {
    const request_id = systemIds.hex(8)
    const path = url.split('?', 1)[0]
    if (path === '/health' || path === '/healthz') {
      const facts = { uptime_seconds: uptimeSeconds(), started_at: startedAt() }
      const body = JSON.stringify({ status: 'ok', version, ...facts })
      return sendText(response, 200, answerHeaders(request_id, JSON_TYPE), body)
    }
    const refusal = new Refusal('unavailable', 'The database does not answer yet', {
      retry_after_s: RETRY_AFTER_S,
    })
    const { status, headers, text } = renderRefusal(refusal, request_id)
    sendText(response, status, headers, text)
  })
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
