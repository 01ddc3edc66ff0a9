// What opening does to a keyring before it serves anybody.

import type { LedgerCopy } from '../ledger-copy.ts'
import { lockCounter } from './instance.sql.ts'
import type { KeyringPg, PgQueries, PgTx } from './keyring-pg.ts'
import { listNamedAlive } from './ledger.sql.ts'
import { backfillLedger, compareLedger, levelCheckpoints, mergeLedger } from './merge-copy.ts'
import { listAbandoned, listRenewalsAlive } from './parts.sql.ts'
import { dropPlan, installRenewed } from './renewals.ts'
import type { SecretStore } from './secret-store.ts'
import { destroyTenantKeys, listHalfRemoved, listUndestroyed } from './tenants.sql.ts'

interface Place {
  readonly db: KeyringPg
  readonly secrets: SecretStore
  readonly copy: LedgerCopy | undefined
}

/**
 * Rows that came in or were completed from the copy. Where nothing is to come in and nothing to
 * destroy, as at most starts, nobody has to wait for it.
 */
export async function makeLevel({ db, secrets, copy }: Place): Promise<number> {
  // First: what is left of them opens no more, and nothing below has to know of that.
  for (const tenant_id of await listHalfRemoved(db)) await secrets.removeSecrets(tenant_id)
  const compared = copy && (await compareLedger(db, copy))
  const fresh = (compared?.incoming.size ?? 0) + (compared?.unclaimed.size ?? 0) > 0
  const merged =
    fresh || !(await isSettled(db))
      ? await settle(secrets, (tx) => (copy && compared ? mergeLedger(tx, copy, compared) : 0))
      : 0
  if (copy && compared) {
    await backfillLedger(db, copy, compared)
    await levelCheckpoints(db, copy)
  }
  return merged
}

async function isSettled(db: PgQueries): Promise<boolean> {
  for (const list of [listAbandoned, listRenewalsAlive, listNamedAlive, listUndestroyed])
    if ((await list(db)).length > 0) return false
  return true
}

/**
 * One transaction: a process that opens at the same time must not destroy the old secrets of
 * records whose new ones this one is yet to install.
 */
async function settle(
  secrets: SecretStore,
  merge: (tx: PgTx) => Promise<number> | number,
): Promise<number> {
  let gone: ReadonlySet<string> = new Set()
  const merged = await secrets.destroying(async (tx, destroy) => {
    await lockCounter(tx, 'ledger')
    const merged = await merge(tx)

    // While the old secrets are there: they tell which new ones an abandoned plan took.
    for (const parts_id of await listAbandoned(tx))
      await dropPlan(tx, { secrets, destroy }, parts_id)
    await installRenewed(tx, secrets)

    gone = new Set(await listUndestroyed(tx))
    for (const tenant_id of gone) await destroyTenantKeys(tx, tenant_id)
    const named = (await listNamedAlive(tx)).filter(({ tenant_id }) => !gone.has(tenant_id))
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
  // Apart: they open no more, and there may be a great many.
  for (const tenant_id of gone) await secrets.removeSecrets(tenant_id)
  return merged
}
