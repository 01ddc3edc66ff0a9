// SQL of idempotency records, which never contain the key or the body.

import type { Row } from './schema/tables.ts'
import { statement } from './statement.ts'
import { deleteFrom, type TenantDb, type Tx } from './tenant-db.ts'

export type IdempotencyRow = Row<'idempotency'>

const findStatement = statement<{ key_label: Uint8Array }>()((k, p) =>
  k
    .selectFrom('idempotency')
    .select(['key_label', 'operation', 'status', 'ids', 'body_mac', 'body_day', 'created_us'])
    .where('tenant_id', '=', p.tenant_id)
    .where('key_label', '=', p.key_label),
)

export const findRecord = (
  db: TenantDb,
  key_label: Uint8Array,
): Promise<IdempotencyRow | undefined> => db.firstOf(findStatement, { key_label })

const insertStatement = statement<IdempotencyRow>()((k, p) =>
  k.insertInto('idempotency').values({
    tenant_id: p.tenant_id,
    key_label: p.key_label,
    operation: p.operation,
    status: p.status,
    ids: p.ids,
    body_mac: p.body_mac,
    body_day: p.body_day,
    created_us: p.created_us,
  }),
)

export const insertRecord = (tx: Tx, row: IdempotencyRow) => tx.runOf(insertStatement, row)

export const deleteRecord = (tx: Tx, key_label: Uint8Array) =>
  tx.run(deleteFrom(tx, 'idempotency').where('key_label', '=', key_label))

/** For `listTenantsWith`: finds a record created before a time. */
export const anyOldStatement = statement<{ created_us: number }>()((k, p) =>
  k
    .selectFrom('idempotency')
    .select('created_us')
    .where('tenant_id', '=', p.tenant_id)
    .where('created_us', '<', p.created_us)
    .limit((e) => e.lit(1)),
)

export const deleteRecordsBefore = (tx: Tx, created_us: number) =>
  tx.run(deleteFrom(tx, 'idempotency').where('created_us', '<', created_us))
