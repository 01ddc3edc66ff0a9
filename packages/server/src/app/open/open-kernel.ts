// Opens the data (lock, keyring, schema, engine) for the service and offline commands.

import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Config, PostgresConfig } from '../../config/config.ts'
import { type Clock, type ProcessClock, systemClock } from '../../platform/clock.ts'
import { databasePath, isOpenToOthers, makePrivate } from '../../platform/db/data-dir.ts'
import type { Database } from '../../platform/db/database.ts'
import { startCheckpointer } from '../../platform/db/sqlite/checkpointer.ts'
import { SqliteConnection } from '../../platform/db/sqlite/connection.ts'
import { migrateSqlite, SqliteEngine } from '../../platform/db/sqlite/engine.ts'
import { DataError, findInstance, recordInstance } from '../../platform/db/sqlite/instance.ts'
import type { HostLookup } from '../../platform/egress/egress.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { openFileKeyring } from '../../platform/keys/file/open-file-keyring.ts'
import { hasTenants, type Keyring } from '../../platform/keys/keyring.ts'
import { loadMasterKey } from '../../platform/keys/master-key.ts'
import { type Logger, noteLateFailure, openLogger } from '../../platform/telemetry/logger.ts'
import { Metrics } from '../../platform/telemetry/metrics.ts'
import { openTracer, type Tracer } from '../../platform/telemetry/tracer.ts'
import { assembleKernel, openEmbedders } from './assemble-kernel.ts'
import { raiseClock } from './last-log-time.ts'
import { lockData } from './lock-data.ts'
import { requireUnmoved } from './moved-mark.ts'
import { requireOrigin } from './require-origin.ts'
import { VERSION } from './version.ts'

export interface OpenKernel {
  readonly kernel: Kernel
  /** Stops background work and closes everything; the directory is unlocked last. */
  close(): Promise<void>
}

export interface KernelOptions {
  /** Called at named points, where crash tests stop the process. */
  readonly step?: (name: string) => void | Promise<void>
  readonly logger?: Logger
  /** How long leases of a dead process stay held; default: 30 seconds. */
  readonly lease_ms?: number
  /** The clock of the process; default: the system's. */
  readonly clock?: ProcessClock
  /** Resolves host names that tenants chose; default: the system's resolver. */
  readonly lookup?: HostLookup
  /** Creates an empty database if that of the keyring is missing. */
  readonly accept_empty_data?: boolean
}

/**
 * Throws DataDirHeld, DataError, KeyringError or SchemaTooNew, on PostgreSQL also MigrationNeeded,
 * RoleUnfit or DatabaseAbsent, each with one clear line.
 */
export async function openKernel(config: Config, options: KernelOptions = {}): Promise<OpenKernel> {
  const open = await (config.postgres === null
    ? openEmbedded(config, options)
    : openShared(config, config.postgres, options))
  try {
    await requireOrigin(open.kernel.keyring, config.origin)
    return open
  } catch (error) {
    await open.close()
    throw error
  }
}

// Locks nothing and does not read the data directory, because other processes use the same data.
async function openShared(
  config: Config,
  postgres: PostgresConfig,
  options: KernelOptions,
): Promise<OpenKernel> {
  const logger = options.logger ?? openLogger(config.log_level)
  const clock = options.clock ?? systemClock()
  const embedders = await openEmbedders(config.embedder)
  // Imported on use, so that the embedded service starts without it.
  const { openPostgres } = await import('./open-postgres.ts')
  const { accept_empty_data } = options
  const metrics = new Metrics(config.metrics)
  const tracer = await openTracerOf(config, logger)
  const around = { clock, logger, metrics, accept_empty_data }
  const { db, keyring } = await openPostgres(config, postgres, around)
  const parts = { config, clock, logger, metrics, tracer, db, keyring, embedders }
  const kernel = assembleKernel({ ...options, ...parts })
  const close = async () => {
    await kernel.jobs.stop()
    await tracer?.stop()
    await db.close()
    await keyring.close()
    logger.flush()
  }
  return { kernel, close }
}

async function openEmbedded(config: Config, options: KernelOptions): Promise<OpenKernel> {
  const dir = await lockData(config)
  const logger = options.logger ?? openLogger(config.log_level)
  const clock = options.clock ?? systemClock()
  try {
    requireUnmoved(config.data_dir)
    if (dir.restored) logger.warn('restore.completed')
    if (dir.rotated) logger.warn('keyring.master_key_replaced', { file: 'master.key' })
    if (isOpenToOthers(config.data_dir))
      logger.warn('data_dir.open_to_others', { advice: 'make it yours only: chmod 700' })
    const embedders = await openEmbedders(config.embedder)
    const keyring = await openKeyring(config, clock, logger, options)
    const database = databasePath(config.data_dir)
    migrate(database, keyring.instance_id)
    const metrics = new Metrics(config.metrics)
    const tracer = await openTracerOf(config, logger)
    const { db, checkpointer } = openEngine(database, { clock, logger, metrics })
    await raiseClock(clock, db, logger)
    const { step, lookup } = options
    const parts = { config, clock, logger, metrics, tracer, db, keyring, embedders }
    const kernel = assembleKernel({ ...parts, step, lookup })
    const close = async () => {
      await kernel.jobs.stop()
      await tracer?.stop()
      await db.close()
      await checkpointer.stop()
      await keyring.close()
      logger.flush()
      dir.unlock()
    }
    return { kernel, close }
  } catch (error) {
    dir.unlock()
    throw error
  }
}

const openTracerOf = async ({ otlp_endpoint }: Config, logger: Logger): Promise<Tracer | null> =>
  otlp_endpoint === null ? null : openTracer(otlp_endpoint, { version: VERSION, logger })

// Verifies that database and keyring belong together before it changes anything: with another
// keyring, a log would be signed twice and every fact would seem erased.
async function openKeyring(
  config: Config,
  clock: Clock,
  logger: Logger,
  { accept_empty_data = false }: KernelOptions,
): Promise<Keyring> {
  const dir = join(config.data_dir, 'keyring')
  const owner = findInstance(databasePath(config.data_dir))
  // SQLite deletes the WAL beside an empty file, so nothing may open that.
  if (owner !== null && !statSync(join(dir, 'keyring.db'), { throwIfNoEntry: false })?.size)
    throw new DataError(
      `the keyring of this database is missing or empty: put ${dir} back, or restore its backup`,
    )
  const { key, generated } = loadMasterKey({
    given: config.master_key ?? undefined,
    data_dir: config.data_dir,
  })
  if (generated) logger.warn('keyring.master_key_generated', { file: 'master.key' })
  const keyring = await openFileKeyring({
    dir,
    master_key: key,
    now_us: () => clock.now(),
    ...(config.ledger_copy === null ? {} : { ledger_copy: config.ledger_copy }),
  })
  if (owner === keyring.instance_id) return keyring
  const empty = owner === null && (accept_empty_data || !(await hasTenants(keyring)))
  if (empty) return keyring
  keyring.close()
  if (owner === null) throw new DataError(missingData(config.data_dir))
  throw new DataError('the database and the keyring of this data directory belong to two instances')
}

const missingData = (data_dir: string): string =>
  `${databasePath(data_dir)} is missing or empty, and the keyring beside it has keys of tenants: ` +
  'put it back, or use custos restore; --accept-empty-data starts without what it held'

function migrate(path: string, instance_id: string): void {
  makePrivate(path)
  const connection = new SqliteConnection(path, 'write')
  try {
    migrateSqlite(connection)
    recordInstance(connection, instance_id)
  } finally {
    connection.close()
  }
}

function openEngine(
  path: string,
  { clock, logger, metrics }: { clock: Clock; logger: Logger; metrics: Metrics },
): { db: Database; checkpointer: ReturnType<typeof startCheckpointer> } {
  const checkpointer = startCheckpointer(path)
  const db = new SqliteEngine(path, clock, {
    onCommit(units, seconds) {
      metrics.observeCommit(units, seconds)
      checkpointer.noteCommit()
    },
    onLateFailure: noteLateFailure(logger),
    onFault: (fault) => logger.warn('database.fault', fault),
  })
  return { db, checkpointer }
}
