// npm run bench: compares the service with its ceilings in alternating rounds, and checks goals.

import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { costsTable, measureCosts } from './costs.ts'
import { type Engine, openPostgresServer, type PostgresServer, sqlite } from './engines.ts'
import { type JudgedGoal, judgeAll, type Starts } from './goals.ts'
import { measure, type Result, variantsOf } from './measure.ts'
import { ROOT } from './processes.ts'
import { beforeTable, goalsTable, operationsTable, severalTable, startsTable } from './report.ts'
import { type Goal, log, type Scenario, scenarios } from './scenarios.ts'
import { type EmptyStart, measureEmptyStart, Servers, type Variant } from './servers.ts'
import { measureSeveral, type SeveralResult } from './several.ts'
import type { Stage } from './stages.ts'

const { values } = parseArgs({
  options: {
    /** Uses fewer and shorter rounds. */
    short: { type: 'boolean', default: false },
    /** Names of scenarios or parts of names, separated by commas; see also START and SEVERAL. */
    only: { type: 'string', default: '' },
    /** Also measures a store with a million memories. */
    million: { type: 'boolean', default: false },
    /** The directory of another checkout to compare with. */
    against: { type: 'string' },
    /** Measures the costs of each operation instead. */
    costs: { type: 'boolean', default: false },
    engine: { type: 'string', default: 'sqlite' },
    out: { type: 'string' },
  },
})

const timing = values.short
  ? { rounds: 2, seconds: 1, warm_up_s: 2 }
  : { rounds: 4, seconds: 3, warm_up_s: 8 }
/** Name that selects the start and memory of a service without data. */
const START = 'start'
/** Name that selects the comparison of one process with two, on PostgreSQL. */
const SEVERAL = 'processes'

const wanted = values.only.split(',').map((name) => name.trim())
const isName = (part: string): boolean => scenarios.some(({ name }) => name === part)
const isWanted = (name: string): boolean =>
  wanted.some((part) => (isName(part) ? name === part : name.includes(part)))

interface Run {
  readonly machine: string
  /** The PostgreSQL server and its settings; null for the embedded engine. */
  readonly postgres: string | null
  readonly results: readonly (Result & { readonly goals: readonly Goal[] })[]
  readonly starts: Starts
  readonly goals: readonly JudgedGoal[]
  readonly processes: readonly SeveralResult[]
}

const note = (text: string): boolean => process.stderr.write(`${text}\n`)

async function measureAll(engine: Engine | PostgresServer): Promise<Run> {
  const before = values.against === undefined ? null : resolve(values.against)
  const chosen = scenarios.filter(
    ({ name, long = false }) => isWanted(name) && (!long || values.million),
  )
  const variants = (one: Scenario) =>
    variantsOf(one, { engine: engine.name, before: before !== null })
  const servers = new Servers(engine, before)
  const results: (Result & { readonly goals: readonly Goal[] })[] = []
  const filled = new Map<Stage, Starts['filled'][number]>()
  const empty: EmptyStart | null = isWanted(START) ? await measureEmptyStart(engine) : null
  try {
    for (const [at, scenario] of chosen.entries()) {
      const { stage, goals } = scenario
      const result = await measure(scenario, variants(scenario), { servers, timing })
      results.push({ ...result, goals })
      const own = await servers.of('service', stage)
      const starts = own.flatMap(({ start }) => (start ? [start] : []))
      if (starts.length > 0) filled.set(stage, { facts: stage.facts, starts })
      note(`${scenario.name} done`)
      const later = chosen.slice(at + 1)
      await servers.keepOnly(
        later.flatMap((one) =>
          variants(one).map((variant): [Variant, Stage] => [variant, one.stage]),
        ),
      )
    }
  } finally {
    await servers.keepOnly([])
  }
  const starts = { empty, filled: [...filled.values()] }
  const model = cpus()[0]?.model.trim() ?? 'unknown'
  const postgres = 'about' in engine ? engine : null
  const several = postgres !== null && isWanted(SEVERAL)
  return {
    machine: `${cpus().length} x ${model}, Node ${process.version}`,
    postgres: postgres?.about ?? null,
    results,
    starts,
    goals: judgeAll(results, starts),
    processes: several ? await measureSeveral(log, postgres, timing) : [],
  }
}

function print({ machine, postgres, results, starts, goals, processes }: Run): void {
  const { rounds, seconds, warm_up_s } = timing
  const times = `${rounds} rounds of ${seconds} s after ${warm_up_s} s`
  console.log(`${machine}; ${times}, two processes of each variant, alternated`)
  if (postgres !== null) console.log(postgres)
  const tables = [
    goals.length > 0 && goalsTable(goals),
    results.length > 0 && operationsTable(results),
    (starts.empty || starts.filled.length > 0) && startsTable(starts),
    values.against !== undefined && beforeTable(results),
    processes.length > 0 && severalTable('Decisions', processes),
  ]
  for (const table of tables) if (table) console.log(`\n${table}`)
}

function save(run: Run): void {
  const out = values.out ?? join(ROOT, 'bench', 'results', `${values.engine}.json`)
  mkdirSync(dirname(out), { recursive: true })
  writeFileSync(out, `${JSON.stringify(run, null, 2)}\n`)
}

async function open(name: string): Promise<Engine | PostgresServer> {
  if (name === 'sqlite') return sqlite
  if (name === 'postgres') return openPostgresServer()
  throw new Error(`there is no engine ${name}: sqlite or postgres`)
}

const engine = await open(values.engine)
try {
  if (values.costs) {
    if ('about' in engine) console.log(engine.about)
    console.log(costsTable(await measureCosts(engine, { short: values.short })))
    await engine.stop()
    process.exit()
  }
  const run = await measureAll(engine)
  print(run)
  save(run)
  const failed = run.results.filter(({ errors }) => errors > 0).map(({ name }) => name)
  if (run.processes.some(({ target }) => target.errors > 0)) failed.push(SEVERAL)
  if (failed.length > 0) throw new Error(`some requests failed: ${failed.join(', ')}`)
} finally {
  await engine.stop()
}
