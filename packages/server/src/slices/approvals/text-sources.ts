// Names and roles of approvers: how requests of data subjects reach them.

import { REDACTED_SECRET } from '../../platform/kernel/sealed-column.ts'
import { REDACTED_TEXT, textSource } from '../../platform/kernel/text-source.ts'
import { type ApproverContent, approverColumn } from './approver.ts'
import {
  type ApproverRow,
  findApprover,
  listAllApprovers,
  updateRedactedApprover,
} from './approvers.sql.ts'

/** The key of a redacted approver stays: signatures that it made still verify. */
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
