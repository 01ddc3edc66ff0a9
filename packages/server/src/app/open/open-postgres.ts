// Opens data and keyring on PostgreSQL: waits if configured, and migrates if the role may.

import type { Config, PostgresConfig } from '../../config/config.ts'
import type { Clock, ProcessClock } from '../../platform/clock.ts'
import { findInstanceId } from '../../platform/db/control.sql.ts'
import { type Database, PLATFORM } from '../../platform/db/database.ts'
import { APP_ROLE } from '../../platform/db/postgres/access.ts'
import { withPostgres } from '../../platform/db/postgres/connection.ts'
import { PostgresEngine } from '../../platform/db/postgres/engine.ts'
import { PostgresError } from '../../platform/db/postgres/error.ts'
import { MigrationNeeded, migratePostgres } from '../../platform/db/postgres/migrate.ts'
import { requireWhole } from '../../platform/db/postgres/moving.ts'
import { DataError } from '../../platform/db/sqlite/instance.ts'
import { hasTenants, type Keyring } from '../../platform/keys/keyring.ts'
import { KeyringError } from '../../platform/keys/keyring-error.ts'
import { openPostgresKeyring } from '../../platform/keys/postgres/open-postgres-keyring.ts'
import { isRefusal } from '../../platform/keys/postgres/pg-errors.ts'
import { OperatorError } from '../../platform/operator-error.ts'
import { type Logger, noteLateFailure } from '../../platform/telemetry/logger.ts'
import type { Metrics } from '../../platform/telemetry/metrics.ts'
import { raiseClock } from './last-log-time.ts'

/** PostgreSQL could not be reached or refuses to work; the message is one clear line. */
class DatabaseAbsent extends OperatorError {}

const RETRY_MS = 1_000
const DENIED = '42501'

interface Surroundings {
  readonly clock: ProcessClock
  readonly logger: Logger
  readonly metrics?: Metrics
  /** Binds an empty database to a keyring that has keys of tenants. */
  readonly accept_empty_data?: boolean | undefined
}

/**
 * Throws DatabaseAbsent, MigrationNeeded, MoveError, RoleUnfit, SchemaTooNew, KeyringError or
 * DataError.
 */
export async function openPostgres(
  config: Config,
  postgres: PostgresConfig,
  around: Surroundings,
): Promise<{ db: Database; keyring: Keyring }> {
  await whenPresent(postgres, around, () => migrateData(postgres))
  // A copy of the database then contains the keys too, and an erasure does not reach the copy.
  if (postgres.keyring_url === null)
    around.logger.warn('keyring.beside_data', { schema: 'custos_keyring' })
  const keyring = await whenPresent(postgres, around, () =>
    openSharedKeyring(config, postgres, around),
  )
  const db = new PostgresEngine({
    url: postgres.database_url,
    clock: around.clock,
    role: APP_ROLE,
    connections: postgres.pool,
    onFault: ({ code, fault, name, message }) =>
      around.logger.warn('database.fault', { name, code, fault, reason: message }),
    onLateFailure: noteLateFailure(around.logger),
    onCommit: (units, seconds) => around.metrics?.observeCommit(units, seconds),
  })
  try {
    await requireKinship(postgres, db, { keyring, ...around })
    await raiseClock(around.clock, db, around.logger)
    return { db, keyring }
  } catch (error) {
    await db.close()
    await keyring.close()
    throw error
  }
}

/**
 * What `custos migrate` does: brings both schemas up to date and binds the data to the keyring.
 * Returns the names of the migrations that were run on the data.
 */
export async function migrateShared(
  config: Config,
  postgres: PostgresConfig,
  around: Surroundings,
): Promise<string[]> {
  const done = await whenPresent(postgres, around, () => migrateData(postgres))
  const keyring = await whenPresent(postgres, around, () =>
    openSharedKeyring(config, postgres, around),
  )
  try {
    await whenPresent(postgres, around, () => bindData(postgres, keyring, around))
    return done
  } finally {
    await keyring.close()
  }
}

async function bindData(
  postgres: PostgresConfig,
  keyring: Keyring,
  around: Surroundings,
): Promise<void> {
  await withPostgres(postgres.database_url, async (connection) => {
    const readOwner = async () => {
      const { rows } = await connection.query({ sql: 'select instance_id from instance' }, [])
      return rows.length === 0 ? null : String(rows[0].instance_id)
    }
    await requireData(keyring, readOwner, around)
  })
  await recordInstance(postgres, keyring.instance_id)
}

const migrateData = ({ database_url }: PostgresConfig): Promise<string[]> =>
  withPostgres(database_url, async (connection) => {
    const done = await migratePostgres(connection)
    await requireWhole(connection)
    return done
  })

async function whenPresent<T>(
  { wait_seconds }: PostgresConfig,
  { logger }: Surroundings,
  act: () => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + wait_seconds * 1_000
  for (;;) {
    try {
      return await act()
    } catch (error) {
      const absent = absentBy(error)
      if (absent === null) throw error
      if (!absent.again || performance.now() >= deadline)
        throw new DatabaseAbsent(absent.what, { cause: error })
      logger.warn('database.absent', { what: absent.what })
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }
}

/** What is unavailable, and whether a retry may help; null for any other error. */
function absentBy(error: unknown): { what: string; again: boolean } | null {
  if (error instanceof PostgresError)
    return {
      what: `the database of CUSTOS_DATABASE_URL: ${error.message}`,
      again: error.fault !== null && error.fault !== 'denied',
    }
  if (error instanceof KeyringError && error.code === 'keyring_unavailable')
    return { what: `the keyring's database: ${error.message}`, again: !isRefusal(error, DENIED) }
  return null
}

/** The master keys, 32 bytes each; parseConfig requires the first together with the database. */
export const masterKeysOf = ({ master_key, next_master_key }: Config) => ({
  master_key: Buffer.from(master_key ?? '', 'hex'),
  next_master_key: next_master_key === null ? undefined : Buffer.from(next_master_key, 'hex'),
})

/** Uses the database of the data unless CUSTOS_KEYRING_URL is set. */
export const openSharedKeyring = (
  config: Config,
  { database_url, keyring_url }: PostgresConfig,
  { clock, read_only = false }: { clock: Clock; read_only?: boolean },
): Promise<Keyring> =>
  openPostgresKeyring({
    url: keyring_url ?? database_url,
    ...masterKeysOf(config),
    now_us: () => clock.now(),
    read_only,
    ...(config.ledger_copy === null ? {} : { ledger_copy: config.ledger_copy }),
  })

// With another keyring, everything would seem erased, and the logs would be signed twice.
async function requireKinship(
  postgres: PostgresConfig,
  db: Database,
  { keyring, ...around }: Surroundings & { readonly keyring: Keyring },
): Promise<void> {
  const { instance_id } = keyring
  const readOwner = () => db.read(PLATFORM, findInstanceId)
  let owner = await readOwner()
  if (owner === null) {
    await requireData(keyring, readOwner, around)
    await recordInstance(postgres, instance_id)
    owner = await readOwner()
  }
  if (owner !== instance_id)
    throw new DataError('the database and the keyring belong to two instances')
}

const MISSING_DATA =
  'the database of CUSTOS_DATABASE_URL is empty, and its keyring has keys of tenants: name the ' +
  'database that has their data, or restore it; --accept-empty-data starts without what it held'

/** Throws DataError if the database is not bound to a keyring yet but this one has tenants. */
async function requireData(
  keyring: Keyring,
  readOwner: () => Promise<string | null>,
  { accept_empty_data = false }: Pick<Surroundings, 'accept_empty_data'>,
): Promise<void> {
  if (accept_empty_data || !(await hasTenants(keyring))) return
  // After the tenants, because a process that starts at the same time binds the database first.
  if ((await readOwner()) === null) throw new DataError(MISSING_DATA)
}

// Uses the role that migrates; the role of requests may only read the table.
const recordInstance = ({ database_url }: PostgresConfig, instance_id: string): Promise<void> =>
  withPostgres(database_url, async (connection) => {
    // Processes that start together on an empty database all get here, with the same id.
    const sql =
      'insert into instance (instance_id) select $1 where not exists (select 1 from instance) ' +
      'on conflict do nothing'
    try {
      await connection.query({ sql }, [instance_id])
    } catch (error) {
      if (error instanceof PostgresError && error.code === DENIED)
        throw new MigrationNeeded('the database is bound to no keyring yet: run custos migrate')
      throw error
    }
  })
