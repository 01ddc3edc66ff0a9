// npm run bench:tenants: many tenants, a few of them hot, on one PostgreSQL with several processes,
// with an increasing number of callers up to overload.

import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { openPostgresServer } from '../engines.ts'
import { ask, type HttpRequest, post, quantile } from '../load.ts'
import { cpuSeconds, rssMb, startCustos, stop, urlOf } from '../processes.ts'
import { decisionBody, factBody } from '../stages.ts'
import { random } from '../texts.ts'

interface SimulationOptions {
  readonly tenants: number
  readonly processes: number
  /** The number of concurrent callers in each step. */
  readonly callers: readonly number[]
  readonly seconds: number
  readonly seed: number
  /** Interval of checkpoints of logs with new entries; 0 means never. */
  readonly epoch_seconds?: number
}

interface Tenant {
  readonly authorization: string
  /** The tenant's memory, which its decisions name; null until its first request writes it. */
  ref: number | null
  /** The process that serves the tenant, as behind a load balancer with affinity. */
  readonly url: string
}

/** The measurements with one number of callers. */
export interface SimulationStep {
  readonly callers: number
  readonly rps: number
  /** Median and 99th percentile in milliseconds, of the hot tenants and of all others. */
  readonly hot: readonly [number, number]
  readonly cold: readonly [number, number]
  /** Share of the requests of hot tenants. */
  readonly hot_share: number
  /** Number of answers 503 and 429; `failed` counts other failures. */
  readonly refused: number
  readonly failed: number
  /** Number of busy processors. */
  readonly custos: number
  readonly postgres: number | null
  readonly load: number
}

export interface SimulationRun {
  readonly tenants: number
  readonly processes: number
  readonly about: string
  /** Tenants created per second. */
  readonly made_rps: number
  readonly steps: readonly SimulationStep[]
  readonly rss_mb: readonly number[]
}

const OPERATOR_KEY = 'operator key of the benchmark'
/** One in this number of tenants is hot. Half of the requests are from hot tenants. */
const HOT_EVERY = 1_000
const HOT_REQUESTS = 0.5
const MAKERS = 16

export async function simulate(options: SimulationOptions): Promise<SimulationRun> {
  const server = await openPostgresServer()
  const place = await server.create()
  const env = {
    ...place.env,
    CUSTOS_AUTH: 'required',
    CUSTOS_OPERATOR_KEY: OPERATOR_KEY,
    CUSTOS_DATABASE_POOL: '8',
    CUSTOS_EPOCH_SECONDS: String(options.epoch_seconds ?? 60),
  }
  const processes: ReturnType<typeof startCustos>[] = []
  try {
    const urls: string[] = []
    for (let i = 0; i < options.processes; i += 1) {
      const child = startCustos(env)
      processes.push(child)
      urls.push(await urlOf(child))
    }
    const began = performance.now()
    const tenants = await makeTenants(urls, options.tenants)
    const made_rps = (options.tenants * 1_000) / (performance.now() - began)
    process.stderr.write(`${options.tenants} tenants made, ${made_rps.toFixed(0)} a second\n`)
    const look = () => ({
      custos: processes.reduce((sum, child) => sum + cpuSeconds(child), 0),
      postgres: server.cpuSeconds(),
      load: cpuSeconds(process),
    })
    const steps: SimulationStep[] = []
    for (const callers of options.callers) {
      steps.push(await runStep(tenants, { ...options, callers, look }))
      process.stderr.write(`${callers} callers done\n`)
    }
    const rss_mb = processes.map(rssMb)
    const { about } = server
    return { tenants: options.tenants, processes: urls.length, about, made_rps, steps, rss_mb }
  } finally {
    for (const child of processes) await stop(child)
    await place.remove()
    await server.stop()
  }
}

async function makeTenants(urls: readonly string[], count: number): Promise<Tenant[]> {
  const tenants: Tenant[] = []
  let next = 0
  const make = async () => {
    for (let i = next++; i < count; i = next++) {
      const url = urls[i % urls.length] ?? ''
      const wanted = post('/v1/cloud/tenants', { name: `Tenant ${i}`, plan: 'enterprise' })
      const { api_key } = JSON.parse((await ask(url, wanted, `Bearer ${OPERATOR_KEY}`)).text)
      const authorization = `Bearer ${api_key}`
      tenants[i] = { authorization, ref: null, url }
      if ((i + 1) % 1_000 === 0) process.stderr.write(`${i + 1} tenants\n`)
    }
  }
  await Promise.all(Array.from({ length: MAKERS }, make))
  return tenants
}

type StepOptions = Omit<SimulationOptions, 'callers'> & {
  readonly callers: number
  look(): { readonly custos: number; readonly postgres: number | null; readonly load: number }
}

async function runStep(
  tenants: readonly Tenant[],
  { callers, seconds, seed, look }: StepOptions,
): Promise<SimulationStep> {
  const times = { hot: [] as number[], cold: [] as number[] }
  const bad = { refused: 0, failed: 0 }
  const before = look()
  const began = performance.now()
  const ends = began + seconds * 1_000
  const call = async (caller: number) => {
    const draw = random(seed + callers * 1_009 + caller)
    for (let i = 0; performance.now() < ends; i += 1) {
      const hot = draw() < HOT_REQUESTS
      const tenant = tenants[pick(tenants.length, hot, draw())]
      if (!tenant) throw new Error('a tenant that does not exist was drawn')
      const sent = performance.now()
      const status = await send(tenant, request(tenant, caller * 1_000_003 + i, draw()))
      if (status === 503 || status === 429) bad.refused += 1
      else if (status >= 300) bad.failed += 1
      times[hot ? 'hot' : 'cold'].push(performance.now() - sent)
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)))
  const passed_s = (performance.now() - began) / 1_000
  const after = look()
  const share = (end: number | null, start: number | null) =>
    end === null || start === null ? null : (end - start) / passed_s
  const { hot, cold } = times
  return {
    callers,
    rps: (hot.length + cold.length) / passed_s,
    hot: middle(hot),
    cold: middle(cold),
    hot_share: hot.length / (hot.length + cold.length),
    ...bad,
    custos: share(after.custos, before.custos) ?? 0,
    postgres: share(after.postgres, before.postgres),
    load: share(after.load, before.load) ?? 0,
  }
}

function pick(count: number, hot: boolean, drawn: number): number {
  const hots = Math.max(1, Math.ceil(count / HOT_EVERY))
  return hot ? Math.floor(drawn * hots) : hots + Math.floor(drawn * (count - hots))
}

/** Draws a request: 50 % decisions, 20 % memories, 30 % retrievals. */
function request({ ref }: Tenant, index: number, drawn: number): HttpRequest {
  if (ref !== null && drawn < 0.5) {
    const { retrieved_contents: _, retrieved_scores: __, ...body } = decisionBody(index)
    return post('/v1/decisions/log', { ...body, retrieved_refs: [ref] })
  }
  if (ref === null || drawn < 0.7) return post('/v1/stores/default/write', factBody(index))
  const query = `What is known of ${index}?`
  return post('/v1/stores/default/retrieve', { query, budget_tokens: 512 })
}

async function send(tenant: Tenant, { path, body = '' }: HttpRequest): Promise<number> {
  const { url, authorization } = tenant
  const headers = { 'content-type': 'application/json', authorization }
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body })
  const text = await answer.text()
  if (answer.ok && tenant.ref === null) tenant.ref = JSON.parse(text).ref
  return answer.status
}

function middle(times: number[]): readonly [number, number] {
  const sorted = times.sort((a, b) => a - b)
  return [quantile(sorted, 0.5), quantile(sorted, 0.99)]
}

export function simulationTable({ steps }: Pick<SimulationRun, 'steps'>): string {
  const ms = ([p50, p99]: readonly [number, number]) => `${p50.toFixed(0)} / ${p99.toFixed(0)}`
  const cores = (value: number | null) => (value === null ? '—' : value.toFixed(2))
  const rows = steps.map((step) => [
    step.callers,
    step.rps.toFixed(0),
    ms(step.hot),
    ms(step.cold),
    `${step.refused} / ${step.failed}`,
    `${cores(step.custos)} / ${cores(step.postgres)} / ${cores(step.load)}`,
  ])
  const head = [
    'callers',
    'answers a second',
    'hot p50 / p99 ms',
    'others p50 / p99 ms',
    'refused / failed',
    'cores: Custos / PostgreSQL / load',
  ]
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      tenants: { type: 'string', default: '10000' },
      processes: { type: 'string', default: '4' },
      callers: { type: 'string', default: '4,16,64,256' },
      seconds: { type: 'string', default: '15' },
      seed: { type: 'string', default: '1' },
      'epoch-seconds': { type: 'string', default: '60' },
    },
  })
  const run = await simulate({
    tenants: Number(values.tenants),
    processes: Number(values.processes),
    callers: values.callers.split(',').map(Number),
    seconds: Number(values.seconds),
    seed: Number(values.seed),
    epoch_seconds: Number(values['epoch-seconds']),
  })
  console.log(
    `${run.about}; ${run.tenants} tenants made at ${run.made_rps.toFixed(0)} a second; ` +
      `memory of the ${run.processes} processes at the end: ${run.rss_mb.join(', ')} MB\n`,
  )
  console.log(simulationTable(run))
  if (run.steps.some(({ failed }) => failed > 0)) throw new Error('some requests failed')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main()
