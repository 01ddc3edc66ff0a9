// npm run bench:metrics: the costs of metrics and spans. Services with metrics, without them, and
// with spans get the same requests in alternating rounds. Prints the ratios.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Metrics } from '../../packages/server/src/platform/telemetry/metrics.ts'
import { startTestService } from '../../packages/server/src/testing/harness.ts'
import { fire, type HttpRequest } from '../load.ts'

const ROUNDS = 15
const WARM_UP = 2
const REQUESTS = 4_000
const CONNECTIONS = 8
const MEMORIES = 200
/** Scrape interval, shorter than the usual 15 seconds of Prometheus. */
const SCRAPE_MS = 5_000

const VARIANTS = ['without', 'metrics', 'spans'] as const
type Variant = (typeof VARIANTS)[number]

interface MeasuredRound {
  readonly rps: number
  /** Processor time of the service for one request. */
  readonly cpu_us: number
}

const [, , mode, collector] = process.argv
async function serve(variant: string, otlp_endpoint: string | undefined): Promise<void> {
  if (variant === 'without') {
    const nothing = () => {}
    Object.assign(Metrics.prototype, {
      routeMeter: () => ({ begin: nothing, end: nothing }),
      observeCommit: nothing,
      countEvaluation: nothing,
      countRetrievedTokens: nothing,
    })
  }
  const config = variant === 'spans' && otlp_endpoint ? { otlp_endpoint } : {}
  const service = await startTestService({ config })
  const { api_key: key } = await service.createTenant()
  const items = Array.from({ length: MEMORIES }, (_, i) => ({ content: `Memory number ${i}` }))
  await service.request('POST', '/v1/stores/default/write_batch', { key, body: { items } })
  const scrape = () => service.request('GET', '/metrics', { key: service.operator_key })
  const scraping = variant === 'without' ? undefined : setInterval(scrape, SCRAPE_MS)
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.(user + system)
  })
  process.on('disconnect', () => {
    clearInterval(scraping)
    void service.stop().then(() => process.exit())
  })
  process.send?.({ url: service.url, key })
}

/** The requests of a round: half of them write, half retrieve. */
const requests = (round: number): HttpRequest[] =>
  Array.from({ length: REQUESTS }, (_, i) =>
    i % 2 === 0
      ? {
          method: 'POST',
          path: '/v1/stores/default/write',
          body: JSON.stringify({ content: `A fact of round ${round} with the number ${i}` }),
        }
      : {
          method: 'POST',
          path: '/v1/stores/default/retrieve',
          body: JSON.stringify({ query: `memory ${i}`, budget_tokens: 100 }),
        },
  )

class MeasuredServer {
  readonly child: ChildProcess
  readonly #callers: { readonly url: string; readonly authorization: string }[]
  readonly rounds: MeasuredRound[] = []

  constructor(child: ChildProcess, { url, key }: { url: string; key: string }) {
    this.child = child
    const caller = { url, authorization: `Bearer ${key}` }
    this.#callers = Array.from({ length: CONNECTIONS }, () => caller)
  }

  static async start(variant: Variant, collector: string): Promise<MeasuredServer> {
    const execArgv = ['--disable-warning=ExperimentalWarning']
    const child = fork(import.meta.filename, [variant, collector], { execArgv })
    const [served] = await once(child, 'message')
    return new MeasuredServer(child, served)
  }

  async run(round: number): Promise<void> {
    const before = await this.#cpu()
    const { rps, errors } = await fire(this.#callers, requests(round))
    // On a busy machine, retrievals may be refused while the index catches up with writes.
    if (errors > REQUESTS / 100) throw new Error(`${errors} requests failed`)
    const cpu_us = ((await this.#cpu()) - before) / REQUESTS
    if (round >= WARM_UP) this.rounds.push({ rps, cpu_us })
  }

  async #cpu(): Promise<number> {
    this.child.send('measure')
    const [used] = await once(this.child, 'message')
    return Number(used)
  }
}

async function compare(): Promise<void> {
  let spans = 0
  const receiver = createServer((request, response) => {
    request.resume().once('end', () => {
      spans += 1
      response.setHeader('content-type', 'application/json').end('{}')
    })
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const { port } = receiver.address() as AddressInfo
  const servers = new Map<Variant, MeasuredServer>()
  for (const variant of VARIANTS)
    servers.set(variant, await MeasuredServer.start(variant, `http://127.0.0.1:${port}`))
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    // The order alternates, so that other load of the machine affects all variants alike.
    const order = round % 2 === 0 ? VARIANTS : VARIANTS.toReversed()
    for (const variant of order) await servers.get(variant)?.run(round)
  }
  const base = servers.get('without')?.rounds ?? []
  for (const variant of VARIANTS) {
    const { rounds = [] } = servers.get(variant) ?? {}
    const rps = median(rounds.map((one) => one.rps))
    const cpu = median(rounds.map((one) => one.cpu_us))
    const pairs = rounds.map((one, i) => one.cpu_us / (base[i]?.cpu_us ?? Number.NaN))
    const more = `${((median(pairs) - 1) * 100).toFixed(1)} % more processor time`
    console.log(
      `${variant}: ${Math.round(rps)} requests/s, ${Math.round(cpu)} µs each, ${more} ` +
        `(rounds ${pairs.map((one) => ((one - 1) * 100).toFixed(0)).join(' ')})`,
    )
  }
  console.log(`${spans} batches of spans were received`)
  for (const { child } of servers.values()) child.disconnect()
  process.exit()
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const half = Math.floor(sorted.length / 2)
  const upper = sorted[half] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? upper) + upper) / 2
}

if (mode === undefined) await compare()
else await serve(mode, collector)
