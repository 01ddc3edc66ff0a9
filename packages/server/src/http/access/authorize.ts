// The scope matrix: whether a caller may run an operation, and on which tenant.

import { type OperationSpec, type RefusalCode, scopeCovers } from '@custos/contract'
import type { Principal } from '../../platform/kernel/call.ts'
import { Refusal } from '../../platform/refusal.ts'

/** The tenant to act on; empty for operations that belong to none. */
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
      // The reply for another tenant is that for one that does not exist.
      if (params['tenant_id'] !== principal.tenant_id) throw new Refusal('tenant_not_found')
  }
  assertScope(operation, principal)
  return principal.tenant_id
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

/** The refusals of the HTTP layer for an operation, in addition to the common ones. */
export function edgeRefusals(operation: OperationSpec): RefusalCode[] {
  const codes: RefusalCode[] = []
  if (operation.access === 'tenant') codes.push('tenant_required')
  if (operation.access === 'operator') codes.push('operator_required')
  if (operation.access === 'operator_or_self') codes.push('tenant_not_found')
  if (operation.path.includes('{store_id}')) codes.push('store_not_found')
  if (operation.idempotent) codes.push('idempotency_key_reused')
  return codes
}
