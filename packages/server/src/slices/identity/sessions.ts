// Sessions: a random cookie, of which only the hash is stored. A session ends with its key.

import { createHmac, hash } from 'node:crypto'
import { limits } from '@custos/contract'
import { PLATFORM } from '../../platform/db/database.ts'
import {
  deleteEndedSessions,
  deleteSession,
  findSession,
  findSessionById,
  insertSession,
  listOldestSessions,
  listSessionsThrough,
  type SessionRow,
  touchSession,
} from '../../platform/db/sessions.sql.ts'
import { deleteExpiredLogins } from '../../platform/db/sso.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Principal } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { storageFault } from '../../platform/storage-fault.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import {
  BOOTSTRAP,
  bootstrapKey,
  findByKeyId,
  forgetCredentials,
  hasNoKey,
} from '../tenants/index.ts'
import { findPerson } from './people.ts'

/** At least 256 bits. */
const TOKEN_CHARS = 43
const SESSION_ID_BYTES = 12
/** Precision of the stored time of the last use. */
const TOUCH_US = 60_000_000

/** The token proves that this service gave it to the page; it is useless without the cookie. */
const csrfToken = (token: string): string =>
  createHmac('sha256', token).update('custos/csrf/v1').digest('base64url')

const hashToken = (token: string): Buffer => hash('sha256', token, 'buffer')

/** Binds a session to the configured operator key, which is in no row, so that it ends with it. */
const hashOperatorToken = (token: string, digest: Buffer): Buffer =>
  hash('sha256', Buffer.concat([Buffer.from(token), digest]), 'buffer')

function hashesOf(kernel: Kernel, token: string): Buffer[] {
  const { digest } = bootstrapKey(kernel)
  return digest === null ? [hashToken(token)] : [hashToken(token), hashOperatorToken(token, digest)]
}

/** When the session ends if it is not used. */
export const sessionEnd = (
  { settings }: Kernel,
  { used_us, ends_us }: Pick<SessionRow, 'used_us' | 'ends_us'>,
): number => Math.min(used_us + settings.session_idle_us, ends_us)

const isOver = (kernel: Kernel, row: SessionRow): boolean =>
  kernel.clock.now() >= sessionEnd(kernel, row)

const NO_CONNECTION = { connection_id: null, sid_label: null }

/**
 * Begins a session of the caller in the caller's unit of work, and ends the oldest one beyond the
 * limit. The token is the value of the session's cookie.
 */
export async function beginSession(
  kernel: Kernel,
  tx: Tx,
  principal: Principal,
  through: Pick<SessionRow, 'connection_id' | 'sid_label'> = NO_CONNECTION,
): Promise<{ readonly token: string; readonly principal: Principal }> {
  const token = kernel.ids.base62(TOKEN_CHARS)
  const session_id = kernel.ids.hex(SESSION_ID_BYTES)
  const { key_id } = principal
  const { digest } = bootstrapKey(kernel)
  const isBootstrap = key_id === BOOTSTRAP.key_id && digest !== null
  const now_us = tx.now()
  const tenant_id = principal.kind === 'operator' ? null : principal.tenant_id
  const times = {
    created_us: now_us,
    used_us: now_us,
    ends_us: now_us + kernel.settings.session_us,
  }
  for (const old of await listOldestSessions(tx, key_id, limits.sessions_per_key - 1))
    await endSession(kernel, tx, { ...old, tenant_id, key_id }, key_id)
  await insertSession(tx, {
    session_hash: isBootstrap ? hashOperatorToken(token, digest) : hashToken(token),
    session_id,
    tenant_id,
    key_id,
    user_id: hasNoKey(principal) ? key_id : null,
    ...times,
    ...through,
  })
  if (tenant_id !== null)
    await appendCrumb(tx, {
      event_type: 'session.started',
      subject: session_id,
      payload: { key_id },
    })
  return {
    token,
    principal: inSession(kernel, principal, { session_id, ...times }, csrfToken(token)),
  }
}

const inSession = (
  kernel: Kernel,
  principal: Principal,
  row: Pick<SessionRow, 'session_id' | 'used_us' | 'ends_us'>,
  csrf_token: string | null,
): Principal => ({
  ...principal,
  session: {
    session_id: row.session_id,
    csrf_token,
    ends_us: sessionEnd(kernel, row),
  },
})

/** Ends a session in the caller's unit of work; false if it had ended before. */
export async function endSession(
  kernel: Kernel,
  tx: Tx,
  { session_id, tenant_id, key_id }: Pick<SessionRow, 'session_id' | 'tenant_id' | 'key_id'>,
  revoked_by: string,
): Promise<boolean> {
  if ((await deleteSession(tx, session_id)) === 0) return false
  forgetCredentials(kernel, tx)
  if (tenant_id !== null)
    await appendCrumb(tx, {
      event_type: 'session.revoked',
      subject: session_id,
      payload: { key_id, revoked_by },
    })
  return true
}

/** Ends people's sessions through a connection (`null`: through none); returns how many. */
export async function endSessionsThrough(
  kernel: Kernel,
  tx: Tx,
  connection_id: string | null,
  revoked_by: string,
): Promise<number> {
  const rows = await listSessionsThrough(tx, connection_id)
  for (const row of rows) await endSession(kernel, tx, row, revoked_by)
  return rows.length
}

/** Ends the session that the browser had before, as its cookie is overwritten. */
export async function endReplaced(kernel: Kernel, token: string | null): Promise<void> {
  const row = token === null ? null : await findRow(kernel, token)
  if (row === null) return
  await kernel.db.transact(row.tenant_id ?? PLATFORM, (tx) =>
    endSession(kernel, tx, row, row.key_id),
  )
}

/** The key or person of a session, with its current rights; `null` if no longer valid. */
async function findKeyOf(
  kernel: Kernel,
  { key_id, user_id, tenant_id }: SessionRow,
): Promise<Principal | null> {
  if (user_id !== null && tenant_id !== null) return findPerson(kernel, tenant_id, user_id)
  return key_id === BOOTSTRAP.key_id ? BOOTSTRAP : findByKeyId(kernel, key_id)
}

/** The stored session with this cookie, even if it is over; `null` if there is none. */
async function findRow(kernel: Kernel, token: string): Promise<SessionRow | null> {
  const hashes = hashesOf(kernel, token)
  return (await kernel.db.read(PLATFORM, (db) => findSession(db, hashes))) ?? null
}

/** The caller with this cookie; `null` if the session or its key has ended. */
export async function findBySession(kernel: Kernel, token: string): Promise<Principal | null> {
  const row = await findRow(kernel, token)
  if (row === null || isOver(kernel, row)) return null
  const found = await findKeyOf(kernel, row)
  if (found === null) return null
  const now_us = kernel.clock.now()
  const csrf_token = csrfToken(token)
  if (now_us - row.used_us < TOUCH_US) return inSession(kernel, found, row, csrf_token)
  await noteUse(kernel, row, now_us)
  return inSession(kernel, found, { ...row, used_us: now_us }, csrf_token)
}

/** Records the use. Ignores storage faults, so that reads go on while nothing can be written. */
async function noteUse(kernel: Kernel, { session_id }: SessionRow, now_us: number): Promise<void> {
  try {
    await kernel.db.transact(PLATFORM, (tx) => touchSession(tx, session_id, now_us))
  } catch (error) {
    if (storageFault(error) === null) throw error
  }
}

/** The caller in a session, with the key's current rights; `null` if session or key has ended. */
export async function findBySessionId(
  kernel: Kernel,
  session_id: string,
): Promise<Principal | null> {
  const row = await kernel.db.read(PLATFORM, (db) => findSessionById(db, session_id))
  if (!row || isOver(kernel, row)) return null
  const found = await findKeyOf(kernel, row)
  return found && inSession(kernel, found, row, null)
}

/** Whether the credential with which a long reply began is still in force. */
export async function isInForce(kernel: Kernel, { key_id, session }: Principal): Promise<boolean> {
  const found = session
    ? await findBySessionId(kernel, session.session_id)
    : await findByKeyId(kernel, key_id)
  return found !== null
}

/** Removes sessions that have ended, and sign-ins that nobody completed. */
export const sweepSessions = (kernel: Kernel): Promise<number> => {
  const now_us = kernel.clock.now()
  const used_before_us = now_us - kernel.settings.session_idle_us
  return kernel.db.transact(PLATFORM, async (tx) => {
    const logins = await deleteExpiredLogins(tx, now_us)
    return logins + (await deleteEndedSessions(tx, { now_us, used_before_us }))
  })
}
