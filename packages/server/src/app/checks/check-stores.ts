// Stores: the sealed description opens, and the store is known to the log.

import { loadKeys } from '../../platform/kernel/sealed-column.ts'
import type { Keyring } from '../../platform/keys/keyring.ts'
import { SealError } from '../../platform/keys/seal.ts'
import { descriptionColumn } from '../../slices/memory/index.ts'
import type { CheckContext, CheckFinding } from './check-context.ts'
import { listStoreRows } from './fsck.sql.ts'

export async function* checkStores({
  keyring,
  db,
  counts,
}: Pick<CheckContext, 'db'> &
  Partial<Pick<CheckContext, 'counts'>> & { keyring: Keyring }): AsyncGenerator<CheckFinding> {
  const { tenant_id } = db
  const rows = await listStoreRows(db)
  if (counts) counts.stores = rows.length
  const numbers = rows.map(({ secret_no }) => secret_no)
  const keys = await loadKeys({ keyring }, tenant_id, numbers)
  for (const row of rows) {
    const { store_id, secret_no, sealed, state } = row
    const key = keys.get(secret_no)
    if (!key) {
      if (state !== 'deleting')
        yield { kind: 'store', id: store_id, what: 'its secret is gone, its row is not' }
      continue
    }
    try {
      descriptionColumn.open(key, tenant_id, row, sealed)
    } catch (error) {
      if (!(error instanceof SealError)) throw error
      yield { kind: 'store', id: store_id, what: 'the seal does not open' }
    }
  }
}
