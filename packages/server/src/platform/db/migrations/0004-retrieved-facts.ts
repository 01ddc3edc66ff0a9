// Which facts a retrieval has ever returned.

import type { Migration } from './ddl.ts'

export const retrievedFacts: Migration = {
  name: '0004-retrieved-facts',
  tables: [
    {
      name: 'retrieved_facts',
      columns: { tenant_id: 'text', store_id: 'text', ref: 'int' },
      primary_key: ['tenant_id', 'store_id', 'ref'],
      clustered: true,
    },
  ],
}
