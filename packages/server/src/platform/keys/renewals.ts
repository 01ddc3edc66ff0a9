// Renewed record secrets: a record sealed again gets a new secret, and the old one is destroyed.
//
// A keyring restored from an older backup has the old secret and not the new one, while the ledger
// it replays has the record sealed under the new one. So the ledger keeps the new secret, sealed
// under the old: of use only where the old one still is, which is then destroyed.

import { createHash, createSecretKey, type KeyObject } from 'node:crypto'
import type { Renewal } from './keyring.ts'
import type { KeyringDb } from './keyring-db.ts'
import { deleteParts, listClaimedRenewals, listRenewals, type RenewalRow } from './parts.sql.ts'
import { open, SealError, seal } from './seal.ts'
import type { SecretStore } from './secret-store.ts'

const DOMAIN = 'custos/renewed-secret/v1\n'
const PAGE = 1_000

export interface Renewed {
  readonly tenant_id: string
  readonly number: number
  readonly renewed_as: number
}

/** @param old 32 bytes, `number`'s @param next 32 bytes, those of `renewed_as` */
export function sealRenewed(renewed: Renewed, old: Buffer, next: Buffer): Renewal {
  const { number, renewed_as } = renewed
  const box = seal(boxKey(old), associatedData(renewed), next).toString('base64')
  return { number, renewed_as, box }
}

/** null: this is not the secret the box was sealed under. */
export function openRenewed(row: RenewalRow, old: Buffer): Buffer | null {
  try {
    return open(boxKey(old), associatedData(row), Buffer.from(row.box, 'base64'))
  } catch (error) {
    if (error instanceof SealError) return null
    throw error
  }
}

function boxKey(old: Buffer): KeyObject {
  return createSecretKey(createHash('sha256').update(DOMAIN).update(old).digest())
}

function associatedData({ tenant_id, number, renewed_as }: Renewed): Buffer {
  return Buffer.from(JSON.stringify([tenant_id, number, renewed_as]))
}

/**
 * Gives a restored keyring the new secrets of records whose old ones it still has. Run before
 * those are destroyed. A record renewed twice takes two rounds.
 */
export function installRenewed(db: KeyringDb, secrets: SecretStore): void {
  let rows = listClaimedRenewals(db)
  while (rows.length > 0) {
    const alive = withOldSecrets(secrets, rows)
    const installed = alive.filter(({ row, old }) => {
      const next = openRenewed(row, old)
      if (!next) return false
      return secrets.install(row.tenant_id, 'decision', { number: row.renewed_as, secret: next })
    })
    for (const { old } of alive) old.fill(0)
    if (installed.length === 0) return
    const done = new Set(alive.map(({ row }) => row))
    rows = rows.filter((row) => !done.has(row))
  }
}

function withOldSecrets(secrets: SecretStore, rows: readonly RenewalRow[]) {
  const alive: { row: RenewalRow; old: Buffer }[] = []
  for (const [tenant_id, own] of Map.groupBy(rows, (row) => row.tenant_id)) {
    const numbers = own.map(({ number }) => number)
    const held = secrets.read(tenant_id, 'decision', numbers)
    for (const row of own) {
      const old = held.get(row.number)
      // A buffer of its own for each row: two plans may have renewed one secret.
      if (old) alive.push({ row, old: Buffer.from(old) })
    }
  }
  return alive
}

/** Destroys the secrets that the plan's records were sealed under before. */
export function destroyOld(db: KeyringDb, secrets: SecretStore, parts_id: string): void {
  for (const rows of pagesOf(db, parts_id))
    for (const [tenant_id, own] of Map.groupBy(rows, (row) => row.tenant_id))
      secrets.destroy(
        tenant_id,
        'decision',
        own.map(({ number }) => number),
      )
}

/**
 * Takes back a plan that came to nothing. Its records lie in copies of the ledger, sealed under
 * secrets nothing else uses; these are destroyed where they are the ones the plan took.
 */
export function dropPlan(db: KeyringDb, secrets: SecretStore, parts_id: string): void {
  for (const rows of pagesOf(db, parts_id))
    for (const { row, old } of withOldSecrets(secrets, rows)) {
      const next = openRenewed(row, old)
      const held = secrets.read(row.tenant_id, 'decision', [row.renewed_as]).get(row.renewed_as)
      if (next && held?.equals(next)) secrets.destroy(row.tenant_id, 'decision', [row.renewed_as])
      for (const secret of [old, next, held]) secret?.fill(0)
    }
  db.transact(() => deleteParts(db, parts_id))
}

function* pagesOf(db: KeyringDb, parts_id: string): Generator<RenewalRow[]> {
  for (let after = -1; ; ) {
    const rows = listRenewals(db, parts_id, { after, limit: PAGE })
    if (rows.length > 0) yield rows
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return
    after = last.number
  }
}
