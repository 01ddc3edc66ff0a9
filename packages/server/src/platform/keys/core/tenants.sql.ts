// Queries on tenants' wrapped keys.

import type { KeyringQueries, KeyringTx } from './database.ts'
import type { KeyringTables } from './tables.ts'

export type TenantRow = Readonly<KeyringTables['tenants']>

/** Returns false if the tenant already has a row, which keeps its keys. */
export async function insertTenant(tx: KeyringTx, row: TenantRow): Promise<boolean> {
  const query = tx.tables.insertInto('tenants').values(row)
  return (await tx.run(query.onConflict((on) => on.doNothing()))) > 0
}

export async function findTenant(
  db: KeyringQueries,
  tenant_id: string,
): Promise<TenantRow | undefined> {
  return db.first(db.tables.selectFrom('tenants').selectAll().where('tenant_id', '=', tenant_id))
}

/**
 * Locks the row of the tenant, if any, so that only this transaction can allocate numbers of
 * its secrets. Returns whether the tenant has keys.
 */
export async function lockLiveTenant(tx: KeyringTx, tenant_id: string): Promise<boolean> {
  const query = tx.tables.selectFrom('tenants').select('tenant_key')
  const row = await tx.first(query.where('tenant_id', '=', tenant_id).forUpdate())
  return row !== undefined && row.tenant_key.length > 0
}

/** Ids of tenants, ascending: of all that ever existed, or only those with or without keys. */
export async function listTenantIds(
  db: KeyringQueries,
  which: 'all' | 'live' | 'destroyed',
): Promise<string[]> {
  let query = db.tables.selectFrom('tenants').select('tenant_id').orderBy('tenant_id')
  if (which !== 'all')
    query = query.where(
      (eb) => eb.fn<number>('length', ['tenant_key']),
      which === 'live' ? '>' : '=',
      0,
    )
  return (await db.all(query)).map((row) => row.tenant_id)
}

/** Rows with `tenant_id > after`, ascending. */
export async function listTenantRows(
  db: KeyringQueries,
  page: { after: string; limit: number },
): Promise<TenantRow[]> {
  const query = db.tables.selectFrom('tenants').selectAll().where('tenant_id', '>', page.after)
  return db.all(query.orderBy('tenant_id').limit(page.limit))
}

/** Sets the keys of tenants and creates missing rows. */
export async function upsertTenants(tx: KeyringTx, rows: readonly TenantRow[]): Promise<void> {
  await tx.run(
    tx.tables
      .insertInto('tenants')
      .values(rows)
      .onConflict((on) =>
        on.column('tenant_id').doUpdateSet((eb) => ({
          tenant_key: eb.ref('excluded.tenant_key'),
          label_salt: eb.ref('excluded.label_salt'),
        })),
      ),
  )
}

/** Tenants without keys that still have blocks of secrets, ascending. */
export async function listDestroyedWithBlocks(db: KeyringQueries): Promise<string[]> {
  const rows = await db.all(
    db.tables
      .selectFrom('tenants')
      .select('tenant_id')
      .where((eb) => eb.fn<number>('length', ['tenant_key']), '=', 0)
      .where((eb) =>
        eb.exists(
          eb
            .selectFrom('secret_blocks')
            .select('first')
            .whereRef('secret_blocks.tenant_id', '=', 'tenants.tenant_id'),
        ),
      )
      .orderBy('tenant_id'),
  )
  return rows.map((row) => row.tenant_id)
}
