// npm run bench:subjects: erases a person with 10,000 memories, and measures the wait of others.

import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { parseConfig, startService } from '@custos/server'
import { type Engine, openPostgresServer, sqlite } from './engines.ts'

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'sqlite' },
    facts: { type: 'string', default: '10000' },
    /** Uses a hundredth of the data. */
    short: { type: 'boolean', default: false },
  },
})

const FACTS = values.short ? 100 : Number(values.facts)
/** Number of memories of other people, which are searched and kept. */
const OTHERS = FACTS
const DECISIONS = Math.ceil(FACTS / 100)
const BATCH = 500
const POLL_MS = 250
const MB = 1024 * 1024

interface SubjectMeasurement {
  readonly seconds: number
  /** Processor seconds, which other load of the machine does not affect. */
  readonly cpu_seconds: number
  /** Processor time between two turns of the event loop: 99th percentile and maximum. */
  readonly turn_p99_ms: number
  readonly turn_max_ms: number
}

const contentOf = (person: string, n: number) =>
  `${person} wrote note ${n}: the parcel of order ${n * 7} came late, a neighbour has signed for it`

async function main(): Promise<void> {
  const engine: Engine = values.engine === 'postgres' ? await openPostgresServer() : sqlite
  const place = await engine.create()
  const given = Object.entries(place.env).filter(([, value]) => value !== '')
  const env = Object.fromEntries(given)
  const config = parseConfig({ ...env, CUSTOS_PORT: '0', CUSTOS_LOG_LEVEL: 'error' })
  const service = await startService(config)
  try {
    await measureAll(service.url, engine.name)
  } finally {
    await service.stop()
    await place.remove()
    await engine.stop()
  }
}

async function measureAll(url: string, engine: string): Promise<void> {
  const post = (path: string, body: unknown) => ask(url, path, body)
  for (let at = 0; at < FACTS; at += BATCH) {
    await writeSome(post, 'Jana Novak', at)
    await writeSome(post, 'Somebody Else', at)
  }
  for (let at = 0; at < DECISIONS; at += 1)
    await post('/v1/decisions/log', {
      ...{ store_id: 'default', model_id: 'bench', query: `Where is Jana Novak (${at})?` },
      ...{ output: 'In Brno', retrieved_refs: [1 + 2 * at] },
    })
  const rss = process.memoryUsage().rss
  const find = { text: 'Jana Novak' }
  const preview = await measured(() => post('/v1/erasure/subject', { find, preview: true }))
  show(engine, `preview of ${FACTS} in ${FACTS + OTHERS}`, preview)
  let request_id = ''
  const { digest } = await post('/v1/erasure/subject', { find, preview: true })
  const asked = await measured(async () => {
    request_id = (await post('/v1/erasure/subject', { find, expect_digest: digest })).request_id
  })
  show(engine, 'request', asked)
  let peak = rss
  const erased = await measured(async () => {
    for (;;) {
      peak = Math.max(peak, process.memoryUsage().rss)
      const { completed_at } = await ask(url, `/v1/erasure/subject/${request_id}`)
      if (completed_at !== null) return
      await delay(POLL_MS)
    }
  })
  show(engine, `erasure of ${FACTS} and ${DECISIONS} decisions`, erased)
  console.log(`  ${Math.round(FACTS / erased.seconds)} memories/s, RSS +${mb(peak - rss)} MB`)
  let bytes = 0
  const bundled = await measured(async () => {
    const answer = await fetch(`${url}/v1/erasure/subject/${request_id}/manifest?format=bundle`)
    bytes = (await answer.arrayBuffer()).byteLength
  })
  show(engine, `bundle of ${mb(bytes)} MB`, bundled)
}

const mb = (bytes: number): number => Math.round(bytes / MB)

async function writeSome(
  post: (path: string, body: unknown) => Promise<unknown>,
  person: string,
  at: number,
): Promise<void> {
  const count = Math.min(BATCH, FACTS - at)
  const items = Array.from({ length: count }, (_, i) => ({ content: contentOf(person, at + i) }))
  await post('/v1/stores/default/write_batch', { items })
}

/** The used members of answers. */
interface Reply {
  readonly digest: string
  readonly request_id: string
  readonly completed_at: string | null
}

async function ask(url: string, path: string, body?: unknown): Promise<Reply> {
  const sent = { method: 'POST', headers: { 'content-type': 'application/json' } }
  const answer = await fetch(
    `${url}${path}`,
    body === undefined ? {} : { ...sent, body: JSON.stringify(body) },
  )
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text.slice(0, 300)}`)
  return JSON.parse(text)
}

async function measured(act: () => Promise<unknown>): Promise<SubjectMeasurement> {
  const turns = new Turns()
  const cpu = process.cpuUsage()
  const began = performance.now()
  await act()
  const seconds = (performance.now() - began) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  return { seconds, cpu_seconds: (user + system) / 1e6, ...turns.end() }
}

/** Records the processor time between turns of the event loop, which delays other requests. */
class Turns {
  readonly #used: number[] = []
  #last = process.threadCpuUsage()
  readonly #timer = setInterval(() => this.#note(), 1)

  #note(): void {
    const { user, system } = process.threadCpuUsage(this.#last)
    this.#last = process.threadCpuUsage()
    this.#used.push((user + system) / 1_000)
  }

  end(): Pick<SubjectMeasurement, 'turn_p99_ms' | 'turn_max_ms'> {
    clearInterval(this.#timer)
    this.#note()
    const sorted = this.#used.toSorted((a, b) => a - b)
    const at = (part: number) => sorted[Math.floor(part * (sorted.length - 1))] ?? 0
    return { turn_p99_ms: at(0.99), turn_max_ms: at(1) }
  }
}

function show(engine: string, what: string, found: SubjectMeasurement) {
  const { seconds, cpu_seconds, turn_p99_ms, turn_max_ms } = found
  const cpu = `${cpu_seconds.toFixed(2)} s of processor`
  const turns = `turn p99 ${turn_p99_ms.toFixed(0)} ms, longest ${turn_max_ms.toFixed(0)} ms`
  console.log(`${engine}: ${what}: ${seconds.toFixed(2)} s, ${cpu}, ${turns}`)
}

await main()
