// A key as replies show it, and which keys a caller may see.

import type { Key } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { CredentialInfo } from '../../platform/db/control.sql.ts'
import type { Principal } from '../../platform/kernel/call.ts'

/** A key of certain stores sees itself and keys whose stores are all among its own. */
export function isWithin({ allowed_stores, key_id }: Principal, key: Key): boolean {
  if (allowed_stores.length === 0 || key.key_id === key_id) return true
  const stores = key.allowed_stores
  return stores.length > 0 && stores.every((store) => allowed_stores.includes(store))
}

export function showKey(row: CredentialInfo): Key {
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
