// Takes an embedded keyring into PostgreSQL, as one transaction: it is there whole or not at all.

import { listBlocks } from '../blocks.sql.ts'
import { KeyringError } from '../keyring-error.ts'
import { rewrapSeed } from '../signing-key-rows.ts'
import { listSigningKeys } from '../signing-keys.sql.ts'
import { isErased, SLOT_BYTES } from '../slot-file.ts'
import { isDestroyed, rewrapTenantRow } from '../tenant-rows.ts'
import { findTenant, listTenantIds } from '../tenants.sql.ts'
import { type MasterHolder, masterKeyObject, unwrap, wrap } from '../wrap.ts'
import { insertBlock } from './blocks.sql.ts'
import {
  type Cell,
  findFilled,
  findOwner,
  insertInstance,
  insertPlainRows,
  levelLedgerCounter,
  listDayRows,
  listFileRows,
  PLAIN_TABLES,
  type PlainRow,
  type PlainTable,
  truncateAll,
} from './import.sql.ts'
import type { KeyringSource } from './import-source.ts'
import { KeyringPg, type PgTx } from './keyring-pg.ts'
import { SCHEMA } from './open-postgres-keyring.ts'
import { migrateSchema } from './schema.sql.ts'
import { insertSecrets, type Numbered, type Owner, type Sealing } from './secrets.sql.ts'
import { insertSigningKey } from './signing-keys.sql.ts'
import { insertTenant } from './tenants.sql.ts'
import { insertWrapKey, newWrapKey, OWN, openWrapKey } from './wrap-keys.sql.ts'

const KINDS = ['fact', 'decision'] as const
/** Secrets read, sealed and sent at once. */
const PAGE = 1_024

export interface ImportTarget {
  readonly url: string
  /** 32 bytes; what the keyring is wrapped under from now on. */
  readonly master_key: Buffer
}

/** A keyring on PostgreSQL while one is taken into it. */
export function openImportTarget({ url, master_key }: ImportTarget) {
  const db = new KeyringPg({ url, schema: SCHEMA, read_only: false })
  const master: MasterHolder = { key: masterKeyObject(master_key) }
  return {
    db,
    master,
    /** Whose keyring is there: null when none, '' when rows are there and nobody's. */
    owner: () => findOwner(db, SCHEMA),
    close: () => db.close(),
  }
}

export type OpenTarget = ReturnType<typeof openImportTarget>

/**
 * Everything that is alive, wrapped again; what is destroyed is not brought. `clear`: rows that
 * are there go first. Without it `keyring_exists` when there are any.
 */
export async function importKeyring(
  source: KeyringSource,
  { db, master: next }: OpenTarget,
  options: { clear: boolean; progress(secrets: number): void },
): Promise<void> {
  await migrateSchema(db)
  await db.transact(async (tx) => {
    if (options.clear) await truncateAll(tx)
    const filled = await findFilled(tx, db.schema)
    if (filled !== null)
      throw new KeyringError('keyring_exists', `the keyring on PostgreSQL has rows in ${filled}`)
    await importInstance(tx, source, next)
    await importTenants(tx, source, { next, progress: options.progress })
    await importSigningKeys(tx, source, next)
    for (const table of PLAIN_TABLES) await importPlain(tx, source, table)
    await levelLedgerCounter(tx)
  })
}

async function importInstance(
  tx: PgTx,
  { db, slots, instance, master }: KeyringSource,
  next: MasterHolder,
): Promise<void> {
  const { instance_id, master_check, mac_root } = instance
  const again = (kind: 'master-check' | 'mac-root', wrapped: Uint8Array) => {
    const what = { kind, owner: instance_id } as const
    return wrap(next.key, what, unwrap(master.key, what, wrapped))
  }
  let { day_floor } = instance
  const days: Numbered[] = []
  for (const { day: number, slot } of listDayRows(db)) {
    const secret = slots.read({ start: slot, end: slot + 1 })
    // Destroyed, but for its row: that day is never given a key again.
    if (isErased(secret)) day_floor = Math.max(day_floor, number + 1)
    else days.push({ number, secret })
  }
  await insertInstance(tx, {
    instance_id,
    master_check: again('master-check', master_check),
    mac_root: again('mac-root', mac_root),
    day_floor,
  })
  const sealing = await addWrapKey(tx, next, OWN)
  await insertSecrets(tx, { tenant_id: OWN, kind: 'day' }, sealing, days)
  for (const { secret } of days) secret.fill(0)
}

async function addWrapKey(tx: PgTx, master: MasterHolder, tenant_id: string): Promise<Sealing> {
  const row = newWrapKey(master, tenant_id, 1)
  await insertWrapKey(tx, row)
  return { version: row.version, key: openWrapKey(master, row) }
}

async function importTenants(
  tx: PgTx,
  source: KeyringSource,
  { next, progress }: { next: MasterHolder; progress(secrets: number): void },
): Promise<void> {
  let done = 0
  for (const tenant_id of listTenantIds(source.db)) {
    const row = findTenant(source.db, tenant_id)
    if (!row) continue
    await insertTenant(tx, rewrapTenantRow(row, { from: source.master, next }))
    if (isDestroyed(row)) continue
    const sealing = await addWrapKey(tx, next, tenant_id)
    for (const kind of KINDS) {
      const owner = { tenant_id, kind }
      for (const { first, count } of listBlocks(source.db, tenant_id, kind, 0))
        await insertBlock(tx, owner, { first, end: first + count })
      for (const { alive } of secretPages(source, owner)) {
        if (alive.length > 0) await insertSecrets(tx, owner, sealing, alive)
        done += alive.length
        progress(done)
      }
    }
  }
}

/** Numbers ever given out to a tenant, in pages, and which of them have a secret still. */
export interface SecretPage {
  readonly numbers: readonly number[]
  /** Wiped when the next page is asked for. */
  readonly alive: readonly Numbered[]
}

export function* secretPages(
  { db, slots }: KeyringSource,
  { tenant_id, kind }: Owner & { kind: (typeof KINDS)[number] },
): Generator<SecretPage> {
  for (const { first, count, slot } of listBlocks(db, tenant_id, kind, 0))
    for (let at = 0; at < count; at += PAGE) {
      const size = Math.min(PAGE, count - at)
      const bytes = slots.read({ start: slot + at, end: slot + at + size })
      const all = Array.from({ length: size }, (_, i) => ({
        number: first + at + i,
        secret: bytes.subarray(i * SLOT_BYTES, (i + 1) * SLOT_BYTES),
      }))
      const alive = all.filter(({ secret }) => !isErased(secret))
      yield { numbers: all.map(({ number }) => number), alive }
      bytes.fill(0)
    }
}

async function importSigningKeys(
  tx: PgTx,
  { db, master: from }: KeyringSource,
  next: MasterHolder,
): Promise<void> {
  for (const row of listSigningKeys(db)) {
    const seed = row.seed && rewrapSeed(row.key_id, row.seed, { from, next })
    await insertSigningKey(tx, { ...row, public_key: Buffer.from(row.public_key), seed })
  }
}

async function importPlain(tx: PgTx, { db }: KeyringSource, table: PlainTable): Promise<void> {
  for (const rows of plainPages((after) => listFileRows(db, table, after)))
    await insertPlainRows(tx, table, rows)
}

/** Pages of a table of the embedded keyring, until one is empty. */
export function* plainPages(
  list: (after: PlainRow | null) => PlainRow[],
): Generator<readonly Readonly<Record<string, Cell>>[]> {
  for (let after: PlainRow | null = null; ; ) {
    const rows = list(after)
    const last = rows.at(-1)
    if (!last) return
    yield rows
    after = last
  }
}
