// A server in front of a service: it may alter or cut what the service answers, and counts calls.

import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface SeenRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
}

interface ProxyOptions {
  /** Changes the text of an answer. */
  readonly alter?: (text: string, path: string) => string
  /** Whether the connection ends after this piece of an answer, of the `request`-th request. */
  readonly cut?: (request: number, sent: string) => boolean
  /** Whether the connection ends before or after the service has this request, by its key. */
  readonly breaks?: (idempotencyKey: string) => 'before' | 'after' | undefined
}

export async function startProxy(target: () => string, { alter, cut, breaks }: ProxyOptions = {}) {
  const seen: SeenRequest[] = []
  const server = createServer(async (request, response) => {
    const path = request.url ?? '/'
    const nth = seen.push({ path, headers: request.headers })
    const chunks: Uint8Array[] = []
    for await (const chunk of request) chunks.push(chunk)
    const fault = breaks?.(String(request.headers['idempotency-key'] ?? ''))
    if (fault === 'before') return request.socket.destroy()
    const leaving = new AbortController()
    response.once('close', () => leaving.abort())
    const answer = await fetch(`${target()}${path}`, {
      method: request.method ?? 'GET',
      headers: headersOf(request.headers),
      signal: leaving.signal,
      ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
    }).catch(() => null)
    if (!answer) return response.destroy()
    if (fault === 'after') {
      await answer.text()
      return request.socket.destroy()
    }
    response.writeHead(answer.status, {
      'content-type': answer.headers.get('content-type') ?? 'application/json',
    })
    if (alter) return response.end(alter(await answer.text(), path))
    return pass(answer, response, (sent) => cut?.(nth, sent) ?? false)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A TCP server has an address object, never a path.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const PASSED = ['authorization', 'content-type', 'last-event-id', 'accept', 'idempotency-key']

const headersOf = (given: IncomingHttpHeaders): [string, string][] =>
  PASSED.flatMap((name): [string, string][] => {
    const value = given[name]
    return typeof value === 'string' ? [[name, value]] : []
  })

async function pass(
  { body }: Response,
  response: ServerResponse,
  isCut: (sent: string) => boolean,
): Promise<void> {
  const decoder = new TextDecoder()
  let sent = ''
  try {
    for await (const piece of body ?? []) {
      sent += decoder.decode(piece, { stream: true })
      if (isCut(sent)) {
        // Half of the piece arrives.
        response.write(piece.subarray(0, Math.ceil(piece.length / 2)), () => response.destroy())
        return
      }
      response.write(piece)
    }
    response.end()
  } catch {
    response.destroy()
  }
}
