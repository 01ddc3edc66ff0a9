// The keyring of the embedded engine: keyring.db and secrets.slots in one directory.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { formatTime } from '../clock.ts'
import { checkpointStore, mergeCheckpoints } from './checkpoints.sql.ts'
import { DayKeys } from './day-keys.ts'
import { PRIVATE_DIRECTORY } from './durable-file.ts'
import { FileLedger } from './erasure-ledger.ts'
import { loadInstance, openInstance, requireInstance, updateInstanceKeys } from './instance.sql.ts'
import type {
  BodyMac,
  CheckpointStore,
  ErasureLedger,
  Keyring,
  SecretBlock,
  SecretKind,
  Signer,
  SigningPurpose,
  TenantKeys,
} from './keyring.ts'
import { backupKeyring, DB_FILE, SLOT_FILE } from './keyring-backup.ts'
import { KeyringDb } from './keyring-db.ts'
import { KeyringError } from './keyring-error.ts'
import { listLedgerSecrets, listNamedTenants } from './ledger.sql.ts'
import { LedgerCopy } from './ledger-copy.ts'
import type { PublishedKey } from './published-key.ts'
import { installRenewed } from './renewals.ts'
import { SecretStore } from './secret-store.ts'
import { SigningKeys } from './signing-keys.ts'
import { SlotFile } from './slot-file.ts'
import { TenantRing } from './tenant-ring.ts'
import { listDestroyedTenantIds, listLiveTenantIds } from './tenants.sql.ts'
import { type MasterHolder, masterKeyObject, unwrap, wrap } from './wrap.ts'

export interface FileKeyringOptions {
  /** Created, with mode 0700, when absent. One process may write to it at a time. */
  readonly dir: string
  /** 32 bytes. */
  readonly master_key: Buffer
  /** Microseconds since the epoch; stamps the signing keys made on the first open. */
  readonly now_us: () => number
  /** File that ledger changes and signed checkpoints are appended to; best on another disk. */
  readonly ledger_copy?: string | undefined
  /**
   * For looking at the keyring beside the process that owns it: nothing is created, merged,
   * destroyed or written, and the ledger copy is not read.
   */
  readonly read_only?: boolean
}

interface Files {
  readonly db: KeyringDb
  readonly slots: SlotFile
  readonly copy: LedgerCopy | undefined
}

/**
 * Opens or creates. Before it resolves the ledger and the checkpoints are level with their copy,
 * and every secret the ledger names is destroyed, in whatever state its row is: destroying is the
 * step that follows the row, so after a crash between the two, or on a restored keyring, it is
 * done here.
 */
export async function openFileKeyring(options: FileKeyringOptions): Promise<Keyring> {
  const master = { key: masterKeyObject(options.master_key) }
  if (!options.read_only) mkdirSync(options.dir, { recursive: true, mode: PRIVATE_DIRECTORY })
  const files = options.read_only ? openFilesReadOnly(options, master) : openFiles(options, master)
  try {
    return new FileKeyring(files, master, options.read_only ? null : formatTime(options.now_us()))
  } catch (error) {
    closeFiles(files)
    throw error
  }
}

function openFiles({ dir, ledger_copy }: FileKeyringOptions, master: MasterHolder): Files {
  const db = KeyringDb.open(join(dir, DB_FILE))
  let slots: SlotFile | undefined
  try {
    const instance = openInstance(db, master)
    slots = SlotFile.open(join(dir, SLOT_FILE), instance)
    const copy = ledger_copy ? LedgerCopy.open(ledger_copy, instance.instance_id) : undefined
    return { db, slots, copy }
  } catch (error) {
    slots?.close()
    db.close()
    throw error
  }
}

function openFilesReadOnly({ dir }: FileKeyringOptions, master: MasterHolder): Files {
  const db = KeyringDb.open(join(dir, DB_FILE), { read_only: true })
  try {
    const instance = requireInstance(db, master)
    const slots = SlotFile.openReadOnly(join(dir, SLOT_FILE), instance)
    return { db, slots, copy: undefined }
  } catch (error) {
    db.close()
    throw error
  }
}

function closeFiles({ db, slots, copy }: Files): void {
  db.close()
  slots.close()
  copy?.close()
}

// Work is synchronous inside each method: its transactions cannot interleave, and the few
// flushes (a reservation per 1,024 numbers, an erasure) are a third of a millisecond each.
class FileKeyring implements Keyring {
  readonly instance_id: string
  readonly merged_from_copy: number
  readonly ledger: ErasureLedger
  readonly checkpoints: CheckpointStore
  readonly #files: Files
  readonly #master: MasterHolder
  readonly #tenants: TenantRing
  readonly #secrets: SecretStore
  readonly #signing: SigningKeys
  readonly #days: DayKeys

  /** @param opened_at null: only to be looked at */
  constructor(files: Files, master: MasterHolder, opened_at: string | null) {
    const { db, slots, copy } = files
    this.#files = files
    this.#master = master
    this.#tenants = new TenantRing(db, master)
    this.#secrets = new SecretStore(db, slots)
    this.#signing = new SigningKeys(db, master)
    this.#days = new DayKeys(db, slots, master)
    this.checkpoints = checkpointStore(db, copy)
    this.instance_id = loadInstance(db).instance_id
    const ledger = new FileLedger(db, this.#secrets, copy)
    this.ledger = ledger
    this.merged_from_copy = ledger.mergeCopy()
    if (copy) mergeCheckpoints(db, copy)
    if (opened_at === null) return
    ledger.dropUnclaimed()
    installRenewed(db, this.#secrets)
    this.#destroyWhatLedgerNames()
    this.#signing.createMissing(opened_at)
  }

  async createTenant(tenant_id: string): Promise<void> {
    this.#tenants.create(tenant_id)
  }

  async hasTenant(tenant_id: string): Promise<boolean> {
    return this.#tenants.has(tenant_id)
  }

  async listTenants(): Promise<string[]> {
    return listLiveTenantIds(this.#files.db)
  }

  async listDestroyedTenants(): Promise<string[]> {
    return listDestroyedTenantIds(this.#files.db)
  }

  async destroyTenant(tenant_id: string): Promise<void> {
    this.#destroyTenant(tenant_id)
  }

  async hasRemains(tenant_id: string): Promise<boolean> {
    return this.#tenants.isLive(tenant_id) || this.#secrets.hasAny(tenant_id)
  }

  async tenant(tenant_id: string): Promise<TenantKeys> {
    return this.#tenants.load(tenant_id)
  }

  async reserve(
    tenant_id: string,
    kind: SecretKind,
    options: { at_least: number; count?: number },
  ): Promise<SecretBlock> {
    if (!this.#tenants.isLive(tenant_id))
      throw new KeyringError('tenant_key_missing', `no key for tenant ${tenant_id}`)
    return this.#secrets.reserve(tenant_id, kind, options)
  }

  async secrets(
    tenant_id: string,
    kind: SecretKind,
    numbers: readonly number[],
  ): Promise<Map<number, Buffer | null>> {
    return this.#secrets.read(tenant_id, kind, numbers)
  }

  async destroySecrets(
    tenant_id: string,
    kind: SecretKind,
    numbers: readonly number[],
  ): Promise<void> {
    this.#secrets.destroy(tenant_id, kind, numbers)
  }

  signer(purpose: SigningPurpose): Signer {
    return this.#signing.signer(purpose)
  }

  publishedKeys(): PublishedKey[] {
    return this.#signing.published()
  }

  async rotateSigningKey(purpose: SigningPurpose, at: string): Promise<PublishedKey> {
    return this.#signing.rotate(purpose, at)
  }

  async retireSigningKey(purpose: SigningPurpose, at: string): Promise<void> {
    this.#signing.retire(purpose, at)
  }

  async rotateMasterKey(next_key: Buffer): Promise<void> {
    const next = { key: masterKeyObject(next_key) }
    const { db } = this.#files
    db.transact(() => {
      this.#tenants.rewrap(next)
      this.#signing.rewrap(next)
      this.#rewrapInstance(next)
    })
    this.#master.key = next.key
    // Rows wrapped under the old key stay in the log until it is emptied.
    db.truncateLog()
  }

  async bodyMac(body: Uint8Array, day: number): Promise<BodyMac> {
    return this.#days.mac(body, day)
  }

  async verifyBodyMac(body: Uint8Array, day: number, mac: string): Promise<boolean> {
    return this.#days.verify(body, day, mac)
  }

  async dropDayKeys(before_day: number): Promise<number> {
    return this.#days.drop(before_day)
  }

  async backupTo(path: string): Promise<void> {
    backupKeyring(this.#files.db, this.#files.slots, path)
  }

  close(): void {
    this.#secrets.wipeMemory()
    closeFiles(this.#files)
  }

  // No more secrets are made once the row says so; the wrapped keys lie in the log until then.
  #destroyTenant(tenant_id: string): void {
    this.#tenants.destroy(tenant_id)
    this.#secrets.destroyAll(tenant_id)
    this.#files.db.truncateLog()
  }

  #destroyWhatLedgerNames(): void {
    for (const tenant_id of listNamedTenants(this.#files.db))
      if (!this.#tenants.isGone(tenant_id) || this.#secrets.hasAny(tenant_id))
        this.#destroyTenant(tenant_id)
    const named = listLedgerSecrets(this.#files.db)
    const groups = Map.groupBy(named, ({ tenant_id, kind }) => `${kind}\n${tenant_id}`)
    for (const [first, ...rest] of groups.values()) {
      if (!first) continue
      const numbers = [first, ...rest].map((row) => row.number)
      const held = this.#secrets.read(first.tenant_id, first.kind, numbers)
      const alive = numbers.filter((number) => held.get(number))
      for (const number of alive) held.get(number)?.fill(0)
      this.#secrets.destroy(first.tenant_id, first.kind, alive)
    }
  }

  #rewrapInstance(next: MasterHolder): void {
    const { instance_id: owner, master_check, mac_root } = loadInstance(this.#files.db)
    const again = (kind: 'master-check' | 'mac-root', wrapped: Uint8Array) =>
      wrap(next.key, { kind, owner }, unwrap(this.#master.key, { kind, owner }, wrapped))
    updateInstanceKeys(this.#files.db, {
      master_check: again('master-check', master_check),
      mac_root: again('mac-root', mac_root),
    })
  }
}
