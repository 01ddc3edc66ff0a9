// Finds the live tokens of a key without reading those of other keys.

import type { Migration } from './ddl.ts'

export const tokenMakers: Migration = {
  name: '0019-token-makers',
  tables: [],
  indexes: [
    {
      table: 'credential_limits',
      columns: ['tenant_id', 'maker_id', 'ends_us'],
      where: 'maker_id is not null',
    },
  ],
}
