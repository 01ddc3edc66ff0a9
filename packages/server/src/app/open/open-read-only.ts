// Opens the data for looking only: no lock, no writes, beside a running service.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { type Clock, systemClock } from '../../platform/clock.ts'
import { databasePath } from '../../platform/db/data-dir.ts'
import { type Snapshots, SqliteSnapshots } from '../../platform/db/sqlite/snapshots.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { openFileKeyring } from '../../platform/keys/file/open-file-keyring.ts'
import type { Keyring } from '../../platform/keys/keyring.ts'
import { loadMasterKey } from '../../platform/keys/master-key.ts'
import { openLogger } from '../../platform/logger.ts'
import { OfflineError } from '../../platform/operator-error.ts'
import { assembleKernel, noEmbedders } from './assemble-kernel.ts'

export interface ReadOnlyKernel {
  readonly kernel: Kernel
  readonly snapshots: Snapshots
  close(): Promise<void>
}

/** Throws OfflineError when there is no data, KeyringError when the keyring cannot be opened. */
export async function openReadOnly(config: Config): Promise<ReadOnlyKernel> {
  const clock = systemClock()
  const keyring = await openKeyring(config, clock)
  const snapshots = await openSnapshots(config)
  const logger = openLogger('silent')
  const embedders = noEmbedders()
  const kernel = assembleKernel({ config, clock, logger, db: snapshots, keyring, embedders })
  const close = async () => {
    await snapshots.close()
    await keyring.close()
  }
  return { kernel, snapshots, close }
}

async function openSnapshots({ postgres, data_dir }: Config): Promise<Snapshots> {
  if (postgres === null) return new SqliteSnapshots(databasePath(data_dir))
  const { PostgresSnapshots } = await import('../../platform/db/postgres/snapshots.ts')
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
  // The keyring is there, so this never makes a key.
  const { key } = loadMasterKey({ given: config.master_key ?? undefined, data_dir })
  return openFileKeyring({
    dir: join(data_dir, 'keyring'),
    master_key: key,
    now_us: () => clock.now(),
    read_only: true,
  })
}

/** Throws OfflineError unless the directory holds a database and a keyring. */
export function requireData(data_dir: string): void {
  for (const file of [databasePath(data_dir), join(data_dir, 'keyring', 'keyring.db')])
    if (!existsSync(file)) throw new OfflineError(`${data_dir} holds no data: ${file} is missing`)
}
