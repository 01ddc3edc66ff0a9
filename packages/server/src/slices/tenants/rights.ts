// Pure: the rights of a credential, and whether another credential has more.

import {
  type CredentialClass,
  DEFAULT_SCOPES,
  type Scope,
  scopeCovers,
  TRUST_TIERS,
  type TrustTier,
} from '@custos/contract'
import type { Principal } from '../../platform/kernel/call.ts'

/** The rights of a credential, on every axis. */
export interface Rights {
  readonly class: CredentialClass
  readonly scopes: readonly Scope[]
  /** Empty means every store. */
  readonly allowed_stores: readonly string[]
  /** Absent means every namespace, `null` the root. */
  readonly namespace?: string | null | undefined
  /** `null` means any tier. */
  readonly max_trust_tier: TrustTier | null
  /** `null` means never. */
  readonly expires_us: number | null
}

/** The rights of an unrestricted credential of a class. */
const unrestricted = (credentialClass: CredentialClass, scopes: readonly Scope[]): Rights => ({
  class: credentialClass,
  scopes,
  allowed_stores: [],
  max_trust_tier: null,
  expires_us: null,
})

/** The rights of a tenant's first key. */
export const TENANT_RIGHTS: Rights = unrestricted('tenant', DEFAULT_SCOPES.tenant)

/**
 * The rights of an operator, who issues keys to tenants. They include all rights that a tenant can
 * have, and no expiry, so a tenant's key may outlast the operator's own.
 */
export const OPERATOR_RIGHTS: Rights = unrestricted('operator', ['*', ...DEFAULT_SCOPES.operator])

/** The classes in ascending order; each may grant itself and the classes before it. */
const CLASSES: readonly CredentialClass[] = ['token', 'read_only', 'service', 'tenant', 'operator']

export function rightsOf(principal: Principal): Rights {
  if (principal.kind === 'operator') return OPERATOR_RIGHTS
  const { scopes, allowed_stores, namespace, max_trust_tier = null, expires_us = null } = principal
  const credentialClass = principal.class === 'local' ? 'tenant' : principal.class
  return { class: credentialClass, scopes, allowed_stores, namespace, max_trust_tier, expires_us }
}

/** The limits of a credential besides its scopes; empty for an unlimited key of a tenant. */
export function formatLimits(principal: Principal): string {
  const { class: credentialClass, allowed_stores, namespace, max_trust_tier } = rightsOf(principal)
  const namespaces = namespace === undefined ? [] : [namespace]
  const isLimited =
    credentialClass !== 'tenant' || allowed_stores.length > 0 || namespaces.length > 0
  if (!isLimited && max_trust_tier === null) return ''
  return JSON.stringify([credentialClass, allowed_stores.toSorted(), namespaces, max_trust_tier])
}

/**
 * The first axis on which `made` has more rights than `maker`; `null` if it has no more. Every
 * issued credential, and every one that another credential revokes, passes this check.
 */
export function findExcessRight(made: Rights, maker: Rights): keyof Rights | null {
  if (CLASSES.indexOf(made.class) > CLASSES.indexOf(maker.class)) return 'class'
  if (made.scopes.some((scope) => !scopeCovers(maker.scopes, scope))) return 'scopes'
  if (!coversStores(maker.allowed_stores, made.allowed_stores)) return 'allowed_stores'
  if (maker.namespace !== undefined && made.namespace !== maker.namespace) return 'namespace'
  if (!coversTier(maker.max_trust_tier, made.max_trust_tier)) return 'max_trust_tier'
  if (!coversExpiry(maker.expires_us, made.expires_us)) return 'expires_us'
  return null
}

/** Whether all `stores` are among `allowed`. In both lists empty means every store. */
export const coversStores = (allowed: readonly string[], stores: readonly string[]): boolean =>
  allowed.length === 0 ||
  (stores.length > 0 && stores.every((store_id) => allowed.includes(store_id)))

const coversTier = (ceiling: TrustTier | null, tier: TrustTier | null): boolean =>
  ceiling === null || (tier !== null && TRUST_TIERS.indexOf(tier) <= TRUST_TIERS.indexOf(ceiling))

const coversExpiry = (until_us: number | null, expires_us: number | null): boolean =>
  until_us === null || (expires_us !== null && expires_us <= until_us)
