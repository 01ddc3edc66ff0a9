// Sends requests over HTTP, an equal share on each connection, and measures times.

import autocannon from 'autocannon'

export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
}

/** A connection: its target and its credential. */
export interface Caller {
  readonly url: string
  readonly authorization?: string | undefined
}

export interface Round {
  readonly answered: number
  /** Answers per second. */
  readonly rps: number
  readonly p50_ms: number
  readonly p99_ms: number
  readonly longest_ms: number
  /** Number of refusals, broken connections and timeouts. */
  readonly errors: number
}

interface Answers {
  readonly times_ms: number[]
  readonly seconds: number
  readonly errors: number
}

/** Interval at which the load generator checks whether everything is answered. */
const POLL_MS = 10
const TIMEOUT_S = 120
/** Autocannon requires a limit. A run ends with its last answer. */
const DURATION_MAX_S = 3_600

/**
 * Sends each request once, in concurrent closed loops, one for each caller. All requests are
 * answered when it resolves, so the server's work meanwhile is due to them. `onStart` is called
 * when the connections are open.
 */
export async function fire(
  callers: readonly Caller[],
  requests: readonly HttpRequest[],
  onStart: () => void = () => {},
): Promise<Round> {
  if (requests.length % callers.length !== 0) throw new Error('the callers have unequal shares')
  const shares = callers.map((caller, at) => ({
    ...caller,
    requests: requests.filter((_, index) => index % callers.length === at),
  }))
  const groups = [...Map.groupBy(shares, ({ url }) => url).values()]
  const answers = await Promise.all(groups.map((group) => send(group, onStart)))
  const times = answers.flatMap(({ times_ms }) => times_ms).sort((a, b) => a - b)
  return {
    answered: times.length,
    rps: answers.reduce((sum, { times_ms, seconds }) => sum + times_ms.length / seconds, 0),
    p50_ms: quantile(times, 0.5),
    p99_ms: quantile(times, 0.99),
    longest_ms: quantile(times, 1),
    errors: answers.reduce((sum, { errors }) => sum + errors, 0),
  }
}

type CallerShare = Caller & { readonly requests: readonly HttpRequest[] }

/** Sends the shares of callers with the same URL. */
function send(group: readonly CallerShare[], onStart: () => void): Promise<Answers> {
  return new Promise((resolve, reject) => {
    let connected = 0
    let [first_ms, last_ms] = [0, 0]
    const times_ms: number[] = []
    const options: autocannon.Options = {
      url: group[0]?.url ?? '',
      connections: group.length,
      amount: group.reduce((sum, { requests }) => sum + requests.length, 0),
      duration: DURATION_MAX_S,
      timeout: TIMEOUT_S,
      sampleInt: POLL_MS,
      setupClient: (client) => {
        const share = group[connected]
        connected += 1
        // Disables keeping bodies as text, which for megabytes takes longer than the answer.
        Object.assign(Reflect.get(client, 'pipelinedRequests'), { addBody: () => {} })
        if (share) client.setRequests(share.requests.map((one) => toRequest(share, one)))
      },
    }
    const running = autocannon(options, (error, result) => {
      if (error) return reject(error)
      const errors = result.errors + result.non2xx
      if (errors > 0)
        process.stderr.write(`${errors} failed: ${JSON.stringify(result.statusCodeStats)}\n`)
      resolve({ times_ms, seconds: (last_ms - first_ms) / 1_000, errors })
    })
    running.once('start', () => {
      first_ms = performance.now()
      onStart()
    })
    running.on('response', (_client, _status, _bytes, time_ms) => {
      times_ms.push(time_ms)
      last_ms = performance.now()
    })
  })
}

const toRequest = (
  { authorization }: Caller,
  { method, path, body }: HttpRequest,
): autocannon.Request => ({
  method,
  path,
  headers: {
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(authorization && { authorization }),
  },
  ...(body !== undefined && { body }),
})

/** A quantile of sorted numbers; 0 if there are none. */
export const quantile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0

export const median = (numbers: readonly number[]): number =>
  quantile(
    numbers.toSorted((a, b) => a - b),
    0.5,
  )

/** Summarises rounds: the median of each figure, the longest time, the sum of errors. */
export const middleOf = (rounds: readonly Round[]): Round => ({
  answered: rounds.reduce((sum, r) => sum + r.answered, 0),
  rps: median(rounds.map((r) => r.rps)),
  p50_ms: median(rounds.map((r) => r.p50_ms)),
  p99_ms: median(rounds.map((r) => r.p99_ms)),
  longest_ms: Math.max(...rounds.map((r) => r.longest_ms)),
  errors: rounds.reduce((sum, r) => sum + r.errors, 0),
})

/** Sends one request. Throws if the service refuses it. */
export async function ask(
  base: string,
  { method, path, body }: HttpRequest,
  authorization = '',
): Promise<{ readonly text: string; readonly type: string }> {
  const answer = await fetch(`${base}${path}`, {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(authorization && { authorization }),
    },
    ...(body !== undefined && { body }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 300)}`)
  return { text, type: answer.headers.get('content-type') ?? '' }
}

export const post = (path: string, body: unknown): HttpRequest => ({
  method: 'POST',
  path,
  body: JSON.stringify(body),
})

export const get = (path: string): HttpRequest => ({ method: 'GET', path })
