// SQL of expiries: when memories of a store expire. A row is deleted with its fact.

import { type SqlBool, sql } from 'kysely'
import type { Builder } from '../../../platform/db/builder.ts'
import {
  firstItems,
  insertRowsStatement,
  lateralByRef,
  refsStatement,
  runInBatches,
  statementPerCount,
  unnestRefs,
} from '../../../platform/db/bulk-statements.ts'
import type { Row } from '../../../platform/db/schema/tables.ts'
import { statement } from '../../../platform/db/statement.ts'
import { from, type TenantDb, type Tx } from '../../../platform/db/tenant-db.ts'

export const insertExpiries = insertRowsStatement<Row<'fact_expiries'>>((k, rows, tenant_id) =>
  k.insertInto('fact_expiries').values(
    rows.map((row) => ({
      tenant_id,
      ref: row.ref,
      store_id: row.store_id,
      expires_us: row.expires_us,
    })),
  ),
)

const deleteStatement = refsStatement()((k, p, isListed) =>
  k.deleteFrom('fact_expiries').where('tenant_id', '=', p.tenant_id).where(isListed),
)

export const deleteExpiries = (tx: Tx, refs: readonly number[]) => deleteStatement.run(tx, refs, {})

/** Subquery: refs of the store that expired at `at_us` or before. */
const expiredRefs = (db: TenantDb, store_id: string, at_us: number) =>
  from(db, 'fact_expiries')
    .select('fact_expiries.ref')
    .where('fact_expiries.store_id', '=', store_id)
    .where('fact_expiries.expires_us', '<=', at_us)

/**
 * Condition: the row of `table` is of a memory that has not expired at `at_us`. Avoids `not in`:
 * PostgreSQL would first read all expired refs and, if there are very many, compare every memory
 * with each of them.
 */
export const isUnexpired = (
  db: TenantDb,
  table: 'facts' | 'validity',
  store: { readonly store_id: string; readonly at_us: number },
) => {
  const ref = sql.ref<number>(`${table}.ref`)
  const expired = expiredRefs(db, store.store_id, store.at_us)
  return sql<SqlBool>`not exists ${expired.where('fact_expiries.ref', '=', ref)}`
}

/** Statements are prepared for each number of refs up to this one. */
const REFS_AT_ONCE = 32

const expiredBy = (k: Builder, { tenant_id, at_us }: { tenant_id: string; at_us: number }) =>
  k
    .selectFrom('fact_expiries')
    .select('ref')
    .where('tenant_id', '=', tenant_id)
    .where('expires_us', '<=', at_us)

const expiredStatement = statementPerCount((count) =>
  statement<{ refs: readonly number[]; at_us: number }>()(
    (k, p) => expiredBy(k, p).where('ref', 'in', firstItems(p.refs, count)),
    (k, p) => lateralByRef(k, unnestRefs(p.refs), (ref) => expiredBy(k, p).where('ref', '=', ref)),
  ),
)

/** Returns the refs of memories that expired at `at_us` or before and are not erased. */
export async function findExpired(
  db: TenantDb,
  refs: readonly number[],
  at_us: number,
): Promise<Set<number>> {
  const found = await runInBatches(refs, REFS_AT_ONCE, (some) =>
    db.allOf(expiredStatement(some.length), { refs: some, at_us }),
  )
  return new Set(found.flat().map(({ ref }) => ref))
}

/** Memories of the store that expired at `at_us` or before, earliest expiry first. */
export const listExpired = async (
  db: TenantDb,
  { store_id, at_us, limit }: { store_id: string; at_us: number; limit: number },
): Promise<number[]> => {
  const rows = await db.all(expiredRefs(db, store_id, at_us).orderBy('expires_us').limit(limit))
  return rows.map(({ ref }) => ref)
}

export async function countExpired(db: TenantDb, store_id: string, at_us: number): Promise<number> {
  const all = expiredRefs(db, store_id, at_us).clearSelect()
  const row = await db.first(all.select((e) => e.fn.countAll<number>().as('count')))
  return Number(row?.count ?? 0)
}

/** Stores with a memory that expired at `at_us` or before. */
export const listStoresWithExpired = async (db: TenantDb, at_us: number): Promise<string[]> => {
  const rows = await db.all(
    from(db, 'fact_expiries').select('store_id').distinct().where('expires_us', '<=', at_us),
  )
  return rows.map(({ store_id }) => store_id)
}

/** For `listTenantsWith`: an expired memory of the tenant. */
export const anyExpiredStatement = statement<{ at_us: number }>()((k, p) =>
  k
    .selectFrom('fact_expiries')
    .select('ref')
    .where('tenant_id', '=', p.tenant_id)
    .where('expires_us', '<=', p.at_us)
    .limit(1),
)
