// custos witness: runs a witness, which cosigns checkpoints of logs that only ever grow.

import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { dirname } from 'node:path'
import { COSIGNATURE_TYPE, fromHex, parseVerifierKey, verifierKey } from '@custos/proof'
import { openOwnSigner } from '@custos/server'
import { wallTime } from '@custos/server/clock'
import {
  type Command,
  CommandError,
  readArguments,
  requirePositionals,
  UsageError,
} from '../../command.ts'
import { WitnessJournal } from './witness-journal.ts'
import { Witness, type WitnessedLogs, type WitnessReply } from './witness-log.ts'

const SECOND_US = 1_000_000
/** More than 63 hashes and a note with 64 signatures need. */
const BODY_BYTES_MAX = 64 * 1024
const REQUEST_MS = 10_000
const ADD_CHECKPOINT = /^(?:\/[^/?]+)*\/add-checkpoint$/

export const witness: Command = {
  usage: '--config FILE --state FILE --signing-key FILE [options]',
  help: `Runs a witness by the protocol C2SP tlog-witness: POST /add-checkpoint. It cosigns a
checkpoint of a log that it knows if the checkpoint extends the last one that it cosigned, and
refuses a fork and a smaller tree. It needs no database and no service.

  --config FILE       JSON: {"name": "witness.example/w1", "logs": [{"origin": "custos/…/TENANT",
                      "keys": ["…"]}]}. keys: of the log, 64 hex digits or a vkey each.
                      "origin_prefix" in place of "origin" follows every log whose origin begins so
  --state FILE        what it has cosigned; created together with the key. Lost, the witness must
                      not run again under its key. One process at a time
  --signing-key FILE  Ed25519 key in PEM; created with mode 0600 if the file is missing
  --new-state         creates the state for a key that was there before and has never cosigned
  --host ADDRESS      default: 127.0.0.1
  --port PORT         default: 8430; 0 takes a free one

It prints its key as a vkey, which logs put into CUSTOS_WITNESSES and readers pass to
custos verify --witness-key. Two checkpoints of one size with different roots are printed as
one line of JSON, "evidence" of a fork; two without a proof between them as "unproven".`,
  run: runWitness,
}

async function runWitness(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    config: { type: 'string' },
    state: { type: 'string' },
    'signing-key': { type: 'string' },
    'new-state': { type: 'boolean', default: false },
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '8430' },
  })
  requirePositionals(positionals)
  const { config, state, 'signing-key': keyFile, host } = values
  if (config === undefined || state === undefined || keyFile === undefined)
    throw new UsageError('name --config FILE, --state FILE and --signing-key FILE')
  const port = /^[0-9]{1,5}$/.test(values.port) ? Number(values.port) : Number.NaN
  if (!(port <= 65_535)) throw new UsageError('--port takes a number from 0 to 65535')
  const { name, logs } = readWitnessConfig(config)
  if (values['new-state'] && existsSync(state))
    throw new CommandError(`--new-state is for the first start only: ${state} is there`)
  const unused = values['new-state'] || !existsSync(keyFile)
  // Checked before a key is created, because a key without its state would be refused later.
  accessSync(dirname(state), constants.W_OK)
  const { public_key, sign } = openOwnSigner(keyFile)
  const key = verifierKey(name, public_key, COSIGNATURE_TYPE)
  const journal = new WitnessJournal(state, { key, unused })
  try {
    const now_s = () => Math.floor(wallTime() / SECOND_US)
    const running = await serveWitness(
      new Witness({ name, public_key, logs, journal, now_s, sign }),
      {
        host,
        port,
        onContradiction(found) {
          console.error(JSON.stringify({ [found.kind]: found.checkpoints }))
        },
      },
    )
    console.log(`witness ${key}`)
    console.log(`listens on ${running.url}`)
    await stopSignal()
    await running.close()
    return 0
  } finally {
    journal.close()
  }
}

const stopSignal = (): Promise<void> =>
  new Promise((resolve) => {
    process.once('SIGTERM', () => resolve()).once('SIGINT', () => resolve())
  })

/** Starts the HTTP server. Throws errors of listening. */
export async function serveWitness(
  judge: Witness,
  {
    host,
    port,
    onContradiction,
  }: {
    host: string
    port: number
    onContradiction(found: NonNullable<WitnessReply['contradiction']>): void
  },
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer({ requestTimeout: REQUEST_MS }, (request, response) => {
    const answered = answer(judge, request, response).then((reply) => {
      if (reply?.contradiction) onContradiction(reply.contradiction)
    })
    answered.catch((error: unknown) => {
      // A checkpoint that is not durable must not be cosigned.
      console.error(`custos witness: ${error instanceof Error ? error.message : 'failed'}`)
      if (response.headersSent) response.destroy()
      else send(response, { status: 500, body: 'the state could not be stored\n' })
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => resolve())
  })
  const address = server.address()
  const bound = typeof address === 'object' && address !== null ? address.port : port
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
      }),
  }
}

/** Answers a request. Resolves to the reply to a checkpoint after it is sent. */
async function answer(
  judge: Witness,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<WitnessReply | undefined> {
  if (!ADD_CHECKPOINT.test(request.url ?? ''))
    return send(response, { status: 404, body: 'no such path\n' })
  if (request.method !== 'POST') return send(response, { status: 405, body: 'POST only\n' })
  const text = await readText(request)
  if (text === null) return send(response, { status: 413, body: 'too long\n' }, true)
  const reply = await judge.addCheckpoint(text)
  send(response, reply)
  return reply
}

async function readText(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function send(
  response: ServerResponse,
  { status, body, type }: WitnessReply,
  close = false,
): undefined {
  response.writeHead(status, {
    'content-type': type ?? 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    ...(close ? { connection: 'close' } : {}),
  })
  response.end(body)
}

function readWitnessConfig(path: string): { name: string; logs: WitnessedLogs[] } {
  const given = members(parseFile(path), ['name', 'logs'], path)
  const { name, logs } = given
  if (typeof name !== 'string' || !/^[!-*,-~]{1,200}$/.test(name))
    throw new CommandError(`${path}: "name" is printable ASCII without spaces or "+"`)
  if (!Array.isArray(logs) || logs.length === 0)
    throw new CommandError(`${path}: "logs" is a list of one or more`)
  return { name, logs: logs.map((log, i) => readLog(log, `${path}, log ${i + 1}`)) }
}

function readLog(given: unknown, where: string): WitnessedLogs {
  const { origin, origin_prefix, keys } = members(given, ['origin', 'origin_prefix', 'keys'], where)
  const named = [origin, origin_prefix].filter((text) => typeof text === 'string' && text !== '')
  if (named.length !== 1) throw new CommandError(`${where}: "origin" or "origin_prefix", one`)
  if (!Array.isArray(keys) || keys.length === 0)
    throw new CommandError(`${where}: "keys" is a list of one or more`)
  return {
    ...(typeof origin === 'string' ? { origin } : {}),
    ...(typeof origin_prefix === 'string' ? { origin_prefix } : {}),
    keys: keys.map((key) => readLogKey(String(key), where)),
  }
}

/** The Ed25519 key of a log, from 64 hex digits or a vkey, whose name is ignored. */
export function readLogKey(text: string, where: string): Uint8Array {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return fromHex(text.toLowerCase())
  try {
    return parseVerifierKey(text).publicKey
  } catch {
    throw new CommandError(`${where}: a key is 64 hex digits or a vkey`)
  }
}

function parseFile(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) throw new CommandError(`${path} is not JSON`)
    throw error
  }
}

function members(given: unknown, names: readonly string[], where: string) {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new CommandError(`${where}: an object is needed`)
  const other = Object.keys(given).find((name) => !names.includes(name))
  if (other !== undefined) throw new CommandError(`${where}: unknown member "${other}"`)
  const read: Readonly<Record<string, unknown>> = { ...given }
  return read
}
