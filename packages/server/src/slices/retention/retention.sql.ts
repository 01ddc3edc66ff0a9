// SQL of retention: how long a store keeps its memories, the current run, and what is due.

import type { Database } from '../../platform/db/database.ts'
import { listTenantsWith } from '../../platform/db/engines/first-of-each.ts'
import type { Row } from '../../platform/db/schema/tables.ts'
import { statement } from '../../platform/db/statement.ts'
import { from, insertInto, type TenantDb, type Tx, update } from '../../platform/db/tenant-db.ts'

const COLUMNS = [
  'store_id',
  'retain_days',
  'set_us',
  'set_by',
  'secret_no',
  'sealed',
  'job_id',
  'run_days',
  'run_cutoff_us',
  'run_started_us',
  'run_erased',
  'run_batch',
  'last_us',
  'last_erased',
] as const

export const findRetention = (
  db: TenantDb,
  store_id: string,
): Promise<Row<'store_retention'> | undefined> =>
  db.first(from(db, 'store_retention').select(COLUMNS).where('store_id', '=', store_id))

type RetentionSetting = Pick<
  Row<'store_retention'>,
  'store_id' | 'retain_days' | 'set_us' | 'set_by' | 'secret_no' | 'sealed'
>

/** Saves the setting. A run in progress keeps the settings it began with. */
export const saveRetention = (tx: Tx, { store_id, ...setting }: RetentionSetting) =>
  tx.run(
    insertInto(tx, 'store_retention', {
      store_id,
      ...setting,
      ...NO_RUN,
      last_us: null,
      last_erased: 0,
    }).onConflict((conflict) => conflict.columns(['tenant_id', 'store_id']).doUpdateSet(setting)),
  )

/** A batch of all stores with a retention, by id. */
export const listAllRetentions = (
  db: TenantDb,
  after: string,
  limit: number,
): Promise<Row<'store_retention'>[]> =>
  db.all(
    from(db, 'store_retention')
      .select(COLUMNS)
      .where('store_id', '>', after)
      .orderBy('store_id')
      .limit(limit),
  )

export const updateRedactedBasis = (
  tx: Tx,
  store_id: string,
  redacted: Pick<Row<'store_retention'>, 'secret_no' | 'sealed'>,
) => tx.run(update(tx, 'store_retention').set(redacted).where('store_id', '=', store_id))

export const NO_RUN = {
  job_id: null,
  run_days: null,
  run_cutoff_us: null,
  run_started_us: null,
  run_erased: 0,
  run_batch: null,
} as const

export const updateRun = (
  tx: Tx,
  store_id: string,
  change: Partial<Omit<Row<'store_retention'>, keyof RetentionSetting>>,
) => tx.run(update(tx, 'store_retention').set(change).where('store_id', '=', store_id))

/** Stores with a retention and without a run. */
export const listWithoutRun = (db: TenantDb) =>
  db.all(
    from(db, 'store_retention')
      .select(['store_id', 'retain_days'])
      .where('retain_days', 'is not', null)
      .where('job_id', 'is', null)
      .orderBy('store_id'),
  )

const anyStatement = statement<object>()((k, p) =>
  k
    .selectFrom('store_retention')
    .select('store_id')
    .where('tenant_id', '=', p.tenant_id)
    .where('retain_days', 'is not', null)
    .limit(1),
)

/** Tenants with a store that has a retention. */
export const tenantsWithRetention = (db: Database, tenants: readonly string[]): Promise<string[]> =>
  listTenantsWith(db, tenants, { statement: anyStatement, params: {} })

const dueStatement = statement<{ store_id: string; cutoff_us: number; limit: number }>()((k, p) =>
  k
    .selectFrom('facts')
    .select('ref')
    .where('tenant_id', '=', p.tenant_id)
    .where('store_id', '=', p.store_id)
    .where('written_us', '<=', p.cutoff_us)
    .orderBy('written_us')
    .limit(p.limit),
)

/** Memories written by the cut-off, oldest first, including those whose erasure stopped. */
export async function listDue(
  db: TenantDb,
  due: { store_id: string; cutoff_us: number; limit: number },
): Promise<number[]> {
  return (await db.allOf(dueStatement, due)).map(({ ref }) => ref)
}

export async function countDue(db: TenantDb, store_id: string, cutoff_us: number): Promise<number> {
  const row = await db.first(
    from(db, 'facts')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('store_id', '=', store_id)
      .where('written_us', '<=', cutoff_us),
  )
  return Number(row?.count ?? 0)
}

/** How many of the refs have been erased. */
export async function countErased(db: TenantDb, refs: readonly number[]): Promise<number> {
  if (refs.length === 0) return 0
  const row = await db.first(
    from(db, 'tombstones')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('ref', 'in', refs),
  )
  return Number(row?.count ?? 0)
}
