// A real embedding service on loopback: OpenAI's shape, vectors of the hashing embedder, and
// whatever misbehaviour a test asks of it.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createHashingEmbedder } from './hashing-embedder.ts'

export const SERVICE_DIMENSIONS = 256

export interface Asked {
  readonly path: string
  readonly authorization: string | undefined
  readonly model: string
  readonly input: readonly string[]
}

type Embeddings = { data: { index: number; embedding: number[] }[] }

/** Answers one request itself; returns false to have it answered as usual. */
export type Behaviour = (asked: Asked, response: ServerResponse) => boolean | Promise<boolean>

export interface EmbeddingServer {
  readonly url: string
  readonly asked: Asked[]
  /** How requests are met from now on; null: properly. */
  behave(behaviour: Behaviour | null): void
  /** The proper answer to a request, for a test to alter. */
  answerTo(asked: Asked): Promise<Embeddings>
  stop(): Promise<void>
}

export async function startEmbeddingServer(): Promise<EmbeddingServer> {
  const asked: Asked[] = []
  let behaviour: Behaviour | null = null
  const server = createServer((request, response) => {
    meet(request, response).catch(() => response.destroy())
  })
  const meet = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { model, input } = JSON.parse(Buffer.concat(chunks).toString())
    const { authorization } = request.headers
    const one = { path: request.url ?? '', authorization, model, input }
    asked.push(one)
    if (behaviour && (await behaviour(one, response))) return
    reply(response, 200, await answerTo(one))
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    url: `http://127.0.0.1:${address.port}/v1/embeddings`,
    asked,
    behave(next) {
      behaviour = next
    },
    answerTo,
    async stop() {
      if (!server.listening) return
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): true {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
  return true
}

/** Given back in another order than asked, which `index` puts right. */
async function answerTo({ input }: Asked): Promise<Embeddings> {
  const vectors = await createHashingEmbedder().embed(input)
  const data = vectors.map((vector, index) => ({ index, embedding: [...vector] }))
  return { data: data.toReversed() }
}
