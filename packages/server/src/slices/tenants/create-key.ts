// Issues a scoped key: never more than the caller has.

import assert from 'node:assert/strict'
import {
  type keys as contract,
  DEFAULT_SCOPES,
  type InputOf,
  type Key,
  limits,
  type Scope,
  scopeCovers,
  TRUST_TIERS,
} from '@custos/contract'
import type { Static } from 'typebox'
import { formatTime, parseTime } from '../../platform/clock.ts'
import {
  type CredentialInfo,
  countLiveCredentials,
  findCredentialById,
  listCredentials,
} from '../../platform/db/control.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler, HandlersOf, Principal } from '../../platform/kernel/call.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { issueKey, revokeKey } from './credentials.ts'
import { meter } from './usage.ts'

type CreateCall = Call<typeof contract.create>
type CreatedKey = Static<typeof contract.create.reply>
type KeyRequest = InputOf<typeof contract.create>['body']

const createKey: Handler<typeof contract.create> = async (call, { body }) => {
  const { kernel, principal } = call
  const credentialClass = body.class ?? 'service'
  const scopes = grantedScopes(call, credentialClass, body.scopes)
  const allowed_stores = grantedStores(call, body.allowed_stores)
  const expires_us = expiry(call, body.expires_at ?? null)

  const make = async (tx: Tx): Promise<CreatedKey> => {
    if ((await countLiveCredentials(tx, tx.tenant_id)) >= limits.keys_per_tenant)
      return call.refuse('rejected', `a tenant has at most ${limits.keys_per_tenant} live keys`)
    const own = await findCredentialById(tx, tx.tenant_id, principal.key_id)
    const max_trust_tier = grantedTier(call, own?.max_trust_tier ?? null, body.max_trust_tier)
    const granted = {
      name: body.name ?? '',
      class: credentialClass,
      scopes,
      allowed_stores,
      max_trust_tier,
    }
    const ends_us = earlier(expires_us, restrictedUntil(principal, own?.expires_us ?? null))
    const issued = await issueKey(kernel, tx, {
      ...granted,
      tenant_id: tx.tenant_id,
      expires_us: ends_us,
    })
    await recordCreated(tx, call.operation.id, { key_id: issued.key_id, class: credentialClass })
    return {
      key_id: issued.key_id,
      api_key: issued.api_key,
      prefix: issued.prefix,
      ...granted,
      created_at: formatTime(issued.created_us),
      expires_at: ends_us === null ? null : formatTime(ends_us),
    }
  }
  return call.once<CreatedKey>({
    async run(tx) {
      const reply = await make(tx)
      return { reply, ids: { key_id: reply.key_id } }
    },
    replay: (tx, { key_id }) => showAgain(call, tx, String(key_id)),
  })
}

/** Only its hash is stored: only the first answer contained the key itself. */
async function showAgain(call: CreateCall, tx: Tx, key_id: string): Promise<CreatedKey> {
  const row = await findCredentialById(tx, tx.tenant_id, key_id)
  assert(row, 'an issued key keeps its row')
  const shown = showKey(row)
  if (!isWithin(call.principal, shown)) return call.refuse('idempotency_key_reused')
  const { revoked_at: _, ...key } = shown
  return { ...key, api_key: null }
}

async function recordCreated(tx: Tx, operation: string, key: { key_id: string; class: string }) {
  meter(tx, operation)
  await appendCrumb(tx, { event_type: 'tenant.key_created', subject: key.key_id, payload: key })
}

function grantedScopes(
  call: CreateCall,
  credentialClass: 'tenant' | 'read_only' | 'service',
  wanted: readonly Scope[] | undefined,
): Scope[] {
  const scopes = [...new Set(wanted ?? DEFAULT_SCOPES[credentialClass])]
  const lacking = scopes.find((scope) => !scopeCovers(call.principal.scopes, scope))
  if (lacking) return call.refuse('scope_missing', `the caller cannot grant ${lacking}`)
  if (credentialClass === 'read_only' && scopes.some((scope) => !scope.endsWith(':read')))
    return call.refuse('rejected', 'a read_only key has read scopes only')
  return scopes
}

function grantedStores(call: CreateCall, wanted: readonly string[] | undefined): string[] {
  const own = call.principal.allowed_stores
  if (own.length === 0) return [...new Set(wanted ?? [])]
  const stores = wanted === undefined || wanted.length === 0 ? own : wanted
  if (stores.some((store) => !own.includes(store)))
    return call.refuse('scope_missing', 'the caller cannot grant stores it may not use')
  return [...new Set(stores)]
}

function expiry(call: CreateCall, expires_at: string | null): number | null {
  if (expires_at === null) return null
  const expires_us = parseTime(expires_at)
  if (expires_us === null || expires_us <= call.kernel.clock.now())
    return call.refuse('rejected', 'expires_at must be a time in the future')
  return expires_us
}

/** A key that ends must not prolong itself through another one. */
const restrictedUntil = ({ kind }: Principal, own_us: number | null) =>
  kind === 'tenant' ? own_us : null

const earlier = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b)

function grantedTier(
  call: CreateCall,
  own: string | null,
  wanted: KeyRequest['max_trust_tier'],
): (typeof TRUST_TIERS)[number] | null {
  const ceiling = TRUST_TIERS.find((tier) => tier === own) ?? null
  if (ceiling === null) return wanted ?? null
  const tier = wanted ?? ceiling
  if (TRUST_TIERS.indexOf(tier) <= TRUST_TIERS.indexOf(ceiling)) return tier
  return call.refuse('scope_missing', 'the caller cannot grant a higher trust tier than its own')
}

/** A key of certain stores sees itself and keys whose stores are all among its own. */
function isWithin({ allowed_stores, key_id }: Principal, key: Key): boolean {
  if (allowed_stores.length === 0 || key.key_id === key_id) return true
  const stores = key.allowed_stores
  return stores.length > 0 && stores.every((store) => allowed_stores.includes(store))
}

function showKey(row: CredentialInfo): Key {
  // Validated against the contract's lists when the row was written.
  const stored = {
    class: row.class,
    scopes: JSON.parse(row.scopes),
    allowed_stores: JSON.parse(row.allowed_stores),
    max_trust_tier: row.max_trust_tier,
  } as Pick<Key, 'class' | 'scopes' | 'allowed_stores' | 'max_trust_tier'>
  return {
    key_id: row.key_id,
    name: row.name,
    prefix: row.prefix,
    ...stored,
    created_at: formatTime(row.created_us),
    expires_at: row.expires_us === null ? null : formatTime(row.expires_us),
    revoked_at: row.revoked_us === null ? null : formatTime(row.revoked_us),
  }
}

export const keysHandlers: HandlersOf<typeof contract> = {
  create: createKey,

  list: (call, { query }) =>
    call.read(async (db) => {
      const limit = query.limit ?? 100
      const offset = query.cursor === undefined ? (query.offset ?? 0) : Number(query.cursor)
      const rows = await listCredentials(db, db.tenant_id, { limit: limit + 1, offset })
      const keys = rows
        .slice(0, limit)
        .map(showKey)
        .filter((key) => isWithin(call.principal, key))
      const next_cursor = rows.length > limit ? String(offset + limit) : null
      return { keys, count: keys.length, limit, offset, next_cursor }
    }),

  revoke: (call, { params: { key_id } }) =>
    call.transact(async (tx) => {
      const row = await findCredentialById(tx, tx.tenant_id, key_id)
      if (!row || !isWithin(call.principal, showKey(row))) return call.refuse('key_not_found')
      const revoked = await revokeKey(call.kernel, tx, { owner: tx.tenant_id, key_id })
      if (revoked) {
        meter(tx, call.operation.id)
        await appendCrumb(tx, {
          event_type: 'tenant.key_revoked',
          subject: key_id,
          payload: { key_id },
        })
      }
      return { key_id, revoked }
    }),
}
