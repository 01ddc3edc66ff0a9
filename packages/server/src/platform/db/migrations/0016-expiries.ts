// When memories expire, and the ids of deleted stores.

import type { Migration } from './ddl.ts'

export const expiries: Migration = {
  name: '0016-expiries',
  tables: [
    {
      name: 'fact_expiries',
      columns: { tenant_id: 'text', ref: 'int', store_id: 'text', expires_us: 'int' },
      primary_key: ['tenant_id', 'ref'],
      clustered: true,
      // What is due is found by its time, however large the store.
      indexes: [{ columns: ['tenant_id', 'store_id', 'expires_us'] }],
    },
    {
      name: 'deleted_stores',
      columns: { tenant_id: 'text', store_id: 'text' },
      primary_key: ['tenant_id', 'store_id'],
      clustered: true,
    },
  ],
}
