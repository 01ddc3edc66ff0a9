// Stored keys of platform operators; the bootstrap key is configuration and stored nowhere.

import { DEFAULT_SCOPES } from '@custos/contract'
import { findCredentialById } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { type IssuedKey, issueKey, revokeKey } from './credentials.ts'

/** Issues an operator key; the result shows it once. */
export const createOperatorKey = (
  kernel: Kernel,
  { name, expires_us = null }: { name: string; expires_us?: number | null },
): Promise<IssuedKey> =>
  kernel.db.transact(PLATFORM, (tx) =>
    issueKey(kernel, tx, {
      tenant_id: null,
      class: 'operator',
      name,
      scopes: DEFAULT_SCOPES.operator,
      expires_us,
    }),
  )

/** Revokes an operator key at once; null when there is no such key. */
export const revokeOperatorKey = (kernel: Kernel, key_id: string): Promise<boolean | null> =>
  kernel.db.transact(PLATFORM, async (tx) => {
    if (!(await findCredentialById(tx, null, key_id))) return null
    return revokeKey(kernel, tx, { owner: null, key_id })
  })
