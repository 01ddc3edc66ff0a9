// SQL of sign-ins through providers: control tables that are read before the tenant is known.

import { builder } from './builder.ts'
import type { Tables } from './schema/tables.ts'
import type { TenantDb, Tx } from './tenant-db.ts'

export type LoginRow = Tables['sso_logins']

/** The connection for its id or a confirmed domain. */
export const findRoute = (db: TenantDb, route: string) =>
  db.first(
    builder
      .selectFrom('sso_routes')
      .select(['tenant_id', 'connection_id'])
      .where('route', '=', route),
  )

/** Returns 0 if the route leads to another connection, perhaps set just now. */
export const insertRoute = (tx: Tx, route: string, connection_id: string): Promise<number> =>
  tx.run(
    builder
      .insertInto('sso_routes')
      .values({ route, tenant_id: tx.tenant_id, connection_id })
      .onConflict((conflict) => conflict.column('route').doNothing()),
  )

/** The routes of a connection: its id and its domains. */
export const listRoutes = (db: TenantDb, connection_id: string) =>
  db.all(
    builder
      .selectFrom('sso_routes')
      .select('route')
      .where('tenant_id', '=', db.tenant_id)
      .where('connection_id', '=', connection_id)
      .orderBy('route'),
  )

export const deleteRoute = (tx: Tx, route: string): Promise<number> =>
  tx.run(
    builder
      .deleteFrom('sso_routes')
      .where('tenant_id', '=', tx.tenant_id)
      .where('route', '=', route),
  )

export const insertLogin = (tx: Tx, row: LoginRow): Promise<number> =>
  tx.run(builder.insertInto('sso_logins').values(row))

/** Returns and deletes the sign-in that was started in this browser; null if there is none. */
export async function takeLogin(
  tx: Tx,
  { state_hash, browser_hash }: Pick<LoginRow, 'state_hash' | 'browser_hash'>,
): Promise<LoginRow | null> {
  const row = await tx.first(
    builder
      .selectFrom('sso_logins')
      .selectAll()
      .where('state_hash', '=', state_hash)
      .where('browser_hash', '=', browser_hash),
  )
  if (!row) return null
  const taken = await tx.run(builder.deleteFrom('sso_logins').where('state_hash', '=', state_hash))
  return taken === 1 ? row : null
}

export const insertCode = (tx: Tx, row: Tables['sso_codes']): Promise<number> =>
  tx.run(builder.insertInto('sso_codes').values(row))

/** Returns and deletes the row of a one-time code; null if there is none. */
export async function takeCode(tx: Tx, code_hash: Uint8Array): Promise<Tables['sso_codes'] | null> {
  const row = await tx.first(
    builder.selectFrom('sso_codes').selectAll().where('code_hash', '=', code_hash),
  )
  if (!row) return null
  const taken = await tx.run(builder.deleteFrom('sso_codes').where('code_hash', '=', code_hash))
  return taken === 1 ? row : null
}

/** Deletes codes of a connection, person or provider session, and sign-ins of a connection. */
export async function deleteUnderWay(
  tx: Tx,
  by:
    | { readonly connection_id: string }
    | { readonly user_id: string }
    | { readonly sid_label: string },
): Promise<void> {
  const codes = builder.deleteFrom('sso_codes').where('tenant_id', '=', tx.tenant_id)
  if ('sid_label' in by) {
    await tx.run(codes.where('sid_label', '=', by.sid_label))
    return
  }
  if ('user_id' in by) {
    await tx.run(codes.where('user_id', '=', by.user_id))
    return
  }
  await tx.run(codes.where('connection_id', '=', by.connection_id))
  await tx.run(
    builder
      .deleteFrom('sso_logins')
      .where('tenant_id', '=', tx.tenant_id)
      .where('connection_id', '=', by.connection_id),
  )
}

/** Deletes sign-ins and codes that nobody completed in time. */
export async function deleteExpiredLogins(tx: Tx, now_us: number): Promise<number> {
  const logins = await tx.run(builder.deleteFrom('sso_logins').where('expires_us', '<=', now_us))
  const codes = await tx.run(builder.deleteFrom('sso_codes').where('expires_us', '<=', now_us))
  return logins + codes
}
