// npm run bench:reputation: measures score reads with a million decisions, and bulk outcomes.

import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'
import { type Place, sqlite } from './engines.ts'
import { median } from './load.ts'
import { ROOT, rssMb, startCustos, stop, urlOf } from './processes.ts'

const { values } = parseArgs({
  options: {
    /** Uses a hundredth of the decisions, and less time. */
    short: { type: 'boolean', default: false },
    out: { type: 'string' },
  },
})

const AGENTS = values.short ? 100 : 1_000
const DECISIONS = values.short ? 10_000 : 1_000_000
const SECONDS = values.short ? 2 : 10
const REVIEWERS = 200
const REVIEWERS_PER_AGENT = 20
const OBSERVATIONS = 5
const CONNECTIONS = 8
const BULK = 10_000
const BULKS = 5
const GOALS = { score_p99_ms: 5, bulk_ms: 3_000 }

const agentOf = (at: number) => `agent-${at % AGENTS}@example`
const reviewerOf = (at: number) => `reviewer-${at % REVIEWERS}`

async function post(base: string, path: string, body: unknown): Promise<void> {
  const answer = await fetch(`${base}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text.slice(0, 300)}`)
}

/** Gives every agent a pending decision with a review, and every reviewer a track record. */
async function setStage(base: string): Promise<void> {
  for (let at = 0; at < AGENTS; at += CONNECTIONS) {
    const some = Array.from({ length: Math.min(CONNECTIONS, AGENTS - at) }, (_, i) => at + i)
    await Promise.all(
      some.map((agent) =>
        post(base, '/v1/governed/decisions', {
          ...{ decision: 'certify', agent_handle: agentOf(agent), invoice_id: `pending ${agent}` },
        }),
      ),
    )
  }
  const observed = Array.from({ length: REVIEWERS * OBSERVATIONS }, (_, at) => `observed ${at}`)
  const reviews = [
    ...observed.map((invoice_ref, at) => ({
      ...{ invoice_ref, reviewer_handle: reviewerOf(at), rating: 0.8 },
    })),
    ...Array.from({ length: AGENTS * REVIEWERS_PER_AGENT }, (_, at) => ({
      invoice_ref: `pending ${at % AGENTS}`,
      reviewer_handle: reviewerOf(Math.floor(at / AGENTS) + at),
      rating: (at % 11) / 10,
    })),
  ]
  for (let at = 0; at < reviews.length; at += BULK)
    await post(base, '/v1/governed/reviews/bulk', reviews.slice(at, at + BULK))
  const outcomes = observed.map((invoice_ref) => ({ invoice_ref, outcome: 'paid' }))
  await post(base, '/v1/governed/outcomes/bulk', outcomes)
}

/** Multiplies the existing decisions and outcomes by inserting rows and sums, without requests. */
function multiply({ env }: Place): void {
  const db = new DatabaseSync(join(String(env['CUSTOS_DATA_DIR']), 'custos.db'))
  const copies = Math.floor(DECISIONS / AGENTS) - 1
  db.exec('begin')
  db.exec(`
    with recursive copy(n) as (select 1 union all select n + 1 from copy where n < ${copies})
    insert into cgr_decisions (tenant_id, seq, decision_id, agent_no, referent, decision, tag,
      current, handle, anchor, signed_us, recorded_by, recorded_us, secret_no, sealed_name, sealed)
    select tenant_id, 1000000000 + copy.n * 100000 + d.seq, randomblob(16), agent_no,
      randomblob(32), decision, tag, current, handle, anchor, signed_us, recorded_by, recorded_us,
      secret_no, sealed_name, sealed
    from copy, cgr_decisions d`)
  db.exec(`
    insert into cgr_outcomes (tenant_id, referent, outcome, amount, content, reporter, event_us,
      seq, recorded_by)
    select d.tenant_id, d.referent, case when d.seq % 7 then 'paid' else 'default' end, null,
      randomblob(32), null, recorded_us, d.seq, recorded_by
    from cgr_decisions d where d.seq > 1000000000`)
  db.exec(`update cgr_agents set n_success = ${copies - 7}, n_failure = 7`)
  db.exec('commit')
  db.close()
}

async function readScores(base: string, connections: number) {
  const requests = Array.from({ length: AGENTS }, (_, at) => ({
    method: 'GET' as const,
    path: `/v1/cgr/scores/${encodeURIComponent(agentOf(at))}`,
  }))
  const read = (duration: number) => autocannon({ url: base, connections, duration, requests })
  await read(1)
  const { requests: done, latency, errors, non2xx } = await read(SECONDS)
  const rps = Math.round(done.average)
  return { connections, rps, p50_ms: latency.p50, p99_ms: latency.p99, errors: errors + non2xx }
}

async function timed(times: number, act: (at: number) => Promise<void>): Promise<number> {
  const taken: number[] = []
  for (let at = 0; at < times; at += 1) {
    const started_ms = performance.now()
    await act(at)
    taken.push(performance.now() - started_ms)
  }
  return Math.round(median(taken))
}

async function measure(place: Place) {
  const first = startCustos(place.env)
  await setStage(await urlOf(first))
  await stop(first)
  multiply(place)
  const server = startCustos(place.env)
  try {
    const base = await urlOf(server)
    // With one connection, the time of a read; with several, the time including the wait.
    const scores = [await readScores(base, 1), await readScores(base, CONNECTIONS)]
    const list_ms = await timed(BULKS, async () => {
      await (await fetch(`${base}/v1/cgr/scores?limit=500`)).text()
    })
    const bulk_ms = await timed(BULKS, (at) => {
      const outcome = at % 2 === 0 ? 'paid' : 'default'
      const refs = Array.from({ length: BULK }, (_, i) =>
        i < AGENTS ? `pending ${i}` : `bulk ${at} ${i}`,
      )
      const body = refs.map((invoice_ref) => ({ invoice_ref, outcome }))
      return post(base, '/v1/governed/outcomes/bulk', body)
    })
    return { scores, list_ms, bulk_ms, rss_mb: rssMb(server) }
  } finally {
    await stop(server)
  }
}

const place = await sqlite.create()
try {
  const result = await measure(place)
  const { scores, list_ms, bulk_ms, rss_mb } = result
  const model = cpus()[0]?.model.trim() ?? 'unknown'
  const machine = `${cpus().length} x ${model}, Node ${process.version}`
  const judged = (met: boolean) => (met ? 'met' : 'missed')
  console.log(`${machine}; ${DECISIONS} decisions of ${AGENTS} agents, ${REVIEWERS} reviewers`)
  for (const { connections, rps, p50_ms, p99_ms, errors } of scores)
    console.log(
      `score: ${rps} req/s, p50 ${p50_ms} ms, p99 ${p99_ms} ms at ${connections} connections ` +
        `(goal p99 <= ${GOALS.score_p99_ms} ms, ` +
        `${judged(errors === 0 && p99_ms <= GOALS.score_p99_ms)})`,
    )
  console.log(`list of 500 agents: ${list_ms} ms`)
  console.log(
    `${BULK} outcomes in one request: ${bulk_ms} ms ` +
      `(goal <= ${GOALS.bulk_ms} ms, ${judged(bulk_ms <= GOALS.bulk_ms)}); ${rss_mb} MB`,
  )
  const out = values.out ?? join(ROOT, 'bench', 'results', 'reputation.json')
  mkdirSync(dirname(out), { recursive: true })
  writeFileSync(out, `${JSON.stringify({ machine, DECISIONS, AGENTS, ...result }, null, 2)}\n`)
} finally {
  await place.remove()
}
