// SQL of policies: every version is a row, and at most one version of each policy is in force.

import type { Tables } from '../../platform/db/schema/tables.ts'
import { from, insertInto, type TenantDb, type Tx, update } from '../../platform/db/tenant-db.ts'

export type PolicyRow = Omit<Tables['policies'], 'tenant_id'>

const COLUMNS = [
  'policy_id',
  'version',
  'policy_set',
  'change',
  'stands',
  'policy_type',
  'action',
  'enabled',
  'priority',
  'seed_key',
  'secret_no',
  'sealed',
  'created_us',
  'changed_us',
  'changed_by',
] as const

/** The versions in force, in the order of evaluation. */
export const listStanding = (db: TenantDb): Promise<PolicyRow[]> =>
  db.all(
    from(db, 'policies')
      .select(COLUMNS)
      .where('stands', '=', 1)
      .orderBy('priority')
      .orderBy('created_us')
      .orderBy('policy_id'),
  )

export const findStanding = (db: TenantDb, policy_id: string): Promise<PolicyRow | undefined> =>
  db.first(
    from(db, 'policies').select(COLUMNS).where('policy_id', '=', policy_id).where('stands', '=', 1),
  )

/** Newest first. */
export const listVersions = (
  db: TenantDb,
  policy_id: string,
  limit: number,
): Promise<PolicyRow[]> =>
  db.all(
    from(db, 'policies')
      .select(COLUMNS)
      .where('policy_id', '=', policy_id)
      .orderBy('version', 'desc')
      .limit(limit),
  )

const IDS_MAX = 500

/** The newest version of each policy, in force or not. */
export async function findNewest(db: TenantDb, policy_ids: readonly string[]) {
  const newest = new Map<string, PolicyRow>()
  for (let at = 0; at < policy_ids.length; at += IDS_MAX) {
    const rows = await db.all(
      from(db, 'policies')
        .select(COLUMNS)
        .where('policy_id', 'in', policy_ids.slice(at, at + IDS_MAX))
        .where((e) => e.or([e('stands', '=', 1), e('change', '=', 'deleted')])),
    )
    for (const row of rows) newest.set(row.policy_id, row)
  }
  return [...newest.values()]
}

/** Versions by id and number, unordered. */
export async function findVersions(
  db: TenantDb,
  wanted: readonly (readonly [policy_id: string, version: number])[],
): Promise<PolicyRow[]> {
  const rows: PolicyRow[] = []
  for (const [policy_id, version] of wanted) {
    const row = await findVersion(db, policy_id, version)
    if (row) rows.push(row)
  }
  return rows
}

export const findVersion = (
  db: TenantDb,
  policy_id: string,
  version: number,
): Promise<PolicyRow | undefined> =>
  db.first(
    from(db, 'policies')
      .select(COLUMNS)
      .where('policy_id', '=', policy_id)
      .where('version', '=', version),
  )

/** Unique indexes decide races: a second version in force of a policy or default fails. */
export const insertVersion = (tx: Tx, row: PolicyRow) => tx.run(insertInto(tx, 'policies', row))

/** Ends a version of a policy; returns whether it was in force. */
export async function closeVersion(tx: Tx, policy_id: string, version: number): Promise<boolean> {
  const changed = await tx.run(
    update(tx, 'policies')
      .set({ stands: 0 })
      .where('policy_id', '=', policy_id)
      .where('version', '=', version)
      .where('stands', '=', 1),
  )
  return changed === 1
}

export const insertMembers = (tx: Tx, policy_set: number, members: string) =>
  tx.run(insertInto(tx, 'policy_members', { policy_set, members }))

export const findMembers = (db: TenantDb, policy_sets: readonly number[]) =>
  db.all(
    from(db, 'policy_members')
      .select(['policy_set', 'members'])
      .where('policy_set', 'in', policy_sets),
  )

/** A batch of all versions after `row`, ordered by policy and number. */
export function listVersionsAfter(
  db: TenantDb,
  row: PolicyRow | null,
  limit: number,
): Promise<PolicyRow[]> {
  const { policy_id = '', version = 0 } = row ?? {}
  return db.all(
    from(db, 'policies')
      .select(COLUMNS)
      .where((e) =>
        e.or([
          e('policy_id', '>', policy_id),
          e.and([e('policy_id', '=', policy_id), e('version', '>', version)]),
        ]),
      )
      .orderBy('policy_id')
      .orderBy('version')
      .limit(limit),
  )
}

/** Redacts a version that is no longer in force. */
export const updateRedactedPolicy = (
  tx: Tx,
  { policy_id, version }: Pick<PolicyRow, 'policy_id' | 'version'>,
  left: Pick<PolicyRow, 'secret_no' | 'sealed'>,
) =>
  tx.run(
    update(tx, 'policies')
      .set(left)
      .where('policy_id', '=', policy_id)
      .where('version', '=', version),
  )

export const listAllVersions = (db: TenantDb): Promise<PolicyRow[]> =>
  db.all(from(db, 'policies').select(COLUMNS).orderBy('policy_id').orderBy('version'))
