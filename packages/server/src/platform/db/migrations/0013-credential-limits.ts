// Credentials that are limited to a namespace, and tokens with the key that made them.

import type { Migration } from './ddl.ts'

export const credentialLimits: Migration = {
  name: '0013-credential-limits',
  tables: [
    {
      name: 'credential_limits',
      columns: {
        key_id: 'text',
        tenant_id: 'text',
        maker_id: 'text?',
        secret_no: 'int',
        sealed: 'blob',
        ends_us: 'int?',
      },
      primary_key: ['key_id'],
      indexes: [{ columns: ['tenant_id', 'secret_no'] }, { columns: ['ends_us'] }],
    },
  ],
  indexes: [
    // A page of a namespace, however many other memories its store has. The root needs none.
    {
      table: 'facts',
      columns: ['tenant_id', 'store_id', 'namespace', 'ref'],
      where: 'namespace is not null',
    },
  ],
  // Limited credentials are deleted once they have ended.
  grants: [{ table: 'credentials', rights: 'delete' }],
}
