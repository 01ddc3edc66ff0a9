// Wrapping everything again under another master key.

import { rewrapTenantRow } from '../tenant-rows.ts'
import type { MasterHolder } from '../wrap.ts'
import { lockInstance, rewrapInstance } from './instance.sql.ts'
import type { KeyringPg, PgTx } from './keyring-pg.ts'
import type { SigningKeys } from './signing-keys.ts'
import { listTenantRows, updateTenants } from './tenants.sql.ts'
import { listWrapKeys, rewrapWrapKey, updateWrapKeys } from './wrap-keys.sql.ts'

const PAGE = 1_000

interface Masters {
  readonly from: MasterHolder
  readonly next: MasterHolder
}

/** One transaction; whoever makes or wraps a key meanwhile waits for it, and is then refused. */
export async function rotateMaster(
  db: KeyringPg,
  masters: Masters,
  signing: SigningKeys,
): Promise<void> {
  await db.transact(async (tx) => {
    const instance = await lockInstance(tx, masters.from)
    await rewrapTenants(tx, masters)
    await rewrapWrapKeys(tx, masters)
    await signing.rewrap(tx, masters.next)
    await rewrapInstance(tx, instance, masters)
  })
}

async function rewrapTenants(tx: PgTx, masters: Masters): Promise<void> {
  for (let after = ''; ; ) {
    const rows = await listTenantRows(tx, { after, limit: PAGE })
    const last = rows.at(-1)
    if (!last) return
    await updateTenants(
      tx,
      rows.map((row) => rewrapTenantRow(row, masters)),
    )
    after = last.tenant_id
  }
}

async function rewrapWrapKeys(tx: PgTx, masters: Masters): Promise<void> {
  for (let after = { tenant_id: '', version: 0 }; ; ) {
    const rows = await listWrapKeys(tx, { after, limit: PAGE })
    const last = rows.at(-1)
    if (!last) return
    await updateWrapKeys(
      tx,
      rows.map((row) => rewrapWrapKey(row, masters)),
    )
    after = last
  }
}
