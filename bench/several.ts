// Compares one process with two on one database, with many tenants and with one hot tenant.

import type { ChildProcess } from 'node:child_process'
import { cpus } from 'node:os'
import type { PostgresServer } from './engines.ts'
import { ask, type Caller, fire, median, middleOf, post, type Round } from './load.ts'
import type { Timing } from './measure.ts'
import { cpuSeconds, startCustos, stop, urlOf } from './processes.ts'
import type { Operation } from './scenarios.ts'
import { fillFacts } from './stages.ts'

const TENANTS = 16
const OPERATOR_KEY = 'operator key of the benchmark'
/** The least ratio of two processes to one, if there are enough processors. */
const GOAL = 1.3
const CORES_FOR_GOAL = 4

interface Placement {
  readonly name: string
  readonly tenants: number
  /** The process, 0 or 1, that serves a connection. */
  processOf(connection: number, tenant: number): number
  /** The placement on one process to compare with; null for such a placement. */
  readonly than: string | null
  /** Whether the goal applies: this is the documented way to run several processes. */
  readonly held: boolean
}

const MANY = `${TENANTS} tenants, one process`
const HOT = 'one tenant, one process'

const PLACEMENTS: readonly Placement[] = [
  { name: MANY, tenants: TENANTS, processOf: () => 0, than: null, held: false },
  {
    name: `${TENANTS} tenants, two processes, each tenant at one`,
    tenants: TENANTS,
    processOf: (_, tenant) => tenant % 2,
    than: MANY,
    held: true,
  },
  {
    name: `${TENANTS} tenants, two processes, each tenant at both`,
    tenants: TENANTS,
    processOf: (connection) => Math.floor(connection / TENANTS) % 2,
    than: MANY,
    held: false,
  },
  { name: HOT, tenants: 1, processOf: () => 0, than: null, held: false },
  {
    name: 'one tenant, two processes',
    tenants: 1,
    processOf: (connection) => connection % 2,
    than: HOT,
    held: true,
  },
]

/** Average number of busy processors; null if not observable here. */
interface Cores {
  readonly custos: number
  readonly postgres: number | null
  readonly load: number
}

interface Turn {
  readonly round: Round
  readonly cores: Cores
}

export interface SeveralResult {
  readonly name: string
  readonly connections: number
  readonly target: Round
  readonly cores: Cores
  /** Ratio to the same load on one process, for each round; empty for one process. */
  readonly ratios: readonly number[]
  readonly ratio: number | null
  readonly goal: string
  readonly met: boolean | null
}

/** Number of memories of each tenant that decisions name. */
const FACTS = 100
/** Number of requests before the first round. */
const WARM_UP = 1_000

/** Measures every placement in every round, so that slow minutes affect all of them. */
export async function measureSeveral(
  operation: Operation,
  server: PostgresServer,
  timing: Timing,
): Promise<SeveralResult[]> {
  const place = await server.create()
  const env = { ...place.env, CUSTOS_AUTH: 'required', CUSTOS_OPERATOR_KEY: OPERATOR_KEY }
  const processes: ChildProcess[] = []
  try {
    const urls: string[] = []
    for (let i = 0; i < 2; i += 1) {
      const child = startCustos(env)
      processes.push(child)
      urls.push(await urlOf(child))
    }
    const keys = await createTenants(urls[0] ?? '')
    const turns = new Map<Placement, Turn[]>(PLACEMENTS.map((placement) => [placement, []]))
    const { connections } = operation
    let sent = 0
    const fireAt = (placement: Placement, count: number) => {
      const all = Math.ceil(count / connections) * connections
      const some = Array.from({ length: all }, (_, i) => operation.make(sent + i))
      sent += all
      return fire(callersOf(placement, { urls, keys, connections }), some)
    }
    const counts = new Map<Placement, number>()
    for (const placement of PLACEMENTS) {
      const { rps } = await fireAt(placement, WARM_UP)
      counts.set(placement, rps * timing.seconds)
    }
    for (let i = 0; i < timing.rounds; i += 1)
      for (const [placement, own] of turns) {
        const count = counts.get(placement) ?? WARM_UP
        own.push(await watched(server, processes, () => fireAt(placement, count)))
      }
    return PLACEMENTS.map((placement) => summarise(placement, turns, connections))
  } finally {
    for (const child of processes) await stop(child)
    await place.remove()
  }
}

/** Creates the many tenants and one more for the hot load, each with memories. Returns keys. */
async function createTenants(base: string): Promise<string[]> {
  const keys: string[] = []
  for (let i = 0; i <= TENANTS; i += 1) {
    const made = post('/v1/cloud/tenants', { name: `Tenant ${i}` })
    const { api_key } = JSON.parse((await ask(base, made, `Bearer ${OPERATOR_KEY}`)).text)
    await fillFacts(base, FACTS, `Bearer ${api_key}`)
    keys.push(String(api_key))
  }
  return keys
}

interface RunningProcess {
  readonly urls: readonly string[]
  readonly keys: readonly string[]
  readonly connections: number
}

function callersOf(placement: Placement, { urls, keys, connections }: RunningProcess): Caller[] {
  return Array.from({ length: connections }, (_, connection) => {
    const tenant = connection % placement.tenants
    const key = placement.tenants === 1 ? keys[TENANTS] : keys[tenant]
    const url = urls[placement.processOf(connection, tenant)] ?? ''
    return { url, authorization: `Bearer ${key}` }
  })
}

async function watched(
  server: PostgresServer,
  processes: readonly ChildProcess[],
  act: () => Promise<Round>,
): Promise<Turn> {
  const look = () => ({
    at_s: performance.now() / 1_000,
    custos: processes.reduce((sum, child) => sum + cpuSeconds(child), 0),
    postgres: server.cpuSeconds(),
    load: cpuSeconds(process),
  })
  const before = look()
  const round = await act()
  const after = look()
  const seconds = after.at_s - before.at_s
  const share = (end: number | null, start: number | null) =>
    end === null || start === null ? null : (end - start) / seconds
  const cores = {
    custos: share(after.custos, before.custos) ?? 0,
    postgres: share(after.postgres, before.postgres),
    load: share(after.load, before.load) ?? 0,
  }
  return { round, cores }
}

function summarise(
  placement: Placement,
  turns: ReadonlyMap<Placement, readonly Turn[]>,
  connections: number,
): SeveralResult {
  const own = turns.get(placement) ?? []
  const base = PLACEMENTS.find(({ name }) => name === placement.than)
  const ones = (base && turns.get(base)) ?? []
  const ratios = ones.map(({ round }, i) => (own[i]?.round.rps ?? 0) / round.rps)
  const ratio = ratios.length > 0 ? median(ratios) : null
  const coresOf = (of: (cores: Cores) => number | null) =>
    median(own.map(({ cores }) => of(cores) ?? 0))
  const unseen = own.some(({ cores }) => cores.postgres === null)
  const judged = cpus().length >= CORES_FOR_GOAL
  return {
    name: placement.name,
    connections,
    target: middleOf(own.map(({ round }) => round)),
    cores: {
      custos: coresOf((c) => c.custos),
      postgres: unseen ? null : coresOf((c) => c.postgres),
      load: coresOf((c) => c.load),
    },
    ratios,
    ratio,
    goal: placement.held ? `>= ${GOAL}${judged ? '' : `, for ${CORES_FOR_GOAL} cores`}` : 'none',
    met: placement.held && judged && ratio !== null ? ratio >= GOAL : null,
  }
}
