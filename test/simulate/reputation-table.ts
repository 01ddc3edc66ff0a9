// npm run eval:reputation: what reviewers of every kind do to scores, with and without the caps.

import { parseArgs } from 'node:util'
import {
  meansByKind,
  measure,
  type Row,
  SCENARIOS,
  type Scenario,
  type Scorer,
  seedsOf,
} from './reputation-run.ts'

const { values } = parseArgs({ options: { seeds: { type: 'string', default: '50' } } })
const seeds = seedsOf(Number(values.seeds))

const print = (head: string, rows: readonly (readonly string[])[]): void => {
  const rule = head.replaceAll(/[^|]+/g, '---')
  console.log([head, rule, ...rows.map((cells) => `| ${cells.join(' | ')} |`), ''].join('\n'))
}

const cellsOf = (row: Row): readonly string[] => [
  ...[row.scenario, row.scorer],
  ...[row.spearman, row.kendall, row.calibration].map((value) => value.toFixed(3)),
  ...[row.shift_mean, row.shift_max].map((value) => value.toFixed(3)),
]

const scenarios = Object.keys(SCENARIOS) as Scenario[]
const scorers: readonly Scorer[] = ['with caps', 'without caps']

console.log(`${seeds.length} seeds\n`)
print(
  '| reviewers | scores | Spearman | Kendall | calibration error | mean shift | largest shift |',
  scenarios.flatMap((scenario) =>
    scorers.map((scorer) => cellsOf(measure(scenario, scorer, seeds))),
  ),
)
print(
  '| agents | number | truth | score, nobody attacks | score, 90 % Sybils | score, trained |',
  meansByKind('and random, inverted ones', seeds).map(({ kind, agents, truth, score }) => {
    const under = (scenario: Scenario) =>
      meansByKind(scenario, seeds).find((row) => row.kind === kind)?.score ?? Number.NaN
    const means = [truth, score, under('90 % Sybils'), under('6 trained colluders')]
    return [kind, `${agents}`, ...means.map((value) => value.toFixed(3))]
  }),
)
