// Opens the data read-only beside a running service: no lock, no writes.

import { accessSync, constants, existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { type Clock, systemClock } from '../../platform/clock.ts'
import { databasePath } from '../../platform/db/data-dir.ts'
import { type Snapshots, SqliteSnapshots } from '../../platform/db/sqlite/handle.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { openFileKeyring } from '../../platform/keys/file/open-file-keyring.ts'
import type { Keyring } from '../../platform/keys/keyring.ts'
import { loadMasterKey } from '../../platform/keys/master-key.ts'
import { OfflineError } from '../../platform/operator-error.ts'
import { openLogger } from '../../platform/telemetry/logger.ts'
import { Metrics } from '../../platform/telemetry/metrics.ts'
import { assembleKernel, noEmbedders } from './assemble-kernel.ts'
import { readyRestore } from './lock-data.ts'
import { readNextKey } from './next-master-key.ts'

export interface ReadOnlyKernel {
  readonly kernel: Kernel
  readonly snapshots: Snapshots
  close(): Promise<void>
}

/**
 * Throws OfflineError if there is no data or it cannot be read, and KeyringError if the keyring
 * cannot be opened.
 */
export async function openReadOnly(config: Config): Promise<ReadOnlyKernel> {
  if (config.postgres === null && existsSync(config.data_dir) && readyRestore(config.data_dir))
    throw new OfflineError(
      `a restore into ${config.data_dir} was cut off, or is under way: start the service once, ` +
        'which completes it',
    )
  const clock = systemClock()
  const keyring = await explainUnreadable(config, () => openKeyring(config, clock))
  const snapshots = await explainUnreadable(config, () => openSnapshots(config)).catch(
    async (error: unknown) => {
      await keyring.close()
      throw error
    },
  )
  const logger = openLogger('silent')
  const embedders = noEmbedders()
  const metrics = new Metrics()
  const parts = { config, clock, logger, metrics, db: snapshots, keyring, embedders }
  const kernel = assembleKernel(parts)
  const close = async () => {
    await snapshots.close()
    await keyring.close()
  }
  return { kernel, snapshots, close }
}

/**
 * Runs `act`. If a file cannot be opened or read, or PostgreSQL refuses, throws OfflineError with
 * the reason in one line. SQLite's messages are fixed texts and those of a PostgresError name no
 * values, so they quote nothing of the data.
 */
export async function explainUnreadable<T>(
  { postgres, data_dir }: Config,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (postgres !== null) throw await explainPostgres(error)
    const cause = unreadableCause(error)
    if (cause === null) throw error
    throw new OfflineError(
      `the database or the keyring in ${data_dir} cannot be read (${cause}): ` +
        adviceFor(data_dir),
    )
  }
}

/** SQLite reads a WAL database only if it may create files beside it. */
function adviceFor(data_dir: string): string {
  try {
    accessSync(data_dir, constants.W_OK)
    return 'check its permissions, or restore a backup'
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    return (
      `the directory cannot be written to (${code}), so make it writable or use a copy of it; ` +
      'where the same is said of the copy, restore a backup'
    )
  }
}

/** Does not name a setting, because a move opens the databases of two clusters. */
async function explainPostgres(error: unknown): Promise<unknown> {
  const { PostgresError } = await import('../../platform/db/postgres/error.ts')
  if (!(error instanceof PostgresError)) return error
  return new OfflineError(`the database: ${error.message}`)
}

/** The message of an SQLite error in the chain of causes; null if there is none. */
export function unreadableCause(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  return 'errcode' in error ? error.message : unreadableCause(error.cause)
}

async function openSnapshots({ postgres, data_dir }: Config): Promise<Snapshots> {
  if (postgres === null) {
    const snapshots = new SqliteSnapshots(databasePath(data_dir))
    // SQLite opens a file without reading it, so force a read.
    await snapshots.takeSnapshot()
    await snapshots.release()
    return snapshots
  }
  const { PostgresSnapshots } = await import('../../platform/db/postgres/handle.ts')
  const { APP_ROLE } = await import('../../platform/db/postgres/access.ts')
  return PostgresSnapshots.open(postgres.database_url, APP_ROLE)
}

async function openKeyring(config: Config, clock: Clock): Promise<Keyring> {
  const { postgres, data_dir } = config
  if (postgres !== null) {
    const { openSharedKeyring } = await import('./open-postgres.ts')
    return openSharedKeyring(config, postgres, { clock, read_only: true })
  }
  requireData(data_dir)
  // The keyring exists, so this never generates a key.
  const { key } = loadMasterKey({ given: config.master_key ?? undefined, data_dir })
  return openFileKeyring({
    dir: join(data_dir, 'keyring'),
    master_key: key,
    next_master_key: readNextKey(data_dir) ?? undefined,
    now_us: () => clock.now(),
    read_only: true,
  })
}

/** Throws OfflineError unless the directory has a readable database and keyring. */
export function requireData(data_dir: string): void {
  for (const file of [databasePath(data_dir), join(data_dir, 'keyring', 'keyring.db')])
    try {
      accessSync(file, constants.R_OK)
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
      if (code === 'ENOENT') throw new OfflineError(`${data_dir} holds no data: ${file} is missing`)
      throw new OfflineError(`${file} cannot be read (${code}): use the account of the service`)
    }
}
