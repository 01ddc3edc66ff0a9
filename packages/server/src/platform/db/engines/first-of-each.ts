// Runs one statement for each of many tenants, in a few messages instead of thousands.

import { type Database, type DatabaseSource, PLATFORM } from '../database.ts'
import type { Statement } from '../statement.ts'

/** Maximum statements in flight. */
const BATCH = 500
const STATEMENT_TIMEOUT_MS = 30_000
/** Socket timeout: a server that fails silently must not make the caller wait for ever. */
const SILENCE_MS = STATEMENT_TIMEOUT_MS + 5_000

/** A tenant, and the parameters of the statement for it. */
export interface TenantParams<P> {
  readonly tenant_id: string
  readonly params: P
}

/**
 * The first row of the statement for each tenant that has one. On PostgreSQL it uses a separate
 * connection, on which it switches the row policies from tenant to tenant.
 */
export async function firstRowPerTenant<P, O>(
  db: Database,
  statement: Statement<P, O>,
  asked: readonly TenantParams<P>[],
): Promise<Map<string, O>> {
  const { source } = db
  if (source.engine === 'postgres') return firstOfEachPostgres(source, statement, asked)
  const found = new Map<string, O>()
  for (const { tenant_id, params } of asked) {
    const row = await db.read(tenant_id, (one) => one.firstOf(statement, params))
    if (row !== undefined) found.set(tenant_id, row)
  }
  return found
}

/** Those of `tenants` for which the statement, with the same parameters, finds a row. */
export async function listTenantsWith<P, O>(
  db: Database,
  tenants: readonly string[],
  { statement, params }: { readonly statement: Statement<P, O>; readonly params: P },
): Promise<string[]> {
  const asked = tenants.map((tenant_id) => ({ tenant_id, params }))
  return [...(await firstRowPerTenant(db, statement, asked)).keys()]
}

async function firstOfEachPostgres<P, O>(
  { url, role }: Extract<DatabaseSource, { engine: 'postgres' }>,
  statement: Statement<P, O>,
  asked: readonly TenantParams<P>[],
): Promise<Map<string, O>> {
  // Imported on use, so that the embedded service starts without it.
  const { connectionOf, withPostgres } = await import('../postgres/connection.ts')
  const { asRefusal } = await import('../postgres/error.ts')
  const { sql, name, bind } = statement.postgres()
  const named = !connectionOf(url).pooler
  const found = new Map<string, O>()
  await withPostgres(
    url,
    async (connection) => {
      const limits = {
        statement_timeout_ms: STATEMENT_TIMEOUT_MS,
        idle_timeout_ms: STATEMENT_TIMEOUT_MS,
      }
      await connection.beginRead(PLATFORM, { role, ...limits })
      const text = (words: string, as: string) =>
        named ? { sql: words, name: as } : { sql: words }
      // Pipelined and answered in this order, so each query reads the tenant entered before it.
      const ask = async ({ tenant_id, params }: TenantParams<P>) => {
        const entered = connection.query(text(ENTER, 'custos_enter'), [tenant_id])
        const queried = connection.query(text(sql, name), bind(tenant_id, params))
        const [, { rows }] = await Promise.all([entered, queried])
        if (rows[0] !== undefined) found.set(tenant_id, rows[0])
      }
      for (let at = 0; at < asked.length; at += BATCH)
        await Promise.all(asked.slice(at, at + BATCH).map(ask))
      await connection.commit()
    },
    { silence_ms: SILENCE_MS },
  ).catch((error: unknown) => {
    throw asRefusal(error)
  })
  return found
}

const ENTER = `select set_config('app.tenant_id', $1, true)`
