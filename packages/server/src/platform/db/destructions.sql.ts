// SQL of off-boarded tenants: a control table, and the control rows that a tenant leaves behind.

import { builder } from './builder.ts'
import type { Tables } from './schema/tables.ts'
import type { TenantDb, Tx } from './tenant-db.ts'

export type DestructionRow = Tables['destructions']

const COLUMNS = [
  'tenant_id',
  'certificate_id',
  'requested_us',
  'reasons',
  'log_seq',
  'destroyed_us',
  'record',
  'job_id',
  'removed_us',
] as const

const all = () => builder.selectFrom('destructions').select(COLUMNS)

export const findDestruction = (db: TenantDb, tenant_id: string) =>
  db.first(all().where('tenant_id', '=', tenant_id))

/** Off-boardings that are not complete: not yet certified, or with rows left to remove. */
export const listOpenDestructions = (db: TenantDb): Promise<DestructionRow[]> =>
  db.all(all().where('removed_us', 'is', null).orderBy('tenant_id'))

/** Tenants whose off-boarding has begun, ascending. */
export async function listDestroyedIds(db: TenantDb): Promise<string[]> {
  const query = builder.selectFrom('destructions').select('tenant_id').orderBy('tenant_id')
  return (await db.all(query)).map(({ tenant_id }) => tenant_id)
}

/** A second insert changes nothing. */
export const insertDestruction = (
  tx: Tx,
  row: Pick<DestructionRow, 'certificate_id' | 'requested_us' | 'reasons'>,
) =>
  tx.run(
    builder
      .insertInto('destructions')
      .values({
        tenant_id: tx.tenant_id,
        ...row,
        log_seq: null,
        destroyed_us: null,
        record: null,
        job_id: null,
        removed_us: null,
      })
      .onConflict((conflict) => conflict.column('tenant_id').doNothing()),
  )

export const updateDestruction = (
  tx: Tx,
  change: Partial<
    Omit<DestructionRow, 'tenant_id' | 'certificate_id' | 'requested_us' | 'reasons'>
  >,
) => tx.run(builder.updateTable('destructions').set(change).where('tenant_id', '=', tx.tenant_id))

/** Revokes every live key of the tenant. */
export const revokeAll = (tx: Tx, revoked_us: number): Promise<number> =>
  tx.run(
    builder
      .updateTable('credentials')
      .set({ revoked_us })
      .where('tenant_id', '=', tx.tenant_id)
      .where('revoked_us', 'is', null),
  )

/** Marks the tenant's unfinished jobs as failed. */
export const endJobs = (tx: Tx) =>
  tx.run(
    builder
      .updateTable('jobs')
      .set({ state: 'failed', error: 'TenantDestroyed', lease_until_us: 0 })
      .where('tenant_id', '=', tx.tenant_id)
      .where('state', 'in', ['queued', 'running']),
  )

/**
 * Deletes the names and namespaces of its keys, its payment events, its policy set number, and its
 * jobs except `kept` and those of the given kinds.
 */
export async function deleteControlRows(
  tx: Tx,
  kept: { readonly job_id: string; readonly kinds: readonly string[] },
): Promise<void> {
  const { tenant_id } = tx
  await tx.run(
    builder
      .updateTable('credentials')
      .set({ name: '', name_secret_no: null, sealed_name: null })
      .where('tenant_id', '=', tenant_id),
  )
  await tx.run(builder.deleteFrom('billing_events').where('tenant_id', '=', tenant_id))
  await tx.run(builder.deleteFrom('credential_limits').where('tenant_id', '=', tenant_id))
  await tx.run(
    builder
      .deleteFrom('jobs')
      .where('tenant_id', '=', tenant_id)
      .where('job_id', '<>', kept.job_id)
      .where('kind', 'not in', kept.kinds),
  )
  for (const table of ['sso_routes', 'sso_logins', 'sso_codes'] as const)
    await tx.run(builder.deleteFrom(table).where('tenant_id', '=', tenant_id))
  await tx.run(builder.deleteFrom('policy_sets').where('tenant_id', '=', tenant_id))
}
