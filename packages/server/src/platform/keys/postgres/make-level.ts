// What opening does to a keyring before it serves anybody.

import type { LedgerCopy } from '../ledger-copy.ts'
import { lockCounter } from './instance.sql.ts'
import { listNamedAlive } from './ledger.sql.ts'
import { mergeCheckpoints, mergeLedger } from './merge-copy.ts'
import { listAbandoned } from './parts.sql.ts'
import { dropPlan, installRenewed } from './renewals.ts'
import type { SecretStore } from './secret-store.ts'

/**
 * Rows that came in or were completed from the copy. One transaction: a process that opens at the
 * same time must not destroy the old secrets of records whose new ones this one is yet to install.
 */
export async function makeLevel(
  secrets: SecretStore,
  copy: LedgerCopy | undefined,
): Promise<number> {
  return secrets.destroying(async (tx, destroy) => {
    await lockCounter(tx, 'ledger')
    const merged = copy ? await mergeLedger(tx, copy) : 0
    if (copy) await mergeCheckpoints(tx, copy)

    // While the old secrets are there: they tell which new ones an abandoned plan took.
    for (const parts_id of await listAbandoned(tx))
      await dropPlan(tx, { secrets, destroy }, parts_id)
    await installRenewed(tx, secrets)

    const named = await listNamedAlive(tx)
    const groups = Map.groupBy(named, ({ tenant_id, kind }) => `${kind}\n${tenant_id}`)
    for (const [first, ...rest] of groups.values()) {
      if (!first) continue
      const { tenant_id, kind } = first
      await destroy(
        { tenant_id, kind },
        [first, ...rest].map(({ number }) => number),
      )
    }
    return merged
  })
}
