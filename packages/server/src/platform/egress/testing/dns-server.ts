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

const TYPE_TXT = 16
const CHUNK_BYTES = 255
const RCODE_NAME_ERROR = 3

/** The name that a question asks for, in lower case. */
function nameOf(question: Buffer): string {
  const labels: string[] = []
  for (let at = HEADER_BYTES; question[at]; ) {
    const length = question[at] ?? 0
    labels.push(question.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return labels.join('.').toLowerCase()
}

function txtRecord(text: string): Buffer {
  const bytes = Buffer.from(text)
  const chunks: Buffer[] = []
  for (let at = 0; at === 0 || at < bytes.length; at += CHUNK_BYTES) {
    const chunk = bytes.subarray(at, at + CHUNK_BYTES)
    chunks.push(Buffer.of(chunk.length), chunk)
  }
  const data = Buffer.concat(chunks)
  const head = Buffer.alloc(12)
  head.writeUInt16BE(POINTER_TO_QUESTION, 0)
  head.writeUInt16BE(TYPE_TXT, 2)
  head.writeUInt16BE(CLASS_IN, 4)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

export interface TxtServer {
  /** With its port. */
  readonly address: string
  /** By name. */
  readonly texts: Map<string, readonly string[] | null>
}

/** Answers with the texts of a name; a name without texts does not exist. Null: no answer. */
export async function startTxtServer(t: { after(close: () => void): void }): Promise<TxtServer> {
  const texts: TxtServer['texts'] = new Map()
  const socket = createSocket('udp4', (question, { port, address }) => {
    const known = texts.get(nameOf(question))
    if (known === null) return
    const header = Buffer.from(question.subarray(0, HEADER_BYTES))
    header.writeUInt16BE(ANSWER_AND_RECURSION + (known ? 0 : RCODE_NAME_ERROR), 2)
    header.writeUInt16BE(known?.length ?? 0, 6)
    header.writeUInt32BE(0, 8)
    const end = question.indexOf(0, HEADER_BYTES) + 5
    const records = (known ?? []).map(txtRecord)
    socket.send(
      Buffer.concat([header, question.subarray(HEADER_BYTES, end), ...records]),
      port,
      address,
    )
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  t.after(() => socket.close())
  // Bound to a port just now.
  return { address: `127.0.0.1:${(socket.address() as AddressInfo).port}`, texts }
}
