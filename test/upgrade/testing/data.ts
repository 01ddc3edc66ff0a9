// The data of the older version: packed into this folder as text, and put in place again.

import assert from 'node:assert/strict'
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import type { Recorded } from './answers.ts'
import { MASTER_KEY, type Place } from './command-line.ts'
import type { Known } from './fill.ts'
import { dumpPostgres, loadPostgres } from './postgres-text.ts'
import { dumpSqlite, loadSqlite } from './sqlite-text.ts'

export type Engine = 'embedded' | 'postgresql'

/** Everything that the test knows of the data, besides the data. */
export interface Kept {
  readonly known: Known
  /** When the last of it was written. */
  readonly made_at: string
  readonly recorded: readonly Recorded[]
}

/** Texts by the name of what they are. */
type Parts = Readonly<Record<string, string>>

/** Of the version that wrote the data. */
export const COMMIT = 'fb9b697'
const SCRIPT = '../make.ts'
const HEAD = `Custos at ${COMMIT}, made by ${SCRIPT.slice(3)}: see README.md. Brotli in base64.\n`
const LINE = 100
const SECRET_BYTES = 32

const fileOf = (engine: Engine): string => join(import.meta.dirname, '..', `data-${engine}.txt`)

function pack(engine: Engine, parts: Parts): void {
  const text = Object.entries(parts).map(([name, part]) => `==== ${name}\n${part}`)
  const params = { [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS }
  const packed = brotliCompressSync(text.join(''), { params }).toString('base64')
  const lines = packed.match(new RegExp(`.{1,${LINE}}`, 'g')) ?? []
  writeFileSync(fileOf(engine), `${HEAD}${lines.join('\n')}\n`)
}

function unpack(engine: Engine): Parts {
  const text = readFileSync(fileOf(engine), 'utf8')
  assert.ok(text.startsWith(HEAD), `${fileOf(engine)} is not of commit ${COMMIT}`)
  const packed = Buffer.from(text.slice(HEAD.length), 'base64')
  const parts = brotliDecompressSync(packed)
    .toString()
    .split(/^==== (.+)\n/m)
  return Object.fromEntries(
    parts.flatMap((name, i) => (i % 2 === 1 ? [[name, parts[i + 1] ?? '']] : [])),
  )
}

const filesOf = (dir: string) => ({
  data: join(dir, 'data', 'custos.db'),
  keyring: join(dir, 'data', 'keyring', 'keyring.db'),
  secrets: join(dir, 'data', 'keyring', 'secrets.slots'),
  ledger: join(dir, 'ledger.ndjson'),
})

export const dataDirOf = (dir: string): string => join(dir, 'data')

/** An embedded service with everything below one directory. */
export const embeddedPlace = (dir: string): Place => ({
  settings: { CUSTOS_DATA_DIR: dataDirOf(dir), CUSTOS_LEDGER_COPY: filesOf(dir).ledger },
})

/** A service on a database, which keeps its ledger copy below a directory. */
export const postgresPlace = (dir: string, database_url: string): Place => ({
  settings: {
    CUSTOS_DATA_DIR: join(dir, 'unused'),
    CUSTOS_LEDGER_COPY: filesOf(dir).ledger,
    CUSTOS_DATABASE_URL: database_url,
    CUSTOS_DATABASE_POOL: '4',
  },
})

function embeddedParts(dir: string): Parts {
  const files = filesOf(dir)
  return {
    'custos.db': dumpSqlite(files.data),
    'keyring.db': dumpSqlite(files.keyring),
    'secrets.slots': slotsText(readFileSync(files.secrets)),
    'ledger.ndjson': readFileSync(files.ledger, 'utf8'),
  }
}

const postgresParts = async (dir: string, database_url: string): Promise<Parts> => ({
  database: await dumpPostgres(database_url),
  'ledger.ndjson': readFileSync(filesOf(dir).ledger, 'utf8'),
})

const partsOf = async (dir: string, database_url: string | null): Promise<Parts> =>
  database_url === null ? embeddedParts(dir) : postgresParts(dir, database_url)

/** What lies below the directory, and in the database where there is one. */
export async function save(dir: string, database_url: string | null, kept: Kept): Promise<void> {
  const { recorded, ...first } = kept
  const lines = [{ ...first, master_key: MASTER_KEY }, ...recorded]
  pack(database_url === null ? 'embedded' : 'postgresql', {
    ...(await partsOf(dir, database_url)),
    'answers.ndjson': lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
  })
}

export function loadKept(engine: Engine): Kept {
  const lines = (unpack(engine)['answers.ndjson'] ?? '').trimEnd().split('\n')
  const [first, ...recorded] = lines.map((line) => JSON.parse(line))
  return { ...first, recorded }
}

/** As it was when the older version had stopped: below an empty directory, in an empty database. */
export async function restore(dir: string, database_url: string | null): Promise<Place> {
  const files = filesOf(dir)
  const parts = unpack(database_url === null ? 'embedded' : 'postgresql')
  const part = (name: string): string => parts[name] ?? ''
  writeFileSync(files.ledger, part('ledger.ndjson'), { mode: 0o600 })
  if (database_url !== null) {
    await loadPostgres(database_url, part('database'))
    return postgresPlace(dir, database_url)
  }
  mkdirSync(join(dataDirOf(dir), 'keyring'), { recursive: true, mode: 0o700 })
  loadSqlite(files.data, part('custos.db'))
  loadSqlite(files.keyring, part('keyring.db'))
  writeSlots(files.secrets, part('secrets.slots'))
  return embeddedPlace(dir)
}

/** What was put in place and is written as text again is the text it was made from. */
export async function assertRestored(dir: string, database_url: string | null): Promise<void> {
  const packed = unpack(database_url === null ? 'embedded' : 'postgresql')
  for (const [name, text] of Object.entries(await partsOf(dir, database_url)))
    assert.ok(text === packed[name], `${name} is not put in place as it was`)
}

/** The length of the file; then a line for each slot that is not zeros, with its number. */
function slotsText(bytes: Buffer): string {
  const lines = [String(bytes.length)]
  for (let at = 0; at < bytes.length; at += SECRET_BYTES) {
    const slot = bytes.subarray(at, at + SECRET_BYTES)
    if (slot.some((byte) => byte !== 0)) lines.push(`${at / SECRET_BYTES} ${slot.toString('hex')}`)
  }
  return lines.map((line) => `${line}\n`).join('')
}

function writeSlots(path: string, text: string): void {
  const [length, ...lines] = text.trimEnd().split('\n')
  const file = openSync(path, 'wx', 0o600)
  ftruncateSync(file, Number(length))
  for (const line of lines) {
    const [number, hex = ''] = line.split(' ')
    writeSync(file, Buffer.from(hex, 'hex'), 0, SECRET_BYTES, Number(number) * SECRET_BYTES)
  }
  closeSync(file)
}
