// Formats the tables of a run for docs/benchmarks.md.

import type { Starts } from './goals.ts'
import {
  CEILING_NAMES,
  type JudgedGoal,
  kilobytesEach,
  msText,
  ratioText,
  spreadText,
} from './goals.ts'
import { median } from './load.ts'
import type { Result } from './measure.ts'
import type { Ceiling } from './scenarios.ts'
import type { SeveralResult } from './several.ts'

type Cell = string | number

const NONE = '–'
const row = (cells: readonly Cell[]): string => `| ${cells.join(' | ')} |`

function render(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [row(head), `|${'---|'.repeat(head.length)}`, ...rows.map(row)].join('\n')
}

/** The comparison by rate, and by processor time if both did the same work. */
function compared({ comparisons }: Result, ceiling: Ceiling): string {
  const found = comparisons[ceiling]
  if (!found) return NONE
  return `${spreadText(found.rps)}; ${found.cpu.length > 0 ? ratioText(median(found.cpu)) : NONE}`
}

const times = ({ p50_ms, p99_ms, longest_ms }: Result['service']): string =>
  [p50_ms, p99_ms, longest_ms].map(msText).join(' / ')

/** The table of operations with their ceilings. */
export function operationsTable(results: readonly Result[]): string {
  const ceilings = (['spike', 'embedded', '10k', 'bare'] as const).filter((ceiling) =>
    results.some(({ comparisons }) => comparisons[ceiling] !== undefined),
  )
  const head = [
    'Operation',
    'conn.',
    'a second [min-max]',
    'us of processor, main thread',
    ...ceilings.map((ceiling) => `of ${CEILING_NAMES[ceiling]}: rate; processor time`),
    'p50 / p99 / longest ms',
    'others wait ms',
    'RSS MB',
  ]
  return render(
    head,
    results.map((result) => {
      const { name, connections, service, items, rss_mb } = result
      const [low, high] = result.rps_range.map((rps) => Math.round(rps * items))
      return [
        name,
        connections,
        `${Math.round(service.rps * items)} [${low}-${high}]`,
        `${cpuText(service.cpu_us)}, ${cpuText(service.main_us)}`,
        ...ceilings.map((ceiling) => compared(result, ceiling)),
        times(service),
        service.other_ms > 0 ? msText(service.other_ms) : NONE,
        rss_mb,
      ]
    }),
  )
}

const cpuText = (us: number | null): string => (us === null ? NONE : us.toFixed(us < 100 ? 1 : 0))

export function goalsTable(goals: readonly JudgedGoal[]): string {
  const words = new Map([
    [true, 'met'],
    [false, '**missed**'],
    [null, 'not measured'],
  ])
  return render(
    ['Path', 'Goal', 'Measured', ''],
    goals.map(({ path, goal, measured, met }) => [path, goal, measured, words.get(met) ?? NONE]),
  )
}

export function startsTable({ empty, filled }: Starts): string {
  const rows = filled.flatMap(({ facts, starts }) =>
    starts.map((start) => [
      facts,
      Math.round(start.listens_ms),
      Math.round(start.first_retrieve_ms),
      Math.round(start.unavailable_ms),
      start.rss_mb,
      empty && facts >= SHOWN_EACH ? kilobytesEach(start.rss_mb, empty, facts).toFixed(2) : NONE,
    ]),
  )
  const none: Cell[][] = empty
    ? [
        [0, Math.round(empty.listens_ms), NONE, NONE, empty.rss_mb, NONE],
        ['1, written', NONE, NONE, NONE, empty.rss_after_write_mb, NONE],
      ]
    : []
  const head = ['Memories', 'listens after ms', 'first retrieve ms', 'last 503 ms', 'RSS MB']
  return render([...head, 'kB a memory'], [...none, ...rows])
}

/** Smaller stages are not shown per memory, because the process itself dominates. */
const SHOWN_EACH = 10_000

/** The table that compares this checkout with an older one. */
export function beforeTable(results: readonly Result[]): string {
  const rows = results.flatMap(({ name, service, before, comparisons, items }) => {
    const ratios = comparisons.before
    if (!before || !ratios) return []
    return [
      [
        name,
        `${Math.round(before.rps * items)} -> ${Math.round(service.rps * items)}`,
        spreadText(ratios.rps),
        `${cpuText(before.cpu_us)} -> ${cpuText(service.cpu_us)}`,
        ratios.cpu.length > 0 ? spreadText(ratios.cpu) : NONE,
        `${msText(before.p99_ms)} -> ${msText(service.p99_ms)}`,
        `${msText(before.longest_ms)} -> ${msText(service.longest_ms)}`,
      ],
    ]
  })
  const head = ['Operation', 'a second', 'ratio [min-max]', 'us of processor', 'ratio [min-max]']
  return render([...head, 'p99 ms', 'longest ms'], rows)
}

const ofCores = (cores: number | null): string => (cores === null ? NONE : cores.toFixed(1))

/** The table that compares one process with two. */
export function severalTable(operation: string, results: readonly SeveralResult[]): string {
  const head = [
    `${operation} over`,
    'conn.',
    'a second',
    'of one process, median [min-max]',
    'p50 / p99 / longest ms',
    'cores: Custos / PostgreSQL / load',
    'goal',
  ]
  return render(
    head,
    results.map((r) => [
      r.name,
      r.connections,
      Math.round(r.target.rps),
      r.ratios.length > 0 ? spreadText(r.ratios) : NONE,
      [r.target.p50_ms, r.target.p99_ms, r.target.longest_ms].map(msText).join(' / '),
      [r.cores.custos, r.cores.postgres, r.cores.load].map(ofCores).join(' / '),
      r.met === null ? r.goal : `${r.goal}, ${r.met ? 'met' : 'missed'}`,
    ]),
  )
}
