// custos migrate and custos migrate-engine: the PostgreSQL schema, and the move into it.

import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import { OfflineError } from '../platform/operator-error.ts'
import { openLogger } from '../platform/telemetry/logger.ts'
import type { MigrateEngineOptions, MigrationResult } from './migrate-engine/move.ts'
import { lockData } from './open/lock-data.ts'
import { requireData } from './open/open-read-only.ts'

/**
 * Returns the names of the migrations that it ran. Throws OfflineError on the embedded engine,
 * which migrates when it starts, and the errors of `openPostgres`.
 */
export async function runMigrate(
  config: Config,
  options: { readonly accept_empty_data?: boolean } = {},
): Promise<string[]> {
  if (config.postgres === null)
    throw new OfflineError('CUSTOS_DATABASE_URL is not set: the embedded engine migrates itself')
  const { migrateShared } = await import('./open/open-postgres.ts')
  const logger = openLogger('error')
  return migrateShared(config, config.postgres, { clock: systemClock(), logger, ...options })
}

/**
 * Requires that the service of the directory is stopped. The directory is locked meanwhile, and
 * nothing in it is changed except for the mark at the end. Throws OfflineError, MoveError,
 * KeyringError, DataError or DataDirHeld, each with one line; `serve` then refuses the database
 * until the last step is done.
 */
export async function runMigrateEngine(
  config: Config,
  options: MigrateEngineOptions,
): Promise<MigrationResult> {
  const { postgres, data_dir } = config
  if (postgres === null)
    throw new OfflineError('CUSTOS_DATABASE_URL is not set: it names the database to move into')
  requireData(data_dir)
  const lock = await lockData(config)
  try {
    // Imported on use, so that the embedded service starts without it.
    const { moveFrom } = await import('./migrate-engine/move.ts')
    return await moveFrom({ ...config, postgres }, options)
  } finally {
    lock.unlock()
  }
}
