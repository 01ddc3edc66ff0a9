// SQL of the limits and names of credentials, which are in control tables, and of limited
// credentials that have ended.

import { builder } from './builder.ts'
import type { Row, Tables } from './schema/tables.ts'
import { from, type TenantDb, type Tx } from './tenant-db.ts'

const LIMIT = ['key_id', 'tenant_id', 'maker_id', 'secret_no', 'sealed', 'ends_us'] as const

export const insertLimit = (tx: Tx, limit: Row<'credential_limits'>): Promise<number> => {
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

/** Number of tokens of the key that have not ended by `now_us`. */
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

/** Those of the stores that exist in the tenant. */
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
export const listEndedLimits = (db: TenantDb, now_us: number, limit: number) =>
  db.all(
    builder
      .selectFrom('credential_limits as limits')
      .leftJoin('credentials', 'credentials.key_id', 'limits.key_id')
      .select(['limits.key_id', 'limits.tenant_id', 'limits.secret_no'])
      .select('credentials.name_secret_no')
      .where('limits.ends_us', '<=', now_us)
      // Off-boarding removes the rows of its tenant itself.
      .where('limits.tenant_id', 'not in', builder.selectFrom('destructions').select('tenant_id'))
      .limit(limit),
  )

/** Records the end of the tenant's limited credentials that are revoked. */
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

/** The highest number of a record secret that seals a namespace or a name; 0 if there is none. */
export async function findHighestCredentialSecret(db: TenantDb): Promise<number> {
  const { tenant_id } = db
  const limit = builder
    .selectFrom('credential_limits')
    .select('secret_no')
    .where('tenant_id', '=', tenant_id)
    .orderBy('secret_no', 'desc')
    .limit(1)
  const name = builder
    .selectFrom('credentials')
    .select('name_secret_no')
    .where('tenant_id', '=', tenant_id)
    .where('name_secret_no', 'is not', null)
    .orderBy('name_secret_no', 'desc')
    .limit(1)
  /** Credentials with a name. */
  const named = (await db.first(name))?.name_secret_no ?? 0
  return Math.max((await db.first(limit))?.secret_no ?? 0, named)
}

/** Credentials with a namespace. */
const limited = ({ tenant_id }: TenantDb) =>
  builder
    .selectFrom('credential_limits as limits')
    .innerJoin('credentials', 'credentials.key_id', 'limits.key_id')
    .select(['limits.key_id', 'limits.secret_no', 'limits.sealed'])
    .select(['credentials.allowed_stores', 'credentials.created_us'])
    .where('limits.tenant_id', '=', tenant_id)

export const listLimitedAfter = (db: TenantDb, after: string, limit: number) =>
  db.all(
    limited(db)
      .where('limits.key_id', '>', after)
      // Redundant, but without it a merge join also reads the credentials before the page.
      .where('credentials.key_id', '>', after)
      .orderBy('limits.key_id')
      .limit(limit),
  )

export const findLimited = (db: TenantDb, key_id: string) =>
  db.first(limited(db).where('limits.key_id', '=', key_id))

export const updateRedactedLimit = (
  tx: Tx,
  key_id: string,
  change: Pick<Tables['credential_limits'], 'secret_no' | 'sealed'>,
): Promise<number> =>
  tx.run(
    builder
      .updateTable('credential_limits')
      .set(change)
      .where('tenant_id', '=', tx.tenant_id)
      .where('key_id', '=', key_id),
  )

const NAMED = [
  'key_id',
  'name',
  'name_secret_no',
  'name_secret_no as secret_no',
  'sealed_name',
  'allowed_stores',
  'created_us',
] as const

/** Credentials with a name. */
const named = ({ tenant_id }: TenantDb) =>
  builder
    .selectFrom('credentials')
    .select(NAMED)
    .where('tenant_id', '=', tenant_id)
    .where((e) => e.or([e('name', '<>', ''), e('sealed_name', 'is not', null)]))

export const listNamedAfter = (db: TenantDb, after: string, limit: number) =>
  db.all(named(db).where('key_id', '>', after).orderBy('key_id').limit(limit))

export const findNamed = (db: TenantDb, key_id: string) =>
  db.first(named(db).where('key_id', '=', key_id))

export const updateRedactedName = (
  tx: Tx,
  key_id: string,
  change: Pick<Tables['credentials'], 'name_secret_no' | 'sealed_name'>,
): Promise<number> =>
  tx.run(
    builder
      .updateTable('credentials')
      .set({ name: '', ...change })
      .where('tenant_id', '=', tx.tenant_id)
      .where('key_id', '=', key_id),
  )
