// Opens the data directory: lock, keyring, schema, engine. For the service and offline tools.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { type Clock, systemClock } from '../platform/clock.ts'
import { type Checkpointer, startCheckpointer } from '../platform/db/checkpointer.ts'
import { lastLogTime } from '../platform/db/control.sql.ts'
import { databasePath, lockDataDir } from '../platform/db/data-dir.ts'
import { type Database, PLATFORM } from '../platform/db/database.ts'
import { DataError, findInstance, recordInstance } from '../platform/db/instance.ts'
import { migrateSqlite } from '../platform/db/migrate.ts'
import { SqliteConnection } from '../platform/db/sqlite-connection.ts'
import { SqliteEngine } from '../platform/db/sqlite-engine.ts'
import { createHashingEmbedder } from '../platform/embed/hashing-embedder.ts'
import { systemIds } from '../platform/ids.ts'
import { JobWorker } from '../platform/jobs/worker.ts'
import type { Kernel } from '../platform/kernel.ts'
import { openFileKeyring } from '../platform/keys/file-keyring.ts'
import type { Keyring } from '../platform/keys/keyring.ts'
import { loadMasterKey } from '../platform/keys/master-key.ts'
import { type Logger, openLogger } from '../platform/logger.ts'
import { loadTokenizer } from '../platform/tokens/tokenizer.ts'
import { VERSION } from './version.ts'

export interface OpenKernel {
  readonly kernel: Kernel
  /** Stops background work and closes everything; the directory is unlocked last. */
  close(): Promise<void>
}

export interface KernelOptions {
  /** Named points that crash tests stop at. */
  readonly step?: (name: string) => void | Promise<void>
  readonly logger?: Logger
}

/** Throws DataDirHeld, DataError, KeyringError or SchemaTooNew, each with one clear line. */
export async function openKernel(config: Config, options: KernelOptions = {}): Promise<OpenKernel> {
  const dir = lockDataDir(config.data_dir)
  const logger = options.logger ?? openLogger(config.log_level)
  const clock = systemClock()
  try {
    const keyring = await openKeyring(config, clock, logger)
    migrate(dir.database, keyring.instance_id)
    const { db, checkpointer } = openEngine(dir.database, clock)
    clock.raise(await db.read(PLATFORM, lastLogTime))
    const kernel = assemble({ config, clock, logger, db, keyring, step: options.step })
    const close = async () => {
      await kernel.jobs.stop()
      await db.close()
      await checkpointer.stop()
      keyring.close()
      logger.flush()
      dir.unlock()
    }
    return { kernel, close }
  } catch (error) {
    dir.unlock()
    throw error
  }
}

// Nothing is made or changed before it is known whose database this is: served with another
// keyring, a log would be signed twice and every fact would look erased.
async function openKeyring(config: Config, clock: Clock, logger: Logger): Promise<Keyring> {
  const dir = join(config.data_dir, 'keyring')
  const owner = findInstance(databasePath(config.data_dir))
  if (owner !== null && !existsSync(join(dir, 'keyring.db')))
    throw new DataError(`the keyring of this database is missing: ${dir}`)
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
  if (owner === null || owner === keyring.instance_id) return keyring
  keyring.close()
  throw new DataError('the database and the keyring of this data directory belong to two instances')
}

function migrate(path: string, instance_id: string): void {
  const connection = new SqliteConnection(path, 'write')
  try {
    migrateSqlite(connection)
    recordInstance(connection, instance_id)
  } finally {
    connection.close()
  }
}

function openEngine(path: string, clock: Clock): { db: Database; checkpointer: Checkpointer } {
  const checkpointer = startCheckpointer(path)
  const db = new SqliteEngine(path, clock, () => checkpointer.noteCommit())
  return { db, checkpointer }
}

interface Parts {
  readonly config: Config
  readonly clock: Clock
  readonly logger: Logger
  readonly db: Database
  readonly keyring: Keyring
  readonly step: ((name: string) => void | Promise<void>) | undefined
}

function assemble({ config, clock, logger, db, keyring, step }: Parts): Kernel {
  return {
    settings: {
      origin: config.origin ?? `custos/${keyring.instance_id}`,
      version: VERSION,
      auth: config.auth,
      default_tokenizer: 'o200k_base',
      index_bytes_max: config.index_bytes_max,
      index_wait_ms: 2_000,
    },
    clock,
    ids: systemIds,
    logger,
    db,
    keyring,
    jobs: new JobWorker({ db, clock, ids: systemIds, logger }),
    embedder: createHashingEmbedder(),
    tokenizer: loadTokenizer,
    step: step ?? (() => {}),
  }
}
