// SQL of execution receipts: the last one of a workflow, inserts, and all with their decisions.

import type { Row } from '../../../platform/db/schema/tables.ts'
import { statement } from '../../../platform/db/statement.ts'
import { from, type TenantDb, type Tx } from '../../../platform/db/tenant-db.ts'

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

const insertStatement = statement<Row<'cgr_receipts'>>()((k, p) =>
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

export const insertReceipt = (tx: Tx, row: Row<'cgr_receipts'>) => tx.runOf(insertStatement, row)

/** A batch of decisions in log order, each with its receipt and the receipt before it. */
export const listWithReceipts = (db: TenantDb, after_seq: number, limit: number) =>
  db.all(
    from(db, 'cgr_decisions')
      .leftJoin('cgr_receipts as receipt', (join) =>
        join
          .onRef('receipt.tenant_id', '=', 'cgr_decisions.tenant_id')
          .onRef('receipt.seq', '=', 'cgr_decisions.seq'),
      )
      .leftJoin('cgr_receipts as before', (join) =>
        join
          .onRef('before.tenant_id', '=', 'receipt.tenant_id')
          .onRef('before.workflow', '=', 'receipt.workflow')
          .on('before.step_number', '=', (e) => e('receipt.step_number', '-', 1)),
      )
      .select(['cgr_decisions.seq', 'decision_id', 'recorded_us', 'secret_no', 'sealed'])
      .select(['receipt.workflow', 'receipt.step_number', 'receipt.previous'])
      .select(['receipt.receipt_id', 'receipt.signature', 'receipt.key_id'])
      .select('before.receipt_id as before_id')
      .where('cgr_decisions.seq', '>', after_seq)
      .orderBy('cgr_decisions.seq')
      .limit(limit),
  )
