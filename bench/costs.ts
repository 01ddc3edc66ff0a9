// Measures the costs of operations per request: processor time, bytes, flushes and round trips.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Engine, type PostgresServer, queryServer } from './engines.ts'
import { fire, post } from './load.ts'
import { cpuSeconds, startCustos, stop, urlOf } from './processes.ts'
import { type Operation, scenarios } from './scenarios.ts'
import { type Checkpoint, factBody, fill, findCheckpoint, stages } from './stages.ts'

/** Counter values; null if they are not observable with this engine. */
interface Counters {
  readonly cpu_s: number
  readonly database_cpu_s: number | null
  readonly written_bytes: number
  readonly fsyncs: number | null
  readonly round_trips: number | null
  readonly wire_bytes: number | null
}

type Costs = { readonly [K in keyof Counters]: number | null }

export interface CostsResult {
  readonly name: string
  readonly connections: number
  readonly costs: Costs
}

export interface CostsRun {
  readonly results: readonly CostsResult[]
  /** Load average of the last minute, before and after the run. */
  readonly load: readonly [number, number]
}

const NAMES = [
  'decision log',
  'write',
  'write_batch of 100',
  'retrieve',
  'list of 100 decisions',
  'proof of an entry',
  'score read',
  'erasure',
]
const CONNECTIONS = [1, 16]
const WARM_UP = 32
/** Delay before counters are read, for the server's statistics and work after an answer. */
const SETTLE_MS = 1_500

/** Each pair of requests makes a checkpoint over one new entry. */
const checkpoint: Operation = {
  name: 'write and checkpoint',
  connections: 1,
  make: (index) =>
    index % 2 === 0
      ? post('/v1/stores/default/write', factBody(2_000_000 + index))
      : { method: 'POST', path: '/v1/gcrumbs/roll' },
}

export async function measureCosts(
  engine: Engine | PostgresServer,
  { short }: { short: boolean },
): Promise<CostsRun> {
  const before = loadavg()[0] ?? 0
  const place = await engine.create()
  const wire = 'about' in engine ? await openWire(place.env) : null
  const service = startCustos({ ...place.env, ...wire?.env, CUSTOS_EPOCH_SECONDS: '0' })
  try {
    const url = await urlOf(service)
    await fill(url, stages.small)
    const found = await findCheckpoint(url)
    const measured = { engine, service, url, wire, found, sent: new Map<string, number>() }
    const operations = NAMES.flatMap((name) =>
      scenarios.flatMap((one) => (one.name === name ? [one.operation] : [])),
    )
    const results: CostsResult[] = []
    for (const operation of [...operations, checkpoint])
      for (const connections of operation === checkpoint ? [1] : CONNECTIONS) {
        const requests = short ? 64 : sizeOf(operation)
        results.push(await measureOne(measured, operation, { connections, requests }))
      }
    return { results, load: [before, loadavg()[0] ?? 0] }
  } finally {
    await stop(service)
    wire?.close()
    await place.remove()
  }
}

const sizeOf = ({ name }: Operation): number =>
  name === 'erasure' ? 128 : name.startsWith('write_batch') ? 64 : 512

interface MeasuredService {
  readonly engine: Engine | PostgresServer
  readonly service: ChildProcess
  readonly url: string
  readonly wire: Wire | null
  readonly found: Checkpoint
  /** Number of requests sent per operation, because a memory can be erased only once. */
  readonly sent: Map<string, number>
}

async function measureOne(
  measured: MeasuredService,
  operation: Operation,
  { connections, requests }: { connections: number; requests: number },
): Promise<CostsResult> {
  const run = async (count: number) => {
    const first = measured.sent.get(operation.name) ?? 0
    measured.sent.set(operation.name, first + count)
    const made = Array.from({ length: count }, (_, i) => operation.make(first + i, measured.found))
    const callers = Array.from({ length: connections }, () => ({ url: measured.url }))
    const { errors } = await fire(callers, made)
    if (errors > 0) throw new Error(`${operation.name}: ${errors} requests failed`)
  }
  await run(WARM_UP)
  const before = await read(measured)
  await run(requests)
  const after = await read(measured)
  const per = operation === checkpoint ? requests / 2 : requests
  const fsyncs = await fsyncsOf(measured, { per, run: () => run(requests), before, after })
  const costs = Object.fromEntries(
    Object.entries(after).map(([name, value]) => {
      const was = Reflect.get(before, name)
      return [name, value === null || was === null ? null : (value - was) / per]
    }),
  )
  // Each counter divided by the number of requests.
  return { name: operation.name, connections, costs: { ...(costs as Costs), fsyncs } }
}

/** Flushes: PostgreSQL counts its own; for the embedded engine, a second run uses strace. */
async function fsyncsOf(
  { engine, service }: MeasuredService,
  { per, run, before, after }: FsyncTask,
): Promise<number | null> {
  if ('about' in engine)
    return after.fsyncs === null ? null : (after.fsyncs - (before.fsyncs ?? 0)) / per
  const counted = await countFlushes(service, run)
  return counted === null ? null : counted / per
}

interface FsyncTask {
  readonly per: number
  run(): Promise<void>
  readonly before: Counters
  readonly after: Counters
}

async function read({ engine, service, wire }: MeasuredService): Promise<Counters> {
  await delay(SETTLE_MS)
  const server = 'about' in engine ? engine : null
  const stored = server ? await serverCounters(server) : null
  return {
    cpu_s: cpuSeconds(service),
    database_cpu_s: server?.cpuSeconds() ?? null,
    written_bytes: stored?.wal_bytes ?? writtenBy(service),
    fsyncs: stored?.fsyncs ?? null,
    round_trips: wire?.round_trips() ?? null,
    wire_bytes: wire?.bytes() ?? null,
  }
}

/** Bytes sent to the storage layer, from `/proc/pid/io` (proc(5)). */
const writtenBy = ({ pid }: ChildProcess): number =>
  Number(/write_bytes: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0)

async function serverCounters({ url }: PostgresServer) {
  const [wal] = await queryServer(url, 'select wal_bytes::float8 as wal_bytes from pg_stat_wal')
  const [io] = await queryServer(url, 'select sum(fsyncs)::float8 as fsyncs from pg_stat_io')
  return { wal_bytes: Number(wal?.['wal_bytes'] ?? 0), fsyncs: Number(io?.['fsyncs'] ?? 0) }
}

/** Counts flushes with strace; null if strace is missing or may not trace. */
async function countFlushes(
  { pid }: ChildProcess,
  run: () => Promise<void>,
): Promise<number | null> {
  const dir = mkdtempSync(join(tmpdir(), 'custos-costs-'))
  const out = join(dir, 'calls')
  const args = ['-f', '-c', '-e', 'trace=fsync,fdatasync', '-o', out, '-p', String(pid)]
  const tracer = spawn('strace', args, { stdio: 'ignore' })
  const ended = once(tracer, 'exit').catch(() => [])
  try {
    const alive = await Promise.race([ended.then(() => false), delay(1_000, true)])
    if (!alive) return null
    await run()
    tracer.kill('SIGINT')
    await ended
    if (!existsSync(out)) return null
    const rows = readFileSync(out, 'utf8').split('\n')
    const calls = rows.filter((row) => /\b(fsync|fdatasync)$/.test(row.trim()))
    return calls.reduce((sum, row) => sum + Number(row.trim().split(/\s+/)[3]), 0)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Proxies in front of the databases that count how often a connection waits for an answer. */
interface Wire {
  readonly env: NodeJS.ProcessEnv
  round_trips(): number
  bytes(): number
  close(): void
}

async function openWire(given: NodeJS.ProcessEnv): Promise<Wire> {
  const counted = { turns: 0, bytes: 0 }
  const servers: Server[] = []
  const env: NodeJS.ProcessEnv = {}
  for (const name of ['CUSTOS_DATABASE_URL', 'CUSTOS_KEYRING_URL']) {
    const url = new URL(String(given[name]))
    const target = { host: url.hostname, port: Number(url.port || 5_432) }
    const server = createServer((client) => relay(client, target, counted))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (typeof address !== 'object' || !address) throw new Error('the proxy has no port')
    env[name] = Object.assign(url, { hostname: '127.0.0.1', port: String(address.port) }).href
    servers.push(server)
  }
  return {
    env,
    round_trips: () => counted.turns,
    bytes: () => counted.bytes,
    close: () => servers.forEach((server) => void server.close()),
  }
}

function relay(
  client: Socket,
  target: { host: string; port: number },
  counted: { turns: number; bytes: number },
): void {
  const server = connect(target)
  let asked = false
  client.on('data', (chunk) => {
    counted.bytes += chunk.length
    asked = true
    server.write(chunk)
  })
  server.on('data', (chunk) => {
    counted.bytes += chunk.length
    if (asked) counted.turns += 1
    asked = false
    client.write(chunk)
  })
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const) {
    one.on('error', () => other.destroy())
    one.on('close', () => other.destroy())
    one.setNoDelay(true)
  }
}

const BUSY = 1

/** The table of costs, with a note if the machine was doing other work. */
export function costsTable({ results, load }: CostsRun): string {
  const number = (value: number | null, digits: number): string =>
    value === null ? '—' : value.toFixed(digits)
  const rows = results.map(({ name, connections, costs }) => {
    const us = (seconds: number | null) => number(seconds === null ? null : seconds * 1e6, 0)
    return [
      name,
      connections,
      us(costs.cpu_s),
      us(costs.database_cpu_s),
      number(costs.written_bytes, 0),
      number(costs.fsyncs, 2),
      number(costs.round_trips, 1),
      number(costs.wire_bytes, 0),
    ].join(' | ')
  })
  const head =
    'a request | connections | Custos µs | database µs | bytes written | fsyncs | round trips | ' +
    'bytes to and from the database'
  const busy = load.some((one) => one > BUSY)
  return [
    `| ${head} |`,
    `|${'---|'.repeat(8)}`,
    ...rows.map((row) => `| ${row} |`),
    '',
    `load of the machine before and after: ${load.map((one) => one.toFixed(1)).join(', ')}` +
      (busy ? ' (other work was under way)' : ''),
  ].join('\n')
}
