// Execution receipts in the data: each is the one that its decision was given, signed, and follows
// the one before it in its workflow.

import { RECEIPT_PURPOSE, receiptId, verifyEd25519 } from '@custos/proof'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { REDACTED_SECRET } from '../../../platform/kernel/sealed-column.ts'
import { hexOf, hexOrNull, workflowLabel } from '../rows/labels.ts'
import { openPayload } from '../rows/sealed-payload.ts'
import { type draftReceipt, membersOf, workflowOf } from './execution-receipt.ts'
import { listWithReceipts } from './receipts.sql.ts'

const CHUNK = 200

export async function* checkReceipts(
  kernel: Pick<Kernel, 'keyring'>,
  db: TenantDb,
): AsyncGenerator<{ readonly decision_id: string; readonly fault: string }> {
  for (let after = -1; ; ) {
    const rows = await listWithReceipts(db, after, CHUNK)
    const opened = await openPayloads(kernel, db.tenant_id, rows)
    for (const [i, row] of rows.entries())
      for (const fault of await findFaults(kernel, db.tenant_id, row, opened[i]))
        yield { decision_id: hexOf(row.decision_id), fault }
    after = rows.at(-1)?.seq ?? after
    if (rows.length < CHUNK) return
  }
}

function openPayloads(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  rows: Awaited<ReturnType<typeof listWithReceipts>>,
) {
  const payloads = rows.map(({ decision_id, secret_no, sealed }) => {
    return { place: { column: 'decision', id: hexOf(decision_id) } as const, secret_no, sealed }
  })
  return openPayload<{
    readonly record: Parameters<typeof membersOf>[0]['decided']
    readonly receipt?: ReturnType<typeof draftReceipt>
  }>(kernel, tenant_id, payloads)
}

async function findFaults(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  row: Parameters<typeof openPayloads>[2][number],
  opened: Awaited<ReturnType<typeof openPayloads>>[number] | undefined,
): Promise<string[]> {
  if (!opened) return ['the seal does not open']
  const { receipt_id, workflow, before_id, previous } = row
  const { record, receipt: draft } = opened
  // Decisions of earlier versions have none.
  if (receipt_id === null || workflow === null) return draft ? ['has no receipt'] : []
  const faults: string[] = []
  const step_number = row.step_number ?? 0
  const keys = await kernel.keyring.tenant(tenant_id)
  if (hexOf(workflow) !== hexOf(workflowLabel(keys, workflowOf(record))))
    faults.push('the receipt is of another workflow')
  if (hexOrNull(previous) !== hexOrNull(before_id) || (previous === null) !== (step_number === 0))
    faults.push('the receipt does not follow the one before it')
  // What a redacted decision hashed is destroyed; its id is signed still.
  if (draft) {
    const made = { decided: record, draft, recorded_us: row.recorded_us }
    if (receiptId(membersOf(made, { step_number, previous })) !== hexOf(receipt_id))
      faults.push('the receipt is not the one of the decision')
  } else if (row.secret_no !== REDACTED_SECRET) faults.push('what the receipt hashed is missing')
  if (!(await isSigned(kernel, row))) faults.push('the signature of the receipt does not verify')
  return faults
}

async function isSigned(
  { keyring }: Pick<Kernel, 'keyring'>,
  { key_id, signature, receipt_id }: Parameters<typeof findFaults>[2],
): Promise<boolean> {
  const key = keyring
    .publishedKeys()
    .find((one) => one.key_id === key_id && one.purpose === RECEIPT_PURPOSE)
  if (!key || signature === null || receipt_id === null) return false
  return verifyEd25519(Buffer.from(key.public_key, 'hex'), receipt_id, signature)
}
