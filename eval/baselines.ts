// Rankings to compare with, over the same facts, budgets and token counts: SQLite FTS5 and bm25s.

import { spawnSync } from 'node:child_process'
import { DatabaseSync } from 'node:sqlite'
import Type from 'typebox'
import { type Conversation, type Dataset, datedContent, hiddenKeys } from './data/dataset.ts'
import { readerOf } from './data/shape.ts'
import { BUDGETS, type BudgetResult, type Outcome, RANKED } from './drive.ts'
import { countO200k } from './tokens.ts'

/** For each query the positions of the texts that match it, best first. */
export type BaselineRanker = (texts: readonly string[], queries: readonly string[]) => number[][]

/** BM25 of FTS5 with its own weights; a text matches when it has any word of the query. */
export function rankByFts5(tokenizer: 'unicode61' | 'porter unicode61'): BaselineRanker {
  return (texts, queries) => {
    const database = new DatabaseSync(':memory:')
    try {
      database.exec(`CREATE VIRTUAL TABLE texts USING fts5(content, tokenize = '${tokenizer}')`)
      const insert = database.prepare('INSERT INTO texts (rowid, content) VALUES (?, ?)')
      for (const [at, text] of texts.entries()) insert.run(at, text)
      const search = database.prepare(
        'SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts), rowid',
      )
      return queries.map((query) => {
        const words = new Set(query.toLowerCase().match(/[\p{L}\p{N}]+/gu))
        if (words.size === 0) return []
        const match = [...words].map((word) => `"${word}"`).join(' OR ')
        return search.all(match).map(({ rowid }) => Number(rowid))
      })
    } finally {
      database.close()
    }
  }
}

const BM25S = `
import bm25s, json, sys, Stemmer
texts, queries = json.load(sys.stdin)
stemmer = Stemmer.Stemmer("english")
split = lambda many: bm25s.tokenize(many, stemmer=stemmer, show_progress=False)
index = bm25s.BM25()
index.index(split(texts), show_progress=False)
found = index.retrieve(split(queries), k=len(texts), show_progress=False)
print(json.dumps([[i for i, s in zip(*row) if s > 0] for row in zip(found[0].tolist(), found[1])]))
`
const readRankings = readerOf(Type.Array(Type.Array(Type.Integer())))

/** The packages bm25s and PyStemmer, with the defaults, in the Python of `PYTHON` or `python3`. */
export const rankByBm25s: BaselineRanker = (texts, queries) => {
  const input = JSON.stringify([texts, queries])
  const options = { input, encoding: 'utf8', maxBuffer: 2 ** 30 } as const
  const run = spawnSync(process.env['PYTHON'] ?? 'python3', ['-c', BM25S], options)
  if (run.status !== 0) throw new Error(`bm25s did not run: ${run.error ?? run.stderr}`)
  return readRankings(JSON.parse(run.stdout))
}

/** What the service would answer if it ranked so; the date of a fact can be found, but is free. */
export function rankDataset({ conversations }: Dataset, rank: BaselineRanker): Outcome[] {
  return conversations.flatMap((conversation) => rankConversation(conversation, rank))
}

function rankConversation(conversation: Conversation, rank: BaselineRanker): Outcome[] {
  const { name, questions } = conversation
  const hidden = hiddenKeys(conversation)
  const facts = conversation.facts.filter(({ key }) => !hidden.has(key))
  const evidence = facts.map(({ key, evidence_id = key }) => evidence_id)
  const tokens = facts.map(({ content }) => countO200k(content))
  const rankings = rank(
    facts.map(datedContent),
    questions.map(({ text }) => text),
  )
  const toEvidence = (order: readonly number[]) => order.map((at) => evidence[at] ?? '')
  return questions.map((question, number): Outcome => {
    const order = rankings[number] ?? []
    return {
      ...question,
      conversation: name,
      ranked: toEvidence(order.slice(0, RANKED)),
      packed: BUDGETS.map((budget): BudgetResult => {
        const packed = packGreedily(order, tokens, budget)
        const used = packed.reduce((sum, at) => sum + (tokens[at] ?? 0), 0)
        const keys = toEvidence(packed)
        return { budget, keys, tokens_used: used, tokens_counted: used, ranking: null, ms: 0 }
      }),
      hidden_shown: [],
    }
  })
}

/** Each that still fits, in order. */
export function packGreedily(
  order: readonly number[],
  tokens: readonly number[],
  budget: number,
): number[] {
  let left = budget
  return order.filter((at) => {
    const cost = tokens[at] ?? 0
    if (cost > left) return false
    left -= cost
    return true
  })
}
