// The scope matrix: decides whether a caller may run an operation on a tenant and namespace.

import { type OperationSpec, type RefusalCode, scopeCovers } from '@custos/contract'
import type { Principal } from '../../platform/kernel/call.ts'
import { formatNamespace, parseNamespace } from '../../platform/namespace.ts'
import { Refusal } from '../../platform/refusal.ts'

/** Returns the tenant to act on; empty for operations that belong to no tenant. */
export function authorize(
  operation: OperationSpec,
  principal: Principal,
  params: Readonly<Record<string, unknown>>,
): string {
  const tenant_id = tenantOf(operation, principal, params)
  assertStore(principal, params['store_id'])
  return tenant_id
}

function tenantOf(
  operation: OperationSpec,
  principal: Principal,
  params: Readonly<Record<string, unknown>>,
): string {
  const isOperator = principal.kind === 'operator'
  switch (operation.access) {
    case 'public':
      return ''
    case 'operator':
      if (!isOperator) throw new Refusal('operator_required')
      return ''
    case 'tenant':
      if (isOperator) throw new Refusal('tenant_required')
      break
    case 'either':
      if (isOperator) return ''
      break
    case 'operator_or_self':
      if (isOperator) return String(params['tenant_id'])
      // The same reply as for a tenant that does not exist.
      if (params['tenant_id'] !== principal.tenant_id) throw new Refusal('tenant_not_found')
  }
  assertScope(operation, principal)
  assertNamespaced(operation, principal)
  return principal.tenant_id
}

// An operation that is not limited to one namespace shows or changes others.
function assertNamespaced({ namespaced }: OperationSpec, { namespace }: Principal): void {
  if (namespace === undefined || namespaced) return
  throw new Refusal('scope_missing', 'The credential is limited to the memories of a namespace')
}

function assertScope({ scope, extra_scopes = [] }: OperationSpec, principal: Principal): void {
  if (scope === undefined) return
  const missing = [scope, ...extra_scopes].find((one) => !scopeCovers(principal.scopes, one))
  if (missing === undefined) return
  throw new Refusal('scope_missing', `The credential lacks the scope ${missing}`, {
    headers: { 'www-authenticate': `Bearer realm="custos", error="insufficient_scope"` },
  })
}

// The reply for a store outside the credential's list is that for one that does not exist.
function assertStore({ allowed_stores }: Principal, store_id: unknown): void {
  if (store_id === undefined || allowed_stores.length === 0) return
  if (!allowed_stores.includes(String(store_id))) throw new Refusal('store_not_found')
}

/** Members of a validated body that name a namespace, or that contain such members. */
const NAMES = ['namespace', 'tenant_id'] as const
const NESTED = ['options', 'items'] as const

/**
 * Restricts validated input, in place, to the namespace that the caller is limited to. Input that
 * names no namespace gets the caller's, so that handlers see one namespace in any case. Refuses
 * `scope_missing` if the input names another one.
 */
export function pinNamespace(
  { tenant_id, namespace }: Principal,
  input: { readonly query: unknown; readonly body: unknown },
): void {
  if (namespace === undefined) return
  const own = formatNamespace(tenant_id, namespace)
  const pin = (value: unknown): void => {
    if (Array.isArray(value)) {
      for (const item of value) pin(item)
      return
    }
    if (!isMembers(value)) return
    for (const name of NAMES) {
      const given = value[name]
      if (
        typeof given === 'string' &&
        parseNamespace(tenant_id, { namespace: given }) !== namespace
      )
        throw new Refusal('scope_missing', 'The credential is limited to another namespace')
    }
    value['namespace'] = own
    for (const name of NESTED) pin(value[name])
  }
  pin(input.query)
  pin(input.body)
}

const isMembers = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** The refusals that the HTTP layer adds for an operation, besides the common ones. */
export function edgeRefusals(operation: OperationSpec): RefusalCode[] {
  const codes: RefusalCode[] = []
  if (operation.access === 'tenant') codes.push('tenant_required')
  if (operation.access === 'operator') codes.push('operator_required')
  if (operation.access === 'operator_or_self') codes.push('tenant_not_found')
  if (operation.path.includes('{store_id}')) codes.push('store_not_found')
  if (operation.idempotent) codes.push('idempotency_key_reused')
  return codes
}
