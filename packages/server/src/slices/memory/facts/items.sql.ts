// SQL of keyed items: which facts are versions of which name. A row is deleted with its fact.

import { sql } from 'kysely'
import { refsStatement } from '../../../platform/db/bulk-statements.ts'
import type { Row } from '../../../platform/db/schema/tables.ts'
import { statement } from '../../../platform/db/statement.ts'
import { from, insertInto, type TenantDb, type Tx, update } from '../../../platform/db/tenant-db.ts'

export type ItemRow = Row<'items'>

const COLUMNS = [
  'store_id',
  'name_mac',
  'version',
  'ref',
  'head',
  'namespace_mac',
  'written_seq',
  'created_us',
  'item_no',
  'namespace_no',
] as const

interface NameOfStore {
  readonly store_id: string
  readonly name_mac: Uint8Array
}

const headStatement = statement<NameOfStore>()((k, p) =>
  k
    .selectFrom('items')
    .select(COLUMNS)
    .where('tenant_id', '=', p.tenant_id)
    .where('store_id', '=', p.store_id)
    .where('name_mac', '=', p.name_mac)
    .where((e) => e('head', '=', e.lit(1))),
)

/** The current version of a name. */
export const findItemHead = (db: TenantDb, name: NameOfStore): Promise<ItemRow | undefined> =>
  db.firstOf(headStatement, name)

const latestStatement = statement<NameOfStore & { seq: number }>()((k, p) =>
  k
    .selectFrom('items')
    .select(COLUMNS)
    .where('tenant_id', '=', p.tenant_id)
    .where('store_id', '=', p.store_id)
    .where('name_mac', '=', p.name_mac)
    .where('written_seq', '<=', p.seq)
    .orderBy('version', 'desc')
    .limit(1),
)

/** The last version of a name, current or not, that was written up to log position `seq`. */
export const findLatestVersion = (
  db: TenantDb,
  { store_id, name_mac, seq = Number.MAX_SAFE_INTEGER }: NameOfStore & { seq?: number },
): Promise<ItemRow | undefined> => db.firstOf(latestStatement, { store_id, name_mac, seq })

/** Refs of every version of a name, the oldest first. */
export async function listVersionRefs(
  db: TenantDb,
  { store_id, name_mac }: NameOfStore,
): Promise<number[]> {
  const rows = await db.all(
    from(db, 'items')
      .select('ref')
      .where('store_id', '=', store_id)
      .where('name_mac', '=', name_mac)
      .orderBy('version'),
  )
  return rows.map(({ ref }) => ref)
}

/** How many current versions are listed at once. */
export const HEADS_MAX = 500
const SAMPLES_MAX = 100
/** The namespace that the recursive walk has reached. */
const FOUND = sql.ref<Uint8Array>('found.mac')

const headsStatement = statement<{ store_id: string; namespace_mac: Uint8Array; after: number }>()(
  (k, p) =>
    k
      .selectFrom('items')
      .select(COLUMNS)
      .where('tenant_id', '=', p.tenant_id)
      .where('store_id', '=', p.store_id)
      .where('namespace_mac', '=', p.namespace_mac)
      .where('item_no', '>', p.after)
      .where((e) => e('head', '=', e.lit(1)))
      .orderBy('item_no')
      .limit(HEADS_MAX),
)

/** A page of a namespace's current versions with `item_no` above `after`, by first put. */
export const listItemHeads = (
  db: TenantDb,
  within: { readonly store_id: string; readonly namespace_mac: Uint8Array },
  after: number,
): Promise<ItemRow[]> => db.allOf(headsStatement, { ...within, after })

// Walks the index from one namespace to the next; grouping would read every item of the store.
const samplesStatement = statement<{ store_id: string; after: Uint8Array }>()((k, p) => {
  const heads = k
    .selectFrom('items')
    .where('items.tenant_id', '=', p.tenant_id)
    .where('items.store_id', '=', p.store_id)
    .where((e) => e('items.head', '=', e.lit(1)))
  const next = heads
    .select('items.namespace_mac')
    .orderBy('items.namespace_mac')
    .orderBy('items.item_no')
    .limit(1)
  const sample = heads.where('items.namespace_mac', '=', FOUND).orderBy('items.item_no').limit(1)
  return k
    .withRecursive('found(mac, place)', (walk) =>
      walk
        .selectNoFrom((e) => [
          next.where('items.namespace_mac', '>', p.after).as('mac'),
          e.lit(1).as('place'),
        ])
        .unionAll(
          walk
            .selectFrom('found')
            .select((e) => [
              next.where('items.namespace_mac', '>', FOUND).as('mac'),
              e('found.place', '+', e.lit(1)).as('place'),
            ])
            .where('found.mac', 'is not', null)
            .where((e) => e('found.place', '<', e.lit(SAMPLES_MAX))),
        ),
    )
    .selectFrom('found')
    .select([
      FOUND.as('namespace_mac'),
      sql<number>`${sample.select('items.namespace_no')}`.as('namespace_no'),
      sql<number>`${sample.select('items.ref')}`.as('ref'),
    ])
    .where('found.mac', 'is not', null)
    .orderBy('found.place')
})

/**
 * Lists up to SAMPLES_MAX namespaces that have a current version, with one of these versions each.
 * They are ordered by digest and begin after the digest `after`. An empty result means the end.
 */
export const listNamespaceSamples = (db: TenantDb, store_id: string, after: Uint8Array) =>
  db.allOf(samplesStatement, { store_id, after })

/**
 * Returns the numbers that a new item and its namespace get. They order items and namespaces by
 * their first put. A known namespace keeps its number.
 */
export async function findPlaces(
  db: TenantDb,
  store_id: string,
  namespace_mac: Uint8Array,
): Promise<{ item_no: number; namespace_no: number }> {
  const ofStore = from(db, 'items').where('store_id', '=', store_id)
  const last = await db.first(ofStore.select('item_no').orderBy('item_no', 'desc').limit(1))
  const same = await db.first(
    ofStore.select('namespace_no').where('namespace_mac', '=', namespace_mac).limit(1),
  )
  const item_no = (last?.item_no ?? 0) + 1
  return { item_no, namespace_no: same?.namespace_no ?? item_no }
}

/** Marks a version as no longer current. */
export const endItemHead = (tx: Tx, ref: number) =>
  tx.run(update(tx, 'items').set({ head: 0 }).where('ref', '=', ref))

export const insertItem = (tx: Tx, row: ItemRow) => tx.run(insertInto(tx, 'items', row))

const ofRefsStatement = refsStatement()((k, p, isListed) =>
  k.selectFrom('items').select(['ref']).where('tenant_id', '=', p.tenant_id).where(isListed),
)

/** Returns the refs that are versions of items. */
export const findItemRefs = async (db: TenantDb, refs: readonly number[]): Promise<Set<number>> =>
  new Set((await ofRefsStatement.all(db, refs, {})).map(({ ref }) => ref))

const deleteStatement = refsStatement()((k, p, isListed) =>
  k.deleteFrom('items').where('tenant_id', '=', p.tenant_id).where(isListed),
)

export const deleteItems = (tx: Tx, refs: readonly number[]) => deleteStatement.run(tx, refs, {})
