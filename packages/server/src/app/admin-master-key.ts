// A new master key for a stopped service: everything in the keyring is wrapped again under it.

import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import {
  PRIVATE_FILE,
  syncDirectory,
  writeFileDurably,
  writeFully,
} from '../platform/keys/durable-file.ts'
import { openFileKeyring } from '../platform/keys/file/open-file-keyring.ts'
import { KeyringError } from '../platform/keys/keyring-error.ts'
import { OfflineError } from '../platform/operator-error.ts'
import { openKernel } from './open/open-kernel.ts'
import { requireData } from './open/open-read-only.ts'

const KEY = 'master.key'
const NEXT = 'master.key.next'
const OLD = 'master.key.old'
const HEX = /^[0-9a-fA-F]{64}$/

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
  if (!from_environment) await finishInterrupted(data_dir)
  const next = new_key_file === undefined ? randomBytes(32) : readKey(new_key_file)
  const open = await openKernel({ ...config, log_level: 'error' })
  try {
    if (!from_environment) writeNext(data_dir, next)
    await open.kernel.keyring.rotateMasterKey(next)
    if (!from_environment) replaceKeyFile(data_dir)
  } finally {
    await open.close()
  }
  return {
    key_file: from_environment ? String(new_key_file) : join(data_dir, KEY),
    from_environment,
  }
}

function readKey(path: string): Buffer {
  const text = readFileSync(path, 'utf8').trim()
  if (!HEX.test(text)) throw new OfflineError(`${path} does not hold 64 hex digits`)
  return Buffer.from(text, 'hex')
}

// On disk before anything is wrapped under it: at no moment is there a keyring without its key.
function writeNext(data_dir: string, key: Buffer): void {
  const path = join(data_dir, NEXT)
  rmSync(path, { force: true })
  writeFileDurably(path, Buffer.from(`${key.toString('hex')}\n`))
  syncDirectory(data_dir)
}

function replaceKeyFile(data_dir: string): void {
  const [key, next, old] = [KEY, NEXT, OLD].map((file) => join(data_dir, file))
  if (!key || !next || !old) return
  renameSync(key, old)
  renameSync(next, key)
  syncDirectory(data_dir)
  destroyFile(old)
}

/** A crash after the wrapping and before the exchange of the files leaves the new key aside. */
async function finishInterrupted(data_dir: string): Promise<void> {
  const [key, next, old] = [KEY, NEXT, OLD].map((file) => join(data_dir, file))
  if (!key || !next || !old) return
  if (existsSync(next)) {
    if (await opens(data_dir, readKey(next))) {
      if (!existsSync(key)) renameSync(next, key)
      else replaceKeyFile(data_dir)
    } else destroyFile(next)
  }
  if (existsSync(old) && existsSync(key)) destroyFile(old)
}

async function opens(data_dir: string, master_key: Buffer): Promise<boolean> {
  const dir = join(data_dir, 'keyring')
  try {
    const keyring = await openFileKeyring({ dir, master_key, now_us: () => 0, read_only: true })
    keyring.close()
    return true
  } catch (error) {
    if (error instanceof KeyringError && error.code === 'wrong_master_key') return false
    throw error
  }
}

/** Overwritten before it is unlinked: an unlinked key stays readable on the block device. */
export function destroyFile(path: string): void {
  const fd = openSync(path, 'r+', PRIVATE_FILE)
  try {
    writeFully(fd, Buffer.alloc(readFileSync(path).length), 0)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  rmSync(path)
}
