// Requests whose body may take longer to arrive than the server waits for others.

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

const streaming = new WeakSet<Socket>()

/** Whether the server's own deadline is not meant for what arrives on the connection now. */
export const isStreaming = (socket: Socket): boolean => streaming.has(socket)

/**
 * Gives the body of a request a deadline of its own, in place of the server's. The connection is
 * cut when it passes: the reader of the body is told so.
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
