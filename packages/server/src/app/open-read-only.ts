// Opens the data directory for looking only: no lock, no writes, beside a running service.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import { databasePath } from '../platform/db/data-dir.ts'
import type { Database, DatabaseStats } from '../platform/db/database.ts'
import { SqliteConnection } from '../platform/db/sqlite-connection.ts'
import { SqliteTenantDb } from '../platform/db/sqlite-handle.ts'
import type { TenantDb } from '../platform/db/tenant-db.ts'
import { createHashingEmbedder } from '../platform/embed/hashing-embedder.ts'
import { systemIds } from '../platform/ids.ts'
import { JobWorker } from '../platform/jobs/worker.ts'
import type { Kernel } from '../platform/kernel.ts'
import { openFileKeyring } from '../platform/keys/file-keyring.ts'
import { loadMasterKey } from '../platform/keys/master-key.ts'
import { openLogger } from '../platform/logger.ts'
import { loadTokenizer } from '../platform/tokens/tokenizer.ts'
import { OfflineError } from './offline-error.ts'
import { VERSION } from './version.ts'

/** One connection whose reads all see the snapshot last taken. */
export class SnapshotDatabase implements Database {
  readonly path: string
  readonly #connection: SqliteConnection

  constructor(path: string) {
    this.path = path
    this.#connection = new SqliteConnection(path, 'read')
  }

  /** What is read from now on is the data as it is committed at this moment. */
  takeSnapshot(): void {
    this.release()
    this.#connection.step('BEGIN')
    // SQLite fixes the snapshot at the first read, not at BEGIN.
    this.#connection.get('select name from migrations limit 1', [])
  }

  /** Lets the service's write-ahead log be cut again. */
  release(): void {
    if (this.#connection.inTransaction) this.#connection.step('COMMIT')
  }

  transact<T>(): Promise<T> {
    return Promise.reject(new Error('the data is open for reading only'))
  }

  read<T>(tenant_id: string, look: (db: TenantDb) => Promise<T>): Promise<T> {
    return look(new SqliteTenantDb(tenant_id, this.#connection))
  }

  stats(): DatabaseStats {
    return { engine: 'sqlite', commits: 0, units: 0, queued: 0 }
  }

  async close(): Promise<void> {
    this.release()
    this.#connection.close()
  }
}

export interface ReadOnlyKernel {
  readonly kernel: Kernel
  readonly snapshots: SnapshotDatabase
  close(): Promise<void>
}

/** Throws OfflineError when there is no data, KeyringError when the keyring cannot be opened. */
export async function openReadOnly(config: Config): Promise<ReadOnlyKernel> {
  const { data_dir } = config
  requireData(data_dir)
  const clock = systemClock()
  // The keyring is there, so this never makes a key.
  const { key } = loadMasterKey({ given: config.master_key ?? undefined, data_dir })
  const keyring = await openFileKeyring({
    dir: join(data_dir, 'keyring'),
    master_key: key,
    now_us: () => clock.now(),
    read_only: true,
  })
  const db = new SnapshotDatabase(databasePath(data_dir))
  const logger = openLogger('silent')
  const kernel: Kernel = {
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
    step: () => {},
  }
  const close = async () => {
    await db.close()
    keyring.close()
  }
  return { kernel, snapshots: db, close }
}

/** Throws OfflineError unless the directory holds a database and a keyring. */
export function requireData(data_dir: string): void {
  for (const file of [databasePath(data_dir), join(data_dir, 'keyring', 'keyring.db')])
    if (!existsSync(file)) throw new OfflineError(`${data_dir} holds no data: ${file} is missing`)
}
