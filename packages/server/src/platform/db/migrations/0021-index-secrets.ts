// Under which secret the snapshots of a store's index are sealed.

import type { Migration } from './ddl.ts'

export const indexSecrets: Migration = {
  name: '0021-index-secrets',
  tables: [
    {
      name: 'index_secrets',
      columns: { tenant_id: 'text', store_id: 'text', secret_no: 'int' },
      primary_key: ['tenant_id', 'store_id'],
      clustered: true,
      indexes: [{ columns: ['tenant_id', 'secret_no'] }],
    },
  ],
}
