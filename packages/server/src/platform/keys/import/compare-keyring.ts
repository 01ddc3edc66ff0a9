// Proves that an imported keyring equals the embedded one: every key, secret and row.

import { isDeepStrictEqual } from 'node:util'
import type { BlockOwner } from '../core/blocks.sql.ts'
import { DAYS } from '../core/day-keys.ts'
import { requireInstance } from '../core/instance.sql.ts'
import { openSigningKey, publishedOf } from '../core/signing-key-rows.ts'
import { listSigningKeys } from '../core/signing-keys.sql.ts'
import { isDestroyed, openTenantRow } from '../core/tenant-rows.ts'
import { findTenant, listTenantIds } from '../core/tenants.sql.ts'
import { KeyringError } from '../keyring-error.ts'
import { loadSecrets } from '../postgres/secrets.sql.ts'
import type { NumberedSecret } from '../secret-bytes.ts'
import { unwrap } from '../wrap.ts'
import { listPlainRows, PLAIN_TABLES, type PlainRow, type PlainTable } from './import.sql.ts'
import { type ImportTarget, loadDays, plainPages, secretPages } from './import-keyring.ts'
import type { KeyringSource } from './import-source.ts'

export interface KeyringProof {
  readonly tenants: number
  /** Secrets that are there on both sides, with the same bytes. */
  readonly secrets: number
  /** Numbers whose secret is destroyed on both sides. */
  readonly destroyed: number
  /** Retired ones included. */
  readonly signing_keys: number
  /** The number of entries in the erasure ledger. */
  readonly entries: number
}

/** Throws `keyring_damaged`, naming what differs, unless everything is equal. */
export async function compareKeyring(
  source: KeyringSource,
  target: ImportTarget,
): Promise<KeyringProof> {
  await compareInstance(source, target)
  const tenants = await listTenantIds(source.db, 'all')
  requireSame('tenants', tenants, await listTenantIds(target.db, 'all'))
  let [secrets, destroyed] = [0, 0]
  for (const tenant_id of tenants) {
    await compareTenantKeys(source, target, tenant_id)
    for (const kind of ['fact', 'decision'] as const) {
      const counted = await compareSecrets(source, target, { tenant_id, kind })
      secrets += counted.secrets
      destroyed += counted.destroyed
    }
  }
  const signing_keys = await compareSigningKeys(source, target)
  let entries = 0
  for (const table of PLAIN_TABLES) {
    const rows = await comparePlainTable(source, target, table)
    if (table.name === 'ledger') entries = rows
  }
  return { tenants: tenants.length, secrets, destroyed, signing_keys, entries }
}

function requireSame(what: string, one: unknown, other: unknown): void {
  if (isDeepStrictEqual(one, other)) return
  throw new KeyringError('keyring_damaged', `the keyrings differ: ${what}`)
}

async function compareInstance(source: KeyringSource, { db, master }: ImportTarget): Promise<void> {
  const { instance_id: owner, mac_root } = source.instance
  const copied = await requireInstance(db, master)
  const what = { kind: 'mac-root', owner } as const
  const root = unwrap(source.master, what, mac_root)
  requireSame('instance', copied.instance_id, owner)
  requireSame('MAC root', root.equals(unwrap(master, what, copied.mac_root)), true)
  const { numbers, alive } = await loadDays(source)
  const days = await loadSecrets(db, master, DAYS, numbers)
  requireSame('keys of days', sameSecrets(alive, days), true)
}

async function compareTenantKeys(
  source: KeyringSource,
  { db, master }: ImportTarget,
  tenant_id: string,
): Promise<void> {
  const [row, copied] = [await findTenant(source.db, tenant_id), await findTenant(db, tenant_id)]
  const destroyed = row !== undefined && isDestroyed(row)
  const same = destroyed
    ? copied !== undefined && isDestroyed(copied)
    : row && copied && sameKeys(openTenantRow(source.master, row), openTenantRow(master, copied))
  requireSame(`keys of tenant ${tenant_id}`, same, true)
}

type TenantKeys = ReturnType<typeof openTenantRow>

// Compares derived keys: the keys they derive from leave no keyring.
function sameKeys(one: TenantKeys, other: TenantKeys): boolean {
  const probe = () => Buffer.alloc(32, 1)
  return one.label('') === other.label('') && one.factKey(probe()).equals(other.factKey(probe()))
}

async function compareSecrets(
  source: KeyringSource,
  { db, master }: ImportTarget,
  owner: BlockOwner,
): Promise<{ secrets: number; destroyed: number }> {
  const counted = { secrets: 0, destroyed: 0 }
  for await (const { numbers, alive } of secretPages(source, owner)) {
    const copied = await loadSecrets(db, master, owner, numbers)
    requireSame(`secrets of tenant ${owner.tenant_id}`, sameSecrets(alive, copied), true)
    for (const { secret } of copied) secret.fill(0)
    counted.secrets += alive.length
    counted.destroyed += numbers.length - alive.length
  }
  return counted
}

function sameSecrets(alive: readonly NumberedSecret[], copied: readonly NumberedSecret[]): boolean {
  const known = new Map(copied.map(({ number, secret }) => [number, secret]))
  return (
    alive.length === copied.length &&
    alive.every(({ number, secret }) => known.get(number)?.equals(secret))
  )
}

async function compareSigningKeys(
  source: KeyringSource,
  { db, master }: ImportTarget,
): Promise<number> {
  const [rows, copied] = [await listSigningKeys(source.db), await listSigningKeys(db)]
  requireSame('signing keys', rows.map(publishedOf), copied.map(publishedOf))
  for (const [i, row] of copied.entries()) {
    requireSame('seeds', rows[i]?.seed === null, row.seed === null)
    // Throws unless the seed is that of its public key.
    if (row.seed) openSigningKey(master, row, row.seed)
  }
  return rows.length
}

async function comparePlainTable(
  source: KeyringSource,
  { db }: ImportTarget,
  table: PlainTable,
): Promise<number> {
  let rows = 0
  let last: PlainRow | null = null
  for await (const page of plainPages(source, table)) {
    requireSame(table.name, page, await listPlainRows(db, table, last))
    rows += page.length
    last = page.at(-1) ?? null
  }
  requireSame(table.name, (await listPlainRows(db, table, last)).length, 0)
  return rows
}
