// The way to a database, which a test opens and shuts: shut, connections are refused and cut;
// silenced, they are there and nothing comes back.

import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { findFreePort } from '../../../packages/server/src/testing/postgres-cluster.ts'

export interface Gate {
  /** The same database through the gate. */
  readonly url: string
  /** To the server of that URL from now on; without, to the one it led to before. */
  open(to?: string): Promise<void>
  /** As when the server is restarted: what is under way gets no answer. */
  shut(): Promise<void>
  /** As when a network loses everything: for connections that are there, and for new ones. */
  silence(): void
}

/** Shut at first. */
export async function buildGate(t: TestContext, url: string): Promise<Gate> {
  const target = new URL(url)
  let { hostname, port } = target
  const listen = await findFreePort()
  target.port = String(listen)
  const sockets = new Set<Socket>()
  let server: Server | undefined
  let silent = false
  const hold = (socket: Socket, other: () => void) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      other()
    })
  }
  const silence = () => {
    silent = true
  }
  const open: Gate['open'] = async (to) => {
    if (to !== undefined) ({ hostname, port } = new URL(to))
    silent = false
    server = createServer((client) => {
      const upstream = connect(Number(port), hostname)
      hold(client, () => upstream.destroy())
      hold(upstream, () => client.destroy())
      client.on('data', (chunk) => silent || upstream.write(chunk))
      upstream.on('data', (chunk) => silent || client.write(chunk))
    }).listen(listen, '127.0.0.1')
    await once(server, 'listening')
  }
  const shut = async () => {
    if (!server) return
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
    server = undefined
  }
  t.after(shut)
  return { url: target.href, open, shut, silence }
}
