// Sends a scenario's requests over HTTP for some seconds, each connection bodies of its own.

import autocannon from 'autocannon'
import type { Scenario } from './scenarios.ts'

export interface Round {
  readonly rps: number
  readonly p50_ms: number
  readonly p99_ms: number
  readonly errors: number
}

/** Where a connection sends to, and as whom. */
export interface Caller {
  readonly url: string
  readonly authorization?: string | undefined
}

interface Load {
  readonly connections: number
  readonly seconds: number
  /** By the number of the connection. */
  bodiesOf(connection: number): readonly string[]
  authorizationOf(connection: number): string | undefined
}

async function send(url: string, load: Load): Promise<Round> {
  let connected = 0
  const result = await autocannon({
    url,
    connections: load.connections,
    duration: load.seconds,
    setupClient: (client) => {
      const authorization = load.authorizationOf(connected)
      const headers = {
        'content-type': 'application/json',
        ...(authorization && { authorization }),
      }
      client.setRequests(
        load.bodiesOf(connected).map((body) => ({
          method: 'POST' as const,
          path: new URL(url).pathname,
          headers,
          body,
        })),
      )
      connected += 1
    },
  })
  return {
    rps: result.requests.average,
    p50_ms: result.latency.p50,
    p99_ms: result.latency.p99,
    errors: result.errors + result.non2xx,
  }
}

/** Every `parts`-th of the bodies, beginning with the `part`-th. */
const shareOf = (bodies: readonly string[], part: number, parts: number): string[] =>
  bodies.filter((_, index) => index % parts === part)

/** All connections of the scenario to one URL. */
export const fire = (url: string, scenario: Scenario, seconds: number): Promise<Round> =>
  send(url, {
    connections: scenario.connections,
    seconds,
    bodiesOf: (connection) => shareOf(scenario.bodies, connection, scenario.connections),
    authorizationOf: () => undefined,
  })

/** One connection for each caller, at the same time; times are those of the slower URL. */
export async function fireAs(
  callers: readonly Caller[],
  scenario: Scenario,
  seconds: number,
): Promise<Round> {
  const numbered = callers.map((caller, number) => ({ ...caller, number }))
  const groups = [...Map.groupBy(numbered, ({ url }) => url)]
  const rounds = await Promise.all(
    groups.map(([url, own]) =>
      send(url, {
        connections: own.length,
        seconds,
        bodiesOf: (at) => shareOf(scenario.bodies, own[at]?.number ?? 0, callers.length),
        authorizationOf: (at) => own[at]?.authorization,
      }),
    ),
  )
  const sum = (of: (round: Round) => number) => rounds.reduce((total, r) => total + of(r), 0)
  return {
    rps: sum((r) => r.rps),
    p50_ms: Math.max(...rounds.map((r) => r.p50_ms)),
    p99_ms: Math.max(...rounds.map((r) => r.p99_ms)),
    errors: sum((r) => r.errors),
  }
}

export const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0

/** The middle of each figure; errors are added up. */
export const middleOf = (rounds: readonly Round[]): Round => ({
  rps: median(rounds.map((r) => r.rps)),
  p50_ms: median(rounds.map((r) => r.p50_ms)),
  p99_ms: median(rounds.map((r) => r.p99_ms)),
  errors: rounds.reduce((sum, r) => sum + r.errors, 0),
})
