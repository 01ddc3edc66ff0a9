// Sessions of browsers, and the session that a ticket of an event stream was made in.

import type { Migration } from './ddl.ts'

export const sessions: Migration = {
  name: '0030-sessions',
  tables: [
    {
      name: 'sessions',
      columns: {
        session_hash: 'blob',
        session_id: 'text',
        tenant_id: 'text?',
        key_id: 'text',
        created_us: 'int',
        used_us: 'int',
        ends_us: 'int',
      },
      primary_key: ['session_hash'],
      unique: [{ columns: ['session_id'] }],
      indexes: [{ columns: ['tenant_id', 'created_us'] }, { columns: ['ends_us'] }],
    },
  ],
  columns: [{ table: 'stream_tickets', name: 'session_id', column: 'text?' }],
}
