// Opens the data for reading in a thread of its own.

import { systemClock } from '../../clock.ts'
import type { DatabaseSource } from '../database.ts'
import { SqliteConnection } from '../sqlite/connection.ts'
import { SqliteTenantDb } from '../sqlite/handle.ts'
import type { TenantDb } from '../tenant-db.ts'

/** Reads one committed snapshot on a new connection. */
export async function readSource<T>(
  source: DatabaseSource,
  tenant_id: string,
  query: (db: TenantDb) => Promise<T>,
): Promise<T> {
  if (source.engine === 'sqlite') return readSqlite(source.path, tenant_id, query)
  const { PostgresEngine } = await import('../postgres/engine.ts')
  const { url, role } = source
  const engine = new PostgresEngine({ url, role, clock: systemClock(), connections: 1 })
  try {
    return await engine.read(tenant_id, query)
  } finally {
    await engine.close()
  }
}

async function readSqlite<T>(
  path: string,
  tenant_id: string,
  query: (db: TenantDb) => Promise<T>,
): Promise<T> {
  const connection = new SqliteConnection(path, 'read')
  try {
    connection.step('BEGIN')
    return await query(new SqliteTenantDb(tenant_id, connection))
  } finally {
    connection.close()
  }
}
