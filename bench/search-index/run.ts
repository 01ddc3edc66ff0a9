// npm run bench:index: measures the search index of a growing store: build, memory, answers, and
// how a build delays readers of another store.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  type BuildCosts,
  type BuildTime,
  type MemoryUse,
  percentiles,
  type SearchTimes,
} from '../../packages/server/src/slices/memory/testing/index-measures.ts'
import { makeFact, makeQuery, QUERY_KINDS, random } from '../texts.ts'
import { type IndexResult, indexTables } from './report.ts'
import type { SearchRequest } from './server.ts'

const MILLION = 1_000_000

const { values } = parseArgs({
  options: {
    /** Numbers of facts in the store, with one run for each. */
    sizes: { type: 'string', default: '1000,10000,100000' },
    /** Also measures a million facts, which takes several minutes and two gigabytes of disk. */
    million: { type: 'boolean', default: false },
    queries: { type: 'string', default: '200' },
    /** Measures the time to the first answer after a start instead, with and without a snapshot. */
    starts: { type: 'boolean', default: false },
    out: { type: 'string' },
  },
})

const BATCH = 500
const SMALL = 200
const PROBE_EVERY_MS = 4
const QUERIES = Number(values.queries)

interface Server {
  readonly url: string
  ask<T>(wish: SearchRequest): Promise<T>
  stop(): Promise<void>
}

/** Starts the service on a directory. It can collect garbage before it reports its memory. */
async function startServer(dir: string, index_dir = 'none'): Promise<Server> {
  const child: ChildProcess = fork(join(import.meta.dirname, 'server.ts'), [], {
    execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning'],
    env: {
      ...process.env,
      ...{ CUSTOS_DATA_DIR: dir, CUSTOS_DATABASE_URL: '', CUSTOS_KEYRING_URL: '' },
      CUSTOS_INDEX_DIR: index_dir,
      ...{ CUSTOS_PORT: '0', CUSTOS_LOG_LEVEL: 'error', CUSTOS_INDEX_MB: '4096' },
    },
  })
  const ended = once(child, 'exit').then(() => {
    throw new Error('the server ended before it answered')
  })
  ended.catch(() => {})
  const next = async () => (await Promise.race([once(child, 'message'), ended]))[0]
  const url = await next()
  return {
    url,
    async ask(wish) {
      child.send(wish)
      return next()
    },
    async stop() {
      const gone = once(child, 'exit')
      child.send('stop')
      await gone
    },
  }
}

async function post(url: string, path: string, body: unknown) {
  const reply = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await reply.text()
  if (!reply.ok) throw new Error(`${path}: ${reply.status} ${text}`)
  return JSON.parse(text)
}

async function fill(url: string, store_id: string, count: number): Promise<void> {
  for (let at = 0; at < count; at += BATCH) {
    const facts = Array.from({ length: Math.min(BATCH, count - at) }, (_, i) => makeFact(at + i))
    const items = facts.map(({ content, metadata }) => ({ content, options: { metadata } }))
    await post(url, `/v1/stores/${store_id}/write_batch`, { items })
  }
}

const store = async (url: string): Promise<string> =>
  (await post(url, '/v1/stores', { self_test: true })).store_id

interface Retrieve {
  readonly url: string
  readonly store_id: string
  readonly options?: object
}

async function timed({ url, store_id, options = {} }: Retrieve, query: string): Promise<number> {
  const startedAt = performance.now()
  await post(url, `/v1/stores/${store_id}/retrieve`, { query, budget_tokens: 512, options })
  return performance.now() - startedAt
}

/** Measures sequential retrievals, as a client sees them. */
async function answers(kind: string, where: Retrieve): Promise<SearchTimes> {
  const next = random(kind.length + 40)
  const times: number[] = []
  for (let at = 0; at < QUERIES; at += 1)
    times.push(await timed(where, makeQuery('sentence', next)))
  return { kind, ...percentiles(times) }
}

/** Reads another store while the big one is built. Returns all delays in milliseconds. */
async function buildUnderProbe(server: Server, big: string, small: string) {
  const next = random(3)
  const where = { url: server.url, store_id: small }
  const delays: number[] = []
  let building = true
  const built = server.ask<BuildTime>({ act: 'build', store_id: big }).finally(() => {
    building = false
  })
  while (building) {
    delays.push(await timed(where, makeQuery('sentence', next)))
    await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS))
  }
  return { ...(await built), delay: percentiles(delays), delay_max_ms: Math.max(...delays) }
}

const BACK_US = 500_000

async function searchAlone(server: Server, store_id: string): Promise<SearchTimes[]> {
  const queriesOf = (kind: (typeof QUERY_KINDS)[number]) => {
    const next = random(kind.length)
    return Array.from({ length: QUERIES }, () => makeQuery(kind, next))
  }
  const sentences = queriesOf('sentence')
  const wanted = [
    ...QUERY_KINDS.map((kind) => ({ kind, queries: queriesOf(kind) })),
    { kind: 'as of', queries: sentences, back_us: BACK_US },
    { kind: 'metadata', queries: sentences, filter: { kind: 'event' } },
  ]
  const found: SearchTimes[] = []
  for (const searched of wanted)
    found.push(await server.ask<SearchTimes>({ act: 'search', store_id, searched }))
  return found
}

async function measure(facts: number): Promise<IndexResult> {
  const dir = mkdtempSync(join(tmpdir(), 'custos-bench-'))
  try {
    const filled = await startServer(dir)
    const [big, small] = [await store(filled.url), await store(filled.url)]
    await fill(filled.url, small, SMALL)
    await fill(filled.url, big, facts)
    await filled.stop()
    process.stderr.write(`${facts} facts written\n`)

    const server = await startServer(dir)
    const where = { url: server.url, store_id: big }
    const warm = { url: server.url, store_id: small }
    const alone = await answers('other store', warm)
    const before = await server.ask<MemoryUse>({ act: 'memory', store_id: big })
    const built = await buildUnderProbe(server, big, small)
    const after = await server.ask<MemoryUse>({ act: 'memory', store_id: big })
    const searches = await searchAlone(server, big)
    const as_of = new Date().toISOString()
    const retrieves = [
      await answers('retrieve', where),
      await answers('retrieve as_of', { ...where, options: { as_of } }),
      await answers('retrieve known_at', { ...where, options: { known_at: as_of } }),
      await answers('retrieve metadata', { ...where, options: { metadata: { kind: 'event' } } }),
    ]
    const parts = await server.ask<BuildCosts>({ act: 'parts', store_id: big, count: 20_000 })
    await server.stop()
    return { facts, ...built, alone, before, after, searches, retrieves, parts }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Milliseconds from the start of the process to its first answer from the store. */
async function firstAnswer(dir: string, index_dir: string, store_id: string) {
  const startedAt = performance.now()
  const server = await startServer(dir, index_dir)
  const healthy_ms = performance.now() - startedAt
  let refused = 0
  for (;;) {
    const answered = await timed({ url: server.url, store_id }, 'the first of all').catch(
      () => null,
    )
    if (answered !== null) break
    refused += 1
  }
  const answered_ms = performance.now() - startedAt
  const blocked_ms = await server.ask<number>({ act: 'blocked' })
  const { rss } = await server.ask<MemoryUse>({ act: 'memory', store_id })
  return { server, times: { healthy_ms, answered_ms, refused, blocked_ms, rss_mb: rss / 2 ** 20 } }
}

async function measureStarts(facts: number): Promise<object> {
  const dir = mkdtempSync(join(tmpdir(), 'custos-bench-'))
  const index_dir = join(dir, 'index')
  try {
    const filled = await startServer(dir)
    const big = await store(filled.url)
    await fill(filled.url, big, facts)
    await filled.stop()
    const without = await firstAnswer(dir, index_dir, big)
    await without.server.ask<number>({ act: 'blocked' })
    const { save_ms, blocked_ms } = await without.server.ask<{
      save_ms: number
      blocked_ms: number
    }>({ act: 'save' })
    const files = readdirSync(index_dir).map((file) => statSync(join(index_dir, file)).size)
    const bytes = files.reduce((sum, size) => sum + size, 0) / facts
    const stoppedAt = performance.now()
    await without.server.stop()
    const stop_ms = performance.now() - stoppedAt
    const saved = await firstAnswer(dir, index_dir, big)
    await saved.server.stop()
    const save = { save_ms, blocked_ms, bytes_a_fact: bytes, stop_ms }
    return { facts, save, without: without.times, from_snapshot: saved.times }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const sizes = values.sizes.split(',').map(Number)
if (values.million) sizes.push(MILLION)
if (values.starts) {
  for (const size of sizes) console.log(JSON.stringify(await measureStarts(size), null, 2))
  process.exit()
}
const results: IndexResult[] = []
for (const size of sizes) results.push(await measure(size))
const model = cpus()[0]?.model.trim() ?? 'unknown'
const machine = `${cpus().length} x ${model}, Node ${process.version}`
console.log(`\n${machine}\n\n${indexTables(results)}`)
if (values.out) writeFileSync(values.out, `${JSON.stringify({ machine, results }, null, 2)}\n`)
