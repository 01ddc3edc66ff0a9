// Pure: what the claims of a provider say of a person.

import { ROLES, type Role } from '@custos/contract'
import type { OpenConnection } from './sso-connection.ts'

export type Claims = Readonly<Record<string, unknown>>

/**
 * The roles that the claims give. `kept`: the provider decides no roles. `unknown` differs from "no
 * groups": the claim is missing, too large for the token (Entra), or of another shape.
 */
export function decideRoles(
  { role_claim, role_map, default_role, allow_owner }: OpenConnection['settings'],
  claims: Claims,
): readonly Role[] | 'kept' | 'unknown' | 'unmapped' {
  if (role_claim === null) return 'kept'
  const values = valuesAt(claims, role_claim)
  if (values === null) return 'unknown'
  const stated = new Set(values)
  const mapped = role_map.filter(({ value }) => stated.has(value)).map(({ role }) => role)
  const given = ROLES.filter((role) => mapped.includes(role) && (role !== 'owner' || allow_owner))
  if (given.length > 0) return given
  return default_role === null || (default_role === 'owner' && !allow_owner)
    ? 'unmapped'
    : [default_role]
}

function valuesAt(claims: Claims, path: readonly string[]): readonly string[] | null {
  if (isOverage(claims, path)) return null
  let value: unknown = claims
  for (const name of path) {
    if (!isMembers(value) || !Object.hasOwn(value, name)) return null
    value = value[name]
  }
  if (typeof value === 'string') return [value]
  return isTextList(value) ? value : null
}

const isTextList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')

/** Whether the claim was left out: Entra omits long lists of groups and says so instead. */
function isOverage(claims: Claims, [name = '']: readonly string[]): boolean {
  const elsewhere = claims['_claim_names']
  if (isMembers(elsewhere) && Object.hasOwn(elsewhere, name)) return true
  return name === 'groups' && claims['hasgroups'] !== undefined
}

const isMembers = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The domain is in lower case. Null: the provider names no address, or none that is one. */
export function emailOf(claims: Claims, charsMax: number) {
  const { email, email_verified } = claims
  if (typeof email !== 'string' || email.length > charsMax) return null
  const domain = /^[^\s@]+@([^\s@]+)$/.exec(email)?.[1]
  if (domain === undefined) return null
  return { address: email, verified: email_verified === true, domain: domain.toLowerCase() }
}

/** The shortened name without control characters; empty if the provider states none. */
export function nameOf({ name, preferred_username: short }: Claims, charsMax: number): string {
  const named = typeof name === 'string' ? name : typeof short === 'string' ? short : ''
  return named.replaceAll(/\p{C}/gu, '').trim().slice(0, charsMax)
}

/** Whether the token was issued to this client, in this sign-in. */
export function isOfThisLogin(
  { azp, iat }: Claims,
  { client_id, begun_s, now_s }: { client_id: string; begun_s: number; now_s: number },
): boolean {
  if (azp !== undefined && azp !== client_id) return false
  return typeof iat === 'number' && iat >= begun_s - SKEW_S && iat <= now_s + SKEW_S
}

/** Tolerated difference between clocks of providers and of the service. */
export const SKEW_S = 60
