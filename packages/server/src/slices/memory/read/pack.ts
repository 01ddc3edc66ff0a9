// Fills a token budget from a ranking: what the caller is promised never to exceed.
import assert from 'node:assert/strict'

/** Anything with a cost in the store's tokens. */
export interface Candidate {
  readonly token_count: number
}

export interface Packing<C extends Candidate> {
  readonly packed: C[]
  /** What did not fit, in rank order. */
  readonly dropped: C[]
}

/**
 * Greedy in rank order, skipping what does not fit: a long first hit must not starve the shorter
 * ones behind it. Both lists keep the order of `ranked`; the packed counts sum to `budgetTokens`
 * at most.
 */
export function packWithinBudget<C extends Candidate>(
  ranked: readonly C[],
  budgetTokens: number,
): Packing<C> {
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
