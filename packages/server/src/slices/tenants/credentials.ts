// Stored credentials: issues them, finds them by key with an exact cache, revokes them at once.

import { timingSafeEqual } from 'node:crypto'
import { type CredentialClass, DEFAULT_SCOPES, type Scope, type TrustTier } from '@custos/contract'
import { shareCalls } from '../../platform/concurrency.ts'
import {
  type CredentialInfo,
  findCredential,
  findCredentialById,
  findPresented,
  insertCredential,
  type PresentedCredential,
  revokeCredential,
  revokeCredentialsOfClass,
  updateKeyUse,
} from '../../platform/db/control.sql.ts'
import {
  endRevokedLimits,
  insertLimit,
  listActiveStores,
} from '../../platform/db/credential-limits.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import { findDestruction, revokeAll } from '../../platform/db/destructions.sql.ts'
import { findOwnSession } from '../../platform/db/sessions.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Principal } from '../../platform/kernel/call.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { hashApiKey, isApiKey, keyPrefix, mintApiKey } from './api-key.ts'
import { KEY_ID_BYTES, openLimit, type SealedLimit } from './credential-limit.ts'
import { findMomentary } from './momentary-key.ts'
import { findExcessRight, type Rights } from './rights.ts'

const KNOWN_MAX = 10_000
const UNKNOWN_MAX = 1_000

/**
 * An exact cache: a change of credentials empties it once durable, and a row read before the change
 * is not cached after it. Keyed by hash, so that no API key stays in memory.
 */
class CredentialCache {
  readonly #known = new Map<string, Principal>()
  readonly #unknown = new Set<string>()
  #version = 0

  get version(): number {
    return this.#version
  }

  /** Undefined if unknown here, `null` if the key is known not to exist. */
  get(key: string): Principal | null | undefined {
    return this.#known.get(key) ?? (this.#unknown.has(key) ? null : undefined)
  }

  put(key: string, found: Principal | null, version: number): void {
    if (version !== this.#version) return
    if (found === null) {
      dropOldest(this.#unknown, UNKNOWN_MAX)
      this.#unknown.add(key)
      return
    }
    dropOldest(this.#known, KNOWN_MAX)
    this.#known.set(key, found)
  }

  /** Called after each change of credentials by this process. */
  readonly listeners = new Set<() => void>()

  clear(): void {
    this.#version += 1
    this.#known.clear()
    this.#unknown.clear()
    for (const listener of this.listeners) listener()
  }
}

function dropOldest(
  kept: { size: number; keys(): Iterator<string>; delete(key: string): boolean },
  max: number,
) {
  if (kept.size < max) return
  const oldest = kept.keys().next()
  if (!oldest.done) kept.delete(oldest.value)
}

const caches = perKernel(() => new CredentialCache())

export const BOOTSTRAP: Principal = {
  kind: 'operator',
  tenant_id: '',
  key_id: 'bootstrap',
  class: 'operator',
  scopes: DEFAULT_SCOPES.operator,
  allowed_stores: [],
}

/** Digest of the configured operator key, which is stored nowhere; `null` if there is none. */
export const bootstrapKey: (kernel: Kernel) => { digest: Buffer | null } = perKernel(() => ({
  digest: null,
}))

/** Finds the credential of a presented key; `null` if malformed, unknown, revoked or expired. */
export function findByKey(
  kernel: Kernel,
  key: string,
): Principal | null | Promise<Principal | null> {
  const digest = hashApiKey(key)
  const operator = bootstrapKey(kernel).digest
  // Checked before the form, as the operator may choose any text as bootstrap key.
  if (operator !== null && timingSafeEqual(digest, operator)) return BOOTSTRAP
  const momentary = findMomentary(kernel, digest)
  if (momentary) return momentary
  const cached = caches(kernel).get(digest.toString('latin1'))
  if (cached !== undefined) return unexpired(kernel, cached)
  if (!isApiKey(key)) return null
  return lookUp(kernel, digest)
}

/** Reads by digest (Latin-1) are shared, as many requests of one key arrive together. */
const credentialReads = perKernel((kernel) =>
  shareCalls((digest: string) =>
    kernel.db.read(PLATFORM, (db) => findCredential(db, Buffer.from(digest, 'latin1'))),
  ),
)

async function lookUp(kernel: Kernel, digest: Buffer): Promise<Principal | null> {
  const cache = caches(kernel)
  const version = cache.version
  const row = await credentialReads(kernel)(digest.toString('latin1'))
  const found = row === undefined || isEnded(row) ? null : await asPrincipal(kernel, row)
  // Another process may revoke it at any time, so with a shared database every request reads.
  if (!kernel.db.shared) cache.put(digest.toString('latin1'), found, version)
  return unexpired(kernel, found)
}

/**
 * Finds the credential with this id and its current rights; `null` if it was revoked or has
 * expired. For work that continues after the key was presented.
 */
export async function findByKeyId(kernel: Kernel, key_id: string): Promise<Principal | null> {
  const row = await kernel.db.read(PLATFORM, (db) => findPresented(db, key_id))
  if (row === undefined || isEnded(row)) return null
  return unexpired(kernel, await asPrincipal(kernel, row))
}

/** Calls the listener after every change of credentials through this process, once durable. */
export function onCredentialChange(kernel: Kernel, listener: () => void): void {
  caches(kernel).listeners.add(listener)
}

function unexpired(kernel: Kernel, found: Principal | null): Principal | null {
  if (found === null || found.expires_us == null) return found
  return kernel.clock.now() < found.expires_us ? found : null
}

/** Whether the key was revoked or was made with a key that was revoked. */
const isEnded = (row: PresentedCredential): boolean =>
  row.revoked_us !== null ||
  (row.maker_id !== null && (row.maker_created_us === null || row.maker_revoked_us !== null))

/** Refuses `tenant_moved` for a tenant that another cluster serves. */
export function refuseMoved({
  move_state,
  move_address,
}: Pick<PresentedCredential, 'move_state' | 'move_address'>): void {
  if (move_state !== 'left') return
  const members = { address: move_address }
  throw new Refusal('tenant_moved', `The tenant is served at ${move_address}`, { members })
}

/** Returns `null` if its limit cannot be read any more, as it may then do nothing. */
async function asPrincipal(kernel: Kernel, row: PresentedCredential): Promise<Principal | null> {
  refuseMoved(row)
  // Classes, scopes and tiers were validated before the row was written.
  const credentialClass = row.class as CredentialClass
  const limit = await limitOf(kernel, row)
  if (limit === null) return null
  return {
    kind: row.tenant_id === null ? 'operator' : 'tenant',
    tenant_id: row.tenant_id ?? '',
    key_id: row.key_id,
    class: credentialClass,
    scopes: JSON.parse(row.scopes) as Scope[],
    allowed_stores: JSON.parse(row.allowed_stores) as string[],
    ...limit,
    max_trust_tier: row.max_trust_tier as TrustTier | null,
    expires_us: row.expires_us,
    ...(row.user_id === null ? {} : { user_id: row.user_id }),
    // Set only if the credential is not cached: a cached number would become outdated.
    ...(kernel.db.shared ? { policy_set: row.policy_set ?? 0 } : {}),
    ...(row.plan === null ? {} : { plan: { plan: row.plan, overrides: row.overrides } }),
  }
}

async function limitOf(
  kernel: Kernel,
  { tenant_id, key_id, secret_no, sealed }: PresentedCredential,
): Promise<Pick<Principal, 'namespace'> | null> {
  if (tenant_id === null || secret_no === null || sealed === null) return {}
  return openLimit(kernel, tenant_id, { key_id, secret_no, sealed })
}

/** The rights and name of a new credential. Its namespace is part of `limit`. */
export interface NewCredential extends Omit<Rights, 'namespace'> {
  /** `null` for a platform operator's credential. */
  readonly tenant_id: string | null
  /** Stored in clear, for keys that no tenant names. */
  readonly name: string
  readonly sealed_name?: SealedName | undefined
  /** Absent if the credential may use every namespace. */
  readonly limit?: SealedLimit | undefined
}

/** The sealed name of the credential with this id. */
export type SealedName = Pick<CredentialInfo, 'key_id' | 'name_secret_no' | 'sealed_name'>

/**
 * Issues a key in the caller's unit of work: the only way to a new credential. Refuses
 * `scope_missing` for one that may do more than its maker. The `api_key` is shown to its owner
 * once; only its hash is stored.
 * @param maker the new credential ends when its `binding_key_id` is revoked, and is a key of the
 * person `user_id`
 */
export async function issueKey(
  kernel: Kernel,
  tx: Tx,
  fresh: NewCredential,
  maker: {
    readonly rights: Rights
    readonly binding_key_id?: string | null
    readonly user_id?: string | undefined
  },
) {
  const { tenant_id, limit, sealed_name } = fresh
  requireNoExcess({ ...fresh, namespace: limit?.namespace }, maker.rights)
  if (tenant_id !== null && (await findDestruction(tx, tenant_id)))
    throw new Refusal('tenant_destroyed')
  const api_key = mintApiKey(kernel.ids, fresh.class)
  const issued = {
    key_id: limit?.key_id ?? sealed_name?.key_id ?? kernel.ids.hex(KEY_ID_BYTES),
    api_key,
    prefix: keyPrefix(api_key),
    created_us: tx.now(),
  }
  await insertCredential(tx, {
    key_hash: hashApiKey(api_key),
    key_id: issued.key_id,
    tenant_id: fresh.tenant_id,
    class: fresh.class,
    name: fresh.name,
    prefix: issued.prefix,
    scopes: JSON.stringify(fresh.scopes),
    allowed_stores: JSON.stringify(fresh.allowed_stores),
    max_trust_tier: fresh.max_trust_tier,
    created_us: issued.created_us,
    expires_us: fresh.expires_us,
    revoked_us: null,
    name_secret_no: sealed_name?.name_secret_no ?? null,
    sealed_name: sealed_name?.sealed_name ?? null,
    user_id: maker.user_id ?? null,
    used_us: null,
  })
  if (tenant_id === null || !limit) return issued
  const { key_id, secret_no, sealed } = limit
  const maker_id = maker.binding_key_id ?? null
  await insertLimit(tx, {
    key_id,
    maker_id,
    secret_no,
    sealed,
    ends_us: fresh.expires_us,
  })
  return issued
}

/** Refuses `scope_missing` if `made` would have more rights than `maker`. */
export function requireNoExcess(made: Rights, maker: Rights): void {
  const excess = findExcessRight(made, maker)
  if (excess !== null) throw new Refusal('scope_missing', EXCESS[excess])
}

/**
 * Refuses `store_not_found`: a credential for a store that does not exist would get rights to
 * whichever store later takes the id. No id is reused, except that of the store every tenant has.
 */
export async function requireStores(tx: Tx, store_ids: readonly string[]): Promise<void> {
  const active = new Set(['default', ...(await listActiveStores(tx, store_ids))])
  const missing = store_ids.find((store_id) => !active.has(store_id))
  if (missing !== undefined) throw new Refusal('store_not_found')
}

const EXCESS: Readonly<Record<keyof Rights, string>> = {
  class: 'the caller cannot grant a class above its own',
  scopes: 'the caller cannot grant scopes it does not have',
  allowed_stores: 'the caller cannot grant stores it may not use',
  namespace: 'the caller cannot grant another namespace than its own',
  max_trust_tier: 'the caller cannot grant a higher trust tier than its own',
  expires_us: 'the caller cannot grant a key that outlasts its own',
}

/** Whether the caller is a person in a session that was not started with a key. */
export const hasNoKey = ({ key_id, user_id }: Principal): boolean => key_id === user_id

/**
 * Refuses `unauthenticated` if the key was revoked since it was looked up: it would leave a new key
 * behind.
 */
export async function requireLiveMaker(tx: Tx, principal: Principal): Promise<void> {
  const { kind, key_id, session } = principal
  if (kind !== 'tenant') return
  if (session && hasNoKey(principal)) {
    if (await findOwnSession(tx, session.session_id)) return
    throw new Refusal('unauthenticated')
  }
  const own = await findCredentialById(tx, tx.tenant_id, key_id)
  if (!own || own.revoked_us !== null) throw new Refusal('unauthenticated')
}

/**
 * Call this in a unit that changes what is cached with credentials: a tenant's plan, or a session.
 * Once it is durable the cache is emptied, and work in progress checks its credential again.
 */
export const forgetCredentials = (kernel: Kernel, tx: Tx): void =>
  tx.afterCommit(() => caches(kernel).clear())

/** Revokes a key of the owner; false if it was revoked before. Takes effect once durable. */
export async function revokeKey(
  kernel: Kernel,
  tx: Tx,
  { owner, key_id }: { owner: string | null; key_id: string },
): Promise<boolean> {
  tx.afterCommit(() => caches(kernel).clear())
  const revoked = await revokeCredential(tx, owner, { key_id, revoked_us: tx.now() })
  if (revoked > 0) await endRevokedLimits(tx, tx.now())
  return revoked > 0
}

/** Revokes every key of a class; returns how many. Takes effect once durable. */
export async function revokeClass(
  kernel: Kernel,
  tx: Tx,
  { owner, credential_class }: { owner: string | null; credential_class: CredentialClass },
): Promise<number> {
  tx.afterCommit(() => caches(kernel).clear())
  const revoked_us = tx.now()
  const revoked = await revokeCredentialsOfClass(tx, owner, { credential_class, revoked_us })
  if (revoked > 0) await endRevokedLimits(tx, revoked_us)
  return revoked
}

/** Revokes every key of the unit's tenant; returns how many. Takes effect once durable. */
export async function revokeKeysOfTenant(kernel: Kernel, tx: Tx): Promise<number> {
  tx.afterCommit(() => caches(kernel).clear())
  return revokeAll(tx, tx.now())
}

/** A use costs a map entry and no write. A killed process loses the last half minute's uses. */
class KeyUses {
  readonly #kernel: Kernel
  #uses = new Map<string, { readonly tenant_id: string; readonly used_us: number }>()

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  add({ kind, class: credentialClass, key_id, tenant_id }: Principal): void {
    // Lists do not show tokens and operator keys.
    if (kind !== 'tenant' || credentialClass === 'token') return
    this.#uses.set(key_id, { tenant_id, used_us: this.#kernel.clock.now() })
  }

  /** Records the uses, one unit of work per tenant. What cannot be recorded is kept for later. */
  async flush(): Promise<void> {
    const taken = this.#uses
    this.#uses = new Map()
    const byTenant = Map.groupBy(taken, ([, { tenant_id }]) => tenant_id)
    for (const [tenant_id, uses] of byTenant) {
      try {
        await this.#kernel.db.transact(tenant_id, async (tx) => {
          for (const [key_id, { used_us }] of uses) await updateKeyUse(tx, { key_id, used_us })
        })
      } catch (error) {
        // The tenant moved away, so nobody will ask when these keys were used.
        if (error instanceof Refusal && error.code === 'tenant_moved') continue
        this.#kernel.logger.warn('key_uses.flush_failed', { tenant_id })
        for (const [key_id, use] of uses) if (!this.#uses.has(key_id)) this.#uses.set(key_id, use)
      }
    }
  }
}

const keyUses = perKernel((kernel) => new KeyUses(kernel))

/** Records the use of a credential in memory. */
export const noteKeyUse = (kernel: Kernel, principal: Principal): void =>
  keyUses(kernel).add(principal)

/** Records when keys were last used; called by a timer and when the process stops. */
export const flushKeyUses = (kernel: Kernel): Promise<void> => keyUses(kernel).flush()
