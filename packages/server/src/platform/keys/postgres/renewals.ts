// Renewed record secrets on PostgreSQL; what they are for stands with the embedded ones.

import type { RenewalRow } from '../parts.sql.ts'
import { openRenewed } from '../renewals.ts'
import type { PgQueries, PgTx } from './keyring-pg.ts'
import { deleteParts, listRenewals, listRenewalsAlive } from './parts.sql.ts'
import type { Destroy, SecretStore } from './secret-store.ts'
import type { Owner } from './secrets.sql.ts'

const PAGE = 1_000

/**
 * Gives a restored keyring the new secrets of records whose old ones it still has. Run before
 * those are destroyed. A record renewed twice takes two rounds.
 */
export async function installRenewed(tx: PgTx, secrets: SecretStore): Promise<void> {
  const tried = new Set<string>()
  for (;;) {
    const rows = (await listRenewalsAlive(tx)).filter((row) => !tried.has(row.box))
    let installed = 0
    for (const { row, old } of await withOldSecrets(tx, secrets, rows)) {
      tried.add(row.box)
      const secret = openRenewed(row, old)
      old.fill(0)
      const one = secret && { number: row.renewed_as, secret }
      if (one && (await secrets.install(tx, ownerOf(row), one))) installed += 1
      secret?.fill(0)
    }
    if (installed === 0) return
  }
}

/** Destroys the secrets that the plan's records were sealed under before. */
export async function destroyOld(tx: PgTx, destroy: Destroy, parts_id: string): Promise<void> {
  for await (const rows of pagesOf(tx, parts_id))
    for (const [owner, own] of byOwner(rows))
      await destroy(
        owner,
        own.map(({ number }) => number),
      )
}

/**
 * Takes back a plan that came to nothing. Its records lie in copies of the ledger, sealed under
 * secrets nothing else uses; these are destroyed where they are the ones the plan took.
 */
export async function dropPlan(
  tx: PgTx,
  { secrets, destroy }: { secrets: SecretStore; destroy: Destroy },
  parts_id: string,
): Promise<void> {
  for await (const rows of pagesOf(tx, parts_id))
    for (const { row, old } of await withOldSecrets(tx, secrets, rows)) {
      const next = openRenewed(row, old)
      const [held] = await secrets.readIn(tx, ownerOf(row), [row.renewed_as])
      if (next && held?.secret.equals(next)) await destroy(ownerOf(row), [row.renewed_as])
      for (const secret of [old, next, held?.secret]) secret?.fill(0)
    }
  await deleteParts(tx, parts_id)
}

async function withOldSecrets(db: PgQueries, secrets: SecretStore, rows: readonly RenewalRow[]) {
  const alive: { row: RenewalRow; old: Buffer }[] = []
  for (const [owner, own] of byOwner(rows)) {
    const numbers = own.map(({ number }) => number)
    const held = await secrets.readIn(db, owner, numbers)
    const olds = new Map(held.map(({ number, secret }) => [number, secret]))
    for (const row of own) {
      const old = olds.get(row.number)
      // A buffer of its own for each row: two plans may have renewed one secret.
      if (old) alive.push({ row, old: Buffer.from(old) })
    }
    for (const { secret } of held) secret.fill(0)
  }
  return alive
}

function byOwner(rows: readonly RenewalRow[]): [Owner, RenewalRow[]][] {
  const groups = Map.groupBy(rows, (row) => row.tenant_id)
  return [...groups].map(([tenant_id, own]) => [{ tenant_id, kind: 'decision' }, own])
}

function ownerOf({ tenant_id }: RenewalRow): Owner {
  return { tenant_id, kind: 'decision' }
}

async function* pagesOf(db: PgQueries, parts_id: string): AsyncGenerator<RenewalRow[]> {
  for (let after = -1; ; ) {
    const rows = await listRenewals(db, parts_id, { after, limit: PAGE })
    if (rows.length > 0) yield rows
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return
    after = last.number
  }
}
