// Why a tenant that is being moved takes no units of work; read with its lock.

import type { Migration } from './ddl.ts'

export const tenantFences: Migration = {
  name: '0066-tenant-fences',
  // Only tenants on PostgreSQL are moved.
  engine: 'postgres',
  tables: [],
  columns: [{ table: 'tenant_locks', name: 'fence', column: 'text?' }],
}
