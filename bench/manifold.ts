// npm run bench:manifold: measures computing and storing the plane and field of 20,000 decisions.

import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { sqlite } from './engines.ts'
import { median } from './load.ts'
import { cpuSeconds, ROOT, rssMb, startCustos, stop, urlOf } from './processes.ts'

const { values } = parseArgs({
  options: {
    /** Uses a twentieth of the decisions. */
    short: { type: 'boolean', default: false },
    out: { type: 'string' },
  },
})

const DECISIONS = values.short ? 1_000 : 20_000
const ROUNDS = 5
const AT_ONCE = 64
const GOAL_MS = 2_000
const WORDS = 'pay hold ask refuse invoice order refund build test patient dose server disk'.split(
  ' ',
)

/** The words of a question or answer, about forty. Half of the decisions have an outcome. */
const wordsOf = (at: number, salt: number) =>
  Array.from({ length: 20 }, (_, i) => WORDS[(at * 7 + i * (salt + (at % 11))) % WORDS.length])
    .concat(`number ${at}`)
    .join(' ')

async function ask(base: string, method: 'GET' | 'POST', path: string, body?: unknown) {
  const answer = await fetch(`${base}${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text.slice(0, 300)}`)
  return text
}

const oneOf = (at: number): [path: string, body: object] =>
  at % 2 === 0
    ? [
        '/v1/decisions/log',
        {
          store_id: 'default',
          model_id: 'model-a',
          query: wordsOf(at, 3),
          output: wordsOf(at, 5),
        },
      ]
    : [
        '/v1/governed/decisions',
        {
          decision: 'certify',
          agent_handle: `agent-${at % 200}@example`,
          invoice_id: `invoice ${at}`,
          reason: wordsOf(at, 3),
        },
      ]

async function setStage(base: string): Promise<void> {
  for (let at = 0; at < DECISIONS; at += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, DECISIONS - at) }, (_, i) =>
        ask(base, 'POST', ...oneOf(at + i)),
      ),
    )
  const outcomes = Array.from({ length: Math.floor(DECISIONS / 2) }, (_, i) => ({
    ...{ invoice_ref: `invoice ${2 * i + 1}`, outcome: i % 5 === 0 ? 'default' : 'paid' },
  }))
  await ask(base, 'POST', '/v1/governed/outcomes/bulk', outcomes)
}

const place = await sqlite.create()
try {
  const server = startCustos(place.env)
  try {
    const base = await urlOf(server)
    await setStage(base)
    const [computed, kept, cpu]: [number[], number[], number[]] = [[], [], []]
    for (let round = 0; round < ROUNDS; round += 1) {
      await ask(base, 'POST', '/v1/manifold/clear_cache')
      const before_s = cpuSeconds(server)
      const started_ms = performance.now()
      const { meta } = JSON.parse(await ask(base, 'GET', '/v1/manifold/field'))
      const computed_ms = performance.now()
      if (meta.n_points !== DECISIONS) throw new Error(`${meta.n_points} points`)
      await ask(base, 'GET', '/v1/manifold/field')
      computed.push(computed_ms - started_ms)
      kept.push(performance.now() - computed_ms)
      cpu.push((cpuSeconds(server) - before_s) * 1_000)
    }
    const [computed_ms, kept_ms, cpu_ms] = [computed, kept, cpu].map((taken) =>
      Math.round(median(taken)),
    )
    const machine = `${cpus().length} x ${cpus()[0]?.model.trim()}, Node ${process.version}`
    const met = (cpu_ms ?? Infinity) <= GOAL_MS ? 'met' : 'missed'
    console.log(`${machine}; ${DECISIONS} decisions, half of them governed, ${ROUNDS} rounds`)
    console.log(
      `computed: ${computed_ms} ms, ${cpu_ms} ms of processor (goal <= ${GOAL_MS} ms, ${met}); ` +
        `kept: ${kept_ms} ms; ${rssMb(server)} MB`,
    )
    const out = values.out ?? join(ROOT, 'bench', 'results', 'manifold.json')
    mkdirSync(dirname(out), { recursive: true })
    const result = { computed, kept, cpu, rss_mb: rssMb(server) }
    writeFileSync(out, `${JSON.stringify({ machine, DECISIONS, ...result }, null, 2)}\n`)
  } finally {
    await stop(server)
  }
} finally {
  await place.remove()
}
