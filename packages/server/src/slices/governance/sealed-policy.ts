// The callers' words of a policy, sealed under a secret of their own for each version.

import assert from 'node:assert/strict'
import { POLICY_ACTIONS, POLICY_TYPES, type PolicyAction, type PolicyType } from '@custos/contract'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { jsonPayload, sealedColumn } from '../../platform/kernel/sealed-column.ts'
import type { PolicyRow } from './policies.sql.ts'

/** What a caller wrote: a name or a pattern may be a person's. */
export interface PolicyPayload {
  readonly name: string
  readonly description: string
  readonly config: Readonly<Record<string, unknown>>
}

export const policyColumn = sealedColumn({
  domain: 'policy',
  ids: (tenant_id, { policy_id, version }: Pick<PolicyRow, 'policy_id' | 'version'>) => [
    tenant_id,
    policy_id,
    version,
  ],
  payload: jsonPayload<PolicyPayload>(),
})

export interface OpenedPolicy {
  readonly row: PolicyRow
  /** Null: it cannot be opened. */
  readonly words: PolicyPayload | null
}

/** In the order of `rows`. */
export async function openPolicies(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  rows: readonly PolicyRow[],
): Promise<OpenedPolicy[]> {
  const opened = await policyColumn.openAll(kernel, tenant_id, rows)
  return rows.map((row, i) => ({ row, words: opened[i] ?? null }))
}

export const UNREADABLE: PolicyPayload = { name: '', description: '', config: {} }

// Written from the contract's enums: anything else was not written by us.
function oneOf<T extends string>(words: readonly T[], word: string): T {
  const found = words.find((known) => known === word)
  assert(found !== undefined, 'a policy has a type and an action of the contract')
  return found
}

export const typeOf = (row: PolicyRow): PolicyType => oneOf(POLICY_TYPES, row.policy_type)

export const actionOf = (row: PolicyRow): PolicyAction => oneOf(POLICY_ACTIONS, row.action)
