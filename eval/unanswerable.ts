// Questions without an answer: how often nothing was returned, and what a floor of confidence does.

import type { Dataset, Question } from './data/dataset.ts'
import type { BudgetResult, Outcome } from './drive.ts'
import { mean } from './metrics.ts'

/** The budget of a caller who names none. */
export const DEFAULT_BUDGET = 1_024
const THRESHOLDS = Array.from({ length: 19 }, (_, at) => (at + 1) / 20)

/** Of the answers within the default budget. */
export interface UnanswerableFigures {
  readonly questions: number
  /** The share of the questions that got no memory. */
  readonly empty: number
  /** As if memories below a confidence were not returned; none: answers name no confidence. */
  readonly floors: readonly {
    readonly confidence: number
    readonly empty: number
    /** The share of answerable questions that keep all the evidence they were given. */
    readonly kept: number
  }[]
}

/** Of the categories the set calls unanswerable; if it calls none so, of those without evidence. */
export function isUnanswerable(
  { unanswerable }: Pick<Dataset, 'unanswerable'>,
  { category, gold }: Question,
): boolean {
  return unanswerable ? unanswerable.includes(category) : gold.length === 0
}

/** null: every question has an answer. */
export function unanswerableFigures(
  dataset: Pick<Dataset, 'unanswerable'>,
  outcomes: readonly Outcome[],
): UnanswerableFigures | null {
  const [without, answerable] = [true, false].map((wanted) =>
    outcomes.filter((outcome) => isUnanswerable(dataset, outcome) === wanted),
  )
  if (!without?.length || !answerable) return null
  const answers = without.map(answerOf)
  const given = answerable.filter((outcome) =>
    outcome.gold.some((id) => answerOf(outcome).keys.includes(id)),
  )
  const keeps = (outcome: Outcome, floor: number) => {
    const left = keysFrom(answerOf(outcome), floor)
    return outcome.gold.every((id) => left.includes(id) || !answerOf(outcome).keys.includes(id))
  }
  const named = [...without, ...given].every((outcome) => answerOf(outcome).confidences)
  return {
    questions: without.length,
    empty: shareOf(answers, ({ keys }) => keys.length === 0),
    floors: (named ? THRESHOLDS : []).map((confidence) => ({
      confidence,
      empty: shareOf(answers, (answer) => keysFrom(answer, confidence).length === 0),
      kept: shareOf(given, (outcome) => keeps(outcome, confidence)),
    })),
  }
}

const shareOf = <T>(items: readonly T[], test: (item: T) => boolean): number =>
  mean(items.map((item) => (test(item) ? 1 : 0)))

const keysFrom = ({ keys, confidences = [] }: BudgetResult, floor: number): string[] =>
  keys.filter((_, at) => (confidences[at] ?? 0) >= floor)

function answerOf({ packed, question_id }: Pick<Outcome, 'packed' | 'question_id'>): BudgetResult {
  const answer = packed.find(({ budget }) => budget === DEFAULT_BUDGET)
  if (!answer) throw new Error(`${question_id} was not asked within ${DEFAULT_BUDGET} tokens`)
  return answer
}
