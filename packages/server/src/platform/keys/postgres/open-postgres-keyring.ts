// Opens the keyring that several processes share, in one schema of a PostgreSQL database.

import { randomBytes } from 'node:crypto'
import { formatTime } from '../../clock.ts'
import { DayKeys } from '../core/day-keys.ts'
import {
  findInstance,
  type InstanceRow,
  insertInstance,
  newInstance,
  requireInstance,
} from '../core/instance.sql.ts'
import { SigningKeys } from '../core/signing-keys.ts'
import { type KeyringParts, storedKeyring } from '../core/stored-keyring.ts'
import { TenantRing } from '../core/tenant-ring.ts'
import type { Keyring, RewriteResult } from '../keyring.ts'
import { KeyringError } from '../keyring-error.ts'
import { checkpointStore } from '../ledger/checkpoints.sql.ts'
import { dropAbandonedPlans, type LedgerStorage, storedLedger } from '../ledger/ledger.ts'
import { LedgerCopy } from '../ledger/ledger-copy.ts'
import { deleteProcess, SharedLedgerOrder, upsertProcess } from '../ledger/ledger-order.sql.ts'
import { recoverKeyring } from '../ledger/recover.ts'
import { type MasterHolder, masterHolder } from '../wrap.ts'
import { HeldSecrets } from './held-secrets.ts'
import { KeyringPg } from './keyring-pg.ts'
import { rewriteSecrets } from './rewrite-secrets.sql.ts'
import { migrateSchema, requireSchema } from './schema.sql.ts'
import { SecretRows } from './secret-store.ts'
import { loadState, watchKeyring } from './secrets.sql.ts'
import { insertWrapKey, KEYRING_OWN, newWrapKey } from './wrap-keys.sql.ts'

export const SCHEMA = 'custos_keyring'

export interface PostgresKeyringOptions {
  /** postgres://…; may use a pooler in transaction mode. */
  readonly url: string
  /** A plain lower-case name; default `custos_keyring`. */
  readonly schema?: string | undefined
  /** 32 bytes; the same in every process. */
  readonly master_key: Buffer
  /** 32 bytes: the next key of a rotation by another process, which opens the keyring too. */
  readonly next_master_key?: Buffer | undefined
  /** Microseconds since the epoch; signing keys that the first open creates are valid from then. */
  readonly now_us: () => number
  /** File that ledger changes and signed checkpoints are appended to; processes may share it. */
  readonly ledger_copy?: string | undefined
  /** Opens for reading only: creates, merges, destroys and writes nothing. */
  readonly read_only?: boolean
}

export interface PostgresKeyring extends Keyring {
  /**
   * Seals every secret again under a new key of its tenant, deletes the old keys and rewrites the
   * tables' files, because until then PostgreSQL keeps destroyed data in its pages. Readers wait
   * while a table is rewritten. The role must own the tables.
   */
  rewriteSecrets(): Promise<RewriteResult>
  /** Resolves when the connections are closed; callers need not await it. */
  close(): Promise<void>
}

/**
 * Opens the keyring, and creates it if the role may; otherwise the error names `custos migrate`.
 * When it resolves, the ledger and the checkpoints agree with their copy, and every secret that the
 * ledger names is destroyed. Later calls fail with `keyring_unavailable` while the database is
 * unreachable.
 */
export async function openPostgresKeyring(
  options: PostgresKeyringOptions,
): Promise<PostgresKeyring> {
  const { read_only = false } = options
  const master = masterHolder(options.master_key, options.next_master_key)
  const db = pgOf(options, read_only)
  let copy: LedgerCopy | undefined
  try {
    await (read_only ? requireSchema(db) : migrateSchema(db))
    const { instance_id } = await (read_only ? requireInstance : openInstance)(db, master)
    if (options.ledger_copy && !read_only) copy = LedgerCopy.open(options.ledger_copy, instance_id)
    const opened_at = read_only ? null : formatTime(options.now_us())
    return keyringOf(await openParts(db, { master, copy, instance_id, opened_at }))
  } catch (error) {
    copy?.close()
    await db.close()
    throw error
  }
}

/** Creates the keyring's schema or migrates it; returns true if there was something to do. */
export async function migratePostgresKeyring(options: {
  url: string
  schema?: string | undefined
}): Promise<boolean> {
  const db = pgOf(options, false)
  try {
    return await migrateSchema(db)
  } finally {
    await db.close()
  }
}

function pgOf(
  { url, schema = SCHEMA }: { url: string; schema?: string | undefined },
  read_only: boolean,
): KeyringPg {
  return new KeyringPg({ url, schema, read_only })
}

async function openInstance(db: KeyringPg, master: MasterHolder): Promise<InstanceRow> {
  if (!(await findInstance(db)))
    await db.transact(async (tx) => {
      const inserted = await insertInstance(tx, newInstance(master))
      if (inserted) await insertWrapKey(tx, newWrapKey(master, KEYRING_OWN, 1))
    })
  return requireInstance(db, master)
}

interface OpenOptions {
  readonly master: MasterHolder
  readonly copy: LedgerCopy | undefined
  readonly instance_id: string
  /** Null if the keyring is opened read-only. */
  readonly opened_at: string | null
}

interface OpenedParts extends KeyringParts {
  readonly db: KeyringPg
  readonly secrets: SecretRows
  readonly held: HeldSecrets
  readonly storage: LedgerStorage
  readonly copy: LedgerCopy | undefined
  /** Identifies this opening, so that no other process drops its unclaimed parts. */
  readonly process_id: string
  readonly read_only: boolean
}

async function openParts(
  db: KeyringPg,
  { master, copy, instance_id, opened_at }: OpenOptions,
): Promise<OpenedParts> {
  const process_id = randomBytes(16).toString('hex')
  const now_ms = () => performance.now()
  const held = new HeldSecrets(now_ms)
  const { destroyed } = await loadState(db)
  const secrets = new SecretRows({ db, master, held, destroyed })
  const storage = { db, secrets, copy, order: new SharedLedgerOrder(db, process_id) }
  const signing = new SigningKeys({ db, master, now_ms })
  const merged_from_copy = opened_at === null ? 0 : await start(storage, signing, opened_at)
  await signing.reload()
  return {
    db,
    master,
    secrets,
    held,
    signing,
    tenants: new TenantRing({ db, secrets, master }),
    days: new DayKeys({ db, secrets, master }),
    ledger: storedLedger(storage),
    storage,
    checkpoints: checkpointStore(storage),
    copy,
    instance_id,
    merged_from_copy,
    process_id,
    read_only: opened_at === null,
  }
}

/** Returns the number of ledger rows that were inserted or completed from the copy. */
async function start(
  storage: LedgerStorage & { order: SharedLedgerOrder },
  signing: SigningKeys,
  opened_at: string,
): Promise<number> {
  const { db, order } = storage
  await db.transact((tx) => upsertProcess(tx, order.process_id))
  const merged = await recoverKeyring(storage)
  await signing.createMissing(opened_at)
  return merged
}

function keyringOf(parts: OpenedParts): PostgresKeyring {
  const stopWatching = watch(parts)
  let closed: Promise<void> | undefined
  return {
    ...storedKeyring(parts),
    rewriteSecrets: () => rewriteSecrets(parts.db, parts.master),
    backupTo: async () => {
      throw new KeyringError(
        'backup_unsupported',
        'a keyring on PostgreSQL is backed up with pg_dump or a base backup, apart from the data',
      )
    },
    close: () => {
      closed ??= closeKeyring(parts, stopWatching)
      return closed
    },
  }
}

async function closeKeyring(
  { db, copy, held, process_id, read_only }: OpenedParts,
  stopWatching: () => Promise<void>,
): Promise<void> {
  held.wipeAll()
  await stopWatching()
  copy?.close()
  // Without this, the others wait for a minute before they consider this process dead.
  if (!read_only) await db.transact((tx) => deleteProcess(tx, process_id)).catch(() => undefined)
  await db.close().catch(() => undefined)
}

function watch(parts: OpenedParts): () => Promise<void> {
  const { db, held, secrets, tenants, signing, days, storage, process_id, read_only } = parts
  // Number of destroyed tenants. -1 makes the first check find those destroyed before it.
  let known_destroyed = -1
  return watchKeyring(db, {
    wipeExpired: () => held.wipeExpired(),
    follow: async ({ destroyed, key_changes, day_floor, tenants_destroyed }) => {
      days.forget(day_floor)
      if (tenants_destroyed !== known_destroyed)
        for (const tenant_id of await tenants.dropDestroyed()) held.wipeTenant(tenant_id)
      known_destroyed = tenants_destroyed
      await secrets.follow(destroyed)
      await signing.follow(key_changes)
    },
    checkFailed: () => signing.checkFailed(),
    heartbeat: async () => {
      if (read_only) return
      await db.transact((tx) => upsertProcess(tx, process_id))
      await dropAbandonedPlans(storage)
    },
  })
}
