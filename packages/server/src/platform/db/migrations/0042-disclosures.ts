// Which models' providers and tools were sent which memories.

import type { Migration } from './ddl.ts'

export const disclosures: Migration = {
  name: '0042-disclosures',
  tables: [
    {
      name: 'disclosures',
      columns: {
        tenant_id: 'text',
        ref: 'int',
        recipient_id: 'text',
        kind: 'text',
        step_id: 'text',
        sent_us: 'int',
      },
      primary_key: ['tenant_id', 'ref', 'recipient_id'],
      clustered: true,
    },
  ],
}
