// A proxy in front of several processes: each connection is to the next of them.

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

interface RoundRobinOptions {
  /** Holds answers back until this many bytes are there, or this time has passed. */
  readonly buffer?: { readonly bytes: number; readonly ms: number }
}

export interface RoundRobin {
  readonly url: string
  /** The processes it knows; connections to others fail. */
  targets: readonly string[]
  /** Ends every connection after this many more bytes to its client, wherever that is. */
  cutAfter(bytes: number): void
  close(): Promise<void>
}

export async function openRoundRobin(
  targets: readonly string[],
  { buffer }: RoundRobinOptions = {},
): Promise<RoundRobin> {
  const sockets = new Set<Socket>()
  let next = 0
  let cut = Number.POSITIVE_INFINITY
  const server = createServer((client) => {
    const target = proxy.targets[next % proxy.targets.length]
    next += 1
    if (target === undefined) return void client.destroy()
    const { hostname, port } = new URL(target)
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    }
    client.on('close', () => upstream.destroy())
    client.pipe(upstream)
    // Cut off itself, it cuts its client off.
    carry(upstream, client).then(
      () => client.end(),
      () => client.destroy(),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  async function carry(upstream: Socket, client: Socket): Promise<void> {
    for await (const chunk of buffer ? collected(upstream, buffer) : upstream) {
      if (cut < chunk.length) {
        client.write(chunk.subarray(0, cut))
        cut = Number.POSITIVE_INFINITY
        return void client.destroySoon()
      }
      cut -= chunk.length
      if (!client.write(chunk)) await Promise.race([once(client, 'drain'), once(client, 'close')])
    }
  }

  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const proxy: RoundRobin = {
    url: `http://127.0.0.1:${address.port}`,
    targets,
    cutAfter: (bytes) => {
      cut = bytes
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  return proxy
}

/** What a proxy with `proxy_buffering on` does. */
async function* collected(source: Socket, { bytes, ms }: { bytes: number; ms: number }) {
  let held: Buffer[] = []
  let size = 0
  let ended = false
  let arrived = () => {}
  source.on('data', (chunk: Buffer) => {
    held.push(chunk)
    size += chunk.length
    if (size >= bytes) arrived()
  })
  source.on('close', () => {
    ended = true
    arrived()
  })
  while (!ended || size > 0) {
    if (!ended && size < bytes) {
      const full = new Promise<void>((resolve) => {
        arrived = resolve
      })
      await Promise.race([full, delay(ms, undefined, { ref: false })])
    }
    const chunk = Buffer.concat(held)
    held = []
    size = 0
    if (chunk.length > 0) yield chunk
  }
}
