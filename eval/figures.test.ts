// Figures and tables over a handful of outcomes, computed by hand.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BUDGETS, type BudgetResult, type Outcome } from './drive.ts'
import { figuresOf, foldFigures, goldCorrected, goldOriginal, latencyOf } from './figures.ts'
import { brokenPromises } from './promises.ts'
import { budgetTable, intervalTable, qualityTable } from './report.ts'

const bootstrap = { resamples: 50, seed: 1 }

/** The first budget holds one fact of the ranking, each further one more. */
function outcome(about: Partial<Outcome> & Pick<Outcome, 'gold'>): Outcome {
  const ranked = ['p', 'q', 'r', 's', 't', 'u']
  const packed = BUDGETS.map((budget, at): BudgetResult => {
    const tokens = budget - 10
    return {
      ...{ budget, keys: ranked.slice(0, at + 1), ranking: null, ms: at + 1 },
      ...{ tokens_used: tokens, tokens_counted: tokens },
    }
  })
  return {
    ...{ question_id: 'x', conversation: 'c', category: 1, text: '?', hidden_shown: [] },
    ...{ ranked, packed },
    ...about,
  }
}

const outcomes = [
  outcome({ gold: ['p'] }),
  outcome({ gold: ['q', 'z'], gold_corrected: ['q'] }),
  outcome({ gold: [] }),
  outcome({ gold: ['r'], category: 2 }),
]
const sets = {
  category_names: { 1: 'one', 2: 'two' },
  groups: [{ name: 'both', categories: [1, 2] }],
}

test('figures are means over the questions with evidence, by category and by group', () => {
  const [one, two, both] = figuresOf(sets, outcomes, { goldOf: goldOriginal, bootstrap })
  assert.deepEqual([one?.name, two?.name, both?.name], ['1 one', '2 two', 'both'])
  assert.deepEqual([one?.questions, one?.answerable], [3, 2])
  assert.equal(one?.er[256]?.mean, 1 / 2)
  assert.equal(one?.er[512]?.mean, 3 / 4)
  assert.equal(one?.mrr?.mean, 3 / 4)
  assert.equal(two?.er[512]?.mean, 0)
  assert.equal(two?.er[1024]?.mean, 1)
  assert.equal(both?.recall[5]?.mean, (1 + 1 / 2 + 1) / 3)
  assert.equal(both?.hit_10?.mean, 1)
  assert.equal(both?.tokens_used[2048], 2038)
  assert.equal(both?.budget_violations, 0)
})

test('each half of the conversations has the figures of each group', () => {
  const halves = outcomes.map((one, at) => ({ ...one, conversation: `c${at}` }))
  const conversations = halves.map(({ conversation }) => ({
    name: conversation,
    facts: [],
    questions: [],
  }))
  const options = { goldOf: goldOriginal, bootstrap }
  const [even, odd, ...rest] = foldFigures({ ...sets, conversations }, halves, options)
  assert.deepEqual([even?.name, odd?.name], ['both, even (choose)', 'both, odd (report)'])
  assert.deepEqual([even?.questions, even?.answerable, even?.er[512]?.mean], [2, 1, 1])
  assert.deepEqual([odd?.answerable, odd?.er[512]?.mean, odd?.er[1024]?.mean], [2, 1 / 4, 3 / 4])
  assert.deepEqual(rest, [])
})

test('the corrected evidence replaces the given one where there is any', () => {
  const [one] = figuresOf(sets, outcomes, { goldOf: goldCorrected, bootstrap })
  assert.equal(one?.er[512]?.mean, 1)
  assert.equal(one?.er[256]?.mean, 1 / 2)
})

test('a budget is exceeded when either count exceeds it, and counts that differ are named', () => {
  const [first] = outcomes
  assert(first)
  const packed = first.packed.map((one) => ({ ...one, tokens_counted: one.budget + 1 }))
  const broken = [{ ...first, packed }]
  const [one] = figuresOf(sets, broken, { goldOf: goldOriginal, bootstrap })
  assert.deepEqual([one?.budget_violations, one?.counts_differ], [5, 5])
  assert.equal(brokenPromises({ certain: [] }, broken).length, 5)
})

test('what is hidden but shown, or certain but not found, breaks a promise', () => {
  assert.deepEqual(brokenPromises({ certain: [1] }, [outcome({ gold: ['r'] })]), [])
  const [shown] = brokenPromises({ certain: [] }, [outcome({ gold: [], hidden_shown: ['q'] })])
  assert.match(shown ?? '', /q was shown/)
  const [late] = brokenPromises({ certain: [1] }, [outcome({ gold: ['t'] })])
  assert.match(late ?? '', /not found within 1024/)
  assert.deepEqual(brokenPromises({ certain: [2] }, [outcome({ gold: ['t'] })]), [])
})

test('latency is over the requests with a budget', () => {
  assert.deepEqual(latencyOf(outcomes), { requests: 20, p50_ms: 3, p95_ms: 5, p99_ms: 5 })
})

test('tables have a row a category, and a dash where no question has evidence', () => {
  const none = [outcome({ gold: [] })]
  const figures = figuresOf({ ...sets, groups: [] }, none, { goldOf: goldOriginal, bootstrap })
  assert.equal(figures.length, 1, 'a category that nobody asked about has a row')
  assert.match(qualityTable(figures), /^\| 1 one \| 0 of 1 \| - \| - /m)
  assert.match(intervalTable(figures), /^\| 1 one \| - /m)
  assert.match(budgetTable(figures), /^\| 1 one \| 246 \| 502 \| 1014 .* 0 \| 0 \| 0 \|$/m)
  const both = figuresOf(sets, outcomes, { goldOf: goldOriginal, bootstrap })
  assert.match(qualityTable(both), /^\| 1 one \| 2 of 3 \| \.500 \| \.750 \|/m)
})
