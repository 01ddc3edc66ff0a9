// npm run bench:runs: the cost of an agent's step without its model, whether waiting runs delay
// others, and whether tenants share the slots for runs fairly.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import {
  type ModelServer,
  startModelServer,
} from '../../packages/server/src/slices/orchestrator/testing/model-server.ts'
import { writeTestCertificate } from '../../packages/server/src/slices/webhooks/testing/scene.ts'
import { openPostgresServer, type PostgresServer, sqlite } from '../engines.ts'
import { ask, get, median, post, quantile } from '../load.ts'
import { cpuSeconds, startCustos, stop, urlOf } from '../processes.ts'

interface Tenant {
  readonly authorization: string
  readonly agent_id: string
  readonly workflow_id: string
}

const OPERATOR_KEY = 'operator-key-of-the-bench-of-runs-1'
const RUNS = '/v1/orchestrator/runs'
const POLL_MS = 200
/** A plan without limits; otherwise a tenant may have only 16 concurrent runs. */
const PLAN = 'pro'
const MEMORIES = 100
/** Rounds of one run, in which two agents alternate. */
const ROUNDS = 5
const STEPS_OF_RUN = 2 * ROUNDS
const WARM_UP_RUNS = 3
const SHORT_RUNS = 20

class Bench {
  readonly #url: string
  readonly #model: ModelServer
  /** Processor seconds of the service, and of its database if that has its own processes. */
  readonly cpu: () => Record<'own' | 'database', number>

  constructor(url: string, model: ModelServer, cpu: Bench['cpu']) {
    this.#url = url
    this.#model = model
    this.cpu = cpu
  }

  async #post(authorization: string, path: string, body: unknown) {
    return JSON.parse((await ask(this.#url, post(path, body), authorization)).text)
  }

  async tenant(): Promise<Tenant> {
    const made = await this.#post(`Bearer ${OPERATOR_KEY}`, '/v1/cloud/tenants', {
      name: 'bench',
      plan: PLAN,
    })
    const authorization = `Bearer ${made.api_key}`
    const make = (path: string, body: unknown) => this.#post(authorization, path, body)
    await make('/v1/stores', { store_id: 'notes' })
    const contents = Array.from({ length: MEMORIES }, (_, i) => `ferry ${i} leaves at ${i} o'clock`)
    const items = contents.map((content) => ({ content }))
    await make('/v1/stores/notes/write_batch', { items })
    const provider = { provider: 'openai', model_id: 'model-a', base_url: this.#model.base_url }
    await make('/v1/llm/providers', provider)
    const tool = { name: 'wait', description: 'Waits for the caller', effect: 'read' }
    await make('/v1/llm/tools', tool)
    const agent = { model_id: 'model-a', memory_stores: ['notes'], max_tokens_per_step: 100_000 }
    const agents = ['writer', 'editor'].map((name) =>
      make('/v1/orchestrator/agents', { ...agent, name }),
    )
    const agent_ids = (await Promise.all(agents)).map(({ agent_id }) => agent_id)
    const workflow = { name: 'rounds', agent_ids, mode: 'round_robin', max_rounds: ROUNDS }
    const { workflow_id } = await make('/v1/orchestrator/workflows', workflow)
    return { authorization, agent_id: agent_ids[0], workflow_id }
  }

  async start({ authorization, ...tenant }: Tenant, more: object = {}): Promise<string> {
    const { agent_id } = tenant
    const input_text = 'when does ferry 7 leave?'
    const body = { executor: 'managed', agent_id, input_text, ...more }
    return (await this.#post(authorization, RUNS, body)).run_id
  }

  async show({ authorization }: Tenant, run_id: string) {
    return JSON.parse((await ask(this.#url, get(`${RUNS}/${run_id}`), authorization)).text)
  }

  /** Waits for the end of a run. Returns its duration in milliseconds by the service's times. */
  async end(tenant: Tenant, run_id: string, state = 'completed'): Promise<number> {
    for (;;) {
      const run = await this.show(tenant, run_id)
      if (run.state === state) return Date.parse(run.ended_at) - Date.parse(run.created_at)
      if (run.ended_at !== null) throw new Error(`${run.state}: ${run.termination_reason}`)
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
  }

  /** Measures the time from each answer of the model to the next request of the same run. */
  async managedSteps(tenant: Tenant, steps: number) {
    const gaps_ms: number[] = []
    let answered_ms = 0
    let asked = 0
    this.#model.answer = () => {
      const now_ms = performance.now()
      if (asked % STEPS_OF_RUN > 0) gaps_ms.push(now_ms - answered_ms)
      asked += 1
      answered_ms = performance.now()
      return { text: `answer number ${asked}` }
    }
    const run = async () => {
      const { workflow_id } = tenant
      await this.end(tenant, await this.start(tenant, { agent_id: undefined, workflow_id }))
    }
    for (let i = 0; i < WARM_UP_RUNS; i += 1) await run()
    gaps_ms.length = 0
    const began = this.cpu()
    const runs = Math.max(1, Math.round(steps / STEPS_OF_RUN))
    for (let i = 0; i < runs; i += 1) await run()
    return this.#costOf(gaps_ms, began, runs * STEPS_OF_RUN)
  }

  /** Measures `begin` then `complete`, like a program that has its answer immediately. */
  async clientSteps(tenant: Tenant, steps: number) {
    const times_ms: number[] = []
    const { authorization, agent_id } = tenant
    const run = async () => {
      const run_id = (await this.#post(authorization, RUNS, { agent_id })).run_id
      for (let i = 0; i < STEPS_OF_RUN; i += 1) {
        const began_ms = performance.now()
        const path = `${RUNS}/${run_id}/steps`
        const input = { input_text: `when does ferry ${i} leave?` }
        const { step_id } = await this.#post(authorization, path, input)
        const said = { output: `at ${i} o'clock`, tokens_in: 10, tokens_out: 5 }
        const output = { ...said, final: i === STEPS_OF_RUN - 1 }
        await this.#post(authorization, `${path}/${step_id}/complete`, output)
        times_ms.push(performance.now() - began_ms)
      }
    }
    for (let i = 0; i < WARM_UP_RUNS; i += 1) await run()
    times_ms.length = 0
    const began = this.cpu()
    const runs = Math.max(1, Math.round(steps / STEPS_OF_RUN))
    for (let i = 0; i < runs; i += 1) await run()
    return this.#costOf(times_ms, began, runs * STEPS_OF_RUN)
  }

  /** Measures sequential writes of memories, a reference for how busy the machine is. */
  async writes({ authorization }: Tenant, count: number) {
    const times_ms: number[] = []
    const write = async (i: number) => {
      const began_ms = performance.now()
      const content = `the tram number ${i} leaves at ${i} o'clock`
      await this.#post(authorization, '/v1/stores/notes/write', { content })
      times_ms.push(performance.now() - began_ms)
    }
    for (let i = 0; i < STEPS_OF_RUN; i += 1) await write(i)
    times_ms.length = 0
    const began = this.cpu()
    for (let i = 0; i < count; i += 1) await write(STEPS_OF_RUN + i)
    return this.#costOf(times_ms, began, count)
  }

  #costOf(times_ms: number[], began: ReturnType<Bench['cpu']>, steps: number) {
    const now = this.cpu()
    const sorted = times_ms.toSorted((a, b) => a - b)
    const each = (seconds: number) => (seconds * 1_000) / steps
    return {
      p50_ms: quantile(sorted, 0.5),
      p90_ms: quantile(sorted, 0.9),
      cpu_ms: each(now.own - began.own),
      database_cpu_ms: each(now.database - began.database),
    }
  }

  /** Measures short runs of a tenant that also has waiting runs. */
  async besideWaiting(tenant: Tenant, waiting: number) {
    const shortRuns = async () => {
      this.#model.answer = () => ({ text: 'at seven' })
      const times_ms: number[] = []
      for (let i = 0; i < SHORT_RUNS; i += 1)
        times_ms.push(await this.end(tenant, await this.start(tenant)))
      return median(times_ms)
    }
    await shortRuns()
    const before_ms = await shortRuns()
    this.#model.answer = () => ({ calls: [{ tool: 'wait', args: {} }] })
    const held: string[] = []
    for (let i = 0; i < waiting; i += 1) held.push(await this.start(tenant))
    for (const run_id of held)
      while ((await this.show(tenant, run_id)).state !== 'waiting_client')
        await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    return { before_ms, meanwhile_ms: await shortRuns() }
  }

  /**
   * The mean duration of each tenant's runs, all of which are started at once.
   * @param counts how many runs each tenant starts
   */
  async takeTurns(tenants: readonly Tenant[], counts: readonly number[]) {
    this.#model.answer = () => ({ text: 'at seven' })
    const began_ms = performance.now()
    const runs: string[][] = tenants.map(() => [])
    // Starts one run of each tenant per round; the busiest tenant comes first.
    for (let round = 0; round < Math.max(...counts); round += 1)
      await Promise.all(
        tenants.map(async (tenant, at) => {
          if (round < (counts[at] ?? 0)) runs[at]?.push(await this.start(tenant))
        }),
      )
    const waits: number[] = []
    for (const [at, tenant] of tenants.entries()) {
      const times_ms: number[] = []
      for (const run_id of runs[at] ?? []) times_ms.push(await this.end(tenant, run_id))
      waits.push(times_ms.reduce((sum, one) => sum + one, 0) / times_ms.length)
    }
    return { waits, seconds: (performance.now() - began_ms) / 1_000 }
  }
}

/**
 * Measures one engine and stops everything it started. Times are milliseconds; `longest` is the
 * longest wait of a tenant divided by the median of all tenants.
 */
export async function measureRuns(
  engine: Pick<PostgresServer, 'create' | 'cpuSeconds'> | typeof sqlite,
  amounts: Record<'steps' | 'waiting' | 'tenants' | 'runs', number>,
) {
  const closing: (() => void)[] = []
  const model = await startModelServer({ after: (close) => closing.push(close) })
  const place = await engine.create()
  const dir = mkdtempSync(join(tmpdir(), 'custos-bench-runs-'))
  closing.push(() => rmSync(dir, { recursive: true, force: true }))
  const plans = join(dir, 'plans.json')
  writeFileSync(plans, JSON.stringify({ [PLAN]: {} }))
  const child = startCustos({
    ...place.env,
    CUSTOS_AUTH: 'required',
    CUSTOS_OPERATOR_KEY: OPERATOR_KEY,
    CUSTOS_EGRESS_ALLOW: '127.0.0.1',
    CUSTOS_PLANS: plans,
    NODE_EXTRA_CA_CERTS: writeTestCertificate(join(dir, 'loopback.pem')),
  })
  try {
    const database = () => ('cpuSeconds' in engine ? (engine.cpuSeconds() ?? 0) : 0)
    const cpu = () => ({ own: cpuSeconds(child), database: database() })
    const bench = new Bench(await urlOf(child), model, cpu)
    const tenant = await bench.tenant()
    const managed = await bench.managedSteps(tenant, amounts.steps)
    const client = await bench.clientSteps(tenant, amounts.steps)
    const write = await bench.writes(tenant, amounts.steps)
    const waiting = await bench.besideWaiting(tenant, amounts.waiting)
    const tenants: Tenant[] = []
    while (tenants.length < amounts.tenants) tenants.push(await bench.tenant())
    const share = Math.round(amounts.runs / amounts.tenants)
    const fair = await bench.takeTurns(
      tenants,
      tenants.map(() => share),
    )
    const few = Math.max(1, Math.round(share / 2))
    const crowd = await bench.takeTurns(
      tenants,
      tenants.map((_, at) => (at === 0 ? few * (tenants.length - 1) : few)),
    )
    const [busiest = 0, ...others] = crowd.waits
    return {
      managed,
      client,
      write,
      waiting,
      turns: { longest: Math.max(...fair.waits) / median(fair.waits), seconds: fair.seconds },
      crowded: {
        longest: Math.max(...others) / median(others),
        busiest: busiest / median(others),
      },
    }
  } finally {
    await stop(child)
    for (const close of closing) close()
    await place.remove()
  }
}

const GOALS = { sqlite: 15, postgres: 40 } as const

const shown = (number: number) => number.toFixed(1)

function print(name: keyof typeof GOALS, report: Awaited<ReturnType<typeof measureRuns>>): void {
  const { managed, client, write, waiting, turns, crowded } = report
  console.log(`\n${name}, p50 of a step without its model at most ${GOALS[name]} ms`)
  console.log('\n| a step | p50 ms | p90 ms | processor ms | database processor ms |')
  console.log('|---|---|---|---|---|')
  for (const [what, { p50_ms, p90_ms, cpu_ms, database_cpu_ms }] of [
    ['managed', managed],
    ['client: begin and complete', client],
    ['for comparison: a write of a memory', write],
  ] as const)
    console.log(`| ${what} | ${[p50_ms, p90_ms, cpu_ms, database_cpu_ms].map(shown).join(' | ')} |`)
  const { before_ms, meanwhile_ms } = waiting
  console.log(
    `\nA short run: ${shown(before_ms)} ms; while others wait: ${shown(meanwhile_ms)} ms.`,
  )
  const { longest, seconds } = turns
  console.log(`All runs in ${shown(seconds)} s; longest wait by the median: ${longest.toFixed(2)}.`)
  const by = `${crowded.longest.toFixed(2)} (its own: ${crowded.busiest.toFixed(2)})`
  console.log(`The same of the others, where one tenant has half of the runs: ${by}.`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { values } = parseArgs({
    options: {
      /** Uses small amounts, only to check that the bench works. */
      short: { type: 'boolean', default: false },
      engine: { type: 'string', default: 'sqlite' },
    },
  })
  const { short } = values
  const server = values.engine === 'postgres' ? await openPostgresServer() : null
  const engine = server ?? sqlite
  console.log(`${cpus().length} cores, Node ${process.version}, ${server?.about ?? 'SQLite'}`)
  const amounts = short
    ? { steps: 50, waiting: 20, tenants: 5, runs: 50 }
    : { steps: 500, waiting: 200, tenants: 50, runs: 1_000 }
  try {
    print(engine.name, await measureRuns(engine, amounts))
  } finally {
    await engine.stop()
  }
}
