// Renews record secrets: sealing a record again gives it a new secret and destroys the old one.
//
// A keyring restored from an older backup has the old secret and not the new one, while the ledger
// that it replays has the record sealed under the new one. So the ledger keeps the new secret,
// sealed under the old one. That helps only a keyring that still has the old secret, which is
// destroyed once the new one is installed.

import { createHash, createSecretKey, type KeyObject } from 'node:crypto'
import type { KeyringQueries, KeyringTx } from '../core/database.ts'
import type { SecretOwner, SecretTx } from '../core/secret-store.ts'
import type { RenewalRow } from '../core/tables.ts'
import type { Renewal } from '../keyring.ts'
import { open, SealError, seal } from '../seal.ts'
import { copySecret } from '../secret-bytes.ts'
import { deleteParts, listRenewals } from './parts.sql.ts'

const DOMAIN = 'custos/renewed-secret/v1\n'
const PAGE = 1_000

/** @param old 32 bytes, the secret of `number` @param next 32 bytes, the secret of `renewed_as` */
export function sealRenewed(
  renewed: Pick<RenewalRow, 'tenant_id' | 'number' | 'renewed_as'>,
  old: Buffer,
  next: Buffer,
): Renewal {
  const { number, renewed_as } = renewed
  const box = seal(boxKey(old), associatedData(renewed), next).toString('base64')
  return { number, renewed_as, box }
}

/** Returns null if the box was not sealed under this secret. */
function openRenewed(row: RenewalRow, old: Buffer): Buffer | null {
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

function associatedData({
  tenant_id,
  number,
  renewed_as,
}: Parameters<typeof sealRenewed>[0]): Buffer {
  return Buffer.from(JSON.stringify([tenant_id, number, renewed_as]))
}

/**
 * Gives a restored keyring the new secrets of records whose old secrets it still has. Must run
 * before those are destroyed. A record that was renewed twice takes two rounds.
 */
export async function installRenewed(secrets: SecretTx): Promise<void> {
  const tried = new Set<string>()
  for (;;) {
    const rows = (await secrets.listUnfinishedRenewals()).filter((row) => !tried.has(row.box))
    let installed = 0
    for (const { row, old } of await withOldSecrets(secrets, rows)) {
      tried.add(row.box)
      const secret = openRenewed(row, old)
      old.fill(0)
      if (!secret) continue
      if (await secrets.install(row.tenant_id, { number: row.renewed_as, secret })) installed += 1
      secret.fill(0)
    }
    if (installed === 0) return
  }
}

/** Destroys the secrets that sealed the plan's records before. */
export async function destroyOld(
  tx: KeyringTx,
  secrets: SecretTx,
  parts_id: string,
): Promise<void> {
  for await (const rows of renewalPages(tx, parts_id))
    for (const [owner, own] of byOwner(rows))
      await secrets.destroy(
        owner,
        own.map(({ number }) => number),
      )
}

/**
 * Drops a plan that no entry claims. Its records are in copies of the ledger, sealed under secrets
 * that nothing else uses. Destroys these secrets if they are the ones that the plan created.
 */
export async function dropPlan(tx: KeyringTx, secrets: SecretTx, parts_id: string): Promise<void> {
  for await (const rows of renewalPages(tx, parts_id))
    for (const { row, old } of await withOldSecrets(secrets, rows)) {
      const next = openRenewed(row, old)
      const [held] = await secrets.load(ownerOf(row), [row.renewed_as])
      if (next && held?.secret.equals(next)) await secrets.destroy(ownerOf(row), [row.renewed_as])
      for (const secret of [old, next, held?.secret]) secret?.fill(0)
    }
  await deleteParts(tx, parts_id)
}

async function withOldSecrets(secrets: SecretTx, rows: readonly RenewalRow[]) {
  const alive: { row: RenewalRow; old: Buffer }[] = []
  for (const [owner, own] of byOwner(rows)) {
    const stored = await secrets.load(
      owner,
      own.map(({ number }) => number),
    )
    const olds = new Map(stored.map(({ number, secret }) => [number, secret]))
    for (const row of own) {
      const old = olds.get(row.number)
      // A separate buffer for each row, because two plans may have renewed one secret.
      if (old) alive.push({ row, old: copySecret(old) })
    }
    for (const { secret } of stored) secret.fill(0)
  }
  return alive
}

function byOwner(rows: readonly RenewalRow[]): [SecretOwner, RenewalRow[]][] {
  const groups = Map.groupBy(rows, (row) => row.tenant_id)
  return [...groups].map(([tenant_id, own]) => [{ tenant_id, kind: 'decision' }, own])
}

function ownerOf({ tenant_id }: RenewalRow): SecretOwner {
  return { tenant_id, kind: 'decision' }
}

async function* renewalPages(db: KeyringQueries, parts_id: string): AsyncGenerator<RenewalRow[]> {
  for (let after = -1; ; ) {
    const rows = await listRenewals(db, parts_id, { after, limit: PAGE })
    if (rows.length > 0) yield rows
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return
    after = last.number
  }
}
