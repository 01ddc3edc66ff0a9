// An event stream costs a bounded amount of memory, whatever its reader does.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { eventProbe, send, startTestServer, type TestServer } from './testing/edge-server.ts'

let service: TestServer
const FRAME_BYTES = 50_000

before(async () => {
  service = await startTestServer()
})

after(() => service.stop())

/** A connection that asks for the stream and reads nothing of it. */
async function openStuck() {
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.pause()
  socket.write(`GET /probe/events?bytes=${FRAME_BYTES} HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`)
  return socket
}

async function untilStuck(): Promise<void> {
  for (let before = -1; eventProbe.sent !== before; ) {
    before = eventProbe.sent
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
}

test('for a reader that reads nothing at most 256 KiB wait in the process', async () => {
  const left = new Promise<void>((resolve) => {
    eventProbe.left = resolve
  })
  const socket = await openStuck()
  await untilStuck()
  const stuck = eventProbe.sent
  assert.ok(stuck > 0)
  // Others are served as ever.
  assert.equal((await send(`${service.url}/healthz`, 'GET')).status, 200)
  assert.equal(eventProbe.sent, stuck)
  eventProbe.cut()
  await left
  socket.resume()
  let read = 0
  socket.on('data', (chunk: Buffer) => {
    read += chunk.length
  })
  await once(socket, 'close')
  // What it never got is what the process held for it: the frames waited with, and one more.
  assert.ok(stuck - read <= 256 * 1024 + 2 * FRAME_BYTES, `${stuck - read} bytes were held`)
})

test('a reader that is slow for a while gets everything', async () => {
  const socket = await openStuck()
  await untilStuck()
  const stuck = eventProbe.sent
  socket.resume()
  while (eventProbe.sent < stuck + 5_000_000)
    await new Promise((resolve) => setTimeout(resolve, 10))
  socket.destroy()
})

test('a raw body reaches the handler byte for byte, whatever type it claims', async () => {
  const raw = Buffer.from('{"b": 1,\r\n "a": "\xff"}', 'latin1')
  for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded']) {
    const headers = { 'content-type': type, 'x-signature': 't=1,v1=ab' }
    const { status, body } = await send(`${service.url}/probe/signed`, 'POST', { raw, headers })
    assert.equal(status, 200)
    assert.deepEqual(body, { hex: raw.toString('hex'), signature: 't=1,v1=ab' })
  }
  const large = { raw: Buffer.alloc(1_001), headers: { 'content-type': 'text/plain' } }
  assert.equal((await send(`${service.url}/probe/signed`, 'POST', large)).status, 413)
  const empty = await send(`${service.url}/probe/signed`, 'POST')
  assert.deepEqual(empty.body, { hex: '', signature: null })
})
