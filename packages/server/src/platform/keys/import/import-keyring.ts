// Imports an embedded keyring into PostgreSQL in one transaction, and proves that the two keyrings
// are equal.

import { isDeepStrictEqual } from 'node:util'
import { type BlockOwner, insertBlock } from '../core/blocks.sql.ts'
import { DAYS } from '../core/day-keys.ts'
import { insertInstance, requireInstance, rewrapInstance } from '../core/instance.sql.ts'
import { openSigningKey, publishedOf, rewrapSeed } from '../core/signing-key-rows.ts'
import { insertSigningKey, listSigningKeys } from '../core/signing-keys.sql.ts'
import { isDestroyed, openTenantRow, rewrapTenantRow } from '../core/tenant-rows.ts'
import { findTenant, insertTenant, listTenantIds, listTenantRows } from '../core/tenants.sql.ts'
import { listBlocks, listDaysBefore } from '../file/slots.sql.ts'
import { KeyringError } from '../keyring-error.ts'
import { KeyringPg, type PgTx } from '../postgres/keyring-pg.ts'
import { SCHEMA } from '../postgres/open-postgres-keyring.ts'
import { migrateSchema } from '../postgres/schema.sql.ts'
import { insertSecrets, loadSecrets, type SealingKey } from '../postgres/secrets.sql.ts'
import { insertWrapKey, KEYRING_OWN, newWrapKey, openWrapKey } from '../postgres/wrap-keys.sql.ts'
import { isErased, type NumberedSecret, secretIn } from '../secret-bytes.ts'
import { type MasterHolder, type MasterRotation, masterHolder, unwrap } from '../wrap.ts'
import {
  findOwner,
  findTableWithRows,
  insertPlainRows,
  listPlainRows,
  PLAIN_TABLES,
  type PlainRow,
  type PlainTable,
  truncateAll,
  updateLedgerCounter,
} from './import.sql.ts'
import type { KeyringSource } from './import-source.ts'

const KINDS = ['fact', 'decision'] as const
/** Secrets per page of reading, sealing and sending. */
const SECRETS_PAGE = 1_024
const TENANTS_PAGE = 1_000

export interface ImportTarget {
  readonly db: KeyringPg
  readonly master: MasterHolder
  /** Instance id of the existing keyring; null if none, '' for rows without an instance. */
  owner(): Promise<string | null>
  close(): Promise<void>
}

/** Keys have 32 bytes. What is imported is wrapped under the key that the keyring is under. */
export function openImportTarget(options: {
  readonly url: string
  readonly master_key: Buffer
  readonly next_master_key?: Buffer | undefined
}): ImportTarget {
  const db = new KeyringPg({ url: options.url, schema: SCHEMA, read_only: false })
  return {
    db,
    master: masterHolder(options.master_key, options.next_master_key),
    owner: () => findOwner(db, SCHEMA),
    close: () => db.close(),
  }
}

/**
 * Imports all live data and wraps it again; destroyed secrets are left out. `clear` deletes
 * existing rows; without it, existing rows cause `keyring_exists`.
 */
export async function importKeyring(
  source: KeyringSource,
  { db, master: next }: ImportTarget,
  options: { clear: boolean; progress(secrets: number): void },
): Promise<void> {
  const rotation = { from: source.master, next }
  await migrateSchema(db)
  await db.transact(async (tx) => {
    if (options.clear) await truncateAll(tx)
    const table = await findTableWithRows(tx, db.schema)
    if (table !== null)
      throw new KeyringError('keyring_exists', `the keyring on PostgreSQL has rows in ${table}`)
    await importInstance(tx, source, rotation)
    await importTenants(tx, source, { rotation, progress: options.progress })
    await importSigningKeys(tx, source, rotation)
    for (const plain of PLAIN_TABLES)
      for await (const rows of plainPages(source, plain)) await insertPlainRows(tx, plain, rows)
    await updateLedgerCounter(tx)
  })
}

async function importInstance(
  tx: PgTx,
  source: KeyringSource,
  rotation: MasterRotation,
): Promise<void> {
  const { alive, day_floor } = await loadDays(source)
  await insertInstance(tx, { ...rewrapInstance(source.instance, rotation), day_floor })
  const sealing = await addWrapKey(tx, rotation.next, KEYRING_OWN)
  await insertSecrets(tx, DAYS, sealing, alive)
  for (const { secret } of alive) secret.fill(0)
}

/**
 * `numbers`: every day with a row, also those whose key is destroyed. `day_floor`: no earlier day
 * is given a key again.
 */
async function loadDays({ db, slots, instance }: KeyringSource) {
  let { day_floor } = instance
  const alive: NumberedSecret[] = []
  const rows = await listDaysBefore(db, Number.MAX_SAFE_INTEGER)
  for (const { day: number, slot } of rows) {
    const secret = slots.read({ start: slot, end: slot + 1 })
    if (isErased(secret)) day_floor = Math.max(day_floor, number + 1)
    else alive.push({ number, secret })
  }
  return { numbers: rows.map(({ day }) => day), alive, day_floor }
}

async function addWrapKey(tx: PgTx, master: MasterHolder, tenant_id: string): Promise<SealingKey> {
  const row = newWrapKey(master, tenant_id, 1)
  await insertWrapKey(tx, row)
  return { version: row.version, key: openWrapKey(master, row) }
}

async function importTenants(
  tx: PgTx,
  source: KeyringSource,
  { rotation, progress }: { rotation: MasterRotation; progress(secrets: number): void },
): Promise<void> {
  let done = 0
  for (let after = ''; ; ) {
    const rows = await listTenantRows(source.db, { after, limit: TENANTS_PAGE })
    const last = rows.at(-1)
    if (!last) return
    for (const row of rows) {
      await insertTenant(tx, rewrapTenantRow(row, rotation))
      if (isDestroyed(row)) continue
      const sealing = await addWrapKey(tx, rotation.next, row.tenant_id)
      for (const kind of KINDS) {
        const owner = { tenant_id: row.tenant_id, kind }
        for (const { first, count } of await listBlocks(source.db, owner, 0))
          await insertBlock(tx, owner, { first, count })
        for await (const { alive } of secretPages(source, owner)) {
          if (alive.length > 0) await insertSecrets(tx, owner, sealing, alive)
          done += alive.length
          progress(done)
        }
      }
    }
    after = last.tenant_id
  }
}

/** Pages of the numbers handed out to a tenant, with the secrets that are not destroyed. */
async function* secretPages(
  { db, slots }: KeyringSource,
  owner: BlockOwner,
): AsyncGenerator<{
  readonly numbers: readonly number[]
  /** Wiped when the next page is read. */
  readonly alive: readonly NumberedSecret[]
}> {
  for (const { first, count, slot } of await listBlocks(db, owner, 0))
    for (let at = 0; at < count; at += SECRETS_PAGE) {
      const size = Math.min(SECRETS_PAGE, count - at)
      const bytes = slots.read({ start: slot + at, end: slot + at + size })
      const all = Array.from({ length: size }, (_, i) => ({
        number: first + at + i,
        secret: secretIn(bytes, i),
      }))
      const alive = all.filter(({ secret }) => !isErased(secret))
      yield { numbers: all.map(({ number }) => number), alive }
      bytes.fill(0)
    }
}

async function importSigningKeys(
  tx: PgTx,
  source: KeyringSource,
  rotation: MasterRotation,
): Promise<void> {
  for (const row of await listSigningKeys(source.db)) {
    const seed = row.seed && rewrapSeed(row.key_id, row.seed, rotation)
    await insertSigningKey(tx, { ...row, seed })
  }
}

/** Pages of the rows of a table of the embedded keyring. */
async function* plainPages(
  { db }: KeyringSource,
  table: PlainTable,
): AsyncGenerator<readonly PlainRow[]> {
  for (let after: PlainRow | null = null; ; ) {
    const rows: PlainRow[] = await listPlainRows(db, table, after)
    const last = rows.at(-1)
    if (!last) return
    yield rows
    after = last
  }
}

export interface KeyringProof {
  readonly tenants: number
  /** Secrets that exist on both sides with the same bytes. */
  readonly secrets: number
  /** Numbers whose secret is destroyed on both sides. */
  readonly destroyed: number
  /** Includes retired keys. */
  readonly signing_keys: number
  /** Entries in the erasure ledger. */
  readonly entries: number
}

/** Throws `keyring_damaged`, which names the difference, unless everything is equal. */
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

// Compares derived keys, because the keys that they derive from never leave a keyring.
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
    // Throws unless the seed belongs to the public key.
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
