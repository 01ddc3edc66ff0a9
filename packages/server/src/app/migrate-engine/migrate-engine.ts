// custos migrate-engine: an embedded data directory into PostgreSQL, with proof.

import type { Config } from '../../config/config.ts'
import { lockDataDir } from '../../platform/db/data-dir.ts'
import { OfflineError } from '../../platform/operator-error.ts'
import { requireData } from '../open/open-read-only.ts'
import type { MigrateEngineOptions, MigrationResult } from './move.ts'

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
