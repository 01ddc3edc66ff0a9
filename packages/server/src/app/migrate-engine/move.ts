// custos migrate-engine: moves an embedded data directory to PostgreSQL, step by step.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config, PostgresConfig } from '../../config/config.ts'
import { databasePath } from '../../platform/db/data-dir.ts'
import { type PostgresConnection, withPostgres } from '../../platform/db/postgres/connection.ts'
import { PostgresError } from '../../platform/db/postgres/error.ts'
import {
  copyTable,
  digestTable,
  MovedRows,
  movedTables,
} from '../../platform/db/postgres/moved-tables.ts'
import { beginMove, endMove, findHolder, requireRoom } from '../../platform/db/postgres/moving.ts'
import { DataError, findInstance } from '../../platform/db/sqlite/instance.ts'
import {
  compareKeyring,
  type ImportTarget,
  importKeyring,
  type KeyringProof,
  openImportTarget,
} from '../../platform/keys/import/import-keyring.ts'
import {
  hasUnfinishedErasures,
  type KeyringSource,
  openKeyringSource,
} from '../../platform/keys/import/import-source.ts'
import { KeyringError } from '../../platform/keys/keyring-error.ts'
import { loadMasterKey } from '../../platform/keys/master-key.ts'
import { OfflineError } from '../../platform/operator-error.ts'
import { CLOCK_ID } from '../checks/checks.ts'
import { runFsck, type TenantReport } from '../checks/fsck.ts'
import { leaveMark, requireUnmoved } from '../open/moved-mark.ts'
import { proveTenants, type TenantProof } from './prove-tenants.ts'

export interface MigrateEngineOptions {
  /** Starts again in a database that has data of an interrupted run. */
  readonly force: boolean
  progress?(text: string): void
  /** Called at named points, where crash tests stop the process. */
  step?(name: string): void | Promise<void>
}

interface MovedTable {
  readonly name: string
  readonly rows: number
  /** Lower-case hex SHA-256 of its rows in key order, equal in source and target. */
  readonly sha256: string
}

export interface MigrationResult {
  readonly tables: readonly MovedTable[]
  readonly keyring: KeyringProof
  readonly tenants: readonly TenantProof[]
  /** Path of the marker file that keeps the old directory from being served. */
  readonly mark: string
}

interface Move {
  /** Configuration of the source directory, with the master key of its keyring. */
  readonly from: Config
  readonly to: Config & { readonly postgres: PostgresConfig }
  readonly source: KeyringSource
  readonly rows: MovedRows
  readonly target: ImportTarget
  readonly options: Required<MigrateEngineOptions>
}

/** Moves a data directory that the caller has locked; throws the errors of `runMigrateEngine`. */
export async function moveFrom(
  to: Move['to'],
  options: MigrateEngineOptions,
): Promise<MigrationResult> {
  try {
    return await withBoth(to, options, move)
  } catch (error) {
    if (!(error instanceof PostgresError)) throw error
    throw new OfflineError(`the database of CUSTOS_DATABASE_URL: ${error.message}`)
  }
}

async function withBoth(
  to: Move['to'],
  options: MigrateEngineOptions,
  work: (task: Move) => Promise<MigrationResult>,
): Promise<MigrationResult> {
  const { data_dir, postgres } = to
  const source = await openKeyringSource(join(data_dir, 'keyring'), masterKeys(to))
  const rows = new MovedRows(databasePath(data_dir))
  const target = openImportTarget({
    url: postgres.keyring_url ?? postgres.database_url,
    // `parseConfig` requires it together with the database.
    master_key: Buffer.from(to.master_key ?? '', 'hex'),
  })
  const from = { ...to, postgres: null, master_key: source.key.toString('hex') }
  const quiet = { progress: () => {}, step: () => {} }
  try {
    return await work({ from, to, source, rows, target, options: { ...quiet, ...options } })
  } finally {
    await target.close()
    rows.close()
    source.close()
  }
}

/** Candidate master keys of the directory: the configured one, and the file in the directory. */
function masterKeys({ data_dir, master_key }: Config): Buffer[] {
  const keys = master_key === null ? [] : [Buffer.from(master_key, 'hex')]
  if (!existsSync(join(data_dir, 'master.key'))) return keys
  return [...keys, loadMasterKey({ data_dir }).key]
}

async function move(task: Move): Promise<MigrationResult> {
  const { to, source, rows, target, options } = task
  const { instance_id } = source.instance
  const clear = await onTarget(task, (connection) => requireTarget(connection, task))
  const reports = await requireSound(task)

  await onTarget(task, (c) => beginMove(c, { instance_id, force: options.force }))
  await options.step('begun')
  await importKeyring(source, target, {
    clear,
    progress: (secrets) => options.progress(`${secrets} secrets`),
  })
  await options.step('keyring')
  const tables = await onTarget(task, (c) => copyTables(c, rows, options.progress))
  await options.step('copied')

  const keyring = await compareKeyring(source, target)
  const tenants = await proveTenants({ ...task, reports, progress: options.progress })
  requireNoFindings(await runFsck(to, { progress: options.progress }), 'the copy on PostgreSQL')
  await options.step('proved')

  // In this order, so that source and target can never both be served.
  const mark = leaveMark(to.data_dir)
  await options.step('marked')
  await onTarget(task, (c) => endMove(c, instance_id))
  return { tables, keyring, tenants, mark }
}

/** Copies every table and compares what was written with the source; throws OfflineError. */
async function copyTables(
  connection: PostgresConnection,
  source: MovedRows,
  progress: (text: string) => void,
): Promise<MovedTable[]> {
  const moved: MovedTable[] = []
  for (const table of movedTables()) {
    const { name } = table
    const show = (rows: number) => progress(`${name}, row ${rows}`)
    const sent = await copyTable(connection, table, { source, progress: show })
    const stored = await digestTable(connection, table)
    if (stored.rows !== sent.rows || stored.sha256 !== sent.sha256)
      throw new OfflineError(
        `${name} reads back as other rows: ${sent.rows} were sent, ${stored.rows} are there`,
      )
    moved.push({ name, ...stored })
  }
  return moved
}

const onTarget = <T>(
  { to }: Move,
  work: (connection: PostgresConnection) => Promise<T>,
): Promise<T> => withPostgres(to.postgres.database_url, work)

/** Checks that the target is usable. Returns whether to clear the keyring of an interrupted run. */
async function requireTarget(
  connection: PostgresConnection,
  { to, source, target, options: { force } }: Move,
): Promise<boolean> {
  await requireRoom(connection, { force })
  const holder = await findHolder(connection)
  // Only a run that was interrupted between the mark and its last step may continue.
  if (holder?.instance_id !== source.instance.instance_id) requireUnmoved(to.data_dir)
  const owner = await target.owner()
  if (owner === null) return false
  if (owner === holder?.instance_id) return true
  throw new KeyringError(
    'keyring_exists',
    'the schema custos_keyring of the target already has a keyring: nothing was changed',
  )
}

/** Runs fsck on the directory and returns its reports; throws if there is any finding. */
async function requireSound({ from, source, rows, options }: Move): Promise<TenantReport[]> {
  const owner = findInstance(databasePath(from.data_dir))
  if (owner !== source.instance.instance_id)
    throw new DataError(
      'the database and the keyring of this data directory belong to different instances',
    )
  if (await hasUnfinishedErasures(source, from.ledger_copy))
    throw new OfflineError(
      `an erasure in ${from.data_dir} is not finished: start the service on it once more, let it ` +
        'finish and stop it',
    )
  rows.requireIntact()
  const reports = await runFsck(from, { progress: options.progress })
  requireNoFindings(reports, from.data_dir)
  return reports
}

function requireNoFindings(reports: readonly TenantReport[], where: string): void {
  // A clock that is behind the log does not prevent a move.
  const findings = reports
    .flatMap((report) => report.findings)
    .filter(({ kind, id }) => kind !== 'log' || id !== CLOCK_ID)
  const [first] = findings
  if (!first) return
  throw new OfflineError(
    `${where} is not sound, custos fsck lists ${findings.length} findings; the first: ` +
      `${first.tenant_id}: ${first.kind} ${first.id}: ${first.what}`,
  )
}
