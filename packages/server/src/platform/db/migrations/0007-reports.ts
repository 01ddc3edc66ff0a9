// Reports: what they say is sealed; a tombstone stays of those deleted.

import type { Migration } from './ddl.ts'

export const reports: Migration = {
  name: '0007-reports',
  tables: [
    {
      name: 'reports',
      columns: {
        tenant_id: 'text',
        seq: 'int',
        report_id: 'blob',
        report_type: 'text',
        overall_finding: 'text',
        period_start_us: 'int',
        period_end_us: 'int',
        log_seq: 'int',
        content_hash: 'blob',
        size_bytes: 'int',
        created_us: 'int',
        deleted_us: 'int?',
        secret_no: 'int',
        sealed_title: 'blob?',
        sealed: 'blob?',
      },
      primary_key: ['tenant_id', 'seq'],
      unique: [{ columns: ['tenant_id', 'report_id'] }],
      indexes: [{ columns: ['tenant_id', 'secret_no'] }],
    },
  ],
}
