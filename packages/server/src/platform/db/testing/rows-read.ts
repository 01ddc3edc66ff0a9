// How many rows PostgreSQL has read for a query: what its plans come to.

import { sql } from 'kysely'
import { builder } from '../builder.ts'
import type { Query, TenantDb } from '../tenant-db.ts'

/** Rows of the tables that this connection has read lately, by a scan or through an index. */
export async function rowsRead(db: TenantDb, tables: readonly string[]): Promise<number> {
  const counted = sql<{ rows: number }>`
    select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0) as rows
    from pg_stat_xact_user_tables where relname in (${sql.join(tables)})`
  const query: Query<{ rows: number }> = {
    compile: () => counted.compile(builder),
    toOperationNode: () => counted.toOperationNode(),
  }
  return Number((await db.first(query))?.rows ?? 0)
}
