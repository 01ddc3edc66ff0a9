// Proves that a keyring taken into PostgreSQL is the embedded one: every key, secret and row.

import { isDeepStrictEqual } from 'node:util'
import { KeyringError } from '../keyring-error.ts'
import { openSigningKey, publishedOf } from '../signing-key-rows.ts'
import { listSigningKeys as listFileKeys } from '../signing-keys.sql.ts'
import { isErased } from '../slot-file.ts'
import { isDestroyed, openTenantRow } from '../tenant-rows.ts'
import { findTenant as findFileTenant, listTenantIds as listFileTenants } from '../tenants.sql.ts'
import { unwrap } from '../wrap.ts'
import {
  listDayRows,
  listFileRows,
  listPgRows,
  PLAIN_TABLES,
  type PlainTable,
} from './import.sql.ts'
import { type OpenTarget, plainPages, secretPages } from './import-keyring.ts'
import type { KeyringSource } from './import-source.ts'
import { requireInstance } from './instance.sql.ts'
import { loadSecrets, type Numbered, type Owner } from './secrets.sql.ts'
import { listSigningKeys } from './signing-keys.sql.ts'
import { findTenant, listTenantIds } from './tenants.sql.ts'
import { OWN } from './wrap-keys.sql.ts'

export interface KeyringProof {
  readonly tenants: number
  /** Secrets that are there on both sides, with the same bytes. */
  readonly secrets: number
  /** Numbers whose secret is gone on both. */
  readonly destroyed: number
  /** Retired ones included. */
  readonly signing_keys: number
  /** Of the erasure ledger. */
  readonly entries: number
}

/** Throws `keyring_damaged`, naming what differs, unless everything is equal. */
export async function compareKeyring(
  source: KeyringSource,
  target: OpenTarget,
): Promise<KeyringProof> {
  await compareInstance(source, target)
  const counts = { secrets: 0, destroyed: 0 }
  const tenants = listFileTenants(source.db)
  requireSame('tenants', tenants, await listTenantIds(target.db))
  for (const tenant_id of tenants) {
    await compareTenantKeys(source, target, tenant_id)
    for (const kind of ['fact', 'decision'] as const)
      await compareSecrets(source, target, { owner: { tenant_id, kind }, counts })
  }
  const signing_keys = await compareSigningKeys(source, target)
  let entries = 0
  for (const table of PLAIN_TABLES) {
    const rows = await comparePlain(source, target, table)
    if (table.name === 'ledger') entries = rows
  }
  return { tenants: tenants.length, ...counts, signing_keys, entries }
}

function requireSame(what: string, one: unknown, other: unknown): void {
  if (isDeepStrictEqual(one, other)) return
  throw new KeyringError('keyring_damaged', `the keyrings differ: ${what}`)
}

async function compareInstance(source: KeyringSource, { db, master }: OpenTarget): Promise<void> {
  const { instance_id: owner, mac_root } = source.instance
  const copied = await requireInstance(db, master)
  const what = { kind: 'mac-root', owner } as const
  const root = unwrap(source.master.key, what, mac_root)
  requireSame('instance', copied.instance_id, owner)
  requireSame('MAC root', root.equals(unwrap(master.key, what, copied.mac_root)), true)
  for (const { day, slot } of listDayRows(source.db)) {
    const secret = source.slots.read({ start: slot, end: slot + 1 })
    const alive = isErased(secret) ? [] : [{ number: day, secret }]
    const held = await loadSecrets(db, master, { tenant_id: OWN, kind: 'day' }, [day])
    requireSame('keys of days', sameSecrets(alive, held), true)
  }
}

async function compareTenantKeys(
  source: KeyringSource,
  { db, master }: OpenTarget,
  tenant_id: string,
): Promise<void> {
  const [row, copied] = [findFileTenant(source.db, tenant_id), await findTenant(db, tenant_id)]
  const gone = row !== undefined && isDestroyed(row)
  const same = gone
    ? copied !== undefined && isDestroyed(copied)
    : row && copied && sameKeys(openTenantRow(source.master, row), openTenantRow(master, copied))
  requireSame(`keys of tenant ${tenant_id}`, same, true)
}

type TenantKeys = ReturnType<typeof openTenantRow>

// Derived keys tell: what they derive from leaves no keyring.
function sameKeys(one: TenantKeys, other: TenantKeys): boolean {
  const probe = () => Buffer.alloc(32, 1)
  return one.label('') === other.label('') && one.factKey(probe()).equals(other.factKey(probe()))
}

interface Counted {
  readonly owner: Owner & { kind: 'fact' | 'decision' }
  readonly counts: { secrets: number; destroyed: number }
}

async function compareSecrets(
  source: KeyringSource,
  { db, master }: OpenTarget,
  { owner, counts }: Counted,
): Promise<void> {
  for (const { numbers, alive } of secretPages(source, owner)) {
    const held = await loadSecrets(db, master, owner, numbers)
    requireSame(`secrets of tenant ${owner.tenant_id}`, sameSecrets(alive, held), true)
    for (const { secret } of held) secret.fill(0)
    counts.secrets += alive.length
    counts.destroyed += numbers.length - alive.length
  }
}

function sameSecrets(alive: readonly Numbered[], held: readonly Numbered[]): boolean {
  const known = new Map(held.map(({ number, secret }) => [number, secret]))
  return (
    alive.length === held.length &&
    alive.every(({ number, secret }) => known.get(number)?.equals(secret))
  )
}

async function compareSigningKeys(
  source: KeyringSource,
  { db, master }: OpenTarget,
): Promise<number> {
  const [rows, copied] = [listFileKeys(source.db), await listSigningKeys(db)]
  requireSame('signing keys', rows.map(publishedOf), copied.map(publishedOf))
  for (const [i, row] of copied.entries()) {
    requireSame('seeds', rows[i]?.seed === null, row.seed === null)
    // Throws unless the seed is that of its public key.
    if (row.seed) openSigningKey(master, row, row.seed)
  }
  return rows.length
}

async function comparePlain(
  source: KeyringSource,
  { db }: OpenTarget,
  table: PlainTable,
): Promise<number> {
  let rows = 0
  let last: Parameters<typeof listPgRows>[2] = null
  for (const page of plainPages((after) => listFileRows(source.db, table, after))) {
    const copied = await listPgRows(db, table, last)
    // Rows of SQLite have no prototype.
    requireSame(
      table.name,
      page.map((row) => ({ ...row })),
      copied.map((row) => ({ ...row })),
    )
    rows += page.length
    last = page.at(-1) ?? null
  }
  requireSame(table.name, (await listPgRows(db, table, last)).length, 0)
  return rows
}
