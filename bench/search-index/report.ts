// The tables of the index bench: growth of build time, memory and answer times with the store.

import type {
  BuildCosts,
  MemoryUse,
  SearchTimes,
} from '../../packages/server/src/slices/memory/testing/index-measures.ts'

export interface IndexResult {
  readonly facts: number
  readonly build_ms: number
  /** Processor time of the whole process, including reads of the other store. */
  readonly build_cpu_ms: number
  /** Delays of reads of another store while the index was built; `alone` is before the build. */
  readonly delay: { readonly p50_ms: number; readonly p99_ms: number }
  readonly delay_max_ms: number
  readonly alone: SearchTimes
  readonly before: MemoryUse
  readonly after: MemoryUse
  readonly searches: readonly SearchTimes[]
  readonly retrieves: readonly SearchTimes[]
  readonly parts: BuildCosts
}

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`

const table = (head: readonly string[], rows: readonly (readonly (string | number)[])[]): string =>
  [row(head), `|${'---|'.repeat(head.length)}`, ...rows.map(row)].join('\n')

const ms = (value: number): string => (value < 10 ? value.toFixed(2) : value.toFixed(0))
const pair = ({ p50_ms, p99_ms }: { p50_ms: number; p99_ms: number }): string =>
  `${ms(p50_ms)} / ${ms(p99_ms)}`

function builds(results: readonly IndexResult[]): string {
  const head = [
    ...['facts', 'build ms (of processor)', 'facts/s', 'CPU us: read + open + analyse + insert'],
    ...['B a fact: held / RSS / own estimate', 'other store meanwhile p50 / p99 / max ms (alone)'],
  ]
  return table(
    head,
    results.map((r) => {
      const { read_us, open_us, analyse_us, insert_us } = r.parts
      const each = (key: 'held' | 'rss') => Math.round((r.after[key] - r.before[key]) / r.facts)
      return [
        ...[r.facts, `${ms(r.build_ms)} (${ms(r.build_cpu_ms)})`],
        Math.round((r.facts * 1_000) / r.build_ms),
        [read_us, open_us, analyse_us, insert_us].map((us) => us.toFixed(1)).join(' + '),
        `${each('held')} / ${each('rss')} / ${Math.round(r.after.estimate / r.facts)}`,
        `${pair(r.delay)} / ${ms(r.delay_max_ms)} (${pair(r.alone)})`,
      ]
    }),
  )
}

function times(
  results: readonly IndexResult[],
  of: (result: IndexResult) => readonly SearchTimes[],
): string {
  const kinds = results[0] ? of(results[0]).map(({ kind }) => kind) : []
  return table(
    ['p50 / p99 ms', ...results.map(({ facts }) => `${facts} facts`)],
    kinds.map((kind, at) => [
      kind,
      ...results.map((result) => {
        const found = of(result)[at]
        return found ? pair(found) : '–'
      }),
    ]),
  )
}

export const indexTables = (results: readonly IndexResult[]): string =>
  [
    builds(results),
    `Search alone, ${'`StoreIndex.search`'}:\n\n${times(results, ({ searches }) => searches)}`,
    `Over HTTP, one connection:\n\n${times(results, ({ retrieves }) => retrieves)}`,
  ].join('\n\n')
