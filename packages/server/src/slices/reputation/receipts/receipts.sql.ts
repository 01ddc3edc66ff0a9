// SQL of execution receipts: the last one of a workflow, and a new one.

import type { Tables } from '../../../platform/db/schema/tables.ts'
import { statement } from '../../../platform/db/statement.ts'
import type { TenantDb, Tx } from '../../../platform/db/tenant-db.ts'

const lastStatement = statement<{ workflow: Uint8Array }>()((k, p) =>
  k
    .selectFrom('cgr_receipts')
    .select(['step_number', 'receipt_id'])
    .where('tenant_id', '=', p.tenant_id)
    .where('workflow', '=', p.workflow)
    .orderBy('step_number', 'desc')
    .limit(1),
)

export const findLastReceipt = (db: TenantDb, workflow: Uint8Array) =>
  db.firstOf(lastStatement, { workflow })

const insertStatement = statement<Omit<Tables['cgr_receipts'], 'tenant_id'>>()((k, p) =>
  k.insertInto('cgr_receipts').values({
    tenant_id: p.tenant_id,
    seq: p.seq,
    workflow: p.workflow,
    step_number: p.step_number,
    previous: p.previous,
    receipt_id: p.receipt_id,
    signature: p.signature,
    key_id: p.key_id,
  }),
)

export const insertReceipt = (tx: Tx, row: Omit<Tables['cgr_receipts'], 'tenant_id'>) =>
  tx.runOf(insertStatement, row)
