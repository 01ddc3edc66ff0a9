// Off-boarding: which tenants are destroyed or about to be, and the certificates of it.

import type { Migration } from './ddl.ts'

export const offboarding: Migration = {
  name: '0011-offboarding',
  tables: [
    {
      name: 'destructions',
      columns: {
        tenant_id: 'text',
        certificate_id: 'text',
        requested_us: 'int',
        reasons: 'text',
        log_seq: 'int?',
        destroyed_us: 'int?',
        record: 'text?',
        job_id: 'text?',
        removed_us: 'int?',
      },
      primary_key: ['tenant_id'],
    },
  ],
  // What callers named there goes with the tenant.
  grants: [
    { table: 'credentials', rights: 'update (name)' },
    { table: 'jobs', rights: 'delete' },
    { table: 'policy_sets', rights: 'delete' },
  ],
}
