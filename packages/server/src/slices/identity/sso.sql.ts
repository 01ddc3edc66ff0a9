// SQL of connections to providers, and of people's identities there.

import type { Tables } from '../../platform/db/schema/tables.ts'
import {
  deleteFrom,
  from,
  insertInto,
  type TenantDb,
  type Tx,
  update,
} from '../../platform/db/tenant-db.ts'

export type ConnectionRow = Omit<Tables['sso_connections'], 'tenant_id'>

const CONNECTION = [
  'connection_id',
  'enabled',
  'enforced',
  'secret_no',
  'sealed',
  'created_us',
  'changed_us',
] as const

export const insertConnection = (tx: Tx, row: ConnectionRow) =>
  tx.run(insertInto(tx, 'sso_connections', row))

export const findConnection = (db: TenantDb, connection_id: string) =>
  db.first(
    from(db, 'sso_connections').select(CONNECTION).where('connection_id', '=', connection_id),
  )

/** Oldest first, without pages: there are few. */
export const listConnections = (db: TenantDb) =>
  db.all(
    from(db, 'sso_connections').select(CONNECTION).orderBy('created_us').orderBy('connection_id'),
  )

/** Connections with ids after `after`, ordered by id. */
export const listConnectionsAfter = (db: TenantDb, after: string, limit: number) =>
  db.all(
    from(db, 'sso_connections')
      .select(CONNECTION)
      .where('connection_id', '>', after)
      .orderBy('connection_id')
      .limit(limit),
  )

/** Whether people may sign in only through a provider. */
export const isEnforced = async (db: TenantDb): Promise<boolean> =>
  (await db.first(
    from(db, 'sso_connections')
      .select('connection_id')
      .where('enforced', '=', 1)
      .where('enabled', '=', 1)
      .limit(1),
  )) !== undefined

export const updateConnection = (
  tx: Tx,
  connection_id: string,
  change: Partial<ConnectionRow>,
): Promise<number> =>
  tx.run(update(tx, 'sso_connections').set(change).where('connection_id', '=', connection_id))

/** Deletes the connection and people's identities in it. */
export async function deleteConnection(tx: Tx, connection_id: string): Promise<void> {
  for (const table of ['sso_identities', 'sso_logouts', 'sso_connections'] as const)
    await tx.run(deleteFrom(tx, table).where('connection_id', '=', connection_id))
}

/** The person with the subject; undefined if there is none yet. */
export const findIdentity = (
  db: TenantDb,
  { connection_id, sub_label }: { connection_id: string; sub_label: string },
) =>
  db.first(
    from(db, 'sso_identities')
      .select('user_id')
      .where('connection_id', '=', connection_id)
      .where('sub_label', '=', sub_label),
  )

export const insertIdentity = (
  tx: Tx,
  row: { connection_id: string; sub_label: string; user_id: string },
) => tx.run(insertInto(tx, 'sso_identities', { ...row, created_us: tx.now() }))

export const deleteIdentities = (tx: Tx, user_id: string) =>
  tx.run(deleteFrom(tx, 'sso_identities').where('user_id', '=', user_id))

/** Returns false if the token was used before. Deletes tokens that have expired. */
export async function takeLogout(
  tx: Tx,
  row: { connection_id: string; jti_hash: Uint8Array; expires_us: number },
): Promise<boolean> {
  await tx.run(deleteFrom(tx, 'sso_logouts').where('expires_us', '<=', tx.now()))
  const known = await tx.first(
    from(tx, 'sso_logouts')
      .select('jti_hash')
      .where('connection_id', '=', row.connection_id)
      .where('jti_hash', '=', row.jti_hash),
  )
  if (known) return false
  await tx.run(insertInto(tx, 'sso_logouts', row))
  return true
}
