// The consistency of policies: every version opens, and the current set is what stands.

import { createHash } from 'node:crypto'
import { findPolicySet } from '../../platform/db/control.sql.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { findMembers, listAllVersions, listStanding } from './policies.sql.ts'
import { type OpenedPolicy, openPolicies, typeOf } from './sealed-policy.ts'

/** On the snapshot of `db`. */
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

/** One that does not compile denies every request: safe, and not what its author meant. */
async function uncompiled(opened: readonly OpenedPolicy[]) {
  if (opened.length === 0) return []
  // Loaded where it is used: a service without policies starts without its engines.
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

/** What is in force, by a digest over ids, versions, order and sealed words. */
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
