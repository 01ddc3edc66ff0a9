// What must hold in every evaluation, whatever the ranking: one line for each broken promise.

import type { Dataset } from './data/dataset.ts'
import type { Outcome } from './drive.ts'
import { recall } from './metrics.ts'
import { DEFAULT_BUDGET } from './unanswerable.ts'

export function brokenPromises(
  { certain }: Pick<Dataset, 'certain'>,
  outcomes: readonly Outcome[],
): string[] {
  return outcomes.flatMap(({ question_id, category, gold, packed, hidden_shown }) => {
    const lines: string[] = []
    for (const { budget, tokens_used, tokens_counted } of packed)
      if (Math.max(tokens_used, tokens_counted) > budget)
        lines.push(`${tokens_used} tokens, counted ${tokens_counted}, for a budget of ${budget}`)
    for (const key of hidden_shown) lines.push(`${key} was shown, erased or superseded`)
    const [found] = packed.filter(({ budget }) => budget === DEFAULT_BUDGET)
    if (certain.includes(category) && gold.length > 0 && recall(gold, found?.keys ?? []) < 1)
      lines.push(`not found within ${DEFAULT_BUDGET} tokens`)
    return lines.map((line) => `${question_id}: ${line}`)
  })
}
