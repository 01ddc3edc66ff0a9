// SQL of data subjects' requests: requests, their items, and the counts of a search.

import { insertRowsStatement } from '../../platform/db/bulk-statements.ts'
import type { Row, Tables } from '../../platform/db/schema/tables.ts'
import { statement } from '../../platform/db/statement.ts'
import { from, insertInto, type TenantDb, type Tx, update } from '../../platform/db/tenant-db.ts'
import type { Page } from '../../platform/page.ts'
/** A request without its manifest, which may have megabytes. */
export type RequestRow = Omit<Row<'subject_requests'>, 'manifest'>
export type ItemRow = Omit<Tables['subject_items'], 'tenant_id' | 'request_id'>

const COLUMNS = [
  'seq',
  'request_id',
  'kind',
  'status',
  'job_id',
  'find_label',
  'found_digest',
  'facts',
  'superseded_facts',
  'decisions_using',
  'decisions_naming',
  'texts',
  'held',
  'log_seq',
  'searched_seq',
  'rounds',
  'items_done',
  'items',
  'received_us',
  'due_us',
  'extended_us',
  'created_us',
  'started_us',
  'completed_us',
  'made_by',
  'secret_no',
  'sealed',
  'sealed_reason',
] as const

const IN_MAX = 500

export const insertRequest = (tx: Tx, row: Row<'subject_requests'>) =>
  tx.run(insertInto(tx, 'subject_requests', row))

export const findRequest = (
  db: TenantDb,
  request_id: Uint8Array,
): Promise<RequestRow | undefined> =>
  db.first(from(db, 'subject_requests').select(COLUMNS).where('request_id', '=', request_id))

export const findManifest = (db: TenantDb, request_id: Uint8Array) =>
  db.first(from(db, 'subject_requests').select('manifest').where('request_id', '=', request_id))

export interface RequestFilter {
  readonly kind?: string
  readonly status?: string
  /** If `is`, only requests that are open and were due before `at_us`; otherwise all others. */
  readonly overdue?: { readonly is: boolean; readonly at_us: number }
  /** Only requests made by this credential. */
  readonly made_by?: string
}

/** Newest first. */
export function listRequests(
  db: TenantDb,
  { kind, status, overdue, made_by }: RequestFilter,
  { limit, offset, after }: Pick<Page, 'limit' | 'offset' | 'after'>,
): Promise<RequestRow[]> {
  let query = from(db, 'subject_requests').select(COLUMNS)
  if (kind !== undefined) query = query.where('kind', '=', kind)
  if (status !== undefined) query = query.where('status', '=', status)
  if (made_by !== undefined) query = query.where('made_by', '=', made_by)
  if (overdue?.is === true)
    query = query.where('completed_us', 'is', null).where('due_us', '<', overdue.at_us)
  if (overdue?.is === false) {
    const { at_us } = overdue
    query = query.where((e) => e.or([e('completed_us', 'is not', null), e('due_us', '>=', at_us)]))
  }
  const paged = after === null ? query.offset(offset) : query.where('seq', '<', after.at)
  return db.all(paged.orderBy('seq', 'desc').limit(limit))
}

type RequestChange = Partial<
  Pick<
    Row<'subject_requests'>,
    | 'status'
    | 'due_us'
    | 'extended_us'
    | 'started_us'
    | 'completed_us'
    | 'searched_seq'
    | 'rounds'
    | 'items'
    | 'items_done'
    | 'sealed'
    | 'sealed_reason'
    | 'manifest'
  >
>

/** Changes a request that is not done; returns the number of changed rows. */
export const updateOpenRequest = (tx: Tx, request_id: Uint8Array, change: RequestChange) =>
  tx.run(
    update(tx, 'subject_requests')
      .set(change)
      .where('request_id', '=', request_id)
      .where('completed_us', 'is', null),
  )

const insertItemRows = insertRowsStatement<ItemRow & { readonly request_id: Uint8Array }>(
  (k, rows, tenant_id) =>
    k
      .insertInto('subject_items')
      .values(
        rows.map((row) => ({
          tenant_id,
          request_id: row.request_id,
          item: row.item,
          outcome: row.outcome,
          certificate_id: row.certificate_id,
        })),
      )
      .onConflict((conflict) => conflict.doNothing()),
)

/** Inserts items; returns how many are new. */
export async function insertItems(
  tx: Tx,
  request_id: Uint8Array,
  items: readonly string[],
): Promise<number> {
  const rows = items.map((item) => ({ request_id, item, outcome: null, certificate_id: null }))
  return (await insertItemRows(tx, rows)).reduce((sum, count) => sum + count, 0)
}

/** Items without an outcome, in order, whose names begin with `prefix`. */
export async function listOpenItems(
  db: TenantDb,
  request_id: Uint8Array,
  { prefix, limit }: { readonly prefix: string; readonly limit: number },
): Promise<string[]> {
  const rows = await db.all(
    from(db, 'subject_items')
      .select('item')
      .where('request_id', '=', request_id)
      .where('outcome', 'is', null)
      .where('item', '>=', prefix)
      // No item contains a character as high as this.
      .where('item', '<', `${prefix}~`)
      .orderBy('item')
      .limit(limit),
  )
  return rows.map(({ item }) => item)
}

export const listItems = (
  db: TenantDb,
  request_id: Uint8Array,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<ItemRow[]> =>
  db.all(
    from(db, 'subject_items')
      .select(['item', 'outcome', 'certificate_id'])
      .where('request_id', '=', request_id)
      .where('item', '>', after)
      .orderBy('item')
      .limit(limit),
  )

/** Returns the items that the request already has. */
export async function findKnownItems(
  db: TenantDb,
  request_id: Uint8Array,
  items: readonly string[],
): Promise<Set<string>> {
  const known = new Set<string>()
  for (let at = 0; at < items.length; at += IN_MAX) {
    const rows = await db.all(
      from(db, 'subject_items')
        .select('item')
        .where('request_id', '=', request_id)
        .where('item', 'in', items.slice(at, at + IN_MAX)),
    )
    for (const { item } of rows) known.add(item)
  }
  return known
}

interface ItemResult {
  readonly request_id: Uint8Array
  readonly item: string
  readonly outcome: string
  readonly certificate_id: string | null
}

const setOutcomeStatement = statement<ItemResult>()((k, p) =>
  k
    .updateTable('subject_items')
    .set({ outcome: p.outcome, certificate_id: p.certificate_id })
    .where('tenant_id', '=', p.tenant_id)
    .where('request_id', '=', p.request_id)
    .where('item', '=', p.item)
    .where('outcome', 'is', null),
)

/** Returns 1 if the item had no outcome before. */
export const setItemOutcome = (tx: Tx, settled: ItemResult) =>
  tx.runOf(setOutcomeStatement, settled)

/** Seqs of decisions that used any of the refs. */
export async function listDecisionsUsing(db: TenantDb, refs: readonly number[]): Promise<number[]> {
  const rows = await db.all(
    from(db, 'decision_facts').select('decision_seq').distinct().where('ref', 'in', refs),
  )
  return rows.map(({ decision_seq }) => decision_seq)
}

/** Every version of the valid time of these memories, oldest first. */
export const listVersions = (db: TenantDb, refs: readonly number[]) =>
  db.all(
    from(db, 'validity')
      .select([
        'ref',
        'from_seq',
        'until_seq',
        'valid_from_us',
        'valid_until_us',
        'predecessor',
        'superseded_by',
      ])
      .where('ref', 'in', refs)
      .orderBy('ref')
      .orderBy('from_seq'),
  )

/** The stores and models that decisions name, for labels. */
export const listDecisionLabels = (db: TenantDb) =>
  from(db, 'decisions')
    .select(['store_id', 'model_id'])
    .distinct()
    .orderBy('store_id')
    .orderBy('model_id')

/** A batch of all certificates, ordered by id. */
export const listRecordsAfter = (db: TenantDb, after: string, limit: number) =>
  db.all(
    from(db, 'certificates')
      .select(['certificate_id', 'record'])
      .where('certificate_id', '>', after)
      .orderBy('certificate_id')
      .limit(limit),
  )

/** All stores, ordered by id. */
export async function listStoreIds(db: TenantDb): Promise<string[]> {
  const rows = await db.all(from(db, 'stores').select('store_id').orderBy('store_id'))
  return rows.map(({ store_id }) => store_id)
}
