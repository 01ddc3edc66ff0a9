// custos migrate: brings a PostgreSQL database to the schema of this version, ahead of serving.

import type { Config } from '../config/config.ts'
import { systemClock } from '../platform/clock.ts'
import { openLogger } from '../platform/logger.ts'
import { OfflineError } from '../platform/operator-error.ts'

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
