// The callers' texts of a policy, sealed under a secret per version; the access of subject requests
// to them; and the check that every version opens and the current set is in force.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { POLICY_ACTIONS, POLICY_TYPES, type PolicyAction, type PolicyType } from '@custos/contract'
import type { JsonObject } from '@custos/proof'
import { findPolicySet } from '../../platform/db/control.sql.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { jsonPayload, REDACTED_SECRET, sealedColumn } from '../../platform/kernel/sealed-column.ts'
import { REDACTED_TEXT, textSource } from '../../platform/kernel/text-source.ts'
import {
  findMembers,
  findVersion,
  listAllVersions,
  listStanding,
  listVersionsAfter,
  type PolicyRow,
  updateRedactedPolicy,
} from './policies.sql.ts'

/** The caller's texts; a name or a pattern may contain personal data. */
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
  /** `null` if it cannot be opened. */
  readonly words: PolicyPayload | null
}

/** Opens policies in the order of `rows`. */
export async function openPolicies(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  rows: readonly PolicyRow[],
): Promise<OpenedPolicy[]> {
  const opened = await policyColumn.openAll(kernel, tenant_id, rows)
  return rows.map((row, i) => ({ row, words: opened[i] ?? null }))
}

/**
 * A version in force is held, because redacting it would change what the tenant permits. Once the
 * tenant changes or deletes the policy, it is redacted like every earlier version.
 */
export const policyTextSource = textSource<PolicyRow, JsonObject>({
  kind: 'policy',
  list: listVersionsAfter,
  find: (db, id) => {
    const [policy_id = '', version = ''] = id.split(':')
    return findVersion(db, policy_id, Number(version))
  },
  idOf: ({ policy_id, version }) => `${policy_id}:${version}`,
  createdUs: ({ changed_us }) => changed_us,
  isHeld: ({ stands }) => stands === 1,
  open: async (kernel, tenant_id, rows) =>
    (await policyColumn.openAll(kernel, tenant_id, rows)).map(
      // Stored as JSON, so the round trip loses nothing.
      (texts): JsonObject | null => texts && JSON.parse(JSON.stringify(texts)),
    ),
  redact: async (kernel, tenant_id, { row }) => {
    const left = { name: REDACTED_TEXT, description: '', config: {} }
    return [await policyColumn.sealRedacted(kernel, tenant_id, row, left)]
  },
  update: (tx, row, [sealed]) =>
    updateRedactedPolicy(tx, row, { sealed, secret_no: REDACTED_SECRET }),
})

export const UNREADABLE: PolicyPayload = { name: '', description: '', config: {} }

// Only values of the contract's enums are written here.
function oneOf<T extends string>(words: readonly T[], word: string): T {
  const found = words.find((known) => known === word)
  assert(found !== undefined, 'a policy has a type and an action of the contract')
  return found
}

export const typeOf = (row: PolicyRow): PolicyType => oneOf(POLICY_TYPES, row.policy_type)

export const actionOf = (row: PolicyRow): PolicyAction => oneOf(POLICY_ACTIONS, row.action)

/** Checks policies on the snapshot of `db`. */
export async function checkPolicies(
  kernel: Pick<Kernel, 'keyring'>,
  db: TenantDb,
): Promise<{ versions: number; faults: { policy_id: string; fault: string }[] }> {
  const rows = await listAllVersions(db)
  const opened = await openPolicies(kernel, db.tenant_id, rows)
  const faults = opened.flatMap(({ row, words }) =>
    words === null ? [{ policy_id: row.policy_id, fault: 'the seal does not open' }] : [],
  )
  const policy_set = await findPolicySet(db)
  const [current] = await findMembers(db, [policy_set])
  const enabled = (await listStanding(db)).filter((row) => row.enabled === 1)
  const standing = enabled.map(({ policy_id, version }) => [policy_id, version])
  if (rows.length > 0 && current?.members !== JSON.stringify(standing))
    faults.push({ policy_id: '-', fault: 'the current set is not what stands' })
  faults.push(...(await uncompiled(await openPolicies(kernel, db.tenant_id, enabled))))
  return { versions: rows.length, faults }
}

/** Policies that do not compile. They deny every request: safe, but not what was intended. */
async function uncompiled(opened: readonly OpenedPolicy[]) {
  if (opened.length === 0) return []
  // Loaded on demand: a service without policies starts without its engines.
  const [{ makeRule }, { recognisers }] = await Promise.all([
    import('./rules/policy.ts'),
    import('./rules/personal-data.ts'),
  ])
  return opened.flatMap(({ row, words }) => {
    if (words === null) return []
    try {
      makeRule({ policy_type: typeOf(row), config: words.config }, recognisers)
      return []
    } catch {
      return [{ policy_id: row.policy_id, fault: 'it does not compile' }]
    }
  })
}

/** A digest of the policies in force, over ids, versions, order and sealed texts. */
export async function digestPolicies(
  db: TenantDb,
): Promise<{ policy_set: number; in_force: number; digest: string }> {
  const enabled = (await listStanding(db)).filter((row) => row.enabled === 1)
  const digest = createHash('sha256')
  for (const { policy_id, version, policy_type, action, priority, sealed } of enabled)
    digest
      .update(JSON.stringify([policy_id, version, policy_type, action, priority]))
      .update(createHash('sha256').update(sealed).digest())
  const policy_set = await findPolicySet(db)
  return { policy_set, in_force: enabled.length, digest: digest.digest('hex') }
}
