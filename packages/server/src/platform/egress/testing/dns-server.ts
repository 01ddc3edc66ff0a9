// A DNS server on loopback that answers each question with the next of its addresses (RFC 1035).

import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import type { HostLookup } from '../egress.ts'

const HEADER_BYTES = 12
const ANSWER_AND_RECURSION = 0x8180
const POINTER_TO_QUESTION = 0xc00c
const TYPE_A = 1
const CLASS_IN = 1

function answerTo(question: Buffer, address: string): Buffer {
  const header = Buffer.from(question.subarray(0, HEADER_BYTES))
  header.writeUInt16BE(ANSWER_AND_RECURSION, 2)
  header.writeUInt16BE(1, 6)
  header.writeUInt32BE(0, 8)
  const end = question.indexOf(0, HEADER_BYTES) + 5
  const record = Buffer.alloc(16)
  record.writeUInt16BE(POINTER_TO_QUESTION, 0)
  record.writeUInt16BE(TYPE_A, 2)
  record.writeUInt16BE(CLASS_IN, 4)
  record.writeUInt16BE(4, 10)
  record.set(address.split('.').map(Number), 12)
  return Buffer.concat([header, question.subarray(HEADER_BYTES, end), record])
}

/** The last address is given again and again. `asked`: how many questions there were. */
export async function startDnsServer(
  t: TestContext,
  addresses: readonly string[],
): Promise<{ readonly lookup: HostLookup; asked(): number }> {
  let asked = 0
  const socket = createSocket('udp4', (question, { port, address }) => {
    const next = addresses[Math.min(asked, addresses.length - 1)] ?? ''
    asked += 1
    socket.send(answerTo(question, next), port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  t.after(() => socket.close())
  const resolver = new Resolver()
  // Bound to a port just now.
  resolver.setServers([`127.0.0.1:${(socket.address() as AddressInfo).port}`])
  const lookup: HostLookup = async (host) =>
    (await resolver.resolve4(host)).map((address) => ({ address, family: 4 }))
  return { lookup, asked: () => asked }
}
