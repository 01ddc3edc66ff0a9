// What a tenant may use beside its plan, and how much of it a limited tenant uses.

import type { Migration } from './ddl.ts'

export const plans: Migration = {
  name: '0024-plans',
  tables: [
    {
      name: 'quota_counters',
      columns: { tenant_id: 'text', name: 'text', value: 'int', stores_seq: 'int' },
      primary_key: ['tenant_id', 'name'],
      clustered: true,
    },
  ],
  columns: [{ table: 'tenants', name: 'overrides', column: 'text?' }],
  grants: [{ table: 'tenants', rights: 'update (name, plan, overrides)' }],
}
