// A new master key for a stopped service: everything in the keyring is wrapped again under it.

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { OfflineError } from '../platform/operator-error.ts'
import { readKeyFile, replaceKeyFile, writeNextKey } from './open/next-master-key.ts'
import { openKernel } from './open/open-kernel.ts'
import { requireData } from './open/open-read-only.ts'

interface MasterRotation {
  /** Where the key now lies that opens the keyring. */
  readonly key_file: string
  /** The old one came from the environment, which has to be changed by hand. */
  readonly from_environment: boolean
}

/**
 * Wraps the keyring under a new key: that of `new_key_file` (64 hex digits), else a random one.
 * A key the data directory keeps is replaced there; one given by environment needs the file.
 */
export async function rotateMasterKey(
  config: Config,
  new_key_file?: string,
): Promise<MasterRotation> {
  const { data_dir } = config
  if (config.postgres === null) requireData(data_dir)
  const from_environment = config.master_key !== null
  if (from_environment && new_key_file === undefined)
    throw new OfflineError('the master key is given by CUSTOS_MASTER_KEY: name a --new-key-file')
  const next = new_key_file === undefined ? randomBytes(32) : readKey(new_key_file)
  const announced = config.next_master_key
  if (announced !== null && announced.toLowerCase() !== next.toString('hex'))
    throw new OfflineError(
      `the key in ${new_key_file} is not CUSTOS_NEXT_MASTER_KEY, which the processes wait for`,
    )
  // Opening completes a rotation that was interrupted.
  const open = await openKernel({ ...config, log_level: 'error' })
  try {
    if (!from_environment) writeNextKey(data_dir, next)
    await open.kernel.keyring.rotateMasterKey(next)
    if (!from_environment) replaceKeyFile(data_dir)
  } finally {
    await open.close()
  }
  return {
    key_file: from_environment ? String(new_key_file) : join(data_dir, 'master.key'),
    from_environment,
  }
}

function readKey(path: string): Buffer {
  const key = readKeyFile(path)
  if (key === null) throw new OfflineError(`${path} does not hold 64 hex digits`)
  return key
}
