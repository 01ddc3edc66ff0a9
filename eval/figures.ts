// From the outcomes of all questions to the figures of each category. Pure.

import type { Dataset } from './data/dataset.ts'
import { BUDGETS, type Outcome } from './drive.ts'
import {
  type Bootstrap,
  type Estimate,
  estimate,
  hitAt,
  mean,
  percentile,
  recall,
  recallAt,
  reciprocalRank,
} from './metrics.ts'

/** Of one category, or of several together. */
export interface Figures {
  readonly name: string
  readonly questions: number
  /** Questions with known evidence: the means below are over these. */
  readonly answerable: number
  /** Evidence recall by budget; null where no question has evidence. */
  readonly er: Readonly<Record<number, Estimate | null>>
  readonly recall: Readonly<Record<number, Estimate | null>>
  readonly hit_10: Estimate | null
  readonly mrr: Estimate | null
  /** Mean tokens of an answer, by budget. */
  readonly tokens_used: Readonly<Record<number, number>>
  readonly budget_violations: number
  /** Answers whose tokens as the service counts them differ from those counted here. */
  readonly counts_differ: number
  /** Questions that were shown something erased or superseded. */
  readonly hidden_shown: number
}

export interface Latency {
  readonly requests: number
  readonly p50_ms: number
  readonly p95_ms: number
  readonly p99_ms: number
}

export type GoldOf = (outcome: Outcome) => readonly string[]
export const goldOriginal: GoldOf = ({ gold }) => gold
export const goldCorrected: GoldOf = ({ gold, gold_corrected }) => gold_corrected ?? gold

export const DEPTHS = [5, 10, 20] as const

/** Each category that has questions, then each group of them. */
export function figuresOf(
  { category_names, groups }: Pick<Dataset, 'category_names' | 'groups'>,
  outcomes: readonly Outcome[],
  { goldOf, bootstrap }: { goldOf: GoldOf; bootstrap: Bootstrap },
): Figures[] {
  const single = Object.entries(category_names).map(([number, name]) => ({
    name: `${number} ${name}`,
    categories: [Number(number)],
  }))
  return [...single, ...groups].flatMap(({ name, categories }) => {
    const own = outcomes.filter(({ category }) => categories.includes(category))
    return own.length === 0 ? [] : [{ name, ...summarise(own, goldOf, bootstrap) }]
  })
}

/** The groups on each half of the conversations: one to choose settings on, one to report. */
export function foldFigures(
  { groups, conversations }: Pick<Dataset, 'groups' | 'conversations'>,
  outcomes: readonly Outcome[],
  options: Parameters<typeof figuresOf>[2],
): Figures[] {
  const number = new Map(conversations.map(({ name }, at) => [name, at]))
  return ['even (choose)', 'odd (report)'].flatMap((half, parity) => {
    const own = outcomes.filter(
      ({ conversation }) => (number.get(conversation) ?? 0) % 2 === parity,
    )
    const named = groups.map(({ name, categories }) => ({ name: `${name}, ${half}`, categories }))
    return figuresOf({ category_names: {}, groups: named }, own, options)
  })
}

function summarise(
  outcomes: readonly Outcome[],
  goldOf: GoldOf,
  bootstrap: Bootstrap,
): Omit<Figures, 'name'> {
  const answerable = outcomes.filter((outcome) => goldOf(outcome).length > 0)
  const over = (of: (gold: readonly string[], outcome: Outcome) => number): Estimate | null => {
    const values = answerable.map((outcome) => of(goldOf(outcome), outcome))
    return values.length === 0 ? null : estimate(values, bootstrap)
  }
  const packed = outcomes.flatMap((outcome) => outcome.packed)
  const byBudget = <T>(of: (budget: number) => T) =>
    Object.fromEntries(BUDGETS.map((budget) => [budget, of(budget)]))
  return {
    questions: outcomes.length,
    answerable: answerable.length,
    er: byBudget((budget) => over((gold, outcome) => recall(gold, keysWithin(outcome, budget)))),
    recall: Object.fromEntries(
      DEPTHS.map((k) => [k, over((gold, { ranked }) => recallAt(gold, ranked, k))]),
    ),
    hit_10: over((gold, { ranked }) => hitAt(gold, ranked, 10)),
    mrr: over((gold, { ranked }) => reciprocalRank(gold, ranked)),
    tokens_used: byBudget((budget) =>
      mean(packed.filter((one) => one.budget === budget).map((one) => one.tokens_counted)),
    ),
    budget_violations: packed.filter(
      ({ budget, tokens_used, tokens_counted }) => Math.max(tokens_used, tokens_counted) > budget,
    ).length,
    counts_differ: packed.filter((one) => one.tokens_used !== one.tokens_counted).length,
    hidden_shown: outcomes.filter(({ hidden_shown }) => hidden_shown.length > 0).length,
  }
}

function keysWithin({ packed }: Outcome, budget: number): readonly string[] {
  return packed.find((one) => one.budget === budget)?.keys ?? []
}

/** Of the requests with a budget, as the client saw them, one at a time. */
export function latencyOf(outcomes: readonly Outcome[]): Latency {
  const times = outcomes.flatMap(({ packed }) => packed.map(({ ms }) => ms))
  return {
    requests: times.length,
    p50_ms: percentile(times, 0.5),
    p95_ms: percentile(times, 0.95),
    p99_ms: percentile(times, 0.99),
  }
}
