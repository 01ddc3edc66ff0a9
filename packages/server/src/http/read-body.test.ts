// How long the edge waits for a request: shortly for most, long for a body that is streamed.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import type { RequestDeadlines } from './bind.ts'
import { makeTenant, startTestServer } from './testing/edge-server.ts'

const LONG_MS = 3_600_000

interface Slow {
  readonly socket: Socket
  /** What was answered until the server closed the connection. */
  readonly answer: Promise<string>
}

/** A server with a tenant, and a way to begin requests that it never gets to the end of. */
async function withServer(
  patience: RequestDeadlines,
  act: (begin: (path: string, length: number, key?: string) => Promise<Slow>) => Promise<void>,
): Promise<void> {
  const service = await startTestServer({ patience })
  const opened: Socket[] = []
  try {
    const { api_key } = await makeTenant(service.url)
    const type = (path: string) => (path.endsWith('/upload') ? 'x-ndjson' : 'json')
    await act(async (path, length, key = api_key) => {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
      opened.push(socket)
      await once(socket, 'connect')
      socket.write(
        `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
          `content-type: application/${type(path)}\r\ncontent-length: ${length}\r\n\r\n12`,
      )
      return { socket, answer: textOf(socket) }
    })
  } finally {
    for (const socket of opened) socket.destroy()
    await service.stop()
  }
}

function textOf(socket: Socket): Promise<string> {
  let text = ''
  socket.setEncoding('utf8')
  socket.on('data', (chunk) => {
    text += chunk
  })
  return new Promise((resolve) => {
    socket.once('close', () => resolve(text))
    socket.on('error', () => {})
  })
}

test('a body that does not arrive in time is cut off, one that is streamed is not', async () => {
  const patience = { requestMs: 150, streamMs: LONG_MS, checkMs: 50 }
  await withServer(patience, async (begin) => {
    const upload = await begin('/probe/upload', 4)
    // The upload is as late as each of these, and later.
    assert.match(await (await begin('/probe/add', 20)).answer, /^HTTP\/1\.1 408 /)
    assert.match(await (await begin('/probe/add', 20)).answer, /"error":"bad_request"/)
    assert.match(await (await begin('/nope', 20)).answer, /HTTP\/1\.1 408 /)
    const refused = await (await begin('/probe/upload', 20, 'nobody')).answer
    assert.match(refused, /^HTTP\/1\.1 401 .* 408 /s)

    const [first] = await Promise.all([once(upload.socket, 'data'), upload.socket.write('34')])
    assert.match(String(first), /^HTTP\/1\.1 200 .*\{"bytes":4\}/s)
    // What comes on the same connection afterwards is waited for like anything else.
    upload.socket.write('POST /probe/add HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n1')
    assert.match(await upload.answer, / 408 /)
  })
})

test('a streamed body has a deadline too', async () => {
  const patience = { requestMs: LONG_MS, streamMs: 100, checkMs: 50 }
  await withServer(patience, async (begin) => {
    const upload = await begin('/probe/upload', 4)
    assert.doesNotMatch(await upload.answer, /HTTP\/1\.1 200/)
  })
})
