// The tables of a run, as the README shows them.

import type { SeveralResult } from './several.ts'
import type { Result } from './single.ts'

/** Two digits that count, however small the ratio. */
const ratioText = (ratio: number): string => String(Number(ratio.toPrecision(2)))

const spread = (median: number | null, all: readonly number[]): string =>
  median === null
    ? '–'
    : `${ratioText(median)} [${ratioText(Math.min(...all))}-${ratioText(Math.max(...all))}]`

const judged = ({ goal, met }: { goal: string; met: boolean | null }): string =>
  met === null ? goal : `${goal}, ${met ? 'met' : 'missed'}`

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`

function render(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return [row(head), `|${'---|'.repeat(head.length)}`, ...rows.map(row)].join('\n')
}

/** The scenarios on one process; with plain inserts where they were measured. */
export function singleTable(results: readonly Result[]): string {
  const raw = results.some(({ raw_rps }) => raw_rps !== null)
  const head = [
    ...['Operation', 'conn.', 'req/s', 'of echo, median [min-max]', 'of a bare route, same answer'],
    ...(raw ? ['of plain inserts'] : []),
    ...['p50 / p99 ms', 'RSS MB', 'goal'],
  ]
  return render(
    head,
    results.map((r) => [
      ...[r.name, r.connections, Math.round(r.target.rps), spread(r.ratio, r.ratios)],
      spread(r.same_ratio, r.same_ratios),
      ...(raw ? [spread(r.raw_ratio, r.raw_ratios)] : []),
      ...[`${r.target.p50_ms} / ${r.target.p99_ms}`, r.rss_mb, judged(r)],
    ]),
  )
}

const ofCores = (cores: number | null): string => (cores === null ? '–' : cores.toFixed(1))

/** One process against two. */
export function severalTable(operation: string, results: readonly SeveralResult[]): string {
  const head = [
    ...[`${operation} over`, 'conn.', 'req/s', 'of one process, median [min-max]'],
    ...['p50 / p99 ms', 'cores: Custos / PostgreSQL / load', 'goal'],
  ]
  return render(
    head,
    results.map((r) => [
      ...[r.name, r.connections, Math.round(r.target.rps), spread(r.ratio, r.ratios)],
      `${r.target.p50_ms} / ${r.target.p99_ms}`,
      [r.cores.custos, r.cores.postgres, r.cores.load].map(ofCores).join(' / '),
      judged(r),
    ]),
  )
}
