// npm run eval: what retrieval brings into a budget, measured on the service over HTTP.

import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { rankByBm25s, rankByFts5, rankDataset } from './baselines.ts'
import { type Dataset, limitQuestions, withDatesInContent } from './data/dataset.ts'
import { SYNTHETIC, SYNTHETIC_SHORT } from './data/synthetic.ts'
import { BUDGETS, countQuotes, type Drive, drive, RANKED } from './drive.ts'
import {
  type Figures,
  figuresOf,
  foldFigures,
  goldCorrected,
  goldOriginal,
  latencyOf,
} from './figures.ts'
import { withService } from './process.ts'
import { brokenPromises } from './promises.ts'
import {
  budgetTable,
  comparisonTable,
  intervalTable,
  latencyLine,
  qualityTable,
  unanswerableTable,
} from './report.ts'
import { BEAM_DIRECTORY, LOCOMO_FILE, readSets } from './sets.ts'
import { DEFAULT_BUDGET, type UnanswerableFigures, unanswerableFigures } from './unanswerable.ts'

const ROOT = join(import.meta.dirname, '..')
const BOOTSTRAP = { resamples: 1_000, seed: 1 }

const { values } = parseArgs({
  options: {
    /** Names of sets with commas between them, or all. */
    data: { type: 'string', default: 'all' },
    locomo: { type: 'string', default: LOCOMO_FILE },
    beam: { type: 'string', default: BEAM_DIRECTORY },
    /** The small generated sets. */
    short: { type: 'boolean', default: false },
    /** `content`: `[date] speaker: text` as the content, otherwise the date is metadata only. */
    dates: { type: 'string', default: 'metadata' },
    /** Also compare with the package bm25s of PyPI. */
    bm25s: { type: 'boolean', default: false },
    /** Writes the facts without their session_id, to compare with a run that has it. */
    'without-session': { type: 'boolean', default: false },
    /** Questions asked of each conversation; a quick look, not a result. */
    limit: { type: 'string' },
    /** Stores make digests of sessions after this rest in seconds. */
    digest: { type: 'string' },
    /** The embedder stores are created with. */
    embedder: { type: 'string' },
    json: { type: 'string', default: join(ROOT, 'eval', 'results', 'eval.json') },
  },
})

interface Run {
  readonly dataset: Omit<Dataset, 'conversations'>
  readonly figures: readonly Figures[]
  /** Where the set has corrections. */
  readonly figures_corrected: readonly Figures[] | null
  /** Counting what digests quote; null: there are no digests. */
  readonly figures_quoted: readonly Figures[] | null
  /** Of the groups, by ranking: the service and the baselines. */
  readonly comparison: Readonly<Record<string, readonly Figures[]>>
  readonly folds: readonly Figures[]
  /** null: every question of the set has an answer. */
  readonly unanswerable: UnanswerableFigures | null
  readonly latency: ReturnType<typeof latencyOf>
  readonly loading: Drive['loading']
  readonly outcomes: Drive['outcomes']
}

function readDatasets(): Dataset[] {
  const chosen = readSets(values.data, values)
  const limit = values.limit === undefined ? Number.POSITIVE_INFINITY : Number(values.limit)
  if (!(limit >= 1)) throw new Error('a limit is a number from 1')
  if (!['content', 'metadata'].includes(values.dates))
    throw new Error('dates are written to the content or to the metadata')
  const dated = values.dates === 'content' ? chosen.map(withDatesInContent) : chosen
  return dated.map((dataset) => limitQuestions(dataset, limit))
}

/** Each set on a service of its own. */
async function evaluate(dataset: Dataset): Promise<Run> {
  const settings = {
    embedder: values.embedder,
    without_session: values['without-session'],
    digest_after_s: values.digest === undefined ? undefined : Number(values.digest),
  }
  const { outcomes, loading } = await withService((service) => drive(service, dataset, settings))
  const { conversations: _, ...about } = dataset
  const figures = figuresOf(dataset, outcomes, { goldOf: goldOriginal, bootstrap: BOOTSTRAP })
  const corrected = outcomes.some(({ gold_corrected }) => gold_corrected !== undefined)
  const figures_corrected = corrected
    ? figuresOf(dataset, outcomes, { goldOf: goldCorrected, bootstrap: BOOTSTRAP })
    : null
  return {
    dataset: about,
    figures,
    figures_corrected,
    comparison: compare(dataset, outcomes),
    figures_quoted:
      loading.digests === 0
        ? null
        : figuresOf(dataset, outcomes.map(countQuotes), {
            goldOf: goldOriginal,
            bootstrap: BOOTSTRAP,
          }),
    folds: foldFigures(dataset, outcomes, { goldOf: goldOriginal, bootstrap: BOOTSTRAP }),
    unanswerable: unanswerableFigures(dataset, outcomes),
    latency: latencyOf(outcomes),
    loading,
    outcomes,
  }
}

function compare(dataset: Dataset, outcomes: Drive['outcomes']): Run['comparison'] {
  const rankings = new Map([
    ['Custos', outcomes],
    ['FTS5 unicode61', rankDataset(dataset, rankByFts5('unicode61'))],
    ['FTS5 porter', rankDataset(dataset, rankByFts5('porter unicode61'))],
  ])
  if (values.bm25s) rankings.set('bm25s', rankDataset(dataset, rankByBm25s))
  const groupsOnly = { category_names: {}, groups: dataset.groups }
  const options = { goldOf: goldOriginal, bootstrap: BOOTSTRAP }
  return Object.fromEntries(
    [...rankings].map(([name, answers]) => [name, figuresOf(groupsOnly, answers, options)]),
  )
}

/** How the answers were ranked, as the service says: words alone where vectors came too late. */
function rankingsOf(outcomes: Drive['outcomes']): string {
  const answers = outcomes.flatMap(({ packed }) => packed)
  const byRanking = Map.groupBy(answers, ({ ranking }) => ranking ?? 'unnamed')
  return [...byRanking].map(([name, { length }]) => `${length} answers ${name}`).join(', ')
}

function print(run: Run): void {
  const { dataset, figures, figures_corrected, comparison, folds, unanswerable } = run
  const { latency, loading, outcomes, figures_quoted } = run
  console.log(`\n## ${dataset.name}\n`)
  console.log(`${dataset.bytes} bytes, SHA-256 ${dataset.sha256}; ${dataset.licence}`)
  for (const note of dataset.notes) console.log(note)
  const { embedder, space, facts, superseded, erased, seconds } = loading
  if (embedder !== null)
    console.log(`embedder ${embedder}, space ${space}; ${rankingsOf(outcomes)}`)
  console.log(
    `${facts} facts written in ${seconds.toFixed(1)} s, ${superseded} of them superseding one, ` +
      `${erased} erased`,
  )
  console.log(latencyLine(latency))
  console.log(`\n${qualityTable(figures)}`)
  if (figures_quoted)
    console.log(
      `\n${loading.digests} digests; counting what they quote\n\n${qualityTable(figures_quoted)}`,
    )
  console.log(`\n${comparisonTable(comparison)}`)
  console.log(`\nTwo halves of the conversations\n\n${qualityTable(folds)}`)
  if (unanswerable)
    console.log(
      `\n${unanswerable.questions} unanswerable questions, within ${DEFAULT_BUDGET} tokens\n\n` +
        unanswerableTable(unanswerable),
    )
  console.log(`\n95 % intervals\n\n${intervalTable(figures)}`)
  if (figures_corrected)
    console.log(`\nWith the corrected evidence\n\n${qualityTable(figures_corrected)}`)
  console.log(`\n${budgetTable(figures)}`)
}

function save(runs: readonly Run[]): void {
  const configuration = {
    ...{ budgets: BUDGETS, ranked: RANKED, bootstrap: BOOTSTRAP },
    embedder: values.embedder ?? null,
    limit: values.limit ?? null,
    dates: values.dates,
    without_session: values['without-session'],
    digest_after_s: values.digest ?? null,
    synthetic: values.short ? SYNTHETIC_SHORT : SYNTHETIC,
    machine: `${cpus().length} x ${cpus()[0]?.model.trim() ?? 'unknown'}, Node ${process.version}`,
  }
  mkdirSync(dirname(values.json), { recursive: true })
  writeFileSync(values.json, `${JSON.stringify({ configuration, runs }, null, 1)}\n`)
  console.log(`\nEvery question: ${values.json}`)
}

const runs: Run[] = []
for (const dataset of readDatasets()) {
  const run = await evaluate(dataset)
  print(run)
  runs.push(run)
}
save(runs)
const broken = runs.flatMap(({ dataset, outcomes }) =>
  brokenPromises(dataset, outcomes).map((line) => `${dataset.name}: ${line}`),
)
for (const line of broken) console.error(line)
process.exitCode = broken.length === 0 ? 0 : 1
