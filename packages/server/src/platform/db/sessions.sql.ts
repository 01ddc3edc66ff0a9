// SQL of sessions: a control table that is read before the tenant is known.

import type { Page } from '../page.ts'
import { builder } from './builder.ts'
import type { Tables } from './schema/tables.ts'
import type { TenantDb, Tx } from './tenant-db.ts'

export type SessionRow = Omit<Tables['sessions'], 'session_hash'>

const SESSION = [
  'session_id',
  'tenant_id',
  'key_id',
  'created_us',
  'used_us',
  'ends_us',
  'user_id',
  'connection_id',
  'sid_label',
] as const
const COLUMNS = SESSION.map((column) => `sessions.${column}` as const)

export const insertSession = (tx: Tx, row: Tables['sessions']): Promise<number> =>
  tx.run(builder.insertInto('sessions').values(row))

/** The session with one of the hashes. */
export const findSession = (db: TenantDb, hashes: readonly Uint8Array[]) =>
  db.first(builder.selectFrom('sessions').select(SESSION).where('session_hash', 'in', hashes))

export const findSessionById = (db: TenantDb, session_id: string) =>
  db.first(builder.selectFrom('sessions').select(SESSION).where('session_id', '=', session_id))

/** A session of the unit's tenant. */
export const findOwnSession = (db: TenantDb, session_id: string) =>
  db.first(
    builder
      .selectFrom('sessions')
      .select(SESSION)
      .where('tenant_id', '=', db.tenant_id)
      .where('session_id', '=', session_id),
  )

/**
 * Sessions of the tenant that have neither ended nor been idle too long, and whose key is in force;
 * newest first.
 * @param key_id null for sessions of every key
 */
export function listLiveSessions(
  db: TenantDb,
  key_id: string | null,
  at: Pick<Page, 'limit' | 'offset' | 'after'> & { now_us: number; used_after_us: number },
) {
  const { now_us, used_after_us, limit, offset, after } = at
  const query = builder
    .selectFrom('sessions')
    .leftJoin('credentials', 'credentials.key_id', 'sessions.key_id')
    .select(COLUMNS)
    .where('sessions.tenant_id', '=', db.tenant_id)
    .where((e) =>
      e.or([e('sessions.user_id', 'is not', null), e('credentials.key_id', 'is not', null)]),
    )
    .where('sessions.ends_us', '>', now_us)
    .where('sessions.used_us', '>', used_after_us)
    .where('credentials.revoked_us', 'is', null)
    .where((e) =>
      e.or([e('credentials.expires_us', 'is', null), e('credentials.expires_us', '>', now_us)]),
    )
  const wanted = key_id === null ? query : query.where('sessions.key_id', '=', key_id)
  const sorted = wanted
    .orderBy('sessions.created_us', 'desc')
    .orderBy('sessions.session_id')
    .limit(limit)
  if (after === null) return db.all(sorted.offset(offset))
  return db.all(
    sorted
      .where('sessions.created_us', '<=', after.at)
      .where((e) =>
        e.or([e('sessions.created_us', '<', after.at), e('sessions.session_id', '>', after.id)]),
      ),
  )
}

/** The sessions of a key after the `kept` newest ones. */
export const listOldestSessions = (db: TenantDb, key_id: string, kept: number) =>
  db.all(
    builder
      .selectFrom('sessions')
      .select('session_id')
      .where('key_id', '=', key_id)
      .orderBy('created_us', 'desc')
      .orderBy('session_id')
      .limit(1_000)
      .offset(kept),
  )

export const touchSession = (tx: Tx, session_id: string, used_us: number): Promise<number> =>
  tx.run(
    builder
      .updateTable('sessions')
      .set({ used_us })
      .where('session_id', '=', session_id)
      .where('used_us', '<', used_us),
  )

export const deleteSession = (tx: Tx, session_id: string): Promise<number> =>
  tx.run(builder.deleteFrom('sessions').where('session_id', '=', session_id))

/** Deletes sessions that have ended, or were last used before a time. */
export const deleteEndedSessions = (
  tx: Tx,
  { now_us, used_before_us }: { now_us: number; used_before_us: number },
): Promise<number> =>
  tx.run(
    builder
      .deleteFrom('sessions')
      .where((e) => e.or([e('ends_us', '<=', now_us), e('used_us', '<=', used_before_us)])),
  )

/** The sessions of a person who signed in without a key. */
export const listSessionsOf = (db: TenantDb, user_id: string) =>
  db.all(
    builder
      .selectFrom('sessions')
      .select(SESSION)
      .where('tenant_id', '=', db.tenant_id)
      .where('user_id', '=', user_id),
  )

/** Sessions of people, also under keys they created, of a connection (`null`: of no connection). */
export const listSessionsThrough = (db: TenantDb, connection_id: string | null) =>
  db.all(
    builder
      .selectFrom('sessions')
      .select(SESSION)
      .where('tenant_id', '=', db.tenant_id)
      .where((e) =>
        e.or([
          e('user_id', 'is not', null),
          e(
            'key_id',
            'in',
            builder
              .selectFrom('credentials')
              .select('credentials.key_id')
              .where('credentials.tenant_id', '=', db.tenant_id)
              .where('credentials.user_id', 'is not', null),
          ),
        ]),
      )
      .where('connection_id', connection_id === null ? 'is' : '=', connection_id),
  )

/** The keys in force that a person created. */
export const listKeysOf = (db: TenantDb, user_id: string) =>
  db.all(
    builder
      .selectFrom('credentials')
      .select(['key_id', 'class', 'scopes', 'allowed_stores', 'max_trust_tier', 'expires_us'])
      .where('tenant_id', '=', db.tenant_id)
      .where('user_id', '=', user_id)
      .where('revoked_us', 'is', null),
  )
