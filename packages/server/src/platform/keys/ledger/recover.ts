// What opening a keyring does before it is used: it catches up with the ledger and its copy.

import type { KeyringTx } from '../core/database.ts'
import type { SecretStore, SecretTx } from '../core/secret-store.ts'
import { syncCheckpoints } from './checkpoints.sql.ts'
import type { LedgerStorage } from './ledger.ts'
import { dropPlan, installRenewed } from './renewals.ts'
import { backfillCopy, type CopyComparison, compareCopy, mergeCopy } from './sync-copy.ts'

/**
 * Inserts what only the copy has, drops abandoned plans, destroys every secret and tenant that the
 * ledger names, and appends what the copy lacks. Returns the ledger rows that came in or were
 * completed. Where there is nothing to insert or destroy, as at most starts, it takes no lock.
 */
export async function recoverKeyring(storage: LedgerStorage): Promise<number> {
  const { db, order, secrets, copy } = storage
  await secrets.finishRemovals()
  const compared = copy && (await compareCopy(storage, copy))
  const merged = (await hasUnfinishedWork(storage, compared))
    ? await secrets.transact((tx, inTx) => merge(storage, compared, { tx, secrets: inTx }))
    : 0
  await destroyNamed(secrets)
  if (copy && compared) {
    await backfillCopy(storage, copy, compared)
    await syncCheckpoints({ db, order, copy }, copy)
  }
  return merged
}

async function hasUnfinishedWork(
  { db, order, secrets }: LedgerStorage,
  compared: CopyComparison | undefined,
): Promise<boolean> {
  if (compared && compared.incoming.size + compared.unclaimed.size > 0) return true
  if ((await order.listAbandonedPlans(db)).length > 0) return true
  return (await secrets.listUnfinishedRenewals()).length > 0
}

/**
 * In one transaction, so that no process destroys the old secrets of records whose new ones are
 * yet to be installed: once this commits, both the entries and the new secrets are there.
 */
async function merge(
  { order, copy }: LedgerStorage,
  compared: CopyComparison | undefined,
  { tx, secrets }: { tx: KeyringTx; secrets: SecretTx },
): Promise<number> {
  await order.lock(tx)
  const merged = copy && compared ? await mergeCopy(tx, { order, copy }, compared) : 0
  // While the old secrets are there: they tell which new ones an abandoned plan took.
  for (const parts_id of await order.listAbandonedPlans(tx)) await dropPlan(tx, secrets, parts_id)
  await installRenewed(secrets)
  return merged
}

// A stop between the ledger row and the destruction, or a restored keyring, leaves these.
async function destroyNamed(secrets: SecretStore): Promise<void> {
  for (const tenant_id of await secrets.listUndestroyed()) await secrets.destroyTenant(tenant_id)
  const named = await secrets.listUndestroyedSecrets()
  const groups = Map.groupBy(named, ({ tenant_id, kind }) => JSON.stringify([tenant_id, kind]))
  for (const [first, ...rest] of groups.values()) {
    if (!first) continue
    const numbers = [first, ...rest].map(({ number }) => number)
    await secrets.destroy({ tenant_id: first.tenant_id, kind: first.kind }, numbers)
  }
}
