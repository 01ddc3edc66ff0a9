// SQL of what credentials are limited to: a control table, with the credentials that have ended.

import { builder } from './builder.ts'
import type { Tables } from './schema/tables.ts'
import { from, type TenantDb, type Tx } from './tenant-db.ts'

const LIMIT = ['key_id', 'tenant_id', 'maker_id', 'secret_no', 'sealed', 'ends_us'] as const

export const insertLimit = (
  tx: Tx,
  limit: Omit<Tables['credential_limits'], 'tenant_id'>,
): Promise<number> => {
  const { tenant_id } = tx
  return tx.run(builder.insertInto('credential_limits').values({ tenant_id, ...limit }))
}

/** The limits of those of the credentials that have any. */
export const listLimits = (
  db: TenantDb,
  key_ids: readonly string[],
): Promise<Tables['credential_limits'][]> =>
  db.all(
    builder
      .selectFrom('credential_limits')
      .select(LIMIT)
      .where('tenant_id', '=', db.tenant_id)
      .where('key_id', 'in', key_ids),
  )

/** Tokens made with the key that have not ended by `now_us`. */
export async function countLiveTokens(
  db: TenantDb,
  maker_id: string,
  now_us: number,
): Promise<number> {
  const query = builder
    .selectFrom('credential_limits')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('tenant_id', '=', db.tenant_id)
    .where('maker_id', '=', maker_id)
    .where('ends_us', '>', now_us)
  return Number((await db.first(query))?.count ?? 0)
}

/** Those of the stores that the tenant has. */
export async function listActiveStores(
  db: TenantDb,
  store_ids: readonly string[],
): Promise<string[]> {
  const rows = await db.all(
    from(db, 'stores')
      .select('store_id')
      .where('store_id', 'in', store_ids)
      .where('state', '=', 'active'),
  )
  return rows.map(({ store_id }) => store_id)
}

/** Limited credentials of all tenants that have ended by `now_us`. */
export const listEndedLimits = (
  db: TenantDb,
  now_us: number,
  limit: number,
): Promise<Pick<Tables['credential_limits'], 'key_id' | 'tenant_id' | 'secret_no'>[]> =>
  db.all(
    builder
      .selectFrom('credential_limits')
      .select(['key_id', 'tenant_id', 'secret_no'])
      .where('ends_us', '<=', now_us)
      // Off-boarding removes the rows of its tenant itself.
      .where('tenant_id', 'not in', builder.selectFrom('destructions').select('tenant_id'))
      .limit(limit),
  )

/** Notes the end of the tenant's limited credentials that are revoked. */
export const endRevokedLimits = (tx: Tx, ends_us: number): Promise<number> =>
  tx.run(
    builder
      .updateTable('credential_limits')
      .set({ ends_us })
      .where('tenant_id', '=', tx.tenant_id)
      .where((e) => e.or([e('ends_us', 'is', null), e('ends_us', '>', ends_us)]))
      .where('key_id', 'in', (e) =>
        e
          .selectFrom('credentials')
          .select('key_id')
          .where('tenant_id', '=', tx.tenant_id)
          .where('revoked_us', 'is not', null),
      ),
  )

/** Deletes limited credentials with their limits. */
export async function deleteLimited(tx: Tx, key_ids: readonly string[]): Promise<void> {
  const { tenant_id } = tx
  for (const table of ['credentials', 'credential_limits'] as const)
    await tx.run(
      builder.deleteFrom(table).where('tenant_id', '=', tenant_id).where('key_id', 'in', key_ids),
    )
}

/** The highest number of a record secret that a namespace is sealed under; 0: none. */
export async function findHighestLimitSecret(db: TenantDb): Promise<number> {
  const query = builder
    .selectFrom('credential_limits')
    .select('secret_no')
    .where('tenant_id', '=', db.tenant_id)
    .orderBy('secret_no', 'desc')
    .limit(1)
  return (await db.first(query))?.secret_no ?? 0
}
