// A stretch of network that hands a message on and then fails, before the answer can come back.

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

interface CuttingProxy {
  /** The same URL through the proxy. */
  readonly url: string
  /** From now on connections end right after they have carried these bytes to the server. */
  cutAfter(bytes: string): void
  close(): Promise<void>
}

export async function openCuttingProxy(url: string): Promise<CuttingProxy> {
  const target = new URL(url)
  const { hostname, port } = target
  const sockets = new Set<Socket>()
  let cut: string | undefined
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    }
    client.on('end', () => upstream.end())
    upstream.on('close', () => client.destroy())
    client.on('data', (chunk) => {
      upstream.write(chunk)
      if (cut !== undefined && chunk.includes(cut)) {
        client.destroy()
        // What was written still arrives.
        upstream.end()
      }
    })
    upstream.on('data', (chunk) => client.write(chunk))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  target.port = String(address.port)
  return {
    url: target.href,
    cutAfter: (bytes) => {
      cut = bytes
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
