// The measured services: two processes of each variant, with the data of a stage.

import type { ChildProcess } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { type Engine, type Place, sqlite } from './engines.ts'
import { ask, get, type HttpRequest, post } from './load.ts'
import { ROOT, rssMb, start, startCustos, stop, urlOf } from './processes.ts'
import type { Ceiling, Operation } from './scenarios.ts'
import {
  type Checkpoint,
  fill,
  findCheckpoint,
  NO_CHECKPOINT,
  type Stage,
  stages,
} from './stages.ts'

/** `service` is this checkout, `before` an older one to compare with. */
export type Variant = 'service' | 'before' | Ceiling

const PROCESSES = 2
const POLL_MS = 50
const FIRST_ANSWER_MAX_MS = 600_000

/** The start of a service with data: its times and its memory. */
export interface StageStart {
  readonly listens_ms: number
  /** Time from listening to the first answered retrieval. */
  readonly first_retrieve_ms: number
  /** Time from listening to the last answer 503; 0 if there was none. */
  readonly unavailable_ms: number
  /** Memory with the index. */
  readonly rss_mb: number
}

export class Server {
  readonly child: ChildProcess
  readonly url: string
  readonly start: StageStart | null
  readonly #checkpoint: Checkpoint
  readonly #sent = new Map<string, number>()

  constructor(child: ChildProcess, url: string, found: ServerFacts) {
    this.child = child
    this.url = url
    this.start = found.start
    this.#checkpoint = found.checkpoint
  }

  /** At least `count` requests that are new to the process: a memory can be erased only once. */
  next(operation: Operation, count: number): HttpRequest[] {
    const first = this.#sent.get(operation.name) ?? 0
    const { connections } = operation
    const all = Math.ceil(count / connections) * connections
    this.#sent.set(operation.name, first + all)
    return Array.from({ length: all }, (_, i) => operation.make(first + i, this.#checkpoint))
  }
}

interface ServerFacts {
  readonly checkpoint: Checkpoint
  readonly start: StageStart | null
}

interface Entry {
  readonly servers: Promise<Server[]>
  readonly places: Place[]
}

export class Servers {
  readonly #engine: Engine
  /** The root of the older checkout; null if there is none. */
  readonly #before: string | null
  readonly #entries = new Map<string, Entry>()

  constructor(engine: Engine, before: string | null) {
    this.#engine = engine
    this.#before = before
  }

  /** The servers of a variant and stage, which the first call starts. */
  async of(variant: Variant, stage: Stage): Promise<Server[]> {
    const key = keyOf(variant, stage)
    let entry = this.#entries.get(key)
    if (!entry) {
      const places: Place[] = []
      const own = variant === '10k' ? stages['10k'] : stage
      const kind = variant === '10k' ? 'service' : variant
      entry = { servers: this.#start(kind, own, places), places }
      this.#entries.set(key, entry)
    }
    return entry.servers
  }

  /** Stops the servers that are not among the used ones. */
  async keepOnly(used: readonly (readonly [Variant, Stage])[]): Promise<void> {
    const kept = new Set(used.map(([variant, stage]) => keyOf(variant, stage)))
    for (const [key, { servers, places }] of this.#entries) {
      if (kept.has(key)) continue
      this.#entries.delete(key)
      for (const { child } of await servers) await stop(child)
      for (const place of places) await place.remove()
    }
  }

  async #start(variant: Exclude<Variant, '10k'>, stage: Stage, places: Place[]): Promise<Server[]> {
    const servers: Server[] = []
    if (variant === 'bare') {
      for (let i = 0; i < PROCESSES; i += 1) {
        const child = start(['bench/bare-route.ts'], {})
        const found = { checkpoint: NO_CHECKPOINT, start: null }
        servers.push(new Server(child, await urlOf(child), found))
      }
      return servers
    }
    const root = variant === 'before' ? (this.#before ?? ROOT) : ROOT
    const engine = variant === 'embedded' || variant === 'spike' ? sqlite : this.#engine
    const filled = await engine.create()
    places.push(filled)
    const checkpoint = await fillPlace(filled, root, stage)
    for (let i = 1; i < PROCESSES; i += 1) places.push(await filled.copy())
    for (const { env } of places) {
      const startedAt = performance.now()
      const spike = variant === 'spike'
      const child = spike ? start(['bench/spike.ts'], env) : startCustos(env, root)
      const url = await urlOf(child)
      const listens_ms = performance.now() - startedAt
      const first = spike || stage.facts === 0 ? null : await firstRetrieve(url)
      const size = { listens_ms, rss_mb: rssMb(child) }
      servers.push(new Server(child, url, { checkpoint, start: first && { ...first, ...size } }))
    }
    return servers
  }
}

/** Fills an empty place. The service is stopped when it resolves. */
async function fillPlace(place: Place, root: string, stage: Stage): Promise<Checkpoint> {
  const child = startCustos(place.env, root)
  try {
    const url = await urlOf(child)
    await fill(url, stage)
    return await findCheckpoint(url)
  } finally {
    await stop(child)
  }
}

const keyOf = (variant: Variant, stage: Stage): string =>
  variant === 'bare' ? variant : variant === '10k' ? 'service 10k' : `${variant} ${stage.name}`

/** Retries a retrieval until it is answered; meanwhile the index of the store is built. */
async function firstRetrieve(url: string) {
  const startedAt = performance.now()
  const { path, body = '' } = post('/v1/stores/default/retrieve', { query: 'a first query' })
  const headers = { 'content-type': 'application/json' }
  let unavailable_ms = 0
  for (;;) {
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body })
    await answer.text()
    const passed_ms = performance.now() - startedAt
    if (answer.ok) return { first_retrieve_ms: passed_ms, unavailable_ms }
    if (passed_ms > FIRST_ANSWER_MAX_MS) throw new Error(`no retrieval: ${answer.status}`)
    unavailable_ms = passed_ms
    await delay(POLL_MS)
  }
}

/** Gives the bare routes an answer of the service to return. */
export async function teach(
  bare: readonly Server[],
  service: Server,
  operation: Operation,
): Promise<void> {
  const [request = get('/')] = service.next(operation, 1)
  const { text, type } = await ask(service.url, request)
  for (const { url } of bare) {
    const headers = { 'content-type': type }
    const taught = await fetch(`${url}/answer`, { method: 'PUT', headers, body: text })
    if (!taught.ok) throw new Error(`the bare route takes no ${type}: ${taught.status}`)
  }
}

export interface EmptyStart {
  readonly listens_ms: number
  readonly rss_mb: number
  readonly rss_after_write_mb: number
}

const STARTS = 3

/** Measures a service without data, not its first start, which compiles and creates tables. */
export async function measureEmptyStart(engine: Engine): Promise<EmptyStart> {
  const place = await engine.create()
  try {
    let last: EmptyStart | undefined
    for (let i = 0; i < STARTS; i += 1) {
      const startedAt = performance.now()
      const child = startCustos(place.env)
      const url = await urlOf(child)
      const size = { listens_ms: performance.now() - startedAt, rss_mb: rssMb(child) }
      await ask(url, post('/v1/stores/default/write', { content: `memory number ${i}` }))
      last = { ...size, rss_after_write_mb: rssMb(child) }
      await stop(child)
    }
    if (!last) throw new Error('nothing was started')
    return last
  } finally {
    await place.remove()
  }
}
