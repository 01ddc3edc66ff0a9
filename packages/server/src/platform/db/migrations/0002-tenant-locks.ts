// One row per tenant for PostgreSQL to lock: units of work of a tenant run one after another.

import type { Migration } from './ddl.ts'

export const tenantLocks: Migration = {
  name: '0002-tenant-locks',
  // SQLite has one writer: there is nothing to lock.
  engine: 'postgres',
  tables: [{ name: 'tenant_locks', columns: { tenant_id: 'text' }, primary_key: ['tenant_id'] }],
}
