// Writes an answer to the connection: complete texts, and streams whose truncation is detectable.

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { EventStreamReply, FileReply, StreamReply } from '@custos/contract'
import { yieldBetweenChunks } from '../platform/yield-between-chunks.ts'

export type Headers = Record<string, string | number>

export const JSON_TYPE = 'application/json; charset=utf-8'
export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

export const NO_CONTENT = 204
const STREAM_CHUNK_CHARS = 32 * 1024

/** Headers of every answer of an operation. */
export const answerHeaders = (request_id: string, contentType: string): Headers => ({
  'content-type': contentType,
  'x-request-id': request_id,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
})

/** Returns the number of bytes of the body. */
export function sendText(
  raw: ServerResponse,
  status: number,
  headers: Headers,
  text: string,
): number {
  const bytes = Buffer.byteLength(text)
  headers['content-length'] = bytes
  raw.writeHead(status, headers)
  // ASCII has the same bytes in latin1, which is sent noticeably faster for a long text.
  raw.end(text, bytes === text.length ? 'latin1' : 'utf8')
  return bytes
}

/** 204 has neither a body nor a content-length (RFC 9110, 8.6). */
export function sendNothing(raw: ServerResponse, { 'content-type': _, ...headers }: Headers): void {
  raw.writeHead(NO_CONTENT, headers)
  raw.end()
}

/** Pages of this service run nothing and load nothing, wherever they are opened. */
const PAGE_POLICY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  'sandbox',
].join('; ')

export function sendFile(
  raw: ServerResponse,
  status: number,
  headers: Headers,
  { file, type, filename }: FileReply,
): number {
  headers['content-type'] = type
  const shown = type.startsWith('text/html') ? 'inline' : 'attachment'
  headers['content-disposition'] = `${shown}; filename="${safeName(filename)}"`
  if (shown === 'inline') headers['content-security-policy'] = PAGE_POLICY
  if (typeof file === 'string') return sendText(raw, status, headers, file)
  headers['content-length'] = file.length
  raw.writeHead(status, headers)
  raw.end(file)
  return file.length
}

/** Whether the answer has headers only (RFC 9110, 9.3.2). */
const isHeadersOnly = (raw: ServerResponse): boolean => raw.req.method === 'HEAD'

/**
 * Sends lines at the client's pace. An error before the first line is thrown, so that it becomes an
 * ordinary answer. A later error cuts the connection without the closing chunk, so that no client
 * takes a part for the whole, and is thrown as well.
 */
export async function sendStream(
  raw: ServerResponse,
  headers: Headers,
  { stream, filename }: StreamReply,
): Promise<void> {
  const iterator = stream[Symbol.asyncIterator]()
  let next = await iterator.next()
  if (filename !== undefined)
    headers['content-disposition'] = `attachment; filename="${safeName(filename)}"`
  raw.writeHead(200, headers)
  try {
    let waiting = ''
    const pace = yieldBetweenChunks()
    while (!next.done && !raw.destroyed && !isHeadersOnly(raw)) {
      waiting += next.value
      if (waiting.length >= STREAM_CHUNK_CHARS) {
        await write(raw, waiting)
        waiting = ''
        // Yields, because neither a fast client nor an in-process database makes the stream wait.
        await pace()
      }
      next = await iterator.next()
    }
    raw.end(waiting)
  } catch (error) {
    raw.destroy()
    throw error
  } finally {
    if (!next.done) await iterator.return?.()
  }
}

/** Unsent bytes from which on the next frames wait for the connection. */
const BEHIND_BYTES_MAX = 256 * 1024

/** Sends frames as they come, until they end, the client leaves, or `cut` finds it stuck. */
export async function sendEvents(
  raw: ServerResponse,
  headers: Headers,
  frames: AsyncIterable<string>,
  cut: EventStreamReply['cut'],
): Promise<void> {
  // Buffering proxies would hold the frames back. The connection ends with the stream.
  raw.writeHead(200, { ...headers, 'x-accel-buffering': 'no', connection: 'close' })
  if (isHeadersOnly(raw)) {
    raw.end()
    return
  }
  for await (const frame of frames) {
    if (raw.destroyed) return
    raw.write(frame)
    while (raw.writableLength > BEHIND_BYTES_MAX && !raw.destroyed && !cut.aborted)
      await drained(raw, cut)
    if (raw.writableLength > BEHIND_BYTES_MAX) raw.destroy()
  }
  raw.end()
}

async function write(raw: ServerResponse, text: string): Promise<void> {
  if (!raw.write(text) && !raw.destroyed) await drained(raw)
}

/** Resolves when the client has read what was written or is gone, or `cut` is aborted. */
async function drained(raw: ServerResponse, cut?: EventStreamReply['cut']): Promise<void> {
  const gone = new AbortController()
  const ended = () => gone.abort()
  raw.once('close', ended)
  cut?.addEventListener('abort', ended)
  if (cut?.aborted) ended()
  try {
    await once(raw, 'drain', { signal: gone.signal })
  } catch (error) {
    if (!gone.signal.aborted) throw error
  } finally {
    raw.off('close', ended)
    cut?.removeEventListener('abort', ended)
  }
}

// Makes a name safe for a header value: no quotes, no control characters, ASCII only.
const safeName = (name: string): string => name.replaceAll(/[^\w.-]/g, '_')
