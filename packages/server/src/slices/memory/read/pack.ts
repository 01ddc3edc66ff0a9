// Fills a token budget from a ranking without ever exceeding it.

import assert from 'node:assert/strict'

/**
 * Packs greedily in rank order and skips what does not fit: a long first hit must not exclude the
 * shorter ones behind it. Both lists keep the order of `ranked`; the counts of the packed sum to
 * `budgetTokens` at most.
 */
export function packWithinBudget<C extends { readonly token_count: number }>(
  ranked: readonly C[],
  budgetTokens: number,
): { packed: C[]; dropped: C[] } {
  assert(Number.isSafeInteger(budgetTokens) && budgetTokens >= 0, 'a budget is a whole number')
  const packed: C[] = []
  const dropped: C[] = []
  let remainingTokens = budgetTokens
  for (const candidate of ranked) {
    const cost = candidate.token_count
    assert(Number.isSafeInteger(cost) && cost >= 0, 'a token count is a whole number')
    if (cost > remainingTokens) {
      dropped.push(candidate)
      continue
    }
    packed.push(candidate)
    remainingTokens -= cost
  }
  return { packed, dropped }
}
