// npm run eval:grid: ways to put words and likeness together, and to pack, compared in process.

import { parseArgs } from 'node:util'
import {
  openScores,
  type ScoredFacts,
} from '../packages/server/src/slices/memory/testing/in-process-scores.ts'
import { packGreedily } from './baselines.ts'
import { type Conversation, type Dataset, hiddenKeys } from './data/dataset.ts'
import { type GridQuestion, variants } from './grid-variants.ts'
import { mean, recall, recallAt, reciprocalRank } from './metrics.ts'
import { BEAM_DIRECTORY, LOCOMO_FILE, readSets } from './sets.ts'
import { isUnanswerable } from './unanswerable.ts'

const { values } = parseArgs({
  options: {
    /** Names of sets with commas between them, or all. */
    data: { type: 'string', default: 'locomo,synthetic' },
    locomo: { type: 'string', default: LOCOMO_FILE },
    beam: { type: 'string', default: BEAM_DIRECTORY },
    /** The small generated sets. */
    short: { type: 'boolean', default: false },
  },
})

/** The category whose questions need several memories. */
const MULTI_HOP: Readonly<Record<string, number>> = {
  locomo: 1,
  synthetic: 3,
  chats: 4,
  'beam-user': 6,
  beam: 6,
}
const BUDGETS = [512, 1024] as const

interface ScoredConversation {
  readonly scored: ScoredFacts
  readonly sessions: readonly string[]
  /** Evidence ids. */
  readonly keys: readonly string[]
  readonly conversation: Conversation
}

/** What is shown at the end only: facts erased or superseded are not there. */
async function open(conversation: Conversation): Promise<ScoredConversation> {
  const hidden = hiddenKeys(conversation)
  const facts = conversation.facts.filter(({ key }) => !hidden.has(key))
  return {
    scored: await openScores(facts),
    sessions: facts.map(({ metadata }) => metadata.session_id),
    keys: facts.map(({ key, evidence_id = key }) => evidence_id),
    conversation,
  }
}

interface Row {
  readonly category: number
  readonly gold: readonly string[]
  readonly asked: GridQuestion
  readonly keys: readonly string[]
  readonly tokens: readonly number[]
}

async function rowsOf(
  { scored, sessions, keys, conversation }: ScoredConversation,
  dataset: Dataset,
): Promise<Row[]> {
  const rows: Row[] = []
  const shown = new Set(keys)
  for (const question of conversation.questions) {
    const { category, text, gold } = question
    const known = gold.filter((id) => shown.has(id))
    if (known.length === 0 || isUnanswerable(dataset, question)) continue
    const asked = { scored, sessions, text, ...(await scored.scores(text)) }
    rows.push({ category, gold: known, asked, keys, tokens: scored.tokens })
  }
  return rows
}

function report(name: string, rows: readonly Row[]): void {
  console.log(`\n## ${name}: ${rows.length} questions\n`)
  console.log('| Variant | r@10 | MRR | ER@512 | ER@1024 | multi-hop r@10 | multi-hop ER@1024 |')
  console.log('|---|---|---|---|---|---|---|')
  for (const { label, order } of variants) {
    const found = rows.map((row) => {
      const ranked = order(row.asked)
      const keysOf = (places: readonly number[]) => places.map((at) => row.keys[at] ?? '')
      const keys = keysOf(ranked)
      const within = BUDGETS.map((budget) =>
        recall(row.gold, keysOf(packGreedily(ranked, row.tokens, budget))),
      )
      return { row, r10: recallAt(row.gold, keys, 10), mrr: reciprocalRank(row.gold, keys), within }
    })
    const hops = found.filter(({ row }) => row.category === MULTI_HOP[name])
    const figures = [
      mean(found.map(({ r10 }) => r10)),
      mean(found.map(({ mrr }) => mrr)),
      mean(found.map(({ within }) => within[0] ?? 0)),
      mean(found.map(({ within }) => within[1] ?? 0)),
      mean(hops.map(({ r10 }) => r10)),
      mean(hops.map(({ within }) => within[1] ?? 0)),
    ]
    console.log(`| ${label} | ${figures.map((x) => x.toFixed(4).replace(/^0/, '')).join(' | ')} |`)
  }
}

for (const dataset of readSets(values.data, values)) {
  const rows: Row[] = []
  for (const conversation of dataset.conversations)
    rows.push(...(await rowsOf(await open(conversation), dataset)))
  report(dataset.name, rows)
}
