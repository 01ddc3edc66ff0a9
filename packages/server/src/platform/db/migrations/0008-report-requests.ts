// Reports asked for and not made yet: the caller's words are here, the job has ids and numbers.

import type { Migration } from './ddl.ts'

export const reportRequests: Migration = {
  name: '0008-report-requests',
  tables: [
    {
      name: 'report_requests',
      columns: {
        tenant_id: 'text',
        report_id: 'blob',
        secret_no: 'int',
        sealed_title: 'blob',
      },
      primary_key: ['tenant_id', 'report_id'],
      indexes: [{ columns: ['tenant_id', 'secret_no'] }],
    },
  ],
}
