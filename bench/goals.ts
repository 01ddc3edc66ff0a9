// Goals of results: the figure, whether it meets its bound, and both in words.

import { median } from './load.ts'
import type { Result } from './measure.ts'
import type { Ceiling, Goal } from './scenarios.ts'
import type { EmptyStart, StageStart } from './servers.ts'

export interface JudgedGoal {
  readonly path: string
  readonly goal: string
  readonly measured: string
  /** Whether the goal is met; null if this run has nothing to compare with. */
  readonly met: boolean | null
}

export const CEILING_NAMES: Readonly<Record<Ceiling, string>> = {
  spike: 'the spike',
  bare: 'a bare route, same answer',
  '10k': 'itself at 10k memories',
  embedded: 'the embedded engine',
}

/** A ratio with two significant digits. */
export const ratioText = (ratio: number): string => String(Number(ratio.toPrecision(2)))

/** The median with the smallest and the largest value. */
export function spreadText(all: readonly number[]): string {
  const [low, high] = [Math.min(...all), Math.max(...all)]
  return `${ratioText(median(all))} [${ratioText(low)}-${ratioText(high)}]`
}

/** Formats milliseconds. */
export const msText = (ms: number): string => (ms < 10 ? ms.toFixed(1) : ms.toFixed(0))

type Bound = { readonly min: number } | { readonly max: number }

function judge(path: string, goal: string, value: number | null, bound: Bound): JudgedGoal {
  if (value === null) return { path, goal, measured: '–', met: null }
  const met = 'min' in bound ? value >= bound.min : value <= bound.max
  const measured = value >= 100 ? value.toFixed(0) : ratioText(value)
  return { path, goal, measured, met }
}

function judgeGoal(goal: Goal, result: Result): JudgedGoal[] {
  const { name, service, comparisons } = result
  if (goal.kind === 'ratio' || goal.kind === 'cpu_ratio') {
    const compared = comparisons[goal.to]
    if (!compared) return []
    const than = CEILING_NAMES[goal.to]
    const [ratios, text] =
      goal.kind === 'ratio'
        ? [compared.rps, `>= ${goal.min} of ${than}`]
        : [compared.cpu, `processor time <= ${goal.max} of ${than}`]
    return [{ ...judge(name, text, median(ratios), goal), measured: spreadText(ratios) }]
  }
  if (goal.kind === 'times_before') {
    const before = comparisons.before
    const text = `>= ${goal.min} of the build before (--against)`
    return [judge(name, text, before ? median(before.rps) : null, goal)]
  }
  if (goal.kind === 'items_per_core') {
    const text = `>= ${goal.min} memories a second and core`
    return [judge(name, text, service.cpu_us && 1e6 / service.cpu_us, goal)]
  }
  const texts = {
    p99_ms: `p99 <= ${goal.max} ms`,
    longest_ms: `no request above ${goal.max} ms`,
    other_ms: `no other request above ${goal.max} ms`,
    main_us: `main thread <= ${goal.max} us a memory`,
  }
  return [judge(name, texts[goal.kind], service[goal.kind], goal)]
}

export interface Starts {
  readonly empty: EmptyStart | null
  /** For each stage: its number of memories, and the starts of both processes. */
  readonly filled: readonly { readonly facts: number; readonly starts: readonly StageStart[] }[]
}

const KB = 1_000
const MB_KB = (1_024 * 1_024) / KB

/** Memory use per stored memory, above that of a service that has written one. */
export const kilobytesEach = (rss_mb: number, empty: EmptyStart, facts: number): number =>
  ((rss_mb - empty.rss_after_write_mb) * MB_KB) / facts

const LARGE = 1_000_000

function judgeStarts({ empty, filled }: Starts): JudgedGoal[] {
  const goals: JudgedGoal[] = []
  if (empty) {
    goals.push(judge('memory at start', '<= 125 MB', empty.rss_mb, { max: 125 }))
    const written = empty.rss_after_write_mb
    goals.push(judge('memory after the first write', '<= 200 MB', written, { max: 200 }))
  }
  for (const { facts, starts } of filled) {
    if (facts < LARGE) continue
    const worst = (of: (start: StageStart) => number) => Math.max(...starts.map(of)) / 1_000
    const first_s = worst(({ first_retrieve_ms }) => first_retrieve_ms)
    const unavailable_s = worst(({ unavailable_ms }) => unavailable_ms)
    goals.push(judge('start with 1M memories', 'first retrieve <= 8 s', first_s, { max: 8 }))
    goals.push(judge('start with 1M memories', 'no 503 beyond 2 s', unavailable_s, { max: 2 }))
    if (!empty) continue
    const each = kilobytesEach(Math.max(...starts.map(({ rss_mb }) => rss_mb)), empty, facts)
    goals.push(judge('memory at 1M memories', '<= 0.9 kB a memory', each, { max: 0.9 }))
  }
  return goals
}

export const judgeAll = (
  results: readonly (Result & { readonly goals: readonly Goal[] })[],
  starts: Starts,
): JudgedGoal[] => [
  ...results.flatMap((result) => result.goals.flatMap((goal) => judgeGoal(goal, result))),
  ...judgeStarts(starts),
]
