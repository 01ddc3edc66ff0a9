// Cardinality among the links that a caller names.

import type { Cardinality } from '@custos/contract'

export interface NamedLink {
  readonly from_id: string
  readonly to_id: string
}

/**
 * What the new link would break: which side may have one partner only, and has another. Links
 * named twice are one.
 */
export function cardinalityErrors(
  cardinality: Cardinality,
  link: NamedLink,
  existing: readonly NamedLink[],
): string[] {
  const all = [...existing, link]
  const errors: string[] = []
  // many_to_one: each on the `from` side has one partner; one_to_many: each on the `to` side.
  if (cardinality === 'one_to_one' || cardinality === 'many_to_one')
    if (hasTwoPartners(all.map(({ from_id, to_id }) => [from_id, to_id])))
      errors.push(`${cardinality}: an object on the from side is linked to more than one`)
  if (cardinality === 'one_to_one' || cardinality === 'one_to_many')
    if (hasTwoPartners(all.map(({ from_id, to_id }) => [to_id, from_id])))
      errors.push(`${cardinality}: an object on the to side is linked from more than one`)
  return errors
}

function hasTwoPartners(pairs: readonly (readonly [one: string, partner: string])[]): boolean {
  const partners = new Map<string, string>()
  return pairs.some(([one, partner]) => {
    const known = partners.get(one)
    partners.set(one, partner)
    return known !== undefined && known !== partner
  })
}
