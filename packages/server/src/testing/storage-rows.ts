// Rows that the storage suite writes and the looks it takes at them.

import type { Database } from '../platform/db/database.ts'
import { from, insertInto, type TenantDb, type Tx } from '../platform/db/tenant-db.ts'

export interface Storage {
  readonly db: Database
  /** Another process of the same data; the same engine where there can be only one. */
  readonly second: Database
  close(): Promise<void>
}

/** What is promised, and what shows it on an empty database. */
export type Guarantees = Readonly<Record<string, (storage: Storage) => Promise<void>>>

export const usageRow = (operation: string, count = 1) => ({
  period: '2026-01',
  operation,
  count,
  bytes: 0,
})

export const put = (tx: Tx, operation: string, count = 1) =>
  tx.run(insertInto(tx, 'usage', usageRow(operation, count)))

export const listOperations = async (db: TenantDb): Promise<string[]> => {
  const rows = await db.all(from(db, 'usage').select('operation').orderBy('operation'))
  return rows.map(({ operation }) => operation)
}

export const operations = (db: Database, tenant_id = 't1') => db.read(tenant_id, listOperations)

export const readCount = (db: Database, operation: string) =>
  db.read('t1', (r) => r.first(from(r, 'usage').select('count').where('operation', '=', operation)))
