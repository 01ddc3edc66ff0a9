// The key operations: issue, list, revoke.

import type { keys as contract, Key } from '@custos/contract'
import type { HandlersOf, Principal } from '../../platform/call.ts'
import { formatTime } from '../../platform/clock.ts'
import {
  type CredentialInfo,
  findCredentialById,
  listCredentials,
} from '../../platform/db/control.sql.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { createKey } from './create-key.ts'
import { revokeKey } from './credentials.ts'
import { meter } from './usage.ts'

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
