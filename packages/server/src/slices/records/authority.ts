// The authority of a request: its trust tier within the ceiling, and its human principal.

import {
  type Authority,
  type RecordedAuthority,
  TRUST_TIERS,
  type TrustTier,
} from '@custos/contract'
import { foldName, isObject, isText, type JsonObject } from '@custos/proof'
import type { Kernel } from '../../platform/kernel/kernel.ts'

export const tierRank = (tier: TrustTier): number => TRUST_TIERS.indexOf(tier)

/**
 * Caps the claim at the credential's ceiling. Without a claim, the tier is `untrusted`.
 * @param ceiling of the credential. `null` means no limit.
 */
export function effectiveTier(
  ceiling: TrustTier | null | undefined,
  claimed: TrustTier | null | undefined,
): TrustTier {
  const claim = claimed ?? 'untrusted'
  const most = ceiling ?? 'root'
  return tierRank(claim) <= tierRank(most) ? claim : most
}

/** An authority as a request claims it: absent members are null. */
export interface ClaimedAuthority {
  readonly [key: string]: string | null
  readonly delegation_ref: string | null
  readonly human_principal: string | null
  readonly trust_tier: TrustTier | null
}

export const claimedAuthority = (authority: Authority | undefined): ClaimedAuthority => ({
  delegation_ref: authority?.delegation_ref ?? null,
  human_principal: authority?.human_principal ?? null,
  trust_tier: authority?.trust_tier ?? null,
})

/** The authority in the form that a record states it. */
export const recordedAuthority = (
  claimed: ClaimedAuthority,
  ceiling: TrustTier | null | undefined,
): RecordedAuthority => ({
  delegation_ref: claimed.delegation_ref,
  human_principal: claimed.human_principal,
  claimed_tier: claimed.trust_tier,
  trust_tier: effectiveTier(ceiling, claimed.trust_tier),
})

/** The human principal that a request names, or `null`. */
export function principalOf({ authority }: JsonObject): string | null {
  if (!isObject(authority)) return null
  const human = authority['human_principal']
  return isText(human) ? human : null
}

/** The HMAC of the folded name, comparable even where a policy redacted the name. */
export async function principalLabel(
  kernel: Kernel,
  tenant_id: string,
  name: string | null,
): Promise<string | null> {
  const folded = name === null ? '' : foldName(name)
  if (folded === '') return null
  return (await kernel.keyring.tenant(tenant_id)).label(`principal\n${folded}`)
}
