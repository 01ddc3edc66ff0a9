// Stored credentials: issuing, finding by key with an exact cache, revoking at once.

import type { CredentialClass, Scope, TrustTier } from '@custos/contract'
import {
  type CredentialWithPolicies,
  findCredential,
  insertCredential,
  revokeCredential,
  revokeCredentialsOfClass,
} from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import { findDestruction, revokeAll } from '../../platform/db/destructions.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { hashApiKey, isApiKey, keyPrefix, mintApiKey } from './api-key.ts'
import { type Credential, findMomentary } from './momentary-key.ts'

const KNOWN_MAX = 10_000
const UNKNOWN_MAX = 1_000

/**
 * Exact: a change of credentials empties it once durable, and a row read before a change is not
 * kept after it. Keyed by hash, so that no key stays in memory.
 */
class CredentialCache {
  readonly #known = new Map<string, Credential>()
  readonly #unknown = new Set<string>()
  #version = 0

  get version(): number {
    return this.#version
  }

  /** undefined: not known here; null: known not to exist. */
  get(key: string): Credential | null | undefined {
    return this.#known.get(key) ?? (this.#unknown.has(key) ? null : undefined)
  }

  put(key: string, found: Credential | null, version: number): void {
    if (version !== this.#version) return
    if (found === null) {
      dropOldest(this.#unknown, UNKNOWN_MAX)
      this.#unknown.add(key)
      return
    }
    dropOldest(this.#known, KNOWN_MAX)
    this.#known.set(key, found)
  }

  clear(): void {
    this.#version += 1
    this.#known.clear()
    this.#unknown.clear()
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

/**
 * The credential of a presented key, or null: malformed, unknown, revoked or expired.
 * @param digest SHA-256 of the key, see `hashApiKey`
 */
export function findByKey(
  kernel: Kernel,
  key: string,
  digest: Buffer,
): Credential | null | Promise<Credential | null> {
  const momentary = findMomentary(kernel, digest)
  if (momentary) return momentary
  const cached = caches(kernel).get(digest.toString('latin1'))
  if (cached !== undefined) return unexpired(kernel, cached)
  if (!isApiKey(key)) return null
  return lookUp(kernel, digest)
}

async function lookUp(kernel: Kernel, digest: Buffer): Promise<Credential | null> {
  const cache = caches(kernel)
  const version = cache.version
  const row = await kernel.db.read(PLATFORM, (db) => findCredential(db, digest))
  const found = row === undefined || row.revoked_us !== null ? null : asCredential(kernel, row)
  // Another process may revoke it at any moment: there every request looks.
  if (!kernel.db.shared) cache.put(digest.toString('latin1'), found, version)
  return unexpired(kernel, found)
}

function unexpired(kernel: Kernel, found: Credential | null): Credential | null {
  if (found === null || found.expires_us === null) return found
  return kernel.clock.now() < found.expires_us ? found : null
}

function asCredential(kernel: Kernel, row: CredentialWithPolicies): Credential {
  // Classes, scopes and tiers were validated when the row was written.
  const credentialClass = row.class as CredentialClass
  return {
    principal: {
      kind: row.tenant_id === null ? 'operator' : 'tenant',
      tenant_id: row.tenant_id ?? '',
      key_id: row.key_id,
      class: credentialClass,
      scopes: JSON.parse(row.scopes) as Scope[],
      allowed_stores: JSON.parse(row.allowed_stores) as string[],
      max_trust_tier: row.max_trust_tier as TrustTier | null,
      // A credential that is kept would keep the number of yesterday.
      ...(kernel.db.shared ? { policy_set: row.policy_set ?? 0 } : {}),
    },
    expires_us: row.expires_us,
    max_trust_tier: row.max_trust_tier,
  }
}

export interface NewCredential {
  /** null: a platform operator's. */
  readonly tenant_id: string | null
  readonly class: CredentialClass
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly allowed_stores?: readonly string[]
  readonly max_trust_tier?: string | null
  readonly expires_us?: number | null
}

export interface IssuedKey {
  readonly key_id: string
  /** Shown to its owner once; only its hash is stored. */
  readonly api_key: string
  readonly prefix: string
  readonly created_us: number
}

/** Issues a key in the caller's unit of work. */
export async function issueKey(kernel: Kernel, tx: Tx, fresh: NewCredential): Promise<IssuedKey> {
  const { tenant_id } = fresh
  if (tenant_id !== null && (await findDestruction(tx, tenant_id)))
    throw new Refusal('tenant_destroyed')
  const api_key = mintApiKey(kernel.ids, fresh.class)
  const issued = {
    key_id: kernel.ids.hex(12),
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
    allowed_stores: JSON.stringify(fresh.allowed_stores ?? []),
    max_trust_tier: fresh.max_trust_tier ?? null,
    created_us: issued.created_us,
    expires_us: fresh.expires_us ?? null,
    revoked_us: null,
  })
  return issued
}

/** Revokes one key of the owner; false when it was revoked before. Effective once durable. */
export async function revokeKey(
  kernel: Kernel,
  tx: Tx,
  { owner, key_id }: { owner: string | null; key_id: string },
): Promise<boolean> {
  tx.afterCommit(() => caches(kernel).clear())
  return (await revokeCredential(tx, owner, { key_id, revoked_us: tx.now() })) > 0
}

/** Revokes every key of a class; how many there were. Effective once durable. */
export async function revokeClass(
  kernel: Kernel,
  tx: Tx,
  { owner, credential_class }: { owner: string | null; credential_class: CredentialClass },
): Promise<number> {
  tx.afterCommit(() => caches(kernel).clear())
  return revokeCredentialsOfClass(tx, owner, { credential_class, revoked_us: tx.now() })
}

/** Revokes every key of the unit's tenant; how many there were. Effective once durable. */
export async function revokeKeysOfTenant(kernel: Kernel, tx: Tx): Promise<number> {
  tx.afterCommit(() => caches(kernel).clear())
  return revokeAll(tx, tx.now())
}
