// Stores: the sealed description opens, and the store is known to the log.

import type { Keyring } from '../../platform/keys/keyring.ts'
import { open, SealError } from '../../platform/keys/seal.ts'
import type { Check, Found } from './finding.ts'
import { listStoreRows } from './fsck.sql.ts'

export async function* checkStores({
  keyring,
  db,
  counts,
}: Pick<Check, 'db'> &
  Partial<Pick<Check, 'counts'>> & { keyring: Keyring }): AsyncGenerator<Found> {
  const { tenant_id } = db
  const rows = await listStoreRows(db)
  if (counts) counts.stores = rows.length
  const keys = await keyring.tenant(tenant_id)
  const numbers = rows.map(({ secret_no }) => secret_no)
  const secrets = await keyring.secrets(tenant_id, 'decision', numbers)
  for (const { store_id, secret_no, sealed, state } of rows) {
    const secret = secrets.get(secret_no)
    if (!secret) {
      if (state !== 'deleting')
        yield { kind: 'store', id: store_id, what: 'its secret is gone, its row is not' }
      continue
    }
    const aad = Buffer.from(JSON.stringify(['store', tenant_id, store_id]))
    try {
      open(keys.factKey(secret), aad, sealed).fill(0)
    } catch (error) {
      if (!(error instanceof SealError)) throw error
      yield { kind: 'store', id: store_id, what: 'the seal does not open' }
    }
  }
}
