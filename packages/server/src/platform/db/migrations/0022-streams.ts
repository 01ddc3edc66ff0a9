// Jobs that wait until they are woken, tickets of event streams, and heads that the platform reads.

import type { Migration } from './ddl.ts'

export const streams: Migration = {
  name: '0022-streams',
  tables: [
    {
      name: 'stream_tickets',
      columns: {
        ticket_hash: 'blob',
        tenant_id: 'text',
        key_id: 'text',
        path: 'text',
        expires_us: 'int',
      },
      primary_key: ['ticket_hash'],
      indexes: [{ columns: ['expires_us'] }],
    },
  ],
  columns: [{ table: 'jobs', name: 'woken', column: 'int?' }],
  grants: [{ table: 'jobs', rights: 'update (woken)' }],
  // A process asks for the heads of all logs it follows at once, several times a second.
  readers: [{ table: 'chain_heads', reader: 'log_follower' }],
}
