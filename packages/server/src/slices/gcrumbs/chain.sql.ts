// SQL of the log: heads, breadcrumbs, interior nodes, epochs.

import type { Database } from '../../platform/db/database.ts'
import { firstRowPerTenant } from '../../platform/db/engines/first-of-each.ts'
import type { Tables } from '../../platform/db/schema/tables.ts'
import { statement } from '../../platform/db/statement.ts'
import { from, insertInto, type TenantDb, type Tx } from '../../platform/db/tenant-db.ts'

type Row<T extends keyof Tables> = Omit<Tables[T], 'tenant_id'>
export type HeadRow = Row<'chain_heads'>
export type EpochRow = Row<'epochs'>
export type CrumbRow = Row<'breadcrumbs'>

const headStatement = statement<object>()((k, p) =>
  k
    .selectFrom('chain_heads')
    .select(['generation', 'size', 'frontier', 'last_id', 'last_us'])
    .where('tenant_id', '=', p.tenant_id),
)

export const findHead = (db: TenantDb) => db.firstOf(headStatement, {})

const openHeadStatement = statement<object>()((k, p) =>
  k
    .selectFrom('chain_heads')
    .leftJoin('destructions', 'destructions.tenant_id', 'chain_heads.tenant_id')
    .select(['generation', 'size', 'frontier', 'last_id', 'last_us'])
    .select('destructions.tenant_id as destroyed')
    .where('chain_heads.tenant_id', '=', p.tenant_id),
)

/** The head, and whether the tenant is being off-boarded: then nothing more is appended to it. */
export const findOpenHead = (db: TenantDb) => db.firstOf(openHeadStatement, {})

/** The heads of many tenants, by tenant. */
export const findHeads = (
  db: Database,
  tenants: readonly string[],
): Promise<Map<string, HeadRow>> =>
  firstRowPerTenant(
    db,
    headStatement,
    tenants.map((tenant_id) => ({ tenant_id, params: {} })),
  )

const upsertHeadStatement = statement<HeadRow>()((k, p) =>
  k
    .insertInto('chain_heads')
    .values({
      tenant_id: p.tenant_id,
      generation: p.generation,
      size: p.size,
      frontier: p.frontier,
      last_id: p.last_id,
      last_us: p.last_us,
    })
    .onConflict((conflict) =>
      conflict.column('tenant_id').doUpdateSet({
        generation: p.generation,
        size: p.size,
        frontier: p.frontier,
        last_id: p.last_id,
        last_us: p.last_us,
      }),
    ),
)

export const upsertHead = (tx: Tx, head: HeadRow) => tx.runOf(upsertHeadStatement, head)

const insertCrumbStatement = statement<CrumbRow>()((k, p) =>
  k.insertInto('breadcrumbs').values({
    tenant_id: p.tenant_id,
    seq: p.seq,
    breadcrumb_id: p.breadcrumb_id,
    record: p.record,
  }),
)

export const insertCrumb = (tx: Tx, crumb: CrumbRow) => tx.runOf(insertCrumbStatement, crumb)

const insertNodeStatement = statement<Row<'chain_nodes'>>()((k, p) =>
  k
    .insertInto('chain_nodes')
    .values({ tenant_id: p.tenant_id, height: p.height, idx: p.idx, hash: p.hash }),
)

export const insertNode = (tx: Tx, node: Row<'chain_nodes'>) => tx.runOf(insertNodeStatement, node)

const leafRangeStatement = statement<{ first: number; end: number }>()((k, p) =>
  k
    .selectFrom('breadcrumbs')
    .select('breadcrumb_id')
    .where('tenant_id', '=', p.tenant_id)
    .where('seq', '>=', p.first)
    .where('seq', '<', p.end)
    .orderBy('seq'),
)

/** Leaf hashes of seq in [first, end): a breadcrumb's id is its leaf hash. */
export const listLeaves = (db: TenantDb, first: number, end: number) =>
  db.allOf(leafRangeStatement, { first, end })

/** Breadcrumbs with seq in [first, end), oldest first. */
export const listCrumbs = (db: TenantDb, first: number, end: number) =>
  db.all(
    from(db, 'breadcrumbs')
      .select(['seq', 'breadcrumb_id', 'record'])
      .where('seq', '>=', first)
      .where('seq', '<', end)
      .orderBy('seq'),
  )

const EPOCH_COLUMNS = [
  'epoch_number',
  'generation',
  'tree_size',
  'root_hash',
  'checkpoint',
  'created_us',
] as const

export const findEpoch = (db: TenantDb, epoch_number: number) =>
  db.first(from(db, 'epochs').select(EPOCH_COLUMNS).where('epoch_number', '=', epoch_number))

export const findLastEpoch = (db: TenantDb) =>
  db.first(from(db, 'epochs').select(EPOCH_COLUMNS).orderBy('epoch_number', 'desc').limit(1))

export const findEpochBefore = (db: TenantDb, epoch: EpochRow) =>
  db.first(
    from(db, 'epochs')
      .select(EPOCH_COLUMNS)
      .where('generation', '=', epoch.generation)
      .where('epoch_number', '<', epoch.epoch_number)
      .orderBy('epoch_number', 'desc')
      .limit(1),
  )

export const listEpochs = (db: TenantDb, limit: number, offset: number) =>
  db.all(
    from(db, 'epochs').select(EPOCH_COLUMNS).orderBy('epoch_number').limit(limit).offset(offset),
  )

export const countEpochs = async (db: TenantDb): Promise<number> => {
  const row = await db.first(from(db, 'epochs').select((e) => e.fn.countAll<number>().as('count')))
  return Number(row?.count ?? 0)
}

/** The epoch number decides races: the second roll of one number inserts nothing. */
export async function insertEpoch(tx: Tx, epoch: EpochRow): Promise<'inserted' | 'exists'> {
  const changed = await tx.run(
    insertInto(tx, 'epochs', epoch).onConflict((c) =>
      c.columns(['tenant_id', 'epoch_number']).doNothing(),
    ),
  )
  return changed === 1 ? 'inserted' : 'exists'
}

const nodeRangeStatement = statement<{ height: number; first: number; end: number }>()((k, p) =>
  k
    .selectFrom('chain_nodes')
    .select('hash')
    .where('tenant_id', '=', p.tenant_id)
    .where('height', '=', p.height)
    .where('idx', '>=', p.first)
    .where('idx', '<', p.end)
    .orderBy('idx'),
)

/** Stored interior nodes of one height with index in [first, end). */
export const listNodes = (db: TenantDb, height: number, first: number, end: number) =>
  db.allOf(nodeRangeStatement, { height, first, end })

const crumbStatement = statement<{ seq: number }>()((k, p) =>
  k
    .selectFrom('breadcrumbs')
    .select(['seq', 'breadcrumb_id', 'record'])
    .where('tenant_id', '=', p.tenant_id)
    .where('seq', '=', p.seq),
)

export const findCrumb = (db: TenantDb, seq: number) => db.firstOf(crumbStatement, { seq })

const nodeStatement = statement<{ height: number; idx: number }>()((k, p) =>
  k
    .selectFrom('chain_nodes')
    .select('hash')
    .where('tenant_id', '=', p.tenant_id)
    .where('height', '=', p.height)
    .where('idx', '=', p.idx),
)

export const findNode = (db: TenantDb, height: number, idx: number) =>
  db.firstOf(nodeStatement, { height, idx })

/** Epochs over at least `size` leaves, in the order of their trees. */
export const findEpochs = (db: TenantDb, size: number) =>
  db.all(
    from(db, 'epochs')
      .select(EPOCH_COLUMNS)
      .where('tree_size', '>=', size)
      .orderBy('tree_size')
      .orderBy('epoch_number'),
  )
