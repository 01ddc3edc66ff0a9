// custos migrate and custos migrate-engine: the PostgreSQL schema, and the move into it.

import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import { OfflineError } from '../platform/operator-error.ts'
import { openLogger } from '../platform/telemetry/logger.ts'
import type { MigrateEngineOptions, MigrationResult } from './migrate-engine/move.ts'
import { lockData } from './open/lock-data.ts'
import { requireData } from './open/open-read-only.ts'

/**
 * Names of the migrations that were run. Throws OfflineError on the embedded engine, which
 * migrates when it starts, and what `openPostgres` throws.
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
  const lock = await lockData(config)
  try {
    // Loaded only here: the embedded service starts without it.
    const { moveFrom } = await import('./migrate-engine/move.ts')
    return await moveFrom({ ...config, postgres }, options)
  } finally {
    lock.unlock()
  }
}
