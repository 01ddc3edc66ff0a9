// Reads a request's body from the connection, never more than the limit.

import type { Hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Refusal } from '../platform/refusal.ts'

const EMPTY = Buffer.alloc(0)

/** Whether the headers announce a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}

/** The whole body; refuses `body_too_large` as soon as it is known to be. */
export function readBody(raw: IncomingMessage, bytesMax: number): Promise<Buffer> {
  if (!hasBody(raw)) return Promise.resolve(EMPTY)
  if (announced(raw) > bytesMax) return Promise.reject(tooLarge(bytesMax))
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    let ended = false
    raw.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= bytesMax) chunks.push(chunk)
      else reject(tooLarge(bytesMax))
    })
    raw.on('end', () => {
      ended = true
      const [first] = chunks
      resolve(chunks.length === 1 && first ? first : Buffer.concat(chunks))
    })
    raw.on('error', () => reject(cutOff()))
    raw.on('close', () => {
      if (!ended) reject(cutOff())
    })
  })
}

/** The body in chunks, at the reader's pace; `digest` is updated with what the reader gets. */
export async function* streamBody(
  raw: IncomingMessage,
  bytesMax: number,
  digest: Hash | null = null,
): AsyncGenerator<Uint8Array> {
  if (announced(raw) > bytesMax) throw tooLarge(bytesMax)
  let bytes = 0
  try {
    // By default an early end destroys the request, and so the connection before the answer.
    for await (const chunk of raw.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length
      if (bytes > bytesMax) throw tooLarge(bytesMax)
      digest?.update(chunk)
      yield chunk
    }
  } catch (error) {
    throw error instanceof Refusal ? error : cutOff()
  } finally {
    raw.resume()
  }
}

const announced = ({ headers }: IncomingMessage): number => Number(headers['content-length'] ?? 0)

const tooLarge = (bytesMax: number) =>
  new Refusal('body_too_large', `The body must not exceed ${bytesMax} bytes`)

const cutOff = () => new Refusal('bad_request', 'The body ended before it was complete')

const streaming = new WeakSet<Socket>()

/** Whether the server's own deadline does not apply to what the connection is sending now. */
export const isStreaming = (socket: Socket): boolean => streaming.has(socket)

/**
 * Gives the body of a request its own deadline instead of the server's. When it passes, the
 * connection is closed and the reader of the body gets an error.
 */
export function allowStream(raw: IncomingMessage, streamMs: number): void {
  const { socket } = raw
  streaming.add(socket)
  const deadline = setTimeout(() => raw.destroy(), streamMs)
  deadline.unref()
  const arrived = () => {
    clearTimeout(deadline)
    streaming.delete(socket)
  }
  raw.once('end', arrived)
  raw.once('close', arrived)
}
