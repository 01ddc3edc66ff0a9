// Which tenants are being moved to another cluster, came from one or went to one.

import type { Migration } from './ddl.ts'

export const tenantMoves: Migration = {
  name: '0065-tenant-moves',
  tables: [
    {
      name: 'tenant_moves',
      columns: {
        tenant_id: 'text',
        move_id: 'text',
        state: 'text',
        address: 'text',
        started_us: 'int',
        proof: 'text?',
      },
      primary_key: ['tenant_id'],
    },
  ],
}
