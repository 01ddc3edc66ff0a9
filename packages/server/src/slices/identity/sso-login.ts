// Signing in through a provider: redirects to it, handles its answer, and begins a session.

import { createHmac, hash } from 'node:crypto'
import type {
  identity as contract,
  EventPayload,
  RefusalCode,
  SignInRefusal,
} from '@custos/contract'
import { retryOnConflict } from '../../platform/concurrency.ts'
import { findTenant } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import {
  insertCode,
  insertLogin,
  type LoginRow,
  takeCode,
  takeLogin,
} from '../../platform/db/sso.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import { blockOf } from '../../platform/egress/addresses.ts'
import {
  type AnswerCookie,
  type Call,
  type Handler,
  type Principal,
  redirect,
} from '../../platform/kernel/call.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { type LimitOf, rateLimits } from '../../platform/rates/rate-limits.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { meter } from '../tenants/index.ts'
import { BlockCounts } from './block-counts.ts'
import { rightsOfRoles, rolesOf, storesOf } from './people.ts'
import { beginSession, endReplaced } from './sessions.ts'
import { findConnection, listConnections } from './sso.sql.ts'
import {
  connectionColumn,
  type OpenConnection,
  openConnection,
  openRoute,
  redirectUri,
} from './sso-connection.ts'
import { admitPerson, NotAdmitted, preparePerson } from './sso-person.ts'
import { authenticate, authorizationUrl, type LoginSecrets, ProviderError } from './sso-provider.ts'
import { findUser, type UserRow } from './users.sql.ts'

/** At least 256 bits. */
const TOKEN_CHARS = 43
const SECOND_US = 1_000_000
const MINUTE_US = 60 * SECOND_US
const LOGIN_US = 10 * MINUTE_US
const CODE_US = MINUTE_US
const STARTS_PER_MINUTE = 10
const FAILURES_PER_MINUTE = { block: 5, connection: 100 }
const CONSOLE = '/console'
const NO_LOGIN: AnswerCookie = { name: 'login', value: '', max_age_s: 0 }

const sha256 = (text: string): Buffer => hash('sha256', text, 'buffer')

export const listProviders: Handler<typeof contract.providers> = async ({ kernel }, { query }) => {
  const tenant = await kernel.db.read(PLATFORM, (db) => findTenant(db, query.tenant))
  if (!tenant || tenant.requested_us !== null) return { providers: [] }
  const rows = await kernel.db.read(query.tenant, listConnections)
  const enabled = rows.filter((row) => row.enabled === 1)
  const opened = await connectionColumn.openAll(kernel, query.tenant, enabled)
  return {
    providers: enabled.flatMap(({ connection_id }, i) => {
      const name = opened[i]?.name
      return name === undefined ? [] : [{ connection_id, name }]
    }),
  }
}

const starts = perKernel(() => new BlockCounts(STARTS_PER_MINUTE, 'too many sign-ins were begun'))

/** Secrets that only the browser with the cookie can know. None of them is stored. */
function secretsOf(cookie: string, state: string): LoginSecrets {
  const derive = (use: string) =>
    createHmac('sha256', cookie).update(`custos/sso-${use}/v1\n${state}`).digest('base64url')
  return { state, nonce: derive('nonce'), verifier: derive('verifier') }
}

export const authorize: Handler<typeof contract.authorize> = async (call, { query }) => {
  const { kernel } = call
  starts(kernel).take(kernel, call.address)
  const { connection_id, domain, challenge = null } = query
  if ((connection_id === undefined) === (domain === undefined))
    return call.refuse('rejected', 'give a connection_id or a domain')
  if (challenge === null) refuseOtherSite(call)
  const return_to = requireReturn(call, query.return_to ?? CONSOLE, challenge)
  const connection = await openRoute(kernel, connection_id ?? domain?.toLowerCase() ?? '')
  if (!connection) return call.refuse('sso_not_configured')

  const state = kernel.ids.base62(TOKEN_CHARS)
  const cookie = kernel.ids.base62(TOKEN_CHARS)
  const redirect_uri = redirectUri(kernel)
  const location = await leadOut(call, connection, { ...secretsOf(cookie, state), redirect_uri })
  const now_us = kernel.clock.now()
  await kernel.db.transact(PLATFORM, (tx) =>
    insertLogin(tx, {
      state_hash: sha256(state),
      tenant_id: connection.tenant_id,
      connection_id: connection.row.connection_id,
      browser_hash: sha256(cookie),
      redirect_uri,
      return_to,
      challenge,
      created_us: now_us,
      expires_us: now_us + LOGIN_US,
    }),
  )
  call.setCookie({ name: 'login', value: cookie, max_age_s: LOGIN_US / SECOND_US })
  return redirect(location)
}

/**
 * A page of another site could sign its visitors in to its own tenant to see what they do there.
 * With a challenge it cannot: only the console that has the verifier gets a session.
 */
function refuseOtherSite(call: Call<typeof contract.authorize>): void {
  const site = call.header('sec-fetch-site') ?? 'none'
  if (site !== 'none' && site !== 'same-origin')
    call.refuse('origin_refused', 'a sign-in is begun on the sign-in page of the service')
}

/** When to retry if the identity provider does not answer. */
const PROVIDER_RETRY_S = 5

async function leadOut(
  call: Call<typeof contract.authorize>,
  connection: OpenConnection,
  login: LoginSecrets & { readonly redirect_uri: string },
): Promise<string> {
  try {
    return await authorizationUrl(call.kernel, connection, login)
  } catch (error) {
    if (error instanceof ProviderError)
      return call.refuse('idp_unavailable', undefined, { retry_after_s: PROVIDER_RETRY_S })
    throw error
  }
}

/** Accepts a path of the service, or a page of a listed console, which must prove itself later. */
function requireReturn(
  call: Call<typeof contract.authorize>,
  return_to: string,
  challenge: string | null,
): string {
  if (/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(return_to) && challenge === null) return return_to
  const url = URL.parse(return_to)
  const listed = url !== null && call.kernel.settings.console_origins.includes(url.origin)
  if (listed && challenge !== null && url.hash === '') return url.href
  return call.refuse(
    'rejected',
    'return_to is a path of the service, or with a challenge a page of a listed origin',
  )
}

export const callback: Handler<typeof contract.callback> = async (call, { query }) => {
  const { kernel } = call
  const { state } = query
  const cookie = call.cookie('login')
  if (state === undefined || cookie === null) return call.refuse('login_expired')
  const hashes = { state_hash: sha256(state), browser_hash: sha256(cookie) }
  const login = await kernel.db.transact(PLATFORM, (tx) => takeLogin(tx, hashes))
  if (login === null || login.expires_us <= kernel.clock.now()) return call.refuse('login_expired')
  const { tenant_id, connection_id } = login
  const connection = await openConnection(kernel, tenant_id, connection_id)
  if (!connection) return call.refuse('login_expired')
  const failures = await failuresOf(call, connection)
  await limitFailures(kernel, failures)
  try {
    const url = new URL(login.redirect_uri)
    for (const name of ['state', 'code', 'iss', 'error'] as const)
      if (query[name] !== undefined) url.searchParams.set(name, query[name])
    const secrets = secretsOf(cookie, state)
    const begun_us = login.created_us
    const claims = await authenticate(kernel, connection, { ...secrets, url, begun_us })
    const sid = typeof claims['sid'] === 'string' ? claims['sid'] : null
    const location = await enter(call, connection, { login, claims, sid })
    call.setCookie(NO_LOGIN)
    return redirect(location)
  } catch (error) {
    if (!(error instanceof ProviderError || error instanceof NotAdmitted)) throw error
    await noteRefusal(kernel, connection, { reason: error.reason, failures })
    const passes = error.reason === 'provider_unavailable'
    const extras = passes ? { retry_after_s: PROVIDER_RETRY_S } : {}
    return call.refuse(CODES[error.reason] ?? 'login_refused', undefined, extras)
  }
}

/** Reasons that the person may learn; all others look the same. */
const CODES: Partial<
  Record<SignInRefusal, 'not_invited' | 'role_unmapped' | 'idp_unavailable' | 'too_many'>
> = {
  not_invited: 'not_invited',
  role_unmapped: 'role_unmapped',
  provider_unavailable: 'idp_unavailable',
  too_many: 'too_many',
} satisfies Partial<Record<SignInRefusal, RefusalCode>>

/**
 * Limited per block of addresses: anybody can fail, and would otherwise lock out everybody else.
 * All blocks together are limited too, as each failure may cost the provider a request.
 */
async function failuresOf(
  { kernel, address }: Pick<Call, 'kernel' | 'address'>,
  { tenant_id, row: { connection_id } }: OpenConnection,
): Promise<LimitOf[]> {
  const keys = await kernel.keyring.tenant(tenant_id)
  // Limits are stored, so the address is replaced by a label.
  const block = keys.label(`sso address\n${blockOf(address)}`)
  const window = { tenant_id, window_us: MINUTE_US }
  const limit_id = `sso_failed_${connection_id}`
  return [
    { ...window, limit_id: `${limit_id}_${block}`, max_requests: FAILURES_PER_MINUTE.block },
    { ...window, limit_id, max_requests: FAILURES_PER_MINUTE.connection },
  ]
}

async function limitFailures(kernel: Kernel, failures: readonly LimitOf[]): Promise<void> {
  for (const limit of failures) {
    if (await rateLimits(kernel).peek(limit)) continue
    const retry_after_s = await rateLimits(kernel).secondsUntilRoom(limit)
    throw new Refusal('rate_limited', 'too many sign-ins failed', { retry_after_s })
  }
}

async function noteRefusal(
  kernel: Kernel,
  connection: OpenConnection,
  { reason, failures }: { reason: SignInRefusal; failures: readonly LimitOf[] },
): Promise<void> {
  const { tenant_id, row } = connection
  for (const limit of failures) await rateLimits(kernel).take(limit)
  const limit_id = `sso_${reason}_${row.connection_id}`
  const logged = { tenant_id, limit_id, max_requests: 1, window_us: MINUTE_US }
  if (!(await rateLimits(kernel).take(logged))) return
  await kernel.db.transact(tenant_id, (tx) =>
    appendCrumb(tx, {
      event_type: 'user.sign_in_refused',
      subject: row.connection_id,
      payload: { reason },
    }),
  )
}

/** Admits the person and begins a session, or makes a code for one. Returns where to redirect. */
async function enter(
  call: Call<typeof contract.callback>,
  connection: OpenConnection,
  {
    login,
    claims,
    sid,
  }: {
    readonly login: LoginRow
    readonly claims: Awaited<ReturnType<typeof authenticate>>
    readonly sid: string | null
  },
): Promise<string> {
  const { kernel } = call
  const { tenant_id } = connection
  const { connection_id } = connection.row
  const sid_label = sid === null ? null : await sessionLabel(kernel, connection, sid)
  const code = kernel.ids.base62(TOKEN_CHARS)
  const attempt = async () => {
    const prepared = await preparePerson(kernel, connection, claims)
    let used = false
    try {
      const token = await kernel.db.transact(tenant_id, async (tx) => {
        const current = await findConnection(tx, connection_id)
        if (current?.enabled !== 1 || current.changed_us !== connection.row.changed_us)
          return call.refuse('login_expired')
        const row = await admitPerson(kernel, tx, prepared)
        meter(tx, call.operation.id)
        if (login.challenge === null) return begin(kernel, tx, row, { connection_id, sid_label })
        await insertCode(tx, {
          code_hash: sha256(code),
          tenant_id,
          connection_id,
          user_id: row.user_id,
          sid_label,
          challenge: login.challenge,
          expires_us: tx.now() + CODE_US,
        })
        return null
      })
      used = true
      return token
    } finally {
      if (!used && prepared.fresh && prepared.texts)
        await kernel.keyring.destroySecrets(tenant_id, 'decision', [prepared.texts.secret_no])
    }
  }
  const begun = await retryOnConflict(attempt, { on: 'record', attempts: 5 })
  if (begun === null) {
    const url = new URL(login.return_to)
    url.searchParams.set('code', code)
    return url.href
  }
  await endReplaced(kernel, call.cookie('session'))
  setSession(call, begun.token)
  return login.return_to
}

/** An HMAC of the provider's session id, which logout tokens refer to. */
export async function sessionLabel(
  kernel: Kernel,
  { tenant_id, row }: Pick<OpenConnection, 'tenant_id' | 'row'>,
  sid: string,
): Promise<string> {
  const keys = await kernel.keyring.tenant(tenant_id)
  return keys.label(`sid\n${row.connection_id}\n${sid}`)
}

function setSession(call: Pick<Call, 'kernel' | 'setCookie'>, token: string): void {
  const max_age_s = Math.floor(call.kernel.settings.session_us / SECOND_US)
  call.setCookie({ name: 'session', value: token, max_age_s })
}

async function begin(
  kernel: Kernel,
  tx: Tx,
  row: UserRow,
  through: { readonly connection_id: string; readonly sid_label: string | null },
): Promise<{ readonly token: string; readonly principal: Principal }> {
  const { user_id } = row
  const rights = rightsOfRoles(rolesOf(row), storesOf(row))
  const { tenant_id } = tx
  const person = { kind: 'tenant', tenant_id, key_id: user_id, user_id, ...rights } as const
  const begun = await beginSession(kernel, tx, person, through)
  await appendSignIn(tx, user_id, {
    connection_id: through.connection_id,
    method: 'oidc',
    session_id: begun.principal.session?.session_id ?? '',
  })
  return begun
}

export const appendSignIn = (tx: Tx, user_id: string, payload: EventPayload<'user.signed_in'>) =>
  appendCrumb(tx, { event_type: 'user.signed_in', subject: user_id, payload })

export const exchange: Handler<typeof contract.exchange> = async (call, { body }) => {
  const { kernel } = call
  const taken = await kernel.db.transact(PLATFORM, (tx) => takeCode(tx, sha256(body.code)))
  const challenge = hash('sha256', body.verifier, 'base64url')
  if (taken === null || taken.expires_us <= kernel.clock.now() || taken.challenge !== challenge)
    return call.refuse('login_expired')
  const { tenant_id, connection_id, user_id, sid_label } = taken
  if (!(await openConnection(kernel, tenant_id, connection_id))) return call.refuse('login_expired')
  const { token, principal } = await kernel.db.transact(tenant_id, async (tx) => {
    if ((await findConnection(tx, connection_id))?.enabled !== 1)
      return call.refuse('login_expired')
    const row = await findUser(tx, user_id)
    if (row?.state !== 'active') return call.refuse('login_expired')
    meter(tx, call.operation.id)
    return begin(kernel, tx, row, { connection_id, sid_label })
  })
  await endReplaced(kernel, call.cookie('session'))
  setSession(call, token)
  const { session } = principal
  return { session_id: session?.session_id ?? '', csrf_token: session?.csrf_token ?? '' }
}
