// npm run bench:reports: measures time, rate and memory of a full audit of a million decisions.

import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { type Engine, openPostgresServer, type Place, sqlite } from './engines.ts'
import { cpuSeconds, ROOT, startCustos, stop, urlOf } from './processes.ts'
import { seedDecisions } from './reports-seed.ts'

const { values } = parseArgs({
  options: {
    /** Uses a hundredth of the decisions. */
    short: { type: 'boolean', default: false },
    engine: { type: 'string', default: 'sqlite' },
    /** A file with the location of the seeded data, which is kept and reused. */
    place: { type: 'string' },
    times: { type: 'string', default: '3' },
    out: { type: 'string' },
  },
})

const DECISIONS = values.short ? 10_000 : 1_000_000
const GOAL_S = 20
const LOOK_MS = 200
const HOUR_MS = 3_600_000

interface Job {
  readonly state: string
  readonly progress: { readonly done: number; readonly total: number }
  readonly result: { readonly report_id?: string } | null
}

async function ask<T>(base: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(`${base}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text.slice(0, 300)}`)
  return JSON.parse(text)
}

/** Memory of a process in MB: the current amount, or the peak since `resetPeak`. */
function memoryMb({ pid }: ChildProcess, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024)
}

/** Resets the peak by `/proc/pid/clear_refs` (proc(5)). */
const resetPeak = ({ pid }: ChildProcess) => writeFileSync(`/proc/${pid}/clear_refs`, '5')

/** The time for only reading the rows, in the same pages. */
async function readBare(place: KeptPlace, entries: number): Promise<number> {
  const page = 2_000
  const started_ms = performance.now()
  const { CUSTOS_DATABASE_URL: url, CUSTOS_DATA_DIR: dir } = place.env
  const whose = 'select tenant_id from chain_heads'
  const sql = ([tenant, first, end]: readonly string[]) =>
    `select seq, breadcrumb_id, record from breadcrumbs
     where tenant_id = ${tenant} and seq >= ${first} and seq < ${end} order by seq`
  if (url) {
    const client = new Client({ connectionString: url })
    await client.connect()
    const { tenant_id } = (await client.query(whose)).rows[0]
    const text = sql(['$1', '$2', '$3'])
    for (let at = 0; at < entries; at += page)
      await client.query({ name: 'page', text, values: [tenant_id, at, at + page] })
    await client.end()
  } else {
    const db = new DatabaseSync(join(String(dir), 'custos.db'), { readOnly: true })
    const tenant_id = String(db.prepare(whose).get()?.['tenant_id'])
    const read = db.prepare(sql(['?', '?', '?']))
    for (let at = 0; at < entries; at += page) read.all(tenant_id, at, at + page)
    db.close()
  }
  return performance.now() - started_ms
}

interface ReportMeasurement {
  readonly seconds: number
  /** Processor time of the service, the better measure on a busy machine. */
  readonly cpu_s: number
  readonly rss_before_mb: number
  readonly rss_peak_mb: number
  /** How often a change of the progress was observed. */
  readonly steps_seen: number
  readonly content_hash: string
  readonly log_seq: number
}

async function makeOne(server: ChildProcess, base: string): Promise<ReportMeasurement> {
  resetPeak(server)
  const rss_before_mb = memoryMb(server, 'VmRSS')
  const now = Date.now()
  const period = {
    from: new Date(now - 300 * 24 * HOUR_MS).toISOString(),
    to: new Date(now + HOUR_MS).toISOString(),
  }
  const asked = { framework: 'full_audit', ...period, background: true }
  const [started_ms, cpu_before_s] = [performance.now(), cpuSeconds(server)]
  const { job_id } = await ask<{ job_id: string }>(base, '/v1/reports/generate', asked)
  const seen = new Set<number>()
  let job: Job
  do {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    job = await ask<Job>(base, `/v1/jobs/${job_id}`)
    seen.add(job.progress.done)
  } while (job.state === 'queued' || job.state === 'running')
  const seconds = (performance.now() - started_ms) / 1_000
  const cpu_s = cpuSeconds(server) - cpu_before_s
  const report_id = job.result?.report_id
  if (report_id === undefined) throw new Error(`the report was not made: ${job.state}`)
  const report = await ask<{ content_hash: string; log_seq: number; content: Content }>(
    base,
    `/v1/reports/${report_id}`,
  )
  if (report.content.log.status !== 'intact') throw new Error('the log does not hold')
  return {
    ...{
      seconds,
      cpu_s,
      rss_before_mb,
      rss_peak_mb: memoryMb(server, 'VmHWM'),
      steps_seen: seen.size,
    },
    ...{ content_hash: report.content_hash, log_seq: report.log_seq },
  }
}

interface Content {
  readonly log: { readonly status: string }
}

type KeptPlace = Pick<Place, 'env' | 'remove'>

async function openPlace(engine: Engine): Promise<KeptPlace> {
  const { place: file } = values
  if (file && existsSync(file))
    return { env: JSON.parse(readFileSync(file, 'utf8')), remove: async () => {} }
  const place = await engine.create()
  const first = startCustos(place.env)
  const base = await urlOf(first)
  await ask(base, '/v1/decisions/log', {
    store_id: 'default',
    model_id: 'm',
    query: 'q',
    output: 'o',
  })
  await stop(first)
  const started_ms = performance.now()
  await seedDecisions(place, DECISIONS)
  const seconds = Math.round((performance.now() - started_ms) / 1_000)
  console.log(`${DECISIONS} decisions seeded in ${seconds} s`)
  const second = startCustos(place.env)
  await ask(await urlOf(second), '/v1/gcrumbs/roll', {})
  await stop(second)
  if (!file) return place
  writeFileSync(file, JSON.stringify(place.env))
  return { env: place.env, remove: async () => {} }
}

async function measure(place: KeptPlace) {
  const server = startCustos(place.env)
  try {
    const base = await urlOf(server)
    const runs: ReportMeasurement[] = []
    for (let run = 0; run < Number(values.times); run += 1) {
      const one = await makeOne(server, base)
      const entries = one.log_seq + 1
      const bare_s = (await readBare(place, entries)) / 1_000
      const load = loadavg()[0]?.toFixed(1)
      console.log(
        `full_audit: ${one.seconds.toFixed(1)} s (${one.cpu_s.toFixed(1)} s of processor) ` +
          `for ${entries} entries, ${Math.round(entries / one.seconds)} entries/s; ` +
          `a bare read of the rows ` +
          `${bare_s.toFixed(1)} s; peak ${one.rss_peak_mb} MB over ${one.rss_before_mb} MB; ` +
          `${one.steps_seen} steps of progress; load ${load} ` +
          `(goal <= ${GOAL_S} s, ${one.seconds <= GOAL_S ? 'met' : 'missed'})`,
      )
      runs.push(one)
    }
    return runs
  } finally {
    await stop(server)
  }
}

const engine = values.engine === 'postgres' ? await openPostgresServer() : sqlite
try {
  const place = await openPlace(engine)
  try {
    const model = cpus()[0]?.model.trim() ?? 'unknown'
    const machine = `${cpus().length} x ${model}, Node ${process.version}, ${values.engine}`
    console.log(machine)
    const runs = await measure(place)
    const out = values.out ?? join(ROOT, 'bench', 'results', `reports-${values.engine}.json`)
    mkdirSync(dirname(out), { recursive: true })
    writeFileSync(out, `${JSON.stringify({ machine, DECISIONS, runs }, null, 2)}\n`)
  } finally {
    await place.remove()
  }
} finally {
  await engine.stop()
}
