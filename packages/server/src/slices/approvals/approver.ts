// Approvers: their sealed content, how they are shown, their log entries, and how subject requests
// reach their names and roles.

import { hash } from 'node:crypto'
import type { Approver } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { jsonPayload, REDACTED_SECRET, sealedColumn } from '../../platform/kernel/sealed-column.ts'
import { REDACTED_TEXT, textSource } from '../../platform/kernel/text-source.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import {
  type ApproverRow,
  findApprover,
  listAllApprovers,
  updateRedactedApprover,
} from './approvers.sql.ts'

/** What a caller wrote about a person. Sealed. */
export type ApproverContent = { readonly name: string; readonly role: string | null }

export const approverColumn = sealedColumn({
  domain: 'approver',
  // The ids of records and approval requests have the kind in the second place. An approver has no
  // kind, so it has an empty text there.
  ids: (tenant_id, { approver_id }: Pick<ApproverRow, 'approver_id'>) => [
    tenant_id,
    '',
    approver_id,
  ],
  payload: jsonPayload<ApproverContent>(),
})

/** Opens approvers in the order of `rows`. Refuses if one of them does not open. */
export const openApprovers = (kernel: Kernel, tenant_id: string, rows: readonly ApproverRow[]) =>
  approverColumn.loadAll(kernel, tenant_id, rows, 'an approver')

export async function showApprovers(
  kernel: Kernel,
  tenant_id: string,
  rows: readonly ApproverRow[],
): Promise<Approver[]> {
  const opened = await openApprovers(kernel, tenant_id, rows)
  return opened.map(({ row, content }) => showApprover(row, content))
}

export const showApprover = (row: ApproverRow, { name, role }: ApproverContent): Approver => ({
  approver_id: row.approver_id,
  name,
  role,
  public_key: Buffer.from(row.public_key).toString('hex'),
  active: row.active === 1,
  created_at: formatTime(row.created_us),
  updated_at: formatTime(row.changed_us),
})

export type ApproverEvent = 'approver.enrolled' | 'approver.updated' | 'approver.revoked'

export const appendApproverEvent = (
  tx: Tx,
  event_type: ApproverEvent,
  { row, changed_by }: { row: ApproverRow; changed_by: string },
) =>
  appendCrumb(tx, {
    event_type,
    subject: row.approver_id,
    payload: {
      key_digest: hash('sha256', row.public_key, 'hex'),
      active: row.active === 1,
      changed_by,
    },
  })

/** A redacted approver keeps its key, so that its signatures still verify. */
export const approverTextSource = textSource<ApproverRow, ApproverContent>({
  kind: 'approver',
  replaceable: true,
  list: (db, after, limit) => listAllApprovers(db, after?.approver_id ?? '', limit),
  find: findApprover,
  idOf: ({ approver_id }) => approver_id,
  createdUs: ({ created_us }) => created_us,
  open: (kernel, tenant_id, rows) => approverColumn.openAll(kernel, tenant_id, rows),
  redact: async (kernel, tenant_id, { row }) => {
    const left = { name: REDACTED_TEXT, role: null }
    return [await approverColumn.sealRedacted(kernel, tenant_id, row, left)]
  },
  update: (tx, { approver_id }, [sealed]) =>
    updateRedactedApprover(tx, approver_id, { sealed, secret_no: REDACTED_SECRET }),
})
