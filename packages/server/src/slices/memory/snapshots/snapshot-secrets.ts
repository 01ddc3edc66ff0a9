// The secret that snapshots of a store's index are sealed under, until the next erasure.
//
// All snapshots since the last erasure of a store share one secret. An erasure names it in the
// ledger and destroys it together with the secret of the memory. No copy of a snapshot that holds
// the memory can then be opened: neither the current one, nor an earlier one, nor one in a backup.
// This is complete because no secret is taken between the hiding of a memory and its tombstone, and
// none for an index that has not applied an erasure. It does not reach a copy of a snapshot whose
// secret no row names any more, after an older database was restored beside a newer keyring.

import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { loadKeys, type NewKey, newKey } from '../../../platform/kernel/sealed-column.ts'
import { findStore } from '../stores/stores.sql.ts'
import {
  deleteIndexSecrets,
  findIndexSecrets,
  insertIndexSecret,
  isErasedSince,
  isErasing,
} from './snapshot-secrets.sql.ts'

/** The key of existing snapshots; `null` if there are none that can be opened. */
export async function findSnapshotKey(
  kernel: Kernel,
  tenant_id: string,
  store_id: string,
): Promise<NewKey | null> {
  const [row] = await kernel.db.read(tenant_id, (db) => findIndexSecrets(db, [store_id]))
  if (!row) return null
  const key = (await loadKeys(kernel, tenant_id, [row.secret_no])).get(row.secret_no)
  return key ? { secret_no: row.secret_no, key } : null
}

/**
 * The key for a snapshot of an index at log position `head_seq`; `null` if an erasure is under way
 * or the index has not applied one.
 */
export async function takeSnapshotKey(
  kernel: Kernel,
  tenant_id: string,
  { store_id, head_seq }: { store_id: string; head_seq: number },
): Promise<NewKey | null> {
  // Read before the key: a row that appears later is another process's, and its secret is alive.
  const [seen] = await kernel.db.read(tenant_id, (db) => findIndexSecrets(db, [store_id]))
  const known = await findSnapshotKey(kernel, tenant_id, store_id)
  const taken = known ?? (await newKey(kernel, tenant_id))
  const { secret_no } = taken
  const isTaken = await kernel.db.transact(tenant_id, async (tx) => {
    const store = await findStore(tx, store_id)
    if (store?.state !== 'active') return false
    if ((await isErasing(tx, store_id)) || (await isErasedSince(tx, store_id, head_seq)))
      return false
    const [row] = await findIndexSecrets(tx, [store_id])
    if (row?.secret_no === secret_no) return true
    if (known !== null) return false
    // A crash during an erasure can leave the row of a destroyed secret.
    if (row && row.secret_no !== seen?.secret_no) return false
    if (row) await deleteIndexSecrets(tx, [row.secret_no])
    await insertIndexSecret(tx, { store_id, secret_no })
    return true
  })
  return isTaken ? taken : null
}

/** Whether snapshots of the store are still sealed under this secret. */
export const isCurrentSecret = (
  kernel: Kernel,
  tenant_id: string,
  { store_id, secret_no }: { store_id: string; secret_no: number },
): Promise<boolean> =>
  kernel.db.read(
    tenant_id,
    async (db) => (await findIndexSecrets(db, [store_id]))[0]?.secret_no === secret_no,
  )

/** Destroys the secrets: no copy of a snapshot under one of them can be opened afterwards. */
export async function destroySnapshotSecrets(
  kernel: Kernel,
  tenant_id: string,
  numbers: readonly number[],
): Promise<void> {
  if (numbers.length === 0) return
  await kernel.keyring.destroySecrets(tenant_id, 'decision', numbers)
  await kernel.db.transact(tenant_id, (tx) => deleteIndexSecrets(tx, numbers))
}
