// Fills a token budget from a ranking without ever exceeding it or repeating a content.

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

/**
 * Splits a ranking into the best ranked fact of each content, `countMax` of them at most, and the
 * facts that repeat the content of one of these. Both lists keep the order of `ranked`.
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
