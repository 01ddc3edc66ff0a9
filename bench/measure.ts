// Measures one scenario: every variant in every round, one process after the other.

import { fire, type HttpRequest, median, middleOf, type Round } from './load.ts'
import { OtherRequests } from './other-requests.ts'
import { cpuSeconds, mainThreadSeconds, rssMb } from './processes.ts'
import type { Ceiling, Operation, Scenario } from './scenarios.ts'
import { type Server, type Servers, teach, type Variant } from './servers.ts'
import type { Stage } from './stages.ts'

export interface Timing {
  readonly rounds: number
  readonly seconds: number
  /** Time before the rounds, in which hot code is compiled: a service runs for days. */
  readonly warm_up_s: number
}

/** One variant in one round. */
interface Sample extends Round {
  /** Server processor time per request or item; null if the server did other work too. */
  readonly cpu_us: number | null
  readonly main_us: number | null
  /** The longest wait of other requests meanwhile. */
  readonly other_ms: number
}

interface Comparison {
  /** Rate of the service divided by that of the other, for each round and process. */
  readonly rps: readonly number[]
  readonly cpu: readonly number[]
}

export interface Result {
  readonly name: string
  readonly connections: number
  readonly items: number
  readonly stage: Stage
  readonly service: Sample
  readonly before: Sample | null
  readonly ceilings: Partial<Record<Ceiling, Sample>>
  readonly comparisons: Partial<Record<Variant, Comparison>>
  readonly rps_range: readonly [number, number]
  readonly rss_mb: number
  readonly errors: number
}

const FIRST_ROUND_S = 1
/** The least number of requests of a connection in a round, however slow. */
const LEAST_EACH = 2
const BACKGROUND_EACH = 8

export const variantsOf = (
  { ceilings }: Scenario,
  { engine, before }: { engine: string; before: boolean },
): Variant[] => [
  'service',
  ...(before ? (['before'] as const) : []),
  ...ceilings.filter((ceiling) => ceiling !== (engine === 'sqlite' ? 'embedded' : 'spike')),
]

export async function measure(
  scenario: Scenario,
  variants: readonly Variant[],
  { servers, timing }: { servers: Servers; timing: Timing },
): Promise<Result> {
  const { operation, stage } = scenario
  const pools = new Map<Variant, Server[]>()
  for (const variant of variants) pools.set(variant, await servers.of(variant, stage))
  const [first] = pools.get('service') ?? []
  if (!first) throw new Error('there is no service')
  const bare = pools.get('bare')
  if (bare) await teach(bare, first, operation)
  const samples = new Map<Variant, Sample[]>(variants.map((variant) => [variant, []]))
  const counts = new Map<Server, number>()
  for (const [variant, pool] of pools)
    for (const server of pool) counts.set(server, await warmUp(server, variant, scenario, timing))
  for (let round = 0; round < timing.rounds; round += 1) {
    const order = round % 2 === 0 ? variants : variants.toReversed()
    for (const [at] of (pools.get('service') ?? []).entries())
      for (const variant of order) {
        const server = pools.get(variant)?.[at]
        if (!server) throw new Error(`there is no process ${at} of ${variant}`)
        const send = () => toSend(server, variant, operation, counts.get(server) ?? 0)
        const measured = await sample(server, scenario, send())
        const others = scenario.others ? await measureOthers(server, operation, send()) : NO_OTHERS
        const errors = measured.errors + others.errors
        samples.get(variant)?.push({ ...measured, other_ms: others.other_ms, errors })
      }
  }
  return summarise(scenario, samples, rssMb(first.child))
}

/** Lets hot code compile. Returns how many requests fit into the seconds of a round. */
async function warmUp(
  server: Server,
  variant: Variant,
  scenario: Scenario,
  { seconds, warm_up_s }: Timing,
): Promise<number> {
  const { operation } = scenario
  const warm_s = Math.min(warm_up_s, operation.warm_up_s_max ?? warm_up_s)
  const least = operation.connections * LEAST_EACH
  let count = least
  for (const length_s of [FIRST_ROUND_S, warm_s, seconds]) {
    const { rps } = await sample(server, scenario, toSend(server, variant, operation, count))
    count = Math.max(least, Math.round(rps * length_s))
  }
  return count
}

function toSend(
  server: Server,
  variant: Variant,
  operation: Operation,
  count: number,
): HttpRequest[] {
  const requests = server.next(operation, count)
  return variant === 'bare' ? requests.map((one) => ({ ...one, path: '/answer' })) : requests
}

async function sample(
  server: Server,
  { operation, meanwhile }: Scenario,
  requests: readonly HttpRequest[],
): Promise<Omit<Sample, 'other_ms'>> {
  const spent = () => [cpuSeconds(server.child), mainThreadSeconds(server.child)] as const
  const background = meanwhile && new Background(server, meanwhile)
  await background?.start()
  const [cpu_s, main_s] = spent()
  const round = await fire(callersOf(server, operation), requests)
  const [cpu_end_s, main_end_s] = spent()
  const errors = (await background?.stop()) ?? 0
  const items = round.answered * (operation.items ?? 1)
  const each = (seconds: number) => (meanwhile ? null : (seconds * 1e6) / items)
  return {
    ...round,
    errors: round.errors + errors,
    cpu_us: each(cpu_end_s - cpu_s),
    main_us: each(main_end_s - main_s),
  }
}

const NO_OTHERS = { other_ms: 0, errors: 0 }

/**
 * Measures the longest wait of other requests in a round of its own, because what sends them takes
 * processor time from the load generator.
 */
async function measureOthers(
  server: Server,
  operation: Operation,
  requests: readonly HttpRequest[],
): Promise<typeof NO_OTHERS> {
  const probe = await OtherRequests.open(server.url)
  const { errors } = await fire(callersOf(server, operation), requests, () => probe.start())
  return { other_ms: await probe.stop(), errors }
}

const callersOf = ({ url }: Server, { connections }: Operation) =>
  Array.from({ length: connections }, () => ({ url }))

/** Background requests that are repeated until `stop`. */
class Background {
  readonly #server: Server
  readonly #operation: Operation
  #stopped = false
  #errors = 0
  #running: Promise<void> | null = null

  constructor(server: Server, operation: Operation) {
    this.#server = server
    this.#operation = operation
  }

  /** Resolves when the first requests are in flight. */
  start(): Promise<void> {
    return new Promise((resolve) => {
      this.#running = this.#run(resolve)
    })
  }

  /** Resolves to the number of errors when all requests are answered. */
  async stop(): Promise<number> {
    this.#stopped = true
    await this.#running
    return this.#errors
  }

  async #run(onStart: () => void): Promise<void> {
    const callers = callersOf(this.#server, this.#operation)
    while (!this.#stopped) {
      const some = this.#server.next(this.#operation, callers.length * BACKGROUND_EACH)
      this.#errors += (await fire(callers, some, onStart)).errors
    }
  }
}

function summarise(
  { name, operation, stage }: Scenario,
  samples: ReadonlyMap<Variant, readonly Sample[]>,
  rss_mb: number,
): Result {
  const own = samples.get('service') ?? []
  const middles = new Map([...samples].map(([variant, some]) => [variant, middle(some)]))
  const { service, before = null, ...ceilings } = Object.fromEntries(middles)
  if (!service) throw new Error('nothing was measured')
  const others = [...samples].filter(([variant]) => variant !== 'service')
  const compare = (theirs: readonly Sample[]): Comparison => ({
    rps: own.map(({ rps }, i) => rps / (theirs[i]?.rps ?? 0)),
    cpu: own.flatMap(({ cpu_us }, i) => (cpu_us ? [cpu_us / (theirs[i]?.cpu_us ?? 0)] : [])),
  })
  return {
    name,
    connections: operation.connections,
    items: operation.items ?? 1,
    stage,
    service,
    before,
    ceilings,
    comparisons: Object.fromEntries(others.map(([variant, some]) => [variant, compare(some)])),
    rps_range: [Math.min(...own.map(({ rps }) => rps)), Math.max(...own.map(({ rps }) => rps))],
    rss_mb,
    errors: [...samples.values()].flat().reduce((sum, { errors }) => sum + errors, 0),
  }
}

const middle = (samples: readonly Sample[]): Sample => ({
  ...middleOf(samples),
  cpu_us: medianOf(samples.map(({ cpu_us }) => cpu_us)),
  main_us: medianOf(samples.map(({ main_us }) => main_us)),
  other_ms: Math.max(...samples.map(({ other_ms }) => other_ms)),
})

function medianOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length > 0 ? median(known) : null
}
