// Execution receipts of governed decisions: their places in the chain of a workflow.

import type { Migration } from './ddl.ts'

export const receipts: Migration = {
  name: '0015-receipts',
  tables: [
    {
      name: 'cgr_receipts',
      columns: {
        tenant_id: 'text',
        seq: 'int',
        workflow: 'blob',
        step_number: 'int',
        previous: 'blob?',
        receipt_id: 'blob',
        signature: 'blob',
        key_id: 'text',
      },
      primary_key: ['tenant_id', 'seq'],
      unique: [{ columns: ['tenant_id', 'workflow', 'step_number'] }],
    },
  ],
}
