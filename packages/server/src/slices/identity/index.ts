// Identity: signing in and out, the caller, the sessions of a tenant, and sessions for HTTP.

import { hash } from 'node:crypto'
import {
  type Caller,
  type identity as contract,
  limits,
  type PortalSession,
} from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import { findTenant } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import {
  findOwnSession,
  listLiveSessions,
  listSessionsThrough,
  type SessionRow,
} from '../../platform/db/sessions.sql.ts'
import { deleteUnderWay } from '../../platform/db/sso.sql.ts'
import type { AnswerCookie, Handler, HandlersOf, Principal } from '../../platform/kernel/call.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { pageOf } from '../../platform/page.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { findByKey, hasNoKey, meter } from '../tenants/index.ts'
import { BlockCounts } from './block-counts.ts'
import {
  createConnection,
  deleteConnectionById,
  dropDomain,
  getConnection,
  listAllConnections,
  setDomains,
  testConnection,
  updateConnectionById,
  verifyDomain,
} from './change-connections.ts'
import { inviteUser, listPeople, removeUser, updatePerson } from './change-users.ts'
import {
  hashInvitation,
  personColumn,
  rightsOfRoles,
  rolesOf,
  showUser,
  storesOf,
} from './people.ts'
import { beginSession, endReplaced, endSession, sessionEnd } from './sessions.ts'
import { findIdentity, isEnforced, takeLogout } from './sso.sql.ts'
import { openRoute } from './sso-connection.ts'
import {
  appendSignIn,
  authorize,
  callback,
  exchange,
  listProviders,
  sessionLabel,
} from './sso-login.ts'
import { LOGOUT_S, verifyLogout } from './sso-provider.ts'
import { findInvited, findUser, updateUser } from './users.sql.ts'

const SECOND_US = 1_000_000
const NO_SESSION: AnswerCookie = { name: 'session', value: '', max_age_s: 0 }

/** The tenant of a unit of work; operators belong to no tenant. */
const unitOf = ({ kind, tenant_id }: Principal): string =>
  kind === 'operator' ? PLATFORM : tenant_id

const signIn: Handler<typeof contract.sign_in> = async (call, { body }) => {
  const { kernel } = call
  // Converts the key to the form in which a header would carry it.
  const key = Buffer.from(body.api_key).toString('latin1')
  const found = await findByKey(kernel, key)
  if (found === null) return call.refuse('unauthenticated')
  const { token, principal } = await kernel.db.transact(unitOf(found), async (tx) => {
    // Keys without a person belong to programs. A person's key would circumvent the provider.
    if (found.user_id !== undefined && (await isEnforced(tx))) return call.refuse('sso_enforced')
    const begun = await beginSession(kernel, tx, found)
    if (found.kind !== 'operator') meter(tx, call.operation.id)
    return begun
  })
  await endReplaced(kernel, call.cookie('session'))
  const max_age_s = Math.floor(kernel.settings.session_us / SECOND_US)
  call.setCookie({ name: 'session', value: token, max_age_s })
  return showCaller(kernel, principal)
}

const accept: Handler<typeof contract.accept> = async (call, { body: { invitation } }) => {
  const { kernel } = call
  const tenant_id = invitation.slice(0, Math.max(0, invitation.lastIndexOf('.')))
  // An id that names no tenant must not reach a row.
  const tenant = await kernel.db.read(PLATFORM, (db) => findTenant(db, tenant_id))
  if (!tenant || tenant.requested_us !== null) return call.refuse('login_expired')
  const invitation_hash = hashInvitation(invitation)
  const { token, principal } = await kernel.db.transact(tenant_id, async (tx) => {
    const row = await findInvited(tx, invitation_hash)
    if (!row || (row.invited_until_us ?? 0) <= tx.now()) return call.refuse('login_expired')
    const { user_id, break_glass } = row
    if (break_glass !== 1 && (await isEnforced(tx))) return call.refuse('sso_enforced')
    const taken = { state: 'active', invitation_hash: null, invited_until_us: null } as const
    await updateUser(tx, user_id, taken)
    const rights = rightsOfRoles(rolesOf(row), storesOf(row))
    const person = { kind: 'tenant', tenant_id, key_id: user_id, user_id, ...rights } as const
    const begun = await beginSession(kernel, tx, person)
    meter(tx, call.operation.id)
    await appendCrumb(tx, {
      event_type: 'user.joined',
      subject: user_id,
      payload: { session_id: begun.principal.session?.session_id ?? '' },
    })
    await appendSignIn(tx, user_id, {
      connection_id: null,
      method: break_glass === 1 ? 'break_glass' : 'invitation',
      session_id: begun.principal.session?.session_id ?? '',
    })
    return begun
  })
  await endReplaced(kernel, call.cookie('session'))
  const max_age_s = Math.floor(kernel.settings.session_us / SECOND_US)
  call.setCookie({ name: 'session', value: token, max_age_s })
  return showCaller(kernel, principal)
}

async function showPerson(
  kernel: Kernel,
  { tenant_id, user_id }: Principal,
): Promise<Caller['user']> {
  if (user_id === undefined) return null
  const row = await kernel.db.read(tenant_id, (db) => findUser(db, user_id))
  if (!row) return null
  const [texts = null] = await personColumn.openAll(kernel, tenant_id, [row])
  const { name, roles } = showUser(row, texts)
  return { user_id, name, roles }
}

async function showCaller(kernel: Kernel, principal: Principal): Promise<Caller> {
  const { kind, tenant_id, session, scopes, allowed_stores, expires_us } = principal
  const operator = kind === 'operator'
  const tenant = operator
    ? undefined
    : await kernel.db.read(tenant_id, (db) => findTenant(db, tenant_id))
  const ends = [expires_us, session?.ends_us].filter((end) => typeof end === 'number')
  return {
    mode: session ? 'session' : kind === 'local' ? 'local' : 'key',
    tenant_id: operator ? null : tenant_id,
    tenant_name: tenant?.name ?? null,
    user: await showPerson(kernel, principal),
    key_id: kind === 'local' || hasNoKey(principal) ? null : principal.key_id,
    scopes: [...scopes],
    stores: allowed_stores.length === 0 ? null : [...allowed_stores],
    operator,
    expires_at: ends.length === 0 ? null : formatTime(Math.min(...ends)),
    csrf_token: session?.csrf_token ?? null,
  }
}

const logout: Handler<typeof contract.logout> = async (call) => {
  const { kernel, principal } = call
  const { session, key_id } = principal
  if (!session) return { ended: false }
  const tenant_id = principal.kind === 'operator' ? null : principal.tenant_id
  const row = { session_id: session.session_id, tenant_id, key_id }
  const ended = await kernel.db.transact(unitOf(principal), async (tx) => {
    if (tenant_id !== null) meter(tx, call.operation.id)
    return endSession(kernel, tx, row, key_id)
  })
  call.setCookie(NO_SESSION)
  return { ended }
}

/** The key whose sessions the caller sees, if it is limited to stores; `null` for all keys. */
const visibleTo = ({ allowed_stores, key_id }: Principal): string | null =>
  allowed_stores.length === 0 ? null : key_id

const listSessions: Handler<typeof contract.sessions> = (call, { query }) =>
  call.read(async (db) => {
    const { kernel, principal } = call
    const page = pageOf(query, limits.page.default, call.operation.id)
    const now_us = kernel.clock.now()
    const rows = await listLiveSessions(db, visibleTo(principal), {
      now_us,
      used_after_us: now_us - kernel.settings.session_idle_us,
      ...page,
    })
    const last = rows.at(-1)
    return page.envelope(
      'sessions',
      rows.map((row) => showSession(kernel, row, principal)),
      last ? { at: last.created_us, id: last.session_id } : null,
    )
  })

const showSession = (kernel: Kernel, row: SessionRow, { session }: Principal): PortalSession => ({
  session_id: row.session_id,
  key_id: row.user_id === null ? row.key_id : null,
  user_id: row.user_id,
  created_at: formatTime(row.created_us),
  used_at: formatTime(row.used_us),
  expires_at: formatTime(sessionEnd(kernel, row)),
  current: row.session_id === session?.session_id,
})

const revokeSession: Handler<typeof contract.revoke_session> = (call, { params }) =>
  call.transact(async (tx) => {
    const { kernel, principal } = call
    const row = await findOwnSession(tx, params.session_id)
    const visible = visibleTo(principal)
    if (!row || (visible !== null && row.key_id !== visible))
      return call.refuse('session_not_found')
    meter(tx, call.operation.id)
    await endSession(kernel, tx, row, principal.key_id)
    return { session_id: row.session_id, revoked: true as const }
  })

const LOGOUTS_PER_MINUTE = 600
/** Limited per block of addresses: anybody can send tokens, and the provider's must get through. */
const logouts = perKernel(() => new BlockCounts(LOGOUTS_PER_MINUTE, 'too many logout tokens'))
/** A token is remembered until no clock can still consider it valid. */
const KEPT_US = 2 * LOGOUT_S * 1_000_000

const NO_LOGOUT = 'the logout token is not valid for this connection, or was used before'

/**
 * OpenID Connect Back-Channel Logout 1.0: a provider ends sessions that were started through it.
 * Section 2.8 requires status 400 for a failure.
 */
const logoutByProvider: Handler<(typeof contract)['backchannel']> = async (
  call,
  { query, body },
) => {
  const { kernel } = call
  const connection = await openRoute(kernel, query.connection_id)
  if (!connection) return call.refuse('bad_request', NO_LOGOUT)
  const { tenant_id, row } = connection
  const { connection_id } = row
  logouts(kernel).take(kernel, call.address, connection_id)
  const token = new URLSearchParams(Buffer.from(body).toString()).get('logout_token') ?? ''
  const claims = await verifyLogout(kernel, connection, token)
  if (!claims) return call.refuse('bad_request', NO_LOGOUT)
  const keys = await kernel.keyring.tenant(tenant_id)
  const sub_label =
    claims.sub === null ? null : keys.label(`identity\n${connection_id}\n${claims.sub}`)
  const sid_label = claims.sid === null ? null : await sessionLabel(kernel, connection, claims.sid)
  const ended = await kernel.db.transact(tenant_id, async (tx) => {
    const jti_hash = hash('sha256', claims.jti, 'buffer')
    const expires_us = tx.now() + KEPT_US
    if (!(await takeLogout(tx, { connection_id, jti_hash, expires_us })))
      return call.refuse('bad_request', NO_LOGOUT)
    meter(tx, call.operation.id)
    const person = sub_label === null ? null : await findIdentity(tx, { connection_id, sub_label })
    const named = (await listSessionsThrough(tx, connection_id)).filter(
      (session) =>
        (sub_label === null || session.user_id === person?.user_id) &&
        (sid_label === null || session.sid_label === sid_label),
    )
    for (const session of named) await endSession(kernel, tx, session, connection_id)
    // Also ends a sign-in that has a code but no session yet.
    if (sid_label !== null) await deleteUnderWay(tx, { sid_label })
    else if (person) await deleteUnderWay(tx, { user_id: person.user_id })
    return named.length
  })
  return { ended }
}

export { userTextSource } from './people.ts'
export { findBySession, findBySessionId, isInForce, sweepSessions } from './sessions.ts'
export { connectionTextSource, ownAddress } from './sso-connection.ts'

export const identityHandlers: HandlersOf<typeof contract> = {
  sign_in: signIn,
  accept,
  me: (call) => showCaller(call.kernel, call.principal),
  logout,
  sessions: listSessions,
  revoke_session: revokeSession,
  invite: inviteUser,
  users: listPeople,
  update_user: updatePerson,
  remove_user: removeUser,
  providers: listProviders,
  authorize,
  callback,
  exchange,
  connections: listAllConnections,
  create_connection: createConnection,
  configure: createConnection,
  connection: getConnection,
  update_connection: updateConnectionById,
  delete_connection: deleteConnectionById,
  test: testConnection,
  verify_domain: verifyDomain,
  drop_domain: dropDomain,
  set_domains: setDomains,
  backchannel: logoutByProvider,
}
