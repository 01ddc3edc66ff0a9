// Keyed items: which memories are the versions of which name.

import type { Migration } from './ddl.ts'

export const items: Migration = {
  name: '0026-items',
  tables: [
    {
      name: 'items',
      columns: {
        tenant_id: 'text',
        store_id: 'text',
        name_mac: 'blob',
        version: 'int',
        ref: 'int',
        head: 'int',
        namespace_mac: 'blob',
        written_seq: 'int',
        created_us: 'int',
        item_no: 'int',
        namespace_no: 'int',
      },
      primary_key: ['tenant_id', 'store_id', 'name_mac', 'version'],
      clustered: true,
      unique: [
        { columns: ['tenant_id', 'store_id', 'name_mac'], where: 'head = 1' },
        { columns: ['tenant_id', 'ref'] },
      ],
      indexes: [
        { columns: ['tenant_id', 'store_id', 'namespace_mac', 'item_no'] },
        { columns: ['tenant_id', 'store_id', 'item_no'] },
      ],
    },
  ],
}
