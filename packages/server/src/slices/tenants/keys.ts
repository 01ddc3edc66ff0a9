// The key operations: issue, list, revoke.

import type { keys as contract } from '@custos/contract'
import { findCredentialById, listCredentials } from '../../platform/db/control.sql.ts'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { createKey } from './create-key.ts'
import { revokeKey } from './credentials.ts'
import { isWithin, showKey } from './show-key.ts'
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
