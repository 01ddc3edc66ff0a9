// SQL of reports that are being made: their titles, which are the caller's words.

import type { Tables } from '../../platform/db/schema/tables.ts'
import {
  deleteFrom,
  from,
  insertInto,
  type TenantDb,
  type Tx,
} from '../../platform/db/tenant-db.ts'

export type RequestRow = Omit<Tables['report_requests'], 'tenant_id'>

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
