// The consistency of policies: every version opens, and the current set is what stands.

import { findPolicySet } from '../../platform/db/control.sql.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { findMembers, listAllVersions, listStanding } from './policies.sql.ts'
import { openPolicies } from './sealed-policy.ts'

export interface PolicyFault {
  readonly policy_id: string
  readonly fault: string
}

/** On the snapshot of `db`. */
export async function checkPolicies(
  kernel: Pick<Kernel, 'keyring'>,
  db: TenantDb,
): Promise<{ versions: number; faults: PolicyFault[] }> {
  const rows = await listAllVersions(db)
  const opened = await openPolicies(kernel, db.tenant_id, rows)
  const faults = opened.flatMap(({ row, words }): PolicyFault[] =>
    words === null ? [{ policy_id: row.policy_id, fault: 'the seal does not open' }] : [],
  )
  const policy_set = await findPolicySet(db)
  const [current] = await findMembers(db, [policy_set])
  const enabled = (await listStanding(db)).filter((row) => row.enabled === 1)
  const standing = enabled.map(({ policy_id, version }) => [policy_id, version])
  if (rows.length > 0 && current?.members !== JSON.stringify(standing))
    faults.push({ policy_id: '-', fault: 'the current set is not what stands' })
  return { versions: rows.length, faults }
}
