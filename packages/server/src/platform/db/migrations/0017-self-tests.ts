// Which stores and certificates are of self-tests, and where the log has the release of a hold.

import type { Migration } from './ddl.ts'

export const selfTests: Migration = {
  name: '0017-self-tests',
  tables: [
    {
      name: 'self_test_stores',
      columns: { tenant_id: 'text', store_id: 'text' },
      primary_key: ['tenant_id', 'store_id'],
      clustered: true,
    },
    {
      name: 'self_test_certificates',
      columns: { tenant_id: 'text', certificate_id: 'text' },
      primary_key: ['tenant_id', 'certificate_id'],
      clustered: true,
    },
    {
      name: 'hold_releases',
      columns: { tenant_id: 'text', store_id: 'text', hold_id: 'text', released_seq: 'int' },
      primary_key: ['tenant_id', 'store_id', 'hold_id'],
      clustered: true,
    },
  ],
}
