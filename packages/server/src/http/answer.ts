// Writes an answer to the connection: complete texts, and streams whose truncation is seen.

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { FileReply, StreamReply } from '@custos/contract'

export type Headers = Record<string, string | number>

export const JSON_TYPE = 'application/json; charset=utf-8'
export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

const STREAM_CHUNK_CHARS = 32 * 1024

/** Headers of every answer of an operation. */
export const answerHeaders = (request_id: string, contentType: string): Headers => ({
  'content-type': contentType,
  'x-request-id': request_id,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
})

export function sendText(raw: ServerResponse, status: number, headers: Headers, text: string) {
  const bytes = Buffer.byteLength(text)
  headers['content-length'] = bytes
  raw.writeHead(status, headers)
  // The same bytes, and of a long text a good deal sooner on the way.
  raw.end(text, bytes === text.length ? 'latin1' : 'utf8')
}

/** A page of this service runs nothing and loads nothing, wherever it is opened. */
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
) {
  headers['content-type'] = type
  const shown = type.startsWith('text/html') ? 'inline' : 'attachment'
  headers['content-disposition'] = `${shown}; filename="${safeName(filename)}"`
  if (shown === 'inline') headers['content-security-policy'] = PAGE_POLICY
  if (typeof file === 'string') return sendText(raw, status, headers, file)
  headers['content-length'] = file.length
  raw.writeHead(status, headers)
  raw.end(file)
}

/** Whether an answer has headers only (RFC 9110, 9.3.2). */
const isHeadersOnly = (raw: ServerResponse): boolean => raw.req.method === 'HEAD'

/**
 * Sends the lines at the client's pace. An error before the first line is thrown, so that it
 * becomes an ordinary answer; later ones cut the connection without the closing chunk, so that
 * no client takes a part for the whole, and are thrown as well.
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
    while (!next.done && !raw.destroyed && !isHeadersOnly(raw)) {
      waiting += next.value
      if (waiting.length >= STREAM_CHUNK_CHARS) {
        await write(raw, waiting)
        waiting = ''
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

async function write(raw: ServerResponse, text: string): Promise<void> {
  if (raw.write(text) || raw.destroyed) return
  const gone = new AbortController()
  const closed = () => gone.abort()
  raw.once('close', closed)
  try {
    await once(raw, 'drain', { signal: gone.signal })
  } catch (error) {
    if (!gone.signal.aborted) throw error
  } finally {
    raw.off('close', closed)
  }
}

// A header value: no quotes, no control characters, ASCII only.
const safeName = (name: string): string => name.replaceAll(/[^\w.-]/g, '_')
