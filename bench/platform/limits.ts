// npm run bench:limits: the cost of plan limits for a write. Two processes, with and without
// CUSTOS_PLANS, get the same requests in alternating rounds.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openPostgresServer, type Place, type PostgresServer, sqlite } from '../engines.ts'
import { ask, fire, median, post } from '../load.ts'
import { cpuSeconds, startCustos, stop, urlOf } from '../processes.ts'
import { log, type Operation, write } from '../scenarios.ts'

const { values } = parseArgs({
  options: {
    /** Uses rounds of a fifth of a second, only to check that the bench works. */
    short: { type: 'boolean', default: false },
    engine: { type: 'string', default: 'sqlite' },
  },
})

/** Number of newly started pairs: two processes of one code differ by more than limits cost. */
const PAIRS = 4
const ROUNDS_PER_PAIR = 5
const SECONDS = values.short ? 0.2 : 2
const COST_MAX = 0.03
const PLAN = 'pro'
const OPERATOR_KEY = 'operator-key-of-the-limits-bench-0001'
/** A limit that is counted and never reached. */
const FAR = 1_000_000_000
const LIMITS = {
  memories: FAR,
  stores: FAR,
  requests_per_minute: FAR,
  governed_decisions: { included: FAR, ceiling: FAR },
}

interface MeasuredServer {
  readonly child: ReturnType<typeof startCustos>
  readonly url: string
  readonly authorization: string
  readonly place: Place
}

/** Processor time per request, and requests per second; or their ratios. */
interface RoundCost {
  readonly cpu: number
  readonly rps: number
}

const dir = mkdtempSync(join(tmpdir(), 'custos-bench-plans-'))
process.once('exit', () => rmSync(dir, { recursive: true, force: true }))
const plans = join(dir, 'plans.json')
writeFileSync(plans, JSON.stringify({ [PLAN]: LIMITS }))

async function startServer(engine: Pick<PostgresServer, 'create'>, limited: boolean) {
  const place = await engine.create()
  const child = startCustos({
    ...place.env,
    CUSTOS_AUTH: 'required',
    CUSTOS_OPERATOR_KEY: OPERATOR_KEY,
    ...(limited && { CUSTOS_PLANS: plans }),
  })
  const url = await urlOf(child)
  const tenant = post('/v1/cloud/tenants', { name: 'bench', plan: PLAN })
  const { text } = await ask(url, tenant, `Bearer ${OPERATOR_KEY}`)
  const authorization = `Bearer ${JSON.parse(text).api_key}`
  // Memories that the decisions of the bench name.
  for (const at of [-3, -2, -1]) await ask(url, write.make(at), authorization)
  return { child, url, authorization, place }
}

async function round(
  { child, url, authorization }: MeasuredServer,
  operation: Operation,
  { first, count }: { readonly first: number; readonly count: number },
): Promise<RoundCost> {
  const callers = Array.from({ length: operation.connections }, () => ({ url, authorization }))
  const requests = Array.from({ length: count }, (_, at) => operation.make(first + at))
  const began_s = cpuSeconds(child)
  const { rps, answered, errors } = await fire(callers, requests)
  if (errors > 0) throw new Error(`${errors} of ${count} requests were refused`)
  return { rps, cpu: ((cpuSeconds(child) - began_s) * 1e6) / answered }
}

/** The cost with limits divided by that without, for each round. Both get the same requests. */
async function comparePair(
  [limited, free]: readonly [MeasuredServer, MeasuredServer],
  operation: Operation,
): Promise<RoundCost[]> {
  const { connections } = operation
  let first = 0
  let count = connections * 8
  const next = () => {
    const given = { first, count }
    first += count
    return given
  }
  for (let warm = 0; warm < 2; warm += 1) {
    const given = next()
    const { rps } = await round(free, operation, given)
    await round(limited, operation, given)
    count = Math.ceil(Math.max(2, (rps * SECONDS) / connections)) * connections
  }
  const ratios: RoundCost[] = []
  for (let at = 0; at < ROUNDS_PER_PAIR; at += 1) {
    const given = next()
    const early = at % 2 === 0 ? await round(limited, operation, given) : null
    const without = await round(free, operation, given)
    const withLimits = early ?? (await round(limited, operation, given))
    ratios.push({ cpu: withLimits.cpu / without.cpu, rps: withLimits.rps / without.rps })
  }
  return ratios
}

/** The median with its 95 % confidence interval (sign test). */
function summarise(numbers: readonly number[]): { middle: number; low: number; high: number } {
  const sorted = numbers.toSorted((a, b) => a - b)
  const n = sorted.length
  let [left, ways, tail] = [0, 1, 1]
  while (left + 1 < n / 2 && (2 * tail) / 2 ** n <= 0.05) {
    left += 1
    ways = (ways * (n - left + 1)) / left
    tail += ways
  }
  const rank = Math.max(0, left - 1)
  return { middle: median(sorted), low: sorted[rank] ?? 0, high: sorted[n - 1 - rank] ?? 0 }
}

const percent = (ratio: number): string => {
  const points = ((ratio - 1) * 100).toFixed(1)
  return points.startsWith('-') ? points : `+${points}`
}

function rowOf(operation: Operation, ratios: readonly RoundCost[]): string {
  const [cpu, rps] = [ratios.map((one) => one.cpu), ratios.map((one) => one.rps)].map(summarise)
  if (!cpu || !rps) throw new Error('there are no rounds')
  const shown = ({ middle, low, high }: typeof cpu) =>
    `${percent(middle)} % (${percent(low)} to ${percent(high)})`
  const bound = 1 + COST_MAX
  const goal = cpu.high <= bound ? 'met' : cpu.low > bound ? 'missed' : 'undecided'
  return `| ${operation.name} | ${shown(cpu)} | ${shown(rps)} | ${ratios.length} | ${goal} |`
}

const engine = values.engine === 'postgres' ? await openPostgresServer() : sqlite
console.log(`${cpus().length} cores, Node ${process.version}, ${engine.name}`)
console.log('\n| | processor time | rate | rounds | at most 3 % of processor time |')
console.log('|---|---|---|---|---|')
try {
  for (const operation of [write, log]) {
    const ratios: RoundCost[] = []
    for (let pair = 0; pair < PAIRS; pair += 1) {
      // Which process starts first alternates from pair to pair.
      const order = pair % 2 === 0 ? [true, false] : [false, true]
      const started: MeasuredServer[] = []
      for (const limited of order) started.push(await startServer(engine, limited))
      const [one, other] = started
      if (!one || !other) throw new Error('a process is missing')
      ratios.push(...(await comparePair(pair % 2 === 0 ? [one, other] : [other, one], operation)))
      for (const { child, place } of started) {
        await stop(child)
        await place.remove()
      }
    }
    console.log(rowOf(operation, ratios))
  }
} finally {
  await engine.stop()
}
