// npm run bench: the real server and its ceilings, measured in the same run, as ratios.

import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { commitCeiling } from './commit-ceiling.ts'
import { type Engine, openPostgresServer, type PostgresServer, sqlite } from './engines.ts'
import { ROOT, start, stop, urlOf } from './processes.ts'
import { severalTable, singleTable } from './report.ts'
import { scenarios } from './scenarios.ts'
import { measureSeveral, type SeveralResult } from './several.ts'
import { measure, type Result } from './single.ts'

const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    /** Scenarios whose name has it; `processes`: one process against two. */
    only: { type: 'string', default: '' },
    out: { type: 'string' },
    engine: { type: 'string', default: 'sqlite' },
  },
})

const timing = values.short ? { rounds: 2, seconds: 2 } : { rounds: 5, seconds: 5 }
const SEVERAL = 'processes'

interface Run {
  readonly machine: string
  /** Durable rows a second of the embedded engine, at 32 rows a commit. */
  readonly ceiling?: number
  /** The server and how it is set. */
  readonly postgres?: string
  readonly results: readonly Result[]
  readonly processes?: readonly SeveralResult[]
}

async function measureAll(engine: Engine | PostgresServer): Promise<Run> {
  const echo = start(['bench/echo-server.ts'], {})
  try {
    const echoUrl = await urlOf(echo)
    const results: Result[] = []
    for (const scenario of scenarios.filter(({ name }) => name.includes(values.only))) {
      results.push(await measure(scenario, { engine, echoUrl, timing }))
      process.stderr.write(`${scenario.name} done\n`)
    }
    const model = cpus()[0]?.model.trim() ?? 'unknown'
    const machine = `${cpus().length} x ${model}, Node ${process.version}`
    if (!('about' in engine))
      return { machine, ceiling: Math.round(commitCeiling(values.short ? 1 : 3)), results }
    const processes = SEVERAL.includes(values.only) ? await decisionsOnSeveral(engine) : []
    return { machine, postgres: engine.about, results, processes }
  } finally {
    await stop(echo)
  }
}

async function decisionsOnSeveral(server: PostgresServer): Promise<SeveralResult[]> {
  const scenario = scenarios.find(({ name }) => name === 'decision log')
  if (!scenario) throw new Error('there is no scenario "decision log"')
  const results = await measureSeveral(scenario, server, timing)
  process.stderr.write('one process against two done\n')
  return results
}

function print({ machine, ceiling, postgres, results, processes = [] }: Run): void {
  const { rounds, seconds } = timing
  console.log(`${machine}; ${rounds} rounds of ${seconds} s, ceilings and target in turn`)
  if (postgres !== undefined) console.log(postgres)
  if (ceiling !== undefined)
    console.log(`raw engine: ${ceiling} durable rows/s at 32 rows a commit`)
  if (results.length > 0) console.log(`\n${singleTable(results)}`)
  if (processes.length > 0) console.log(`\n${severalTable('Decisions', processes)}`)
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
  const run = await measureAll(engine)
  print(run)
  save(run)
  const failed = [...run.results, ...(run.processes ?? [])].some((r) => r.target.errors > 0)
  if (failed) throw new Error('some requests failed')
} finally {
  await engine.stop()
}
