// The figures as Markdown tables, and the whole run as one JSON text.

import { BUDGETS } from './drive.ts'
import { DEPTHS, type Figures, type Latency } from './figures.ts'
import type { Estimate } from './metrics.ts'
import type { UnanswerableFigures } from './unanswerable.ts'

const COLUMNS = [
  'category',
  'questions',
  ...BUDGETS.map((budget) => `ER@${budget}`),
  ...DEPTHS.map((k) => `r@${k}`),
  'hit@10',
  'MRR',
]

/** One row a category; `n` are the questions with evidence. */
export function qualityTable(figures: readonly Figures[]): string {
  return tableOf(
    COLUMNS,
    figures.map((row) => [
      row.name,
      row.answerable === row.questions
        ? `${row.questions}`
        : `${row.answerable} of ${row.questions}`,
      ...BUDGETS.map((budget) => share(row.er[budget])),
      ...DEPTHS.map((k) => share(row.recall[k])),
      share(row.hit_10),
      share(row.mrr),
    ]),
  )
}

/** One row a group and ranking: `rankings` are figures of the same groups, by name. */
export function comparisonTable(rankings: Readonly<Record<string, readonly Figures[]>>): string {
  const rows = Object.entries(rankings).flatMap(([ranking, figures]) =>
    figures.map(({ name, answerable, er, recall, mrr }) => [
      ...[name, ranking, `${answerable}`],
      ...[er[512], er[1024], recall[10], mrr].map(share),
    ]),
  )
  return tableOf(['questions', 'ranking', 'number', 'ER@512', 'ER@1024', 'r@10', 'MRR'], rows)
}

/** What is left out at each confidence; the first row is what the service returned. */
export function unanswerableTable({ empty, floors }: UnanswerableFigures): string {
  return tableOf(
    ['floor of confidence', 'empty, unanswerable', 'evidence kept, answerable'],
    [
      ['none', digits(empty), '-'],
      ...floors.map((floor) => [
        floor.confidence.toFixed(2),
        digits(floor.empty),
        digits(floor.kept),
      ]),
    ],
  )
}

/** The 95 % intervals of the same figures. */
export function intervalTable(figures: readonly Figures[]): string {
  return tableOf(
    COLUMNS.filter((column) => column !== 'questions'),
    figures.map((row) => [
      row.name,
      ...BUDGETS.map((budget) => interval(row.er[budget])),
      ...DEPTHS.map((k) => interval(row.recall[k])),
      interval(row.hit_10),
      interval(row.mrr),
    ]),
  )
}

/** What every answer is held to, and what it spends. */
export function budgetTable(figures: readonly Figures[]): string {
  return tableOf(
    [
      'category',
      ...BUDGETS.map((budget) => `tokens of ${budget}`),
      'budget violations',
      'counts differ',
      'erased or superseded shown',
    ],
    figures.map((row) => [
      row.name,
      ...BUDGETS.map((budget) => (row.tokens_used[budget] ?? 0).toFixed(0)),
      `${row.budget_violations}`,
      `${row.counts_differ}`,
      `${row.hidden_shown}`,
    ]),
  )
}

export function latencyLine({ requests, p50_ms, p95_ms, p99_ms }: Latency): string {
  const ms = (value: number) => value.toFixed(1)
  const times = `p50 ${ms(p50_ms)} ms, p95 ${ms(p95_ms)} ms, p99 ${ms(p99_ms)} ms`
  return `${requests} requests with a budget, one at a time: ${times}`
}

function tableOf(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(columns), `|${columns.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}

/** `.817`, as the field prints shares. */
const digits = (value: number): string => value.toFixed(3).replace(/^0/, '')
const share = (value: Estimate | null | undefined): string => (value ? digits(value.mean) : '-')
const interval = (value: Estimate | null | undefined): string =>
  value ? `${digits(value.low)}-${digits(value.high)}` : '-'
