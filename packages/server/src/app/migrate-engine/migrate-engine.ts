// custos migrate-engine: an embedded data directory into PostgreSQL, with proof.

import type { Config } from '../../config/config.ts'
import { lockDataDir } from '../../platform/db/data-dir.ts'
import type { KeyringProof } from '../../platform/keys/import/compare-keyring.ts'
import { OfflineError } from '../../platform/operator-error.ts'
import { requireData } from '../open-read-only.ts'
import type { MovedTable } from './copy-tables.ts'
import type { TenantProof } from './prove-tenants.ts'

export interface MigrateEngineOptions {
  /** Starts over in a database that an interrupted run has left. */
  readonly force: boolean
  progress?(text: string): void
  /** Named points that crash tests stop at. */
  step?(name: string): void | Promise<void>
}

export interface MigrationResult {
  readonly tables: readonly MovedTable[]
  readonly keyring: KeyringProof
  readonly tenants: readonly TenantProof[]
  /** The file that keeps the directory from being served. */
  readonly mark: string
}

/**
 * The service of the directory must be stopped; it is locked while this runs, and nothing in it
 * is changed but for the mark at the end. Throws OfflineError, MoveError, KeyringError, DataError
 * or DataDirHeld, each with one line; until the last step the database is then refused by `serve`.
 */
export async function runMigrateEngine(
  config: Config,
  options: MigrateEngineOptions,
): Promise<MigrationResult> {
  const { postgres, data_dir } = config
  if (postgres === null)
    throw new OfflineError('CUSTOS_DATABASE_URL is not set: it names the database to move into')
  requireData(data_dir)
  const lock = lockDataDir(data_dir)
  try {
    // Loaded only here: the embedded service starts without it.
    const { moveFrom } = await import('./move.ts')
    return await moveFrom({ ...config, postgres }, options)
  } finally {
    lock.unlock()
  }
}
