// One scenario on one process: measures its ceilings and the service alternately.

import type { Engine, PostgresServer } from './engines.ts'
import { fire, median, middleOf, type Round } from './load.ts'
import { preload, preloadPolicies, preloadRequests } from './preload.ts'
import { rssMb, startCustos, stop, urlOf } from './processes.ts'
import { openRawLoop, type RawLoop } from './raw-inserts.ts'
import { rawRows } from './raw-rows.ts'
import type { Scenario } from './scenarios.ts'

export interface Timing {
  readonly rounds: number
  readonly seconds: number
}

interface Turn {
  readonly echo: Round
  /** A bare route that answers what the service answers. */
  readonly same: Round
  readonly target: Round
  /** Units a second; null: reading, or no such ceiling. */
  readonly raw: number | null
}

export interface Result {
  readonly name: string
  readonly connections: number
  readonly echo: Round
  readonly target: Round
  /** Service by echo, one a round. */
  readonly ratios: readonly number[]
  readonly ratio: number
  /** Service by the bare route with the same answer, one a round. */
  readonly same_ratios: readonly number[]
  readonly same_ratio: number
  /** Plain inserts of the same rows, a second. */
  readonly raw_rps: number | null
  /** Service by plain inserts, one a round. */
  readonly raw_ratios: readonly number[]
  readonly raw_ratio: number | null
  readonly rss_mb: number
  readonly goal: string
  readonly met: boolean | null
}

interface Setting {
  readonly engine: Engine | PostgresServer
  readonly echoUrl: string
  readonly timing: Timing
}

export async function measure(scenario: Scenario, setting: Setting): Promise<Result> {
  const { engine, echoUrl, timing } = setting
  const place = await engine.create()
  const raw = await rawLoopOf(scenario, engine)
  const server = startCustos(place.env)
  try {
    const base = await urlOf(server)
    await preload(base, scenario.preload)
    await preloadPolicies(base, scenario.policies ?? [])
    await preloadRequests(base, scenario.before ?? [])
    const target = `${base}${scenario.path}`
    await fire(target, scenario, 1)
    await teach(echoUrl, target, scenario)
    const turns: Turn[] = []
    for (let i = 0; i < timing.rounds; i += 1)
      turns.push({
        echo: await fire(`${echoUrl}/echo`, scenario, timing.seconds),
        same: await fire(`${echoUrl}/answer`, scenario, timing.seconds),
        raw: raw ? await raw.fire(scenario.connections, timing.seconds) : null,
        target: await fire(target, scenario, timing.seconds),
      })
    return summarise(scenario, turns, rssMb(server))
  } finally {
    await stop(server)
    await raw?.close()
    await place.remove()
  }
}

/** Gives the bare route an answer of the service to give back. */
async function teach(echoUrl: string, target: string, { bodies }: Scenario): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const asked = await fetch(target, { method: 'POST', headers, body: bodies[0] ?? '{}' })
  const body = await asked.text()
  const taught = await fetch(`${echoUrl}/answer`, { method: 'PUT', headers, body })
  if (!asked.ok || !taught.ok) throw new Error(`no answer to give back: ${asked.status}`)
}

async function rawLoopOf(
  { name }: Scenario,
  engine: Engine | PostgresServer,
): Promise<RawLoop | null> {
  const inserts = rawRows[name]
  return inserts && 'createDatabase' in engine ? openRawLoop(engine, inserts) : null
}

const goalsOf = ({ goal, goal_p99_ms }: Scenario): string[] => [
  ...(goal === undefined ? [] : [`>= ${goal} of echo`]),
  ...(goal_p99_ms === undefined ? [] : [`p99 <= ${goal_p99_ms} ms`]),
]

function summarise(scenario: Scenario, turns: readonly Turn[], rss_mb: number): Result {
  const ratios = turns.map(({ target, echo }) => target.rps / echo.rps)
  const same_ratios = turns.map(({ target, same }) => target.rps / same.rps)
  const raws = turns.flatMap(({ raw }) => (raw === null ? [] : [raw]))
  const raw_ratios = turns.flatMap(({ target, raw }) => (raw === null ? [] : [target.rps / raw]))
  const target = middleOf(turns.map((turn) => turn.target))
  const { name, connections, goal, goal_p99_ms } = scenario
  const ratio = median(ratios)
  return {
    ...{ name, connections, target, ratios, ratio, same_ratios, raw_ratios, rss_mb },
    same_ratio: median(same_ratios),
    echo: middleOf(turns.map((turn) => turn.echo)),
    raw_rps: raws.length > 0 ? median(raws) : null,
    raw_ratio: raw_ratios.length > 0 ? median(raw_ratios) : null,
    goal: goalsOf(scenario).join(', ') || 'none',
    met:
      goal === undefined && goal_p99_ms === undefined
        ? null
        : ratio >= (goal ?? 0) && target.p99_ms <= (goal_p99_ms ?? Number.POSITIVE_INFINITY),
  }
}
