// Pure: what a store declares, what that implies, and refusing what it does not offer.

import { CAPABILITIES, type Capability } from '@custos/contract'
import { Refusal } from '../../platform/refusal.ts'

/** A flag on the left means nothing without the one on the right (GMP 2.4). */
const IMPLIES: readonly (readonly [Capability, Capability])[] = [
  ['bi_temporal', 'supersession_chain'],
  ['cryptographic_provenance', 'provenance'],
]

/** Ascending and without repeats; all of them when none are asked for. Refuses `rejected`. */
export function chooseCapabilities(asked: readonly Capability[] | null | undefined): Capability[] {
  if (!asked) return [...CAPABILITIES]
  const chosen = CAPABILITIES.filter((capability) => asked.includes(capability))
  for (const [flag, needed] of IMPLIES) {
    if (chosen.includes(flag) && !chosen.includes(needed))
      throw new Refusal('rejected', `the capability ${flag} needs ${needed}`)
  }
  return chosen
}

/** Parses the column that `formatCapabilities` wrote. */
export function parseCapabilities(text: string): Capability[] {
  return CAPABILITIES.filter((capability) => text.split(' ').includes(capability))
}

export const formatCapabilities = (capabilities: readonly Capability[]): string =>
  capabilities.join(' ')

/**
 * Refuses `capability_not_supported` with the members that GMP clients read at the top level.
 * Callers outside this slice gate `hard_delete` with it.
 */
export function requireCapability(
  store: { readonly capabilities: readonly Capability[] },
  capability: Capability,
  operation: string,
): void {
  if (store.capabilities.includes(capability)) return
  throw new Refusal(
    'capability_not_supported',
    `the store does not offer ${capability}, which ${operation} needs`,
    { members: { capability, operation } },
  )
}
