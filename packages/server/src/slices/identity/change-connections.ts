// Connects a tenant to providers. Nobody may map a role with more rights than their own.

import {
  type identity as contract,
  limits,
  type Role,
  type SsoConnection,
  scopeCovers,
} from '@custos/contract'
import type { Static } from 'typebox'
import { findTenant } from '../../platform/db/control.sql.ts'
import { deleteRoute, deleteUnderWay, findRoute, insertRoute } from '../../platform/db/sso.sql.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import { EgressError } from '../../platform/egress/connection.ts'
import { actorOf, type Call, type Handler, type Principal } from '../../platform/kernel/call.ts'
import { REDACTED_SECRET } from '../../platform/kernel/sealed-column.ts'
import { newClientKey } from '../../platform/keys/signer.ts'
import { type Page, pageOf } from '../../platform/page.ts'
import { rateLimits } from '../../platform/rates/rate-limits.ts'
import { Refusal } from '../../platform/refusal.ts'
import { meter, requireNoExcess, rightsOf } from '../tenants/index.ts'
import { refuseLimited } from './change-users.ts'
import { rightsOfRoles } from './people.ts'
import { endSessionsThrough } from './sessions.ts'
import {
  type ConnectionRow,
  deleteConnection,
  findConnection,
  insertConnection,
  listConnections,
  updateConnection,
} from './sso.sql.ts'
import {
  appendConnectionChange,
  type ConnectionSettings,
  connectionColumn,
  digestOf,
  domainsOf,
  hasDirectories,
  showConnection,
  TEMPLATED_ISSUER,
} from './sso-connection.ts'
import { testProvider } from './sso-provider.ts'

type NewConnection = Static<(typeof contract)['create_connection']['body']>

const ID_BYTES = 12
const KEY_ID_BYTES = 8

/** Microsoft's issuers for all organisations; without listed directories anybody could enter. */
const SHARED_ISSUER =
  /^https:\/\/login\.(partner\.)?microsoftonline\.[a-z]+\/(common|organizations|consumers)\b/
const VERIFICATIONS_PER_MINUTE = 10
const MINUTE_US = 60_000_000

async function requireIssuer(
  call: Call<(typeof contract)['create_connection' | 'configure']>,
  { issuer, directories = [] }: NewConnection,
): Promise<void> {
  if (
    URL.parse(issuer) === null ||
    /[?#]/.test(issuer) ||
    (await call.kernel.egress.isRefused(issuer))
  )
    call.refuse('url_refused', 'an issuer is an https URL without query and fragment')
  if (SHARED_ISSUER.test(issuer) && directories.length === 0)
    call.refuse('url_refused', 'use the issuer of your own organisation, or list directories')
}

/** Refuses inconsistent settings, and roles that the caller may not grant. */
function requireSettings(
  call: Pick<Call, 'principal'> & { refuse(code: 'rejected', message: string): never },
  settings: ConnectionSettings,
): void {
  const { role_map, default_role, allow_owner, auth_method, client_secret, role_claim } = settings
  const roles = [...role_map.map(({ role }) => role), ...(default_role ? [default_role] : [])]
  if (roles.includes('owner') && !allow_owner)
    call.refuse('rejected', 'a role of owner needs allow_owner')
  if (role_map.length > 0 && role_claim === null)
    call.refuse('rejected', 'role_map needs a role_claim')
  if (hasDirectories(settings) && !TEMPLATED_ISSUER.test(settings.issuer))
    call.refuse('rejected', 'directories are those of an issuer …/common/v2.0 or organizations')
  if (!hasDirectories(settings) && SHARED_ISSUER.test(settings.issuer))
    call.refuse('rejected', 'an issuer of every organisation needs directories')
  const needsSecret = auth_method.startsWith('client_secret')
  if (needsSecret !== (client_secret !== null))
    call.refuse('rejected', `auth_method ${auth_method} and client_secret do not fit`)
  requireRoles(call.principal, roles)
}

function requireRoles(principal: Principal, roles: readonly Role[]): void {
  for (const role of new Set(roles)) requireNoExcess(rightsOfRoles([role], []), rightsOf(principal))
}

function settingsOf(body: NewConnection, kid: string): ConnectionSettings {
  const secret = body.client_secret ?? null
  const auth_method = body.auth_method ?? (secret === null ? 'none' : 'client_secret_basic')
  const key =
    auth_method === 'private_key_jwt' ? newClientKey(kid) : { private_key: null, public_jwk: null }
  return {
    name: body.name,
    issuer: body.issuer,
    client_id: body.client_id,
    auth_method,
    client_secret: secret,
    ...key,
    scopes: body.scopes ?? ['email', 'profile'],
    algorithms: body.algorithms ?? ['RS256', 'PS256', 'ES256', 'EdDSA'],
    role_claim: body.role_claim ?? null,
    role_map: body.role_map ?? [],
    default_role: body.default_role ?? null,
    allow_owner: body.allow_owner ?? false,
    create_users: body.create_users ?? false,
    ...(body.directories?.length ? { directories: body.directories } : {}),
  }
}

export const createConnection: Handler<
  (typeof contract)['create_connection' | 'configure']
> = async (call, { body }) => {
  const { kernel, tenant_id, principal } = call
  refuseLimited(call)
  await requireIssuer(call, body)
  const settings = settingsOf(body, kernel.ids.hex(KEY_ID_BYTES))
  requireSettings(call, settings)
  const connection_id = kernel.ids.hex(ID_BYTES)
  const digest = await digestOf(kernel, tenant_id, settings)
  const sealed = await connectionColumn.sealNew(kernel, tenant_id, { connection_id }, settings)
  let made = false
  try {
    const row = await call.transact(async (tx) => {
      if ((await listConnections(tx)).length >= limits.sso_connections)
        return call.refuse('too_many', `at most ${limits.sso_connections} connections`)
      const now_us = tx.now()
      const fresh: ConnectionRow = {
        connection_id,
        enabled: Number(body.enabled ?? true),
        enforced: Number(body.enforced ?? false),
        ...sealed,
        created_us: now_us,
        changed_us: now_us,
      }
      await insertConnection(tx, fresh)
      await insertRoute(tx, connection_id, connection_id)
      const changed_by = actorOf(principal)
      if (fresh.enabled && fresh.enforced) await endSessionsThrough(kernel, tx, null, changed_by)
      meter(tx, call.operation.id)
      await appendConnectionChange(tx, fresh, { change: 'created', digest, changed_by })
      return fresh
    })
    made = true
    return showConnection(kernel, row, settings, [])
  } finally {
    if (!made) await kernel.keyring.destroySecrets(tenant_id, 'decision', [sealed.secret_no])
  }
}

export const listAllConnections: Handler<typeof contract.connections> = (call, { query }) =>
  call.read(async (db) => {
    refuseLimited(call)
    const page = pageOf(query, limits.page.default, call.operation.id)
    const { limit, offset, after } = page
    const all = await listConnections(db)
    const from = after === null ? offset : all.findIndex((row) => isBehind(row, after))
    const rows = from < 0 ? [] : all.slice(from, from + limit)
    const last = rows.at(-1)
    const opened = await connectionColumn.openAll(call.kernel, call.tenant_id, rows)
    const shown: SsoConnection[] = []
    for (const [i, row] of rows.entries()) {
      const domains = await domainsOf(db, row.connection_id)
      shown.push(showConnection(call.kernel, row, opened[i] ?? null, domains))
    }
    const end = last ? { at: last.created_us, id: last.connection_id } : null
    return page.envelope('connections', shown, end)
  })

/** Whether a connection follows the cursor in the order of `listConnections`. */
const isBehind = (
  { created_us, connection_id }: ConnectionRow,
  { at, id }: NonNullable<Page['after']>,
): boolean => created_us > at || (created_us === at && connection_id > id)

type OneConnection = (typeof contract)[
  | 'connection'
  | 'update_connection'
  | 'delete_connection'
  | 'test'
  | 'verify_domain'
  | 'drop_domain']

async function loadConnection(
  call: Call<OneConnection>,
  db: TenantDb,
  connection_id: string,
): Promise<ConnectionRow> {
  refuseLimited(call)
  return (await findConnection(db, connection_id)) ?? call.refuse('connection_not_found')
}

async function openSettings(
  { kernel, tenant_id }: Call<OneConnection>,
  row: ConnectionRow,
): Promise<ConnectionSettings | null> {
  const [settings = null] = await connectionColumn.openAll(kernel, tenant_id, [row])
  return settings
}

async function showOne(
  call: Call<OneConnection>,
  db: TenantDb,
  row: ConnectionRow,
): Promise<SsoConnection> {
  const domains = await domainsOf(db, row.connection_id)
  return showConnection(call.kernel, row, await openSettings(call, row), domains)
}

export const getConnection: Handler<typeof contract.connection> = (call, { params }) =>
  call.read(async (db) => showOne(call, db, await loadConnection(call, db, params.connection_id)))

/** Replaces the given settings; omitted ones keep their values. */
function changedSettings(
  known: ConnectionSettings,
  { enabled: _, enforced: __, ...given }: Static<(typeof contract)['update_connection']['body']>,
): ConnectionSettings {
  const changes = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...known, ...Object.fromEntries(changes) }
}

export const updateConnectionById: Handler<typeof contract.update_connection> = (
  call,
  { params, body },
) =>
  call.transact(async (tx) => {
    const { kernel, tenant_id, principal } = call
    const row = await loadConnection(call, tx, params.connection_id)
    const known = await openSettings(call, row)
    if (!known || row.secret_no === REDACTED_SECRET)
      return call.refuse('wrong_state', 'what it was connected to was erased: delete it')
    const settings = changedSettings(known, body)
    requireSettings(call, settings)
    const domains = await domainsOf(tx, row.connection_id)
    const added = settings.directories?.some((one) => !known.directories?.includes(one))
    // People of an added directory could take the invitations to the domains.
    if (added && domains.length > 0 && !scopeCovers(principal.scopes, '*'))
      throw new Refusal('scope_missing', 'with domains, owners alone add directories')
    const changed: ConnectionRow = {
      ...row,
      enabled: body.enabled === undefined ? row.enabled : Number(body.enabled),
      enforced: body.enforced === undefined ? row.enforced : Number(body.enforced),
      sealed: await connectionColumn.sealAgain(kernel, tenant_id, row, settings),
      changed_us: tx.now(),
    }
    const { connection_id, enabled, enforced, sealed, changed_us } = changed
    await updateConnection(tx, connection_id, { enabled, enforced, sealed, changed_us })
    const changed_by = actorOf(principal)
    const left = (known.directories ?? []).some((one) => !settings.directories?.includes(one))
    if (!enabled || left) {
      await deleteUnderWay(tx, { connection_id })
      await endSessionsThrough(kernel, tx, connection_id, changed_by)
    }
    if (enabled && enforced && !(row.enabled && row.enforced))
      await endSessionsThrough(kernel, tx, null, changed_by)
    meter(tx, call.operation.id)
    const digest = await digestOf(kernel, tenant_id, settings)
    await appendConnectionChange(tx, changed, { change: 'updated', digest, changed_by })
    return showConnection(kernel, changed, settings, domains)
  })

// Destroys the secret first, as for all rows: a crash leaves a connection that cannot be opened.
export const deleteConnectionById: Handler<typeof contract.delete_connection> = async (
  call,
  { params },
) => {
  const { kernel, tenant_id, principal } = call
  const { connection_id } = params
  const { row, digest } = await call.read(async (db) => {
    const found = await loadConnection(call, db, connection_id)
    const settings = await openSettings(call, found)
    const known = settings ? await digestOf(kernel, tenant_id, settings) : kernel.ids.hex(32)
    return { row: found, digest: known }
  })
  if (row.secret_no !== REDACTED_SECRET)
    await kernel.keyring.destroySecrets(tenant_id, 'decision', [row.secret_no])
  return call.transact(async (tx) => {
    await loadConnection(call, tx, connection_id)
    const changed_by = actorOf(principal)
    for (const route of [connection_id, ...(await domainsOf(tx, connection_id))])
      await deleteRoute(tx, route)
    await deleteUnderWay(tx, { connection_id })
    await endSessionsThrough(kernel, tx, connection_id, changed_by)
    await deleteConnection(tx, connection_id)
    meter(tx, call.operation.id)
    const off = { ...row, enabled: 0, enforced: 0 }
    await appendConnectionChange(tx, off, { change: 'deleted', digest, changed_by })
    return { connection_id, deleted: true as const }
  })
}

export const testConnection: Handler<typeof contract.test> = async (call, { params }) => {
  const { kernel, tenant_id } = call
  const row = await call.read((db) => loadConnection(call, db, params.connection_id))
  const settings = await openSettings(call, row)
  if (!settings || row.secret_no === REDACTED_SECRET) return call.refuse('connection_not_found')
  return testProvider(kernel, { tenant_id, row, settings })
}

/**
 * A person who proves a domain decides who can take invitations to it, even those of owners, so
 * this requires an owner's rights. The text is an HMAC under a salt of the tenant, so that no other
 * tenant or connection has it.
 */
export const verifyDomain: Handler<typeof contract.verify_domain> = async (
  call,
  { params, body: { domain } },
) => {
  const { kernel, tenant_id, principal } = call
  const { connection_id } = params
  if (!scopeCovers(principal.scopes, '*'))
    throw new Refusal('scope_missing', 'a domain is proved with the rights of an owner')
  const row = await call.read((db) => loadConnection(call, db, connection_id))
  const settings = await openSettings(call, row)
  if (!settings || row.secret_no === REDACTED_SECRET) return call.refuse('connection_not_found')
  const limit = {
    tenant_id,
    limit_id: 'sso_domains',
    max_requests: VERIFICATIONS_PER_MINUTE,
    window_us: MINUTE_US,
  }
  if (!(await rateLimits(kernel).take(limit)))
    throw new Refusal('rate_limited', undefined, { retry_after_s: 60 })
  const keys = await kernel.keyring.tenant(tenant_id)
  const token = keys.label(`domain\n${connection_id}\n${domain}`)
  const record = { name: domain, type: 'TXT', value: `custos-verification=${token}` } as const
  const texts = await kernel.egress.texts(domain).catch((error: unknown) => {
    if (error instanceof EgressError) return null
    throw error
  })
  if (!texts?.includes(record.value)) {
    const problem = texts === null ? 'unreachable' : 'record_missing'
    return { domain, verified: false, problem, record }
  }
  const digest = await digestOf(kernel, tenant_id, settings)
  return call.transact(async (tx) => {
    await loadConnection(call, tx, connection_id)
    const known = await domainsOf(tx, connection_id)
    if (!known.includes(domain)) {
      if (known.length >= limits.sso_domains)
        return call.refuse('too_many', `at most ${limits.sso_domains} domains`)
      if ((await insertRoute(tx, domain, connection_id)) === 0)
        return call.refuse('name_taken', 'the domain belongs to another connection')
      const changed_by = actorOf(principal)
      await appendConnectionChange(tx, row, { change: 'domains', digest, changed_by })
    }
    meter(tx, call.operation.id)
    return { domain, verified: true, problem: null, record }
  })
}

/**
 * Removes domains. A sign-in in progress may have found a domain before this; it is refused,
 * because the connection has changed since.
 */
async function removeDomains(
  tx: Tx,
  row: ConnectionRow,
  domains: readonly string[],
): Promise<ConnectionRow> {
  if (domains.length === 0) return row
  for (const domain of domains) await deleteRoute(tx, domain)
  const changed_us = tx.now()
  await updateConnection(tx, row.connection_id, { changed_us })
  return { ...row, changed_us }
}

// A person who may delete the connection, which frees its domains, may also free one of them.
export const dropDomain: Handler<typeof contract.drop_domain> = (call, { params }) =>
  call.transact(async (tx) => {
    const { kernel, tenant_id, principal } = call
    const { connection_id, domain } = params
    const row = await loadConnection(call, tx, connection_id)
    if (!(await domainsOf(tx, connection_id)).includes(domain))
      return call.refuse('domain_not_found')
    const changed = await removeDomains(tx, row, [domain])
    const settings = await openSettings(call, row)
    const digest = settings ? await digestOf(kernel, tenant_id, settings) : kernel.ids.hex(32)
    const changed_by = actorOf(principal)
    await appendConnectionChange(tx, changed, { change: 'domains', digest, changed_by })
    meter(tx, call.operation.id)
    return showConnection(kernel, changed, settings, await domainsOf(tx, connection_id))
  })

export const setDomains: Handler<typeof contract.set_domains> = async (call, { params, body }) => {
  const { kernel, principal } = call
  const { tenant_id, connection_id } = params
  const tenant = await kernel.db.read(tenant_id, (db) => findTenant(db, tenant_id))
  if (!tenant || tenant.requested_us !== null) return call.refuse('tenant_not_found')
  return kernel.db.transact(tenant_id, async (tx) => {
    const found = (await findConnection(tx, connection_id)) ?? call.refuse('connection_not_found')
    const [settings = null] = await connectionColumn.openAll(kernel, tenant_id, [found])
    const wanted = [...new Set(body.domains)]
    const known = await domainsOf(tx, connection_id)
    const left = known.filter((domain) => !wanted.includes(domain))
    const row = await removeDomains(tx, found, left)
    for (const domain of wanted) {
      if ((await insertRoute(tx, domain, connection_id)) > 0) continue
      const taken = await findRoute(tx, domain)
      if (taken?.tenant_id !== tenant_id || taken.connection_id !== connection_id)
        return call.refuse('name_taken', 'a domain belongs to one connection')
    }
    const digest = settings ? await digestOf(kernel, tenant_id, settings) : kernel.ids.hex(32)
    const changed_by = actorOf(principal)
    await appendConnectionChange(tx, row, { change: 'domains', digest, changed_by })
    return showConnection(kernel, row, settings, await domainsOf(tx, connection_id))
  })
}
