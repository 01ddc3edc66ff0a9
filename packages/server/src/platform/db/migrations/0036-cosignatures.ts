// Signatures of witnesses on checkpoints of a tenant's log.

import type { Migration } from './ddl.ts'

export const cosignatures: Migration = {
  name: '0036-cosignatures',
  tables: [
    {
      name: 'cosignatures',
      columns: {
        tenant_id: 'text',
        epoch_number: 'int',
        witness: 'text',
        generation: 'int',
        tree_size: 'int',
        signature: 'blob',
        signed_s: 'int',
        created_us: 'int',
      },
      primary_key: ['tenant_id', 'epoch_number', 'witness'],
      clustered: true,
    },
  ],
}
