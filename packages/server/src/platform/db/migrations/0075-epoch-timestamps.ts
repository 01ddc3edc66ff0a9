// Timestamps of an authority on checkpoints of a tenant's log.

import type { Migration } from './ddl.ts'

export const epochTimestamps: Migration = {
  name: '0075-epoch-timestamps',
  tables: [
    {
      name: 'epoch_timestamps',
      columns: {
        tenant_id: 'text',
        epoch_number: 'int',
        token: 'blob',
        stamped_us: 'int',
        created_us: 'int',
      },
      primary_key: ['tenant_id', 'epoch_number'],
    },
  ],
}
