// SQL of the audit log: heads, entries, interior nodes, epochs.

import type { EventType } from '@custos/contract'
import { sql } from 'kysely'
import { insertRowsStatement } from '../../platform/db/bulk-statements.ts'
import type { Database } from '../../platform/db/database.ts'
import { firstRowPerTenant, listTenantsWith } from '../../platform/db/engines/first-of-each.ts'
import type { Row } from '../../platform/db/schema/tables.ts'
import { statement } from '../../platform/db/statement.ts'
import { from, insertInto, type TenantDb, type Tx } from '../../platform/db/tenant-db.ts'

export type EpochRow = Row<'epochs'>

const headStatement = statement<object>()((k, p) =>
  k
    .selectFrom('chain_heads')
    .select(['generation', 'size', 'frontier', 'last_id', 'last_us'])
    .where('tenant_id', '=', p.tenant_id),
)

export const findHead = (db: TenantDb) => db.firstOf(headStatement, {})

/** The position of the last log entry on the snapshot; null: the log is empty. */
export async function findLastSeq(db: TenantDb): Promise<number | null> {
  const head = await findHead(db)
  return head && head.size > 0 ? head.size - 1 : null
}

const openHeadStatement = statement<object>()((k, p) =>
  k
    .selectFrom('chain_heads')
    .leftJoin('destructions', 'destructions.tenant_id', 'chain_heads.tenant_id')
    .select(['generation', 'size', 'frontier', 'last_id', 'last_us'])
    .select('destructions.tenant_id as destroyed')
    .where('chain_heads.tenant_id', '=', p.tenant_id),
)

/** The head, and whether the tenant is being off-boarded, in which case nothing may be appended. */
export const findOpenHead = (db: TenantDb) => db.firstOf(openHeadStatement, {})

/** The heads of many tenants, by tenant. */
export const findHeads = (
  db: Database,
  tenants: readonly string[],
): Promise<Map<string, Row<'chain_heads'>>> =>
  firstRowPerTenant(
    db,
    headStatement,
    tenants.map((tenant_id) => ({ tenant_id, params: {} })),
  )

const grownStatement = statement<object>()((k, p) =>
  k
    .selectFrom('chain_heads')
    .select('size')
    .where('tenant_id', '=', p.tenant_id)
    .where((e) =>
      e(
        'size',
        '<>',
        e.fn.coalesce(
          e
            .selectFrom('epochs')
            .select('tree_size')
            .where('epochs.tenant_id', '=', p.tenant_id)
            .whereRef('epochs.generation', '=', 'chain_heads.generation')
            .orderBy('epoch_number', 'desc')
            .limit((one) => one.lit(1)),
          e.lit(0),
        ),
      ),
    ),
)

/** Returns the `tenants` whose last checkpoint does not cover their whole log. */
export const listGrownLogs = (db: Database, tenants: readonly string[]): Promise<string[]> =>
  listTenantsWith(db, tenants, { statement: grownStatement, params: {} })

const upsertHeadStatement = statement<Row<'chain_heads'>>()((k, p) =>
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

export const upsertHead = (tx: Tx, head: Row<'chain_heads'>) => tx.runOf(upsertHeadStatement, head)

export const insertCrumbs = insertRowsStatement<Row<'breadcrumbs'>>((k, rows, tenant_id) =>
  k.insertInto('breadcrumbs').values(
    rows.map((row) => ({
      tenant_id,
      seq: row.seq,
      breadcrumb_id: row.breadcrumb_id,
      record: row.record,
    })),
  ),
)

/** Heights of stored interior nodes, so that a proof reads few rows (measured). */
export const STORED_HEIGHTS = [8, 16, 24, 32] as const

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

/** Leaf hashes of seqs in [first, end). The id of an entry is its leaf hash. */
export const listLeaves = (db: TenantDb, first: number, end: number) =>
  db.allOf(leafRangeStatement, { first, end })

/** Entries with seq in [first, end), oldest first. */
export const listCrumbs = (db: TenantDb, first: number, end: number) =>
  db.all(
    from(db, 'breadcrumbs')
      .select(['seq', 'breadcrumb_id', 'record'])
      .where('seq', '>=', first)
      .where('seq', '<', end)
      .orderBy('seq'),
  )

/** Options of a page of the log. */
export interface LogPageOptions {
  readonly first_seq: number
  readonly limit: number
  /** `null` for all event types. */
  readonly events: readonly EventType[] | null
}

// The event is at the same offset in every record: keys are ordered and times have one length. An
// indexed column would cost every append, while scanning 10,000 entries takes 4 ms.
const BEFORE_EVENT = '{"created_at":"2026-01-01T00:00:00.000000Z","event_type":"'.length

/** Reads the event of a record that `appendCrumb` wrote. */
const eventOf = (record: string): string =>
  record.slice(BEFORE_EVENT, record.indexOf('"', BEFORE_EVENT))

/** The first entries with seq in [first_seq, end_seq) and one of the events, oldest first. */
export async function listEntries(
  db: TenantDb,
  { first_seq, limit, events }: LogPageOptions,
  end_seq: number,
) {
  const query = from(db, 'breadcrumbs')
    .select(['seq', 'breadcrumb_id', 'record'])
    .where('seq', '>=', first_seq)
    .where('seq', '<', end_seq)
    .orderBy('seq')
    .limit(limit)
  const rows = await db.all(events === null ? query : query.where(isOneOf(events)))
  return rows.map((row) => ({ ...row, event_type: eventOf(row.record) }))
}

/** Includes the closing quote, so that no event matches another that it is a prefix of. */
function isOneOf(events: readonly EventType[]) {
  const quoted = Map.groupBy(
    events.map((event) => `${event}"`),
    ({ length }) => length,
  )
  const parts = [...quoted].map(([length, same]) => {
    const event = sql<string>`substr(record, ${sql.lit(BEFORE_EVENT + 1)}, ${sql.lit(length)})`
    return sql<boolean>`${event} in (${sql.join(same)})`
  })
  return parts.length === 0 ? sql<boolean>`1 = 0` : sql<boolean>`(${sql.join(parts, sql` or `)})`
}

const EPOCH_COLUMNS = [
  'epoch_number',
  'generation',
  'tree_size',
  'root_hash',
  'checkpoint',
  'created_us',
] as const

const epochStatement = statement<{ epoch_number: number }>()((k, p) =>
  k
    .selectFrom('epochs')
    .select(EPOCH_COLUMNS)
    .select(({ selectFrom, fn }) => [
      selectFrom('cosignatures')
        .select(fn.min('created_us').as('first_us'))
        .where('tenant_id', '=', p.tenant_id)
        .where('epoch_number', '=', p.epoch_number)
        .as('cosigned_us'),
      selectFrom('epoch_timestamps')
        .select('stamped_us')
        .where('tenant_id', '=', p.tenant_id)
        .where('epoch_number', '=', p.epoch_number)
        .as('stamped_us'),
    ])
    .where('tenant_id', '=', p.tenant_id)
    .where('epoch_number', '=', p.epoch_number),
)

/** Includes signatures of others: `cosigned_us` and `stamped_us` are null if there are none. */
export const findEpoch = (db: TenantDb, epoch_number: number) =>
  db.firstOf(epochStatement, { epoch_number })

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

/** The epoch number decides races: a second insertion of one number inserts nothing. */
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

/** Epochs over at least `size` leaves, ordered by tree size. */
export const findEpochs = (db: TenantDb, size: number) =>
  db.all(
    from(db, 'epochs')
      .select(EPOCH_COLUMNS)
      .where('tree_size', '>=', size)
      .orderBy('tree_size')
      .orderBy('epoch_number'),
  )
