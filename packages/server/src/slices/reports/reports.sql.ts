// SQL of reports: their rows, and the tombstones of deleted reports.

import type { Row } from '../../platform/db/schema/tables.ts'
import {
  deleteFrom,
  from,
  insertInto,
  type TenantDb,
  type Tx,
  update,
} from '../../platform/db/tenant-db.ts'
import { REDACTED_SECRET } from '../../platform/kernel/sealed-column.ts'
import type { Page } from '../../platform/page.ts'

export type ReportRow = Row<'reports'>
/** A report without its document. */
export type SummaryRow = Omit<ReportRow, 'sealed'>

const SUMMARY = [
  'seq',
  'report_id',
  'report_type',
  'overall_finding',
  'period_start_us',
  'period_end_us',
  'log_seq',
  'content_hash',
  'size_bytes',
  'created_us',
  'deleted_us',
  'secret_no',
  'sealed_title',
] as const

export const insertReport = (tx: Tx, row: ReportRow) => tx.run(insertInto(tx, 'reports', row))

export const findReport = (db: TenantDb, report_id: Uint8Array): Promise<ReportRow | undefined> =>
  db.first(
    from(db, 'reports')
      .select([...SUMMARY, 'sealed'])
      .where('report_id', '=', report_id),
  )

/** Newest first. */
export function listReports(
  db: TenantDb,
  {
    limit,
    offset,
    after,
    include_deleted,
  }: Pick<Page, 'limit' | 'offset' | 'after'> & { readonly include_deleted: boolean },
): Promise<SummaryRow[]> {
  const all = from(db, 'reports').select(SUMMARY)
  const rows = include_deleted ? all : all.where('deleted_us', 'is', null)
  const paged = after === null ? rows.offset(offset) : rows.where('seq', '<', after.at)
  return db.all(paged.orderBy('seq', 'desc').limit(limit))
}

/** Deletes the content of a report. Its time, subject and digest remain. */
export const deleteReport = (tx: Tx, report_id: Uint8Array, deleted_us: number): Promise<number> =>
  tx.run(
    update(tx, 'reports')
      .set({ deleted_us, sealed: null, sealed_title: null })
      .where('report_id', '=', report_id)
      .where('deleted_us', 'is', null),
  )

/** A batch of the reports that are not deleted, in log order. */
export const listSealedReports = (db: TenantDb, seq: number, limit: number): Promise<ReportRow[]> =>
  db.all(
    from(db, 'reports')
      .select([...SUMMARY, 'sealed'])
      .where('deleted_us', 'is', null)
      .where('seq', '>', seq)
      .orderBy('seq')
      .limit(limit),
  )

export const updateRedactedReport = (tx: Tx, report_id: Uint8Array) =>
  tx.run(
    update(tx, 'reports')
      .set({ deleted_us: tx.now(), secret_no: REDACTED_SECRET, sealed: null, sealed_title: null })
      .where('report_id', '=', report_id),
  )

export const countReports = (db: TenantDb) =>
  db.all(
    from(db, 'reports')
      .select((e) => [
        'report_type',
        e.fn.countAll<number>().as('count'),
        e.fn.count<number>('deleted_us').as('deleted'),
        e.fn.max('created_us').as('newest_us'),
      ])
      .groupBy('report_type')
      .orderBy('report_type'),
  )

export type RequestRow = Row<'report_requests'>

export const insertRequest = (tx: Tx, row: RequestRow) =>
  tx.run(insertInto(tx, 'report_requests', row))

export const findRequest = (db: TenantDb, report_id: Uint8Array): Promise<RequestRow | undefined> =>
  db.first(
    from(db, 'report_requests')
      .select(['report_id', 'secret_no', 'sealed_title'])
      .where('report_id', '=', report_id),
  )

export const deleteRequest = (tx: Tx, report_id: Uint8Array): Promise<number> =>
  tx.run(deleteFrom(tx, 'report_requests').where('report_id', '=', report_id))
