// Issues, lists and revokes the keys of a tenant. No key gets more rights than the caller has.

import assert from 'node:assert/strict'
import {
  DEFAULT_SCOPES,
  type InputOf,
  type Key,
  type keys,
  limits,
  type Scope,
  type tenants,
} from '@custos/contract'
import type { Static } from 'typebox'
import { formatTime, parseTime } from '../../platform/clock.ts'
import {
  type CredentialInfo,
  countLiveCredentials,
  findCredentialById,
  findTenant,
  listCredentials,
} from '../../platform/db/control.sql.ts'
import { countLiveTokens } from '../../platform/db/credential-limits.sql.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler, HandlersOf, Principal } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { REDACTED_SECRET } from '../../platform/kernel/sealed-column.ts'
import { REDACTED_TEXT } from '../../platform/kernel/text-source.ts'
import { formatNamespace, parseNamespace } from '../../platform/namespace.ts'
import { type PageQuery, pageOf } from '../../platform/page.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { KEY_ID_BYTES, openLimits, type SealedLimit } from './credential-limit.ts'
import {
  hasNoKey,
  issueKey,
  type NewCredential,
  requireLiveMaker,
  requireNoExcess,
  requireStores,
  revokeClass,
  revokeKey,
  type SealedName,
} from './credentials.ts'
import { issueSealed, openNames, sealName } from './key-texts.ts'
import { FIRST_KEY_NAME } from './provision.ts'
import { coversStores, findExcessRight, type Rights, rightsOf, TENANT_RIGHTS } from './rights.ts'
import { meter } from './usage/usage.ts'

type Create = typeof keys.create

const createKey: Handler<Create> = async (call, input) => {
  const { principal } = call
  const name = input.body.name ?? ''
  const fresh = requestedKey(call, input)
  const namespace = requestedNamespace(call, input)
  // Runs before the look-up of stores: the caller must not learn whether an unusable store exists.
  requireNoExcess({ ...fresh, namespace }, rightsOf(principal))
  return issueSealed(call, { namespace, name }, ({ limit, sealed_name }) =>
    call.once<Static<Create['reply']>>({
      async run(tx) {
        await requireLiveMaker(tx, principal)
        await requireStores(tx, input.body.allowed_stores ?? [])
        return issueNew(call, tx, { name, fresh: { ...fresh, sealed_name, limit } })
      },
      replay: (tx, { key_id }) => showAgain(call, tx, String(key_id), { name, limit }),
    }),
  )
}

async function issueNew(
  call: Call<Create>,
  tx: Tx,
  { name, fresh }: { name: string; fresh: NewCredential },
) {
  const { kernel, principal, tenant_id } = call
  if ((await countLiveCredentials(tx, tenant_id)) >= limits.keys_per_tenant)
    return call.refuse('rejected', `a tenant has at most ${limits.keys_per_tenant} live keys`)
  const { key_id, api_key } = await issueKey(kernel, tx, fresh, {
    rights: rightsOf(principal),
    user_id: principal.user_id,
  })
  meter(tx, call.operation.id)
  await appendCrumb(tx, {
    event_type: 'tenant.key_created',
    subject: key_id,
    payload: { key_id, class: fresh.class },
  })
  const row = await findCredentialById(tx, tenant_id, key_id)
  if (!row) throw new Error('a key was issued without a row')
  return { reply: { ...showNewKey(row, { name, limit: fresh.limit }), api_key }, ids: { key_id } }
}

/** Shows a key again without its text: only the first reply had it, as only its hash is stored. */
async function showAgain(
  call: Call<Create>,
  tx: Tx,
  key_id: string,
  made: { name: string; limit: SealedLimit | undefined },
): Promise<Static<Create['reply']>> {
  const row = await findCredentialById(tx, tx.tenant_id, key_id)
  // A key with a namespace is deleted once it has ended.
  if (!row) return call.refuse('idempotency_key_reused')
  const redacted = row.name_secret_no === REDACTED_SECRET
  const name = redacted ? REDACTED_TEXT : made.name
  return { ...showNewKey(row, { ...made, name }), api_key: null }
}

/** The key that the caller requests. Omitted rights default to all that the caller may grant. */
function requestedKey(call: Call<Create>, { body }: InputOf<Create>): NewCredential {
  const own = rightsOf(call.principal)
  const credentialClass = body.class ?? 'service'
  return {
    tenant_id: call.tenant_id,
    class: credentialClass,
    name: '',
    scopes: requestedScopes(call, credentialClass, body.scopes),
    allowed_stores: [...new Set(body.allowed_stores ?? own.allowed_stores)],
    max_trust_tier: body.max_trust_tier ?? own.max_trust_tier,
    // A key that expires must not prolong itself through another key.
    expires_us: earlier(requestedExpiry(call, body.expires_at ?? null), own.expires_us),
  }
}

function requestedScopes(
  call: Call<Create>,
  credentialClass: 'tenant' | 'read_only' | 'service',
  wanted: readonly Scope[] | undefined,
): Scope[] {
  const scopes = [...new Set(wanted ?? DEFAULT_SCOPES[credentialClass])]
  if (credentialClass === 'read_only' && scopes.some((scope) => !scope.endsWith(':read')))
    return call.refuse('rejected', 'a read_only key has read scopes only')
  return scopes
}

function requestedExpiry(call: Call<Create>, expires_at: string | null): number | null {
  if (expires_at === null) return null
  const expires_us = parseTime(expires_at)
  if (expires_us === null || expires_us <= call.kernel.clock.now())
    return call.refuse('rejected', 'expires_at must be a time in the future')
  return expires_us
}

const earlier = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b)

/** The requested namespace, by default that of the calling key; undefined for every namespace. */
function requestedNamespace(call: Call<Create>, { body }: InputOf<Create>): Rights['namespace'] {
  const { namespace } = body
  if (namespace === undefined) return call.principal.namespace
  return parseNamespace(call.tenant_id, { namespace })
}

/** A key limited to stores sees itself and keys whose stores are all among its own. */
const isVisible = ({ allowed_stores, key_id }: Principal, key: Key): boolean =>
  key.key_id === key_id || coversStores(allowed_stores, key.allowed_stores)

/** The values were validated against the contract's lists before the row was written. */
const storedRights = (row: CredentialInfo) =>
  ({
    class: row.class,
    scopes: JSON.parse(row.scopes),
    allowed_stores: JSON.parse(row.allowed_stores),
    max_trust_tier: row.max_trust_tier,
  }) as Pick<Key, 'class' | 'scopes' | 'allowed_stores' | 'max_trust_tier'>

/** `limit` is absent for a key that may use every namespace. */
function showKey(
  row: CredentialInfo,
  {
    name = '',
    limit,
  }: { name?: string | undefined; limit?: { namespace: string | null } | undefined },
): Key {
  const { tenant_id } = row
  return {
    key_id: row.key_id,
    name,
    prefix: row.prefix,
    ...storedRights(row),
    namespace: limit ? formatNamespace(tenant_id ?? '', limit.namespace) : null,
    created_at: formatTime(row.created_us),
    expires_at: row.expires_us === null ? null : formatTime(row.expires_us),
    revoked_at: row.revoked_us === null ? null : formatTime(row.revoked_us),
    last_used_at: row.used_us === null ? null : formatTime(row.used_us),
  }
}

function showNewKey(row: CredentialInfo, words: Parameters<typeof showKey>[1]) {
  const { revoked_at: _, last_used_at: __, ...key } = showKey(row, words)
  return key
}

/** Omits keys whose namespace cannot be read any more, as they may do nothing. */
async function showKeys(
  kernel: Kernel,
  db: TenantDb,
  rows: readonly CredentialInfo[],
): Promise<Key[]> {
  const opened = await openLimits(
    kernel,
    db,
    rows.map(({ key_id }) => key_id),
  )
  const names = await openNames(kernel, db.tenant_id, rows)
  return rows.flatMap((row, i) => {
    const limit = opened.get(row.key_id)
    return limit === null ? [] : [showKey(row, { name: names[i], limit })]
  })
}

const revoke: Handler<typeof keys.revoke> = async (call, { params: { key_id } }) => {
  const { kernel, principal, tenant_id } = call
  const own = key_id === principal.key_id
  // The rights of a key never change, so they can be read before the unit of work.
  const limit = own ? undefined : await call.read((db) => openLimits(kernel, db, [key_id]))
  return call.transact(async (tx) => {
    const row = await findCredentialById(tx, tenant_id, key_id)
    if (!row || !isVisible(principal, showKey(row, {}))) return call.refuse('key_not_found')
    if (!own) {
      const namespace = limit?.get(key_id)?.namespace
      const { expires_us } = row
      const excess = findExcessRight(
        { ...storedRights(row), expires_us, namespace },
        rightsOf(principal),
      )
      if (excess !== null)
        return call.refuse('scope_missing', 'the caller cannot revoke a key that may do more')
    }
    const revoked = await revokeKey(kernel, tx, { owner: tenant_id, key_id })
    if (revoked) {
      meter(tx, call.operation.id)
      await appendCrumb(tx, {
        event_type: 'tenant.key_revoked',
        subject: key_id,
        payload: { key_id },
      })
    }
    return { key_id, revoked }
  })
}

/** Shows the credential that was looked up for this request, without another look-up. */
const showCurrent: Handler<typeof keys.current> = async ({ principal, tenant_id }) => {
  const { key_id, scopes, allowed_stores, namespace, max_trust_tier, expires_us } = principal
  assert(principal.class !== 'operator', 'an operator has passed as a tenant')
  return {
    key_id,
    tenant_id,
    class: principal.class,
    scopes: [...scopes],
    allowed_stores: [...allowed_stores],
    namespace: namespace === undefined ? null : formatNamespace(tenant_id, namespace),
    max_trust_tier: max_trust_tier ?? null,
    expires_at: typeof expires_us === 'number' ? formatTime(expires_us) : null,
  }
}

export const rotateKey: Handler<typeof tenants.rotate_key> = async (call) => {
  // Runs before the unit of work: an id from an operator's path may name no tenant, and must then
  // neither reach a row nor be used as the owner of an Idempotency-Key.
  const tenant = await call.read((db) => findTenant(db, db.tenant_id))
  if (!tenant) return call.refuse('tenant_not_found')
  if (tenant.requested_us !== null) return call.refuse('tenant_destroyed')
  const own = await sealOwnName(call)
  return call.once<Static<(typeof tenants.rotate_key)['reply']>>({
    async run(tx) {
      const reply = await rotate(call, tx, own)
      return { reply, ids: { key_id: reply.key_id, revoked: reply.revoked } }
    },
    // Only its hash is stored, so only the first reply contained the key itself.
    replay: async ({ tenant_id }, { key_id, revoked }) => ({
      ...{ tenant_id, key_id: String(key_id), api_key: null, new_api_key: null },
      revoked: Number(revoked),
    }),
  })
}

const replacesAll = (principal: Principal): boolean =>
  findExcessRight(TENANT_RIGHTS, rightsOf(principal)) === null

/** Seals the caller's key name again for the replacing key; undefined if it has no sealed name. */
async function sealOwnName(call: Call<typeof tenants.rotate_key>): Promise<SealedName | undefined> {
  const { kernel, tenant_id, principal } = call
  if (replacesAll(principal)) return undefined
  const own = await call.read((db) => findCredentialById(db, tenant_id, principal.key_id))
  if (!own?.sealed_name) return undefined
  const [name = ''] = await openNames(kernel, tenant_id, [own])
  return sealName(kernel, tenant_id, { key_id: kernel.ids.hex(KEY_ID_BYTES), name })
}

async function rotate(
  call: Call<typeof tenants.rotate_key>,
  tx: Tx,
  own: SealedName | undefined,
): Promise<Static<(typeof tenants.rotate_key)['reply']>> {
  const { kernel, principal } = call
  if (!(await findTenant(tx, tx.tenant_id))) return call.refuse('tenant_not_found')
  await requireLiveMaker(tx, principal)

  // A key without all rights of a tenant's key replaces only itself, not the tenant's keys.
  const rights = rightsOf(principal)
  const { revoked, fresh } = replacesAll(principal)
    ? await replaceTenantKeys(kernel, tx)
    : await replaceOwn(call, tx, own)
  const { key_id, api_key } = await issueKey(kernel, tx, fresh, {
    rights,
    user_id: principal.user_id,
  })

  meter(tx, call.operation.id)
  await appendCrumb(tx, {
    event_type: 'tenant.key_rotated',
    subject: key_id,
    payload: { key_id, revoked },
  })
  return { tenant_id: tx.tenant_id, key_id, api_key, new_api_key: api_key, revoked }
}

async function replaceTenantKeys(kernel: Kernel, tx: Tx) {
  const revoked = await revokeClass(kernel, tx, {
    owner: tx.tenant_id,
    credential_class: 'tenant',
  })
  const fresh = { ...TENANT_RIGHTS, tenant_id: tx.tenant_id, name: FIRST_KEY_NAME }
  return { revoked, fresh }
}

async function replaceOwn(
  { kernel, principal }: Call<typeof tenants.rotate_key>,
  tx: Tx,
  sealed_name: SealedName | undefined,
) {
  const { tenant_id } = tx
  if (hasNoKey(principal))
    throw new Refusal('scope_missing', 'A person without a key has none that could be replaced')
  const own = await findCredentialById(tx, tenant_id, principal.key_id)
  await revokeKey(kernel, tx, { owner: tenant_id, key_id: principal.key_id })
  const name = sealed_name ? '' : (own?.name ?? FIRST_KEY_NAME)
  const fresh = { ...rightsOf(principal), tenant_id, name, sealed_name }
  return { revoked: 1, fresh }
}

const SECOND_US = 1_000_000

/** The key whose revocation ends a token; `null` if none. A person's token ends with the person. */
const makerOf = (principal: Principal): string | null =>
  principal.kind === 'tenant' && !hasNoKey(principal) ? principal.key_id : null

const createToken: Handler<typeof keys.create_token> = async (call, { body }) => {
  const { kernel, principal, tenant_id } = call
  const { store_id } = body
  const namespace = parseNamespace(tenant_id, body)
  const scopes = [...new Set(body.scopes)]
  const rights = rightsOf(principal)
  const wanted: Rights = {
    class: 'token',
    scopes,
    allowed_stores: [store_id],
    namespace,
    max_trust_tier: rights.max_trust_tier,
    expires_us: rights.expires_us,
  }
  // Checked before the unit too: a replay must show nothing to a caller who may not make the token.
  requireNoExcess(wanted, rights)
  const ttl_us = (body.ttl_s ?? limits.token_ttl_s.default) * SECOND_US
  const binding_key_id = makerOf(principal)

  const show = (key_id: string, token: string | null, at: { from_us: number; to_us: number }) => ({
    key_id,
    token,
    store_id,
    namespace: formatNamespace(tenant_id, namespace),
    scopes,
    created_at: formatTime(at.from_us),
    expires_at: formatTime(at.to_us),
  })
  return issueSealed(call, { namespace }, ({ limit }) =>
    call.once<ReturnType<typeof show>>({
      async run(tx) {
        await requireLiveMaker(tx, principal)
        await requireStores(tx, [store_id])
        if (binding_key_id !== null) await requireFewTokens(tx, binding_key_id)
        const created_us = tx.now()
        const ends_us = created_us + ttl_us
        const expires_us = Math.min(ends_us, rights.expires_us ?? ends_us)
        const fresh = { ...wanted, tenant_id, name: '', expires_us, limit }
        const issued = await issueKey(kernel, tx, fresh, {
          rights,
          binding_key_id,
          user_id: principal.user_id,
        })
        const { key_id, api_key } = issued
        meter(tx, call.operation.id)
        await appendCrumb(tx, {
          event_type: 'tenant.key_created',
          subject: key_id,
          payload: { key_id, class: fresh.class },
        })
        const ids = { key_id, created_us, expires_us }
        return { reply: show(key_id, api_key, { from_us: created_us, to_us: expires_us }), ids }
      },
      // The replayed request had the same body; only the first reply contained the token itself.
      replay: async (_, { key_id, created_us, expires_us }) =>
        show(String(key_id), null, { from_us: Number(created_us), to_us: Number(expires_us) }),
    }),
  )
}

/** Limits the number of tokens, as any key that may read can make them. */
async function requireFewTokens(tx: Tx, maker_id: string): Promise<void> {
  if ((await countLiveTokens(tx, maker_id, tx.now())) >= limits.live_tokens_per_key)
    throw new Refusal('too_many_tokens')
}

/** A cursor of an earlier version is the number of keys to skip. */
const withOffset = ({ cursor, ...query }: PageQuery): PageQuery => {
  if (cursor === undefined) return query
  return /^[0-9]{1,9}$/.test(cursor) ? { ...query, offset: Number(cursor) } : { ...query, cursor }
}

export const keysHandlers: HandlersOf<typeof keys> = {
  create: createKey,
  create_token: createToken,

  list: (call, { query }) =>
    call.read(async (db) => {
      const page = pageOf(withOffset(query), 100, call.operation.id)
      const { limit } = page
      const rows = await listCredentials(db, db.tenant_id, { ...page, limit: limit + 1 })
      const listed = rows.slice(0, limit)
      const shown = await showKeys(call.kernel, db, listed)
      const keys = shown.filter((key) => isVisible(call.principal, key))
      const last = rows.length > limit ? listed.at(-1) : undefined
      const end = last ? { at: last.created_us, id: last.key_id } : null
      const { next_cursor } = page.envelope('keys', listed, end)
      return { ...page.envelope('keys', keys), next_cursor: last ? next_cursor : null }
    }),

  current: showCurrent,
  revoke,
}
