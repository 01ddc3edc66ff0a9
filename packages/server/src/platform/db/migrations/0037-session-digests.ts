// Digests of sessions: which memories are of which session, and what each digest was made from.

import type { Migration } from './ddl.ts'

export const sessionDigests: Migration = {
  name: '0037-session-digests',
  tables: [
    {
      name: 'session_facts',
      columns: { tenant_id: 'text', ref: 'int', store_id: 'text', session_mac: 'blob' },
      primary_key: ['tenant_id', 'ref'],
      clustered: true,
      indexes: [{ columns: ['tenant_id', 'store_id', 'session_mac', 'ref'] }],
    },
    {
      name: 'digest_sessions',
      columns: {
        tenant_id: 'text',
        store_id: 'text',
        session_mac: 'blob',
        changed_seq: 'int',
        due_us: 'int?',
        digest_ref: 'int?',
      },
      primary_key: ['tenant_id', 'store_id', 'session_mac'],
      clustered: true,
      indexes: [{ columns: ['tenant_id', 'due_us'] }, { columns: ['tenant_id', 'digest_ref'] }],
    },
    {
      name: 'digest_sources',
      columns: { tenant_id: 'text', ref: 'int', digest_ref: 'int' },
      primary_key: ['tenant_id', 'ref', 'digest_ref'],
      clustered: true,
      indexes: [{ columns: ['tenant_id', 'digest_ref'] }],
    },
  ],
  columns: [{ table: 'stores', name: 'digest_after_s', column: 'int?' }],
}
