// The keyring of several processes at once: one schema of a PostgreSQL database.

import { randomBytes } from 'node:crypto'
import { formatTime } from '../../clock.ts'
import type {
  BodyMac,
  CheckpointStore,
  ErasureLedger,
  Keyring,
  Rewritten,
  SecretBlock,
  SecretKind,
  Signer,
  SigningPurpose,
  TenantKeys,
} from '../keyring.ts'
import { KeyringError } from '../keyring-error.ts'
import { LedgerCopy } from '../ledger-copy.ts'
import type { PublishedKey } from '../published-key.ts'
import { requireTenantId } from '../tenant-rows.ts'
import { type MasterHolder, masterKeyObject } from '../wrap.ts'
import { checkpointStore } from './checkpoints.ts'
import { DayKeys } from './day-keys.ts'
import { HeldSecrets } from './held-secrets.ts'
import { openInstance, requireInstance } from './instance.sql.ts'
import { KeyringPg } from './keyring-pg.ts'
import { PostgresLedger } from './ledger.ts'
import { makeLevel } from './make-level.ts'
import { deleteProcess, upsertProcess } from './parts.sql.ts'
import { rewriteSecrets } from './rewrite-secrets.ts'
import { rotateMaster } from './rotate-master.ts'
import { migrateSchema, requireSchema } from './schema.sql.ts'
import { SecretStore } from './secret-store.ts'
import { SigningKeys } from './signing-keys.ts'
import { loadState } from './state.sql.ts'
import { TenantRing } from './tenant-ring.ts'
import { hasRemains } from './tenants.sql.ts'
import { watch } from './watcher.ts'

export const SCHEMA = 'custos_keyring'

export interface PostgresKeyringOptions {
  /** postgres://…; may go through a pooler in transaction mode. */
  readonly url: string
  /** A plain lower-case name; `custos_keyring` when absent. */
  readonly schema?: string | undefined
  /** 32 bytes; the same in every process. */
  readonly master_key: Buffer
  /** Microseconds since the epoch; stamps the signing keys made on the first open. */
  readonly now_us: () => number
  /** File that ledger changes and signed checkpoints are appended to; processes may share it. */
  readonly ledger_copy?: string | undefined
  /** For looking only: nothing is created, merged, destroyed or written. */
  readonly read_only?: boolean
}

export interface PostgresKeyring extends Keyring {
  /**
   * Every secret again under a new key of its tenant, the old keys deleted, and the tables' files
   * written anew: until then PostgreSQL keeps what was destroyed in its pages. Readers wait while
   * a table is written. The role must own the tables.
   */
  rewriteSecrets(): Promise<Rewritten>
  /** Resolves when the connections are closed; nobody need wait for it. */
  close(): Promise<void>
}

/**
 * Opens, and creates where the role may; otherwise the error names `custos migrate`. Before it
 * resolves the ledger and the checkpoints are level with their copy, and every secret the ledger
 * names is destroyed. Whatever the keyring is asked later is refused with `keyring_unavailable`
 * while the database cannot be reached.
 */
export async function openPostgresKeyring(
  options: PostgresKeyringOptions,
): Promise<PostgresKeyring> {
  const { read_only = false } = options
  const master = { key: masterKeyObject(options.master_key) }
  const db = pgOf(options, read_only)
  let copy: LedgerCopy | undefined
  try {
    await (read_only ? requireSchema(db) : migrateSchema(db))
    const { instance_id } = await (read_only ? requireInstance : openInstance)(db, master)
    if (options.ledger_copy && !read_only) copy = LedgerCopy.open(options.ledger_copy, instance_id)
    const parts = await partsOf(db, master, copy)
    const merged = read_only ? 0 : await start(parts, formatTime(options.now_us()))
    await parts.signing.reload()
    return new OpenKeyring(parts, { instance_id, merged_from_copy: merged, read_only })
  } catch (error) {
    copy?.close()
    await db.close()
    throw error
  }
}

/** Creates the keyring's schema or brings it up to date; true when there was something to do. */
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

function pgOf({ url, schema = SCHEMA }: { url: string; schema?: string | undefined }, ro: boolean) {
  return new KeyringPg({ url, schema, read_only: ro })
}

interface Parts {
  readonly db: KeyringPg
  readonly master: MasterHolder
  readonly copy: LedgerCopy | undefined
  readonly process_id: string
  readonly held: HeldSecrets
  readonly secrets: SecretStore
  readonly tenants: TenantRing
  readonly signing: SigningKeys
  readonly days: DayKeys
  readonly ledger: PostgresLedger
}

async function partsOf(
  db: KeyringPg,
  master: MasterHolder,
  copy: LedgerCopy | undefined,
): Promise<Parts> {
  const process_id = randomBytes(16).toString('hex')
  const now_ms = () => performance.now()
  const held = new HeldSecrets(now_ms)
  const secrets = new SecretStore({ db, master, held, seen: (await loadState(db)).destroyed })
  return {
    ...{ db, master, copy, process_id, held, secrets },
    tenants: new TenantRing(db, master),
    signing: new SigningKeys(db, master, now_ms),
    days: new DayKeys(db, secrets, master),
    ledger: new PostgresLedger({ db, secrets, copy, process_id }),
  }
}

/** Rows that came in or were completed from the copy. */
async function start(parts: Parts, opened_at: string): Promise<number> {
  const { db, process_id, signing } = parts
  await db.transact((tx) => upsertProcess(tx, process_id))
  const merged = await makeLevel(parts)
  await signing.createMissing(opened_at)
  return merged
}

interface Opened {
  readonly instance_id: string
  readonly merged_from_copy: number
  readonly read_only: boolean
}

class OpenKeyring implements PostgresKeyring {
  readonly instance_id: string
  readonly merged_from_copy: number
  readonly ledger: ErasureLedger
  readonly checkpoints: CheckpointStore
  readonly #parts: Parts
  readonly #read_only: boolean
  readonly #stopWatching: () => Promise<void>
  #closed: Promise<void> | undefined

  constructor(parts: Parts, { instance_id, merged_from_copy, read_only }: Opened) {
    this.instance_id = instance_id
    this.merged_from_copy = merged_from_copy
    this.ledger = parts.ledger
    this.checkpoints = checkpointStore(parts)
    this.#parts = parts
    this.#read_only = read_only
    this.#stopWatching = watchFor(parts, read_only)
  }

  async createTenant(tenant_id: string): Promise<void> {
    await this.#parts.tenants.create(tenant_id)
  }

  async hasTenant(tenant_id: string): Promise<boolean> {
    return this.#parts.tenants.has(tenant_id)
  }

  /** Also what tells a process that was left running beside a new master key that it is unfit. */
  async listTenants(): Promise<string[]> {
    await requireInstance(this.#parts.db, this.#parts.master)
    return this.#parts.tenants.list()
  }

  async listDestroyedTenants(): Promise<string[]> {
    return this.#parts.tenants.listDestroyed()
  }

  async destroyTenant(tenant_id: string): Promise<void> {
    requireTenantId(tenant_id)
    await this.#parts.secrets.destroyTenant(tenant_id)
    this.#parts.tenants.drop(tenant_id)
  }

  async hasRemains(tenant_id: string): Promise<boolean> {
    return hasRemains(this.#parts.db, tenant_id)
  }

  async tenant(tenant_id: string): Promise<TenantKeys> {
    return this.#underMaster(() => this.#parts.tenants.load(tenant_id))
  }

  async reserve(
    tenant_id: string,
    kind: SecretKind,
    options: { at_least: number; count?: number },
  ): Promise<SecretBlock> {
    return this.#underMaster(() => this.#parts.secrets.reserve({ tenant_id, kind }, options))
  }

  async secrets(
    tenant_id: string,
    kind: SecretKind,
    numbers: readonly number[],
  ): Promise<Map<number, Buffer | null>> {
    return this.#underMaster(() => this.#parts.secrets.read({ tenant_id, kind }, numbers))
  }

  async destroySecrets(
    tenant_id: string,
    kind: SecretKind,
    numbers: readonly number[],
  ): Promise<void> {
    await this.#parts.secrets.destroy({ tenant_id, kind }, numbers)
  }

  signer(purpose: SigningPurpose): Signer {
    return this.#parts.signing.signer(purpose)
  }

  publishedKeys(): PublishedKey[] {
    return this.#parts.signing.published()
  }

  async rotateSigningKey(purpose: SigningPurpose, at: string): Promise<PublishedKey> {
    return this.#parts.signing.rotate(purpose, at)
  }

  async retireSigningKey(purpose: SigningPurpose, at: string): Promise<void> {
    await this.#parts.signing.retire(purpose, at)
  }

  /** Other processes must be started again with the new key: they are refused with the old. */
  async rotateMasterKey(next_key: Buffer): Promise<void> {
    const { db, master, signing } = this.#parts
    const next = { key: masterKeyObject(next_key) }
    await rotateMaster(db, { from: master, next }, signing)
    master.key = next.key
  }

  async bodyMac(body: Uint8Array, day: number): Promise<BodyMac> {
    return this.#underMaster(() => this.#parts.days.mac(body, day))
  }

  async verifyBodyMac(body: Uint8Array, day: number, mac: string): Promise<boolean> {
    return this.#underMaster(() => this.#parts.days.verify(body, day, mac))
  }

  async dropDayKeys(before_day: number): Promise<number> {
    return this.#parts.days.drop(before_day)
  }

  async rewriteSecrets(): Promise<Rewritten> {
    return rewriteSecrets(this.#parts.db, this.#parts.master)
  }

  async backupTo(_path: string): Promise<void> {
    throw new KeyringError(
      'backup_unsupported',
      'a keyring on PostgreSQL is backed up with pg_dump or a base backup, apart from the data',
    )
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const { db, copy, held, process_id } = this.#parts
    held.wipeAll()
    await this.#stopWatching()
    copy?.close()
    // Without it the others wait for a minute before they take this one for gone.
    if (!this.#read_only)
      await db.transact((tx) => deleteProcess(tx, process_id)).catch(() => undefined)
    await db.close().catch(() => undefined)
  }

  /** What does not open may be another master key's by now: then that is what is wrong. */
  async #underMaster<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof KeyringError && error.code === 'keyring_damaged')
        await requireInstance(this.#parts.db, this.#parts.master)
      throw error
    }
  }
}

function watchFor(parts: Parts, read_only: boolean): () => Promise<void> {
  const { db, held, secrets, tenants, signing, days, ledger, process_id } = parts
  // Of tenants destroyed; the first look is at what was before this memory held anything.
  let seen = -1
  return watch(db, {
    turn: () => held.turn(),
    follow: async ({ destroyed, key_changes, day_floor, tenants_destroyed }) => {
      days.forget(day_floor)
      if (tenants_destroyed !== seen)
        for (const tenant_id of await tenants.follow()) held.wipeTenant(tenant_id)
      seen = tenants_destroyed
      await secrets.follow(destroyed)
      await signing.follow(key_changes)
    },
    lost: () => signing.lost(),
    sign: async () => {
      if (read_only) return
      await db.transact((tx) => upsertProcess(tx, process_id))
      await ledger.dropAbandoned()
    },
  })
}
