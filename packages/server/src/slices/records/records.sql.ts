// SQL of records: rows, which of them are live, and changes of status.

import type { RecordKind } from '@custos/proof'
import { pageByTime } from '../../platform/db/page-by-time.ts'
import type { Row } from '../../platform/db/schema/tables.ts'
import { from, insertInto, type TenantDb, type Tx, update } from '../../platform/db/tenant-db.ts'
import { REDACTED_SECRET } from '../../platform/kernel/sealed-column.ts'
import type { Page } from '../../platform/page.ts'

export type RecordRow = Row<'records'>

const COLUMNS = [
  'record_id',
  'kind',
  'status',
  'live',
  'content_key',
  'name_key',
  'series_id',
  'version',
  'proposal_digest',
  'policy_set',
  'request_id',
  'linked_id',
  'requested_by',
  'secret_no',
  'sealed',
  'created_us',
] as const

/** Returns `taken` if another live record has its content or name. */
export async function insertRecord(tx: Tx, row: RecordRow): Promise<'inserted' | 'taken'> {
  const inserted = await tx.run(
    insertInto(tx, 'records', row).onConflict((conflict) => conflict.doNothing()),
  )
  return inserted === 1 ? 'inserted' : 'taken'
}

export const findRow = (
  db: TenantDb,
  kind: RecordKind,
  record_id: string,
): Promise<RecordRow | undefined> =>
  db.first(
    from(db, 'records').select(COLUMNS).where('record_id', '=', record_id).where('kind', '=', kind),
  )

export const findLiveByContent = (
  db: TenantDb,
  kind: RecordKind,
  content_key: string,
): Promise<RecordRow | undefined> =>
  db.first(
    from(db, 'records')
      .select(COLUMNS)
      .where('kind', '=', kind)
      .where('content_key', '=', content_key)
      .where('live', '=', 1),
  )

/** Finds the live record of a name, which is the newest version. */
export const findLiveByName = (
  db: TenantDb,
  kind: RecordKind,
  name_key: string,
): Promise<RecordRow | undefined> =>
  db.first(
    from(db, 'records')
      .select(COLUMNS)
      .where('kind', '=', kind)
      .where('name_key', '=', name_key)
      .where('live', '=', 1)
      .orderBy('version', 'desc')
      .limit(1),
  )

/** One version of a type; without a number the newest. */
export function findTypeVersion(
  db: TenantDb,
  type_id: string,
  version: number | undefined,
): Promise<RecordRow | undefined> {
  const rows = from(db, 'records')
    .select(COLUMNS)
    .where('kind', '=', 'world_type')
    .where('series_id', '=', type_id)
  return db.first(
    version === undefined
      ? rows.orderBy('version', 'desc').limit(1)
      : rows.where('version', '=', version),
  )
}

const newestTypes = (db: TenantDb) =>
  from(db, 'records').where('kind', '=', 'world_type').where('live', '=', 1)

/** The record ids of the newest versions of types. */
export async function listTypeIds(db: TenantDb, limit: number): Promise<string[]> {
  const rows = await db.all(newestTypes(db).select('record_id').orderBy('record_id').limit(limit))
  return rows.map(({ record_id }) => record_id)
}

export async function countTypes(db: TenantDb): Promise<number> {
  const row = await db.first(newestTypes(db).select((e) => e.fn.countAll<number>().as('count')))
  return Number(row?.count ?? 0)
}

/** Newest first, without denied and expired records. */
export async function listIdsByName(
  db: TenantDb,
  kind: RecordKind,
  { name_key, limit }: { name_key: string; limit: number },
): Promise<string[]> {
  const rows = await db.all(
    from(db, 'records')
      .select('record_id')
      .where('kind', '=', kind)
      .where('name_key', '=', name_key)
      .where('status', 'not in', ['denied', 'expired'])
      .orderBy('created_us', 'desc')
      .orderBy('record_id')
      .limit(limit),
  )
  return rows.map(({ record_id }) => record_id)
}

/** In no particular order. */
export const findRows = (
  db: TenantDb,
  kind: RecordKind,
  record_ids: readonly string[],
): Promise<RecordRow[]> =>
  db.all(
    from(db, 'records')
      .select(COLUMNS)
      .where('record_id', 'in', record_ids)
      .where('kind', '=', kind),
  )

/** Newest first. */
export const listIds = (
  db: TenantDb,
  kind: RecordKind,
  page: Pick<Page, 'limit' | 'offset' | 'after'>,
): Promise<Pick<RecordRow, 'record_id' | 'created_us'>[]> =>
  db.all(
    pageByTime(
      from(db, 'records').select(['record_id', 'created_us']).where('kind', '=', kind),
      { time: 'created_us', order: 'newest', id: 'record_id' },
      page,
    ),
  )

export async function countByStatus(
  db: TenantDb,
  kind: RecordKind,
): Promise<Record<string, number>> {
  const rows = await db.all(
    from(db, 'records')
      .select((e) => ['status', e.fn.countAll<number>().as('count')])
      .where('kind', '=', kind)
      .groupBy('status')
      .orderBy('status'),
  )
  return Object.fromEntries(rows.map(({ status, count }) => [status, Number(count)]))
}

interface StatusChange {
  readonly record_id: string
  /** The secret that the row was opened with, if given: a redaction replaces it. */
  readonly secret_no?: number
  readonly from: string
  readonly to: string
  readonly live: 0 | 1
}

/** Returns false if the status is not `from`. */
export async function updateStatus(
  tx: Tx,
  { record_id, secret_no, from: before, to, live }: StatusChange,
  more: { sealed?: Uint8Array; linked_id?: string; policy_set?: number } = {},
): Promise<boolean> {
  const query = update(tx, 'records')
    .set({ status: to, live, ...more })
    .where('record_id', '=', record_id)
    .where('status', '=', before)
  const changed = await tx.run(
    secret_no === undefined ? query : query.where('secret_no', '=', secret_no),
  )
  return changed === 1
}

/** Runs before the next version is inserted. Returns false if another request inserted it. */
export async function endLiveVersion(tx: Tx, record_id: string): Promise<boolean> {
  const changed = await tx.run(
    update(tx, 'records').set({ live: 0 }).where('record_id', '=', record_id).where('live', '=', 1),
  )
  return changed === 1
}

/** A batch of records of a kind, ordered by id. */
export const listRowsOfKind = (
  db: TenantDb,
  kind: RecordKind,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<RecordRow[]> =>
  db.all(
    from(db, 'records')
      .select(COLUMNS)
      .where('kind', '=', kind)
      .where('record_id', '>', after)
      .orderBy('record_id')
      .limit(limit),
  )

/** Clears the keys, so that neither name nor content finds the record any more. */
export const updateRedactedRecord = (tx: Tx, record_id: string, sealed: Uint8Array) =>
  tx.run(
    update(tx, 'records')
      .set({ sealed, secret_no: REDACTED_SECRET, content_key: null, name_key: null, live: 0 })
      .where('record_id', '=', record_id),
  )

/** A batch of all records by id, for the consistency check. */
export const listAllRows = (db: TenantDb, after: string, limit: number): Promise<RecordRow[]> =>
  db.all(
    from(db, 'records')
      .select(COLUMNS)
      .where('record_id', '>', after)
      .orderBy('record_id')
      .limit(limit),
  )
