// npm run bench: the real server and its ceilings, measured in the same run, as ratios.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'
import { commitCeiling } from './commit-ceiling.ts'
import { preloadItems, type Scenario, scenarios } from './scenarios.ts'

const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    only: { type: 'string' },
    out: { type: 'string' },
    engine: { type: 'string', default: 'sqlite' },
  },
})

const ROUNDS = values.short ? 2 : 5
const SECONDS = values.short ? 2 : 5
const root = join(import.meta.dirname, '..')

interface Round {
  readonly rps: number
  readonly p50_ms: number
  readonly p99_ms: number
  readonly errors: number
}

interface Result {
  readonly name: string
  readonly connections: number
  readonly echo: Round
  readonly target: Round
  readonly ratios: readonly number[]
  readonly ratio: number
  readonly rss_mb: number
  readonly goal: string
  readonly met: boolean | null
}

function start(args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  return spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await ended
}

/** The first URL the child prints; what it prints later is read and dropped. */
function urlOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let seen = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      seen += chunk
      const match = /http:\/\/127\.0\.0\.1:\d+/.exec(seen)
      if (match) resolve(match[0])
    })
    child.once('exit', () => reject(new Error('the server ended before it listened')))
  })
}

async function fire(url: string, scenario: Scenario, seconds: number): Promise<Round> {
  const result = await autocannon({
    url,
    connections: scenario.connections,
    duration: seconds,
    requests: scenario.bodies.map((body) => ({
      method: 'POST' as const,
      path: new URL(url).pathname,
      headers: { 'content-type': 'application/json' },
      body,
    })),
  })
  return {
    rps: result.requests.average,
    p50_ms: result.latency.p50,
    p99_ms: result.latency.p99,
    errors: result.errors + result.non2xx,
  }
}

async function preload(base: string, count: number): Promise<void> {
  const items = preloadItems(count)
  for (let at = 0; at < items.length; at += 500) {
    const answer = await fetch(`${base}/v1/stores/default/write_batch`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ items: items.slice(at, at + 500) }),
    })
    if (!answer.ok) throw new Error(`preload failed: ${answer.status} ${await answer.text()}`)
  }
}

const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0

const rssMb = (child: ChildProcess): number => {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024)
}

async function measure(scenario: Scenario, echoUrl: string): Promise<Result> {
  const dir = mkdtempSync(join(tmpdir(), 'custos-bench-'))
  const server = start(['packages/cli/bin/custos.js', 'serve', '--port', '0'], {
    CUSTOS_DATA_DIR: dir,
    CUSTOS_LOG_LEVEL: 'error',
  })
  try {
    const base = await urlOf(server)
    await preload(base, scenario.preload)
    const target = `${base}${scenario.path}`
    await fire(target, scenario, 1)
    const rounds: { echo: Round; target: Round }[] = []
    for (let i = 0; i < ROUNDS; i++)
      rounds.push({
        echo: await fire(`${echoUrl}/echo`, scenario, SECONDS),
        target: await fire(target, scenario, SECONDS),
      })
    return summarise(scenario, rounds, rssMb(server))
  } finally {
    await stop(server)
    rmSync(dir, { recursive: true, force: true })
  }
}

function summarise(
  scenario: Scenario,
  rounds: readonly { echo: Round; target: Round }[],
  rss_mb: number,
): Result {
  const middle = (of: (round: { echo: Round; target: Round }) => Round): Round => ({
    rps: median(rounds.map((r) => of(r).rps)),
    p50_ms: median(rounds.map((r) => of(r).p50_ms)),
    p99_ms: median(rounds.map((r) => of(r).p99_ms)),
    errors: rounds.reduce((sum, r) => sum + of(r).errors, 0),
  })
  const ratios = rounds.map((r) => r.target.rps / r.echo.rps)
  const [echo, target, ratio] = [middle((r) => r.echo), middle((r) => r.target), median(ratios)]
  const { goal, goal_p99_ms } = scenario
  const met = goal ? ratio >= goal : goal_p99_ms ? target.p99_ms <= goal_p99_ms : null
  const text = goal ? `>= ${goal} of echo` : goal_p99_ms ? `p99 <= ${goal_p99_ms} ms` : 'none'
  const { name, connections } = scenario
  return { name, connections, echo, target, ratios, ratio, rss_mb, goal: text, met }
}

function table(results: readonly Result[]): string {
  const rows = results.map((r) => {
    const spread = `${Math.min(...r.ratios).toFixed(2)}-${Math.max(...r.ratios).toFixed(2)}`
    const cells = [
      r.name,
      r.connections,
      Math.round(r.target.rps),
      `${r.ratio.toFixed(2)} [${spread}]`,
      `${r.target.p50_ms} / ${r.target.p99_ms}`,
      r.rss_mb,
      `${r.goal}${r.met === null ? '' : r.met ? ', met' : ', missed'}`,
    ]
    return `| ${cells.join(' | ')} |`
  })
  return [
    '| Operation | conn. | req/s | of echo, median [min-max] | p50 / p99 ms | RSS MB | goal |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}

const echo = start(['bench/echo-server.ts'], {})
try {
  const echoUrl = await urlOf(echo)
  const ceiling = Math.round(commitCeiling(values.short ? 1 : 3))
  const results: Result[] = []
  for (const scenario of scenarios) {
    if (values.only && !scenario.name.includes(values.only)) continue
    results.push(await measure(scenario, echoUrl))
    process.stderr.write(`${scenario.name} done\n`)
  }
  const model = cpus()[0]?.model.trim() ?? 'unknown'
  const machine = `${cpus().length} x ${model}, Node ${process.version}`
  console.log(`${machine}; ${ROUNDS} rounds of ${SECONDS} s, echo and target in turn`)
  console.log(`raw engine: ${ceiling} durable rows/s at 32 rows a commit\n\n${table(results)}`)
  const out = values.out ?? join(root, 'bench', 'results', `${values.engine}.json`)
  mkdirSync(join(out, '..'), { recursive: true })
  writeFileSync(out, `${JSON.stringify({ machine, ceiling, results }, null, 2)}\n`)
  if (results.some((r) => r.target.errors > 0)) throw new Error('some requests failed')
} finally {
  await stop(echo)
}
