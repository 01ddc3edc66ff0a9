// Restores a backup into a data directory, or proves in a separate folder that this is possible.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  copyFileSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Config } from '../../config/config.ts'
import { listTenantIds } from '../../platform/db/control.sql.ts'
import { databasePath } from '../../platform/db/data-dir.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import { migrations } from '../../platform/db/migrations/migrations.ts'
import { SqliteConnection } from '../../platform/db/sqlite/connection.ts'
import { migrateSqlite } from '../../platform/db/sqlite/engine.ts'
import { type Snapshots, SqliteSnapshots } from '../../platform/db/sqlite/handle.ts'
import { findHighestRecordSecret } from '../../platform/kernel/record-secrets.sql.ts'
import { PRIVATE_DIRECTORY, PRIVATE_FILE, syncFile } from '../../platform/keys/durable-file.ts'
import { restoreFileKeyring } from '../../platform/keys/file/backup.ts'
import { openFileKeyring } from '../../platform/keys/file/open-file-keyring.ts'
import type { Keyring } from '../../platform/keys/keyring.ts'
import { KeyringError } from '../../platform/keys/keyring-error.ts'
import { loadMasterKey } from '../../platform/keys/master-key.ts'
import { OfflineError } from '../../platform/operator-error.ts'
import { findHighestRef } from '../../slices/memory/index.ts'
import { checkStores } from '../checks/check-facts.ts'
import { OF_FILES, runFsck, type TenantReport } from '../checks/fsck.ts'
import { lockData, putRestored, removeStage } from '../open/lock-data.ts'
import { requireUnmoved } from '../open/moved-mark.ts'
import { hasNextKey } from '../open/next-master-key.ts'
import { requireOrigin } from '../open/require-origin.ts'
import { type RestoredTenant, reconcileRestored } from './reconcile-restored.ts'

interface RestoreOptions {
  readonly data: string
  /** Absent to keep the keyring of the directory, the normal case because it is newer. */
  readonly keyring?: string
  /** Replaces existing data. */
  readonly force: boolean
  progress?(done: number, total: number): void
}

export interface RestoreResult {
  readonly tenants: readonly RestoredTenant[]
  /** Whether the ledger and the checkpoints of the replaced keyring are in the restored one. */
  readonly carried_over: boolean
}

/**
 * Until everything is ready the directory is unchanged, and an interrupted restore has to be run
 * again. After that, the next command that opens the directory completes it. Throws OfflineError,
 * KeyringError or DataDirHeld, each with one line.
 */
export async function runRestore(config: Config, options: RestoreOptions): Promise<RestoreResult> {
  if (config.postgres !== null)
    throw new OfflineError('PostgreSQL is put back by its own tools: see docs/operating/backup.md')
  const dir = config.data_dir
  requireUnmoved(dir)
  for (const file of [options.data, options.keyring])
    if (file !== undefined && !existsSync(file)) throw new OfflineError(`${file} is missing`)
  if (options.keyring !== undefined) requireLedgerCopy(config)
  // The lock puts the key of an interrupted rotation in place.
  if (!hasNextKey(dir)) requireMasterKey(config)
  const lock = await lockData(config)
  try {
    if (lock.restored && !options.force)
      throw new OfflineError(
        `an interrupted restore into ${dir} is now complete: start the service, or restore once ` +
          'more with --force',
      )
    const master_key = requireMasterKey(config)
    requireRoom(dir, options)
    removeStages(dir)
    const stage = openStage(dir)
    await stageData(options.data, stage, options.progress ?? (() => {}))
    if (options.keyring !== undefined)
      return await restoreBoth(config, { stage, keyring: options.keyring, master_key })
    const { origin } = config
    await requireKinship(databasePath(stage), { dir: join(dir, 'keyring'), master_key, origin })
    mergeWriteAheadLog(databasePath(stage))
    putRestored(dir, stage)
  } finally {
    removeStages(dir)
    lock.unlock()
  }
  const tenants = await reconcileRestored(config, { keyring_restored: false })
  return { tenants, carried_over: true }
}

// Works in the stage only, so that nothing is served between the copy and the replay of erasures.
async function restoreBoth(
  config: Config,
  { stage, keyring, master_key }: { stage: string; keyring: string; master_key: Buffer },
): Promise<RestoreResult> {
  const dir = config.data_dir
  const to = join(stage, 'keyring')
  await restoreFileKeyring({ from: keyring, dir: to })
  await requireKinship(databasePath(stage), { dir: to, master_key, origin: config.origin })
  const ledger_file = join(stage, 'ledger.ndjson')
  const carried = await carryOver({ from: join(dir, 'keyring'), to, master_key, ledger_file })
  const staged = { ...config, data_dir: stage, master_key: master_key.toString('hex') }
  const keyring_restored = carried === 'no'
  const tenants = await reconcileRestored(staged, { keyring_restored })
  mergeWriteAheadLog(databasePath(stage))
  putRestored(dir, stage)
  return { tenants, carried_over: carried === 'yes' }
}

/** Refuses a mistyped path, which would revive what was erased since the keyring's backup. */
function requireLedgerCopy({ ledger_copy }: Config): void {
  if (ledger_copy === null || existsSync(ledger_copy)) return
  throw new OfflineError(
    `there is no ledger copy at ${ledger_copy}, which says what was erased since the backup: ` +
      'give the path of the file, or none if the file is lost',
  )
}

/** The key for the restored keyring; throws OfflineError if there is none, never creates one. */
function requireMasterKey(config: Config): Buffer {
  const { data_dir, master_key } = config
  if (master_key === null && !existsSync(join(data_dir, 'master.key')))
    throw new OfflineError(
      `the master key of the backup is needed: put it at ${join(data_dir, 'master.key')} ` +
        'or set CUSTOS_MASTER_KEY',
    )
  return loadMasterKey({ given: master_key ?? undefined, data_dir }).key
}

function requireRoom(dir: string, { keyring, force }: RestoreOptions): void {
  const held = (name: string) => existsSync(join(dir, name))
  if (keyring === undefined && !held('keyring/keyring.db'))
    throw new OfflineError(`${dir} has no keyring: give that of the backup with --keyring`)
  if (force) return
  const taken = held('custos.db') ? 'custos.db' : keyring !== undefined && occupant(dir)
  if (taken) throw new OfflineError(`${dir} holds ${taken}: --force replaces data that is there`)
}

/** An entry of the directory other than the key and the files that a restore itself leaves. */
const occupant = (dir: string): string | undefined =>
  readdirSync(dir).find((name) => !/^(master\.key|custos\.lock.*|restore-[0-9a-f]{12})$/.test(name))

/**
 * Throws OfflineError if a tenant has no keys, the newest records are newer than the keyring, or
 * the description of a store does not open. Throws DataError if the logs are signed under another
 * origin.
 */
async function requireKinship(
  database: string,
  { dir, master_key, origin }: { dir: string; master_key: Buffer; origin: string | null },
): Promise<void> {
  const keyring = await openFileKeyring({ dir, master_key, now_us: () => 0, read_only: true })
  const db = new SqliteSnapshots(database)
  try {
    await requireOrigin(keyring, origin)
    const tenants = await db.read(PLATFORM, listTenantIds)
    // Tenants that were off-boarded since the backup cannot be opened.
    const destroyed = new Set(await keyring.listDestroyedTenants())
    for (const tenant_id of tenants)
      if (!destroyed.has(tenant_id)) await requireTenant(db, keyring, tenant_id)
  } finally {
    await db.close()
    keyring.close()
  }
}

async function requireTenant(
  database: Snapshots,
  keyring: Keyring,
  tenant_id: string,
): Promise<void> {
  if (!(await keyring.hasTenant(tenant_id)))
    throw new OfflineError(`the keyring has no keys of tenant ${tenant_id}: not of this data`)
  await database.read(tenant_id, async (db) => {
    const newest = [
      ['fact', await findHighestRef(db)],
      ['decision', await findHighestRecordSecret(db)],
    ] as const
    for (const [kind, number] of newest)
      if (number > 0 && !(await keyring.isReserved(tenant_id, kind, number)))
        throw new OfflineError(
          `the keyring is older than the data: it lacks secrets of tenant ${tenant_id}; ` +
            'restore both files of one backup, or leave out --keyring where the one in the ' +
            'directory is newer',
        )
    // A store without a secret was deleted since the backup.
    for await (const { what } of checkStores({ keyring, db }))
      if (what === 'the seal does not open')
        throw new OfflineError(`data and keyring do not belong together (tenant ${tenant_id})`)
  })
}

interface CarryOver {
  /** The current keyring, which is about to be replaced. */
  readonly from: string
  /** The restored keyring. */
  readonly to: string
  readonly master_key: Buffer
  /** A ledger copy that transfers entries and checkpoints. */
  readonly ledger_file: string
}

/**
 * Transfers erasures and signed checkpoints that only the replaced keyring has. Returns `yes` if
 * the restored keyring then has everything that the replaced one had, and `no` if there is none, or
 * it is of another instance or does not open.
 */
async function carryOver(task: CarryOver): Promise<'yes' | 'no'> {
  if (!existsSync(join(task.from, 'keyring.db'))) return 'no'
  const current = await openKeyringOrNull(task.from, task)
  if (!current) return 'no'
  try {
    // Opening the current keyring has written everything to the copy; this reads it.
    const restored = await openKeyring(task.to, task)
    try {
      return restored.instance_id === current.instance_id ? 'yes' : 'no'
    } finally {
      restored.close()
    }
  } finally {
    current.close()
  }
}

const openKeyring = (dir: string, { master_key, ledger_file }: CarryOver): Promise<Keyring> =>
  openFileKeyring({ dir, master_key, now_us: () => 0, ledger_copy: ledger_file })

async function openKeyringOrNull(dir: string, task: CarryOver): Promise<Keyring | null> {
  try {
    return await openKeyring(dir, task)
  } catch (error) {
    // A damaged keyring may be the reason for the restore.
    if (error instanceof KeyringError) return null
    throw error
  }
}

interface RehearsalOptions {
  readonly data: string
  readonly keyring: string
  /** A directory with space for the restored data; the folder in it is removed at the end. */
  readonly scratch: string
  progress?(text: string): void
}

/** The result of the restore of one tenant, and of the check of its restored data. */
export type RehearsedTenant = RestoredTenant & Pick<TenantReport, 'counts' | 'findings'>

/**
 * Restores both files and checks every log and every seal of the result. Uses a duplicate of the
 * ledger copy, because what a rehearsal signs must not count as signed by the service. Throws the
 * errors of a restore.
 */
export async function rehearseRestore(
  config: Config,
  { data, keyring, scratch, progress = () => {} }: RehearsalOptions,
): Promise<RehearsedTenant[]> {
  const master_key = requireMasterKey(config).toString('hex')
  if (!existsSync(scratch)) throw new OfflineError(`${scratch} is no directory: name one with room`)
  requireLedgerCopy(config)
  const stage = openStage(scratch)
  try {
    const ledger_copy = copyLedger(config, stage)
    const aside = { ...config, data_dir: stage, master_key, ledger_copy }
    const { tenants } = await runRestore(aside, { data, keyring, force: true })
    const checked = new Map(
      (await runFsck(aside, { progress })).map((report) => [report.tenant_id, report]),
    )
    const [damage] = checked.get(OF_FILES)?.findings ?? []
    if (damage) throw new OfflineError(`what was restored is damaged: ${damage.id}: ${damage.what}`)
    return tenants.map((tenant) => {
      const report = checked.get(tenant.tenant_id)
      assert(report !== undefined, `the check has not seen ${tenant.tenant_id}`)
      return { ...tenant, counts: report.counts, findings: report.findings }
    })
  } finally {
    removeStage(stage)
  }
}

function copyLedger({ ledger_copy }: Config, stage: string): string | null {
  if (ledger_copy === null) return null
  const copy = join(stage, 'ledger-copy.ndjson')
  copyFileSync(ledger_copy, copy)
  return copy
}

const PREFIX = 'restore-'

/** On the file system of the data directory, so that files can be renamed into it. */
function openStage(data_dir: string): string {
  mkdirSync(data_dir, { recursive: true, mode: PRIVATE_DIRECTORY })
  const stage = join(data_dir, `${PREFIX}${randomBytes(6).toString('hex')}`)
  mkdirSync(stage, { mode: PRIVATE_DIRECTORY })
  return stage
}

/** Removes this stage and those of interrupted restores; overwrites their secrets. */
function removeStages(data_dir: string): void {
  const stages = readdirSync(data_dir, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && /^restore-[0-9a-f]{12}$/.test(entry.name),
  )
  for (const { name } of stages) removeStage(join(data_dir, name))
}

/** Copies the data file of a backup into the stage. Throws OfflineError if it is not one. */
async function stageData(
  from: string,
  stage: string,
  progress: (done: number, total: number) => void,
): Promise<string> {
  const to = databasePath(stage)
  const total = statSync(from).size
  closeSync(openSync(to, 'wx', PRIVATE_FILE))
  let done = 0
  const input = createReadStream(from)
  input.on('data', (chunk) => {
    done += chunk.length
    progress(done, total)
  })
  await pipeline(input, createWriteStream(to, { flags: 'r+' }))
  requireDatabase(to, from)
  migrate(to)
  syncFile(to)
  return to
}

function requireDatabase(path: string, from: string): void {
  const connection = new SqliteConnection(path, 'read')
  try {
    const names = connection.all('select name from migrations', []) as { name: string }[]
    const known = new Set<string>(migrations.map(({ name }) => name))
    if (names.length === 0 || names.some(({ name }) => !known.has(name)))
      throw new OfflineError(`${from} is of another version`)
    const checked = connection.get('pragma quick_check(1)', []) as { quick_check: string }
    if (checked.quick_check !== 'ok') throw new OfflineError(`${from} is damaged`)
  } catch (error) {
    if (error instanceof OfflineError) throw error
    throw new OfflineError(`${from} is not the data file of a backup`)
  } finally {
    connection.close()
  }
}

// Not left to the next start, because data and keyring are compared by the current schema.
function migrate(path: string): void {
  const connection = new SqliteConnection(path, 'write')
  try {
    migrateSqlite(connection)
  } finally {
    connection.close()
  }
}

/** Merges the write-ahead log into the database, so that one file is left. */
function mergeWriteAheadLog(path: string): void {
  const connection = new SqliteConnection(path, 'write')
  try {
    connection.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    connection.exec('PRAGMA journal_mode = DELETE')
  } finally {
    connection.close()
  }
  syncFile(path)
}
