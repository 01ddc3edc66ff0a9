// Pure: sub-namespaces of a tenant, in stored form (`x`) and in shown and signed form (`T/x`).

import { limits } from '@custos/contract'
import { Refusal } from './refusal.ts'

/** `T` in the root, `T/x` in the sub-namespace x. */
export const formatNamespace = (tenant_id: string, namespace: string | null): string =>
  namespace === null ? tenant_id : `${tenant_id}/${namespace}`

/** A whole store, or one namespace of it. */
export interface StorePart {
  readonly store_id: string
  /** Absent for every namespace; null for the root. */
  readonly namespace?: string | null | undefined
}

/** Whether the part includes the namespace. */
export const includesNamespace = (
  part: Pick<StorePart, 'namespace'>,
  namespace: string | null,
): boolean => part.namespace === undefined || part.namespace === namespace

/** Returns null for the root, or if no name is given. Refuses `rejected` if the names differ. */
export function parseNamespace(
  tenant_id: string,
  names:
    | Partial<Readonly<Record<'tenant_id' | 'namespace', string | null | undefined>>>
    | undefined,
): string | null {
  const given = [names?.tenant_id, names?.namespace].filter((name) => typeof name === 'string')
  const [first = null, second = first] = given.map((name) => stripTenant(tenant_id, name))
  if (first !== second) throw new Refusal('rejected', 'tenant_id and namespace name two namespaces')
  if (first !== null && first.length > limits.namespace_chars)
    throw new Refusal('rejected', `a namespace has ${limits.namespace_chars} characters at most`)
  return first
}

function stripTenant(tenant_id: string, name: string): string | null {
  if (name === tenant_id) return null
  const prefix = `${tenant_id}/`
  if (!name.startsWith(prefix)) return name
  return name.length === prefix.length ? null : name.slice(prefix.length)
}
