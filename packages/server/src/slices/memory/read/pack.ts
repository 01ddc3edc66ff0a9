// Fills a token budget from a ranking; never exceeds the budget and never repeats a content.

import assert from 'node:assert/strict'

/**
 * Packs greedily in rank order and skips what does not fit, so that a long first hit does not
 * exclude shorter ones behind it. Both lists keep the order of `ranked`. The token counts of the
 * packed facts sum to at most `budgetTokens`.
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

/**
 * Splits a ranking into the best fact of each content, at most `countMax` of them, and the facts
 * that repeat one of these contents. Both lists keep the order of `ranked`.
 */
export function splitDuplicates<C extends { readonly content_ref: number }>(
  ranked: readonly C[],
  countMax: number,
): { unique: C[]; duplicates: C[] } {
  const contents = new Set<number>()
  const unique: C[] = []
  const duplicates: C[] = []
  for (const candidate of ranked) {
    if (contents.has(candidate.content_ref)) duplicates.push(candidate)
    else if (unique.length < countMax) {
      contents.add(candidate.content_ref)
      unique.push(candidate)
    }
  }
  return { unique, duplicates }
}
