// The files of a master key rotation, ordered so that a keyring is never without its key.

import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { destroyFile, syncDirectory, writeFileDurably } from '../../platform/keys/durable-file.ts'
import { openFileKeyring } from '../../platform/keys/file/open-file-keyring.ts'
import { KeyringError } from '../../platform/keys/keyring-error.ts'
import { OfflineError } from '../../platform/operator-error.ts'

const HEX = /^[0-9a-fA-F]{64}$/

const filesOf = (data_dir: string) => ({
  key: join(data_dir, 'master.key'),
  next: join(data_dir, 'master.key.rotation-next'),
  old: join(data_dir, 'master.key.rotation-old'),
})

/** The 32 bytes that a file has as 64 hex digits; null for any other content. */
export function readKeyFile(path: string): Buffer | null {
  const text = readFileSync(path, 'utf8').trim()
  return HEX.test(text) ? Buffer.from(text, 'hex') : null
}

/** Writes the next key to disk, before anything is wrapped under it. */
export function writeNextKey(data_dir: string, key: Buffer): void {
  const { next } = filesOf(data_dir)
  rmSync(next, { force: true })
  writeFileDurably(next, Buffer.from(`${key.toString('hex')}\n`))
  syncDirectory(data_dir)
}

/** Call it once the keyring is wrapped under the next key. */
export function replaceKeyFile(data_dir: string): void {
  const { key, next, old } = filesOf(data_dir)
  if (existsSync(key)) renameSync(key, old)
  renameSync(next, key)
  syncDirectory(data_dir)
  if (existsSync(old)) destroyFile(old)
}

/** Whether a rotation was interrupted before its files were in place. */
export const hasNextKey = (data_dir: string): boolean => existsSync(filesOf(data_dir).next)

/** The key of such a rotation, for read-only commands: it may already wrap the keyring. */
export const readNextKey = (data_dir: string): Buffer | null =>
  hasNextKey(data_dir) ? readKeyFile(filesOf(data_dir).next) : null

/**
 * Completes an interrupted rotation. The caller must have locked the directory, since another
 * process may be rotating. Returns true if `master.key` is now the next key.
 * @param given whether the master key is not from the file; if so, throws OfflineError when only
 * the next key opens the keyring
 */
export async function finishRotation(
  data_dir: string,
  { given }: { given: boolean },
): Promise<boolean> {
  const { key, next, old } = filesOf(data_dir)
  const fits = existsSync(next) ? await isKeyOf(data_dir, next) : null
  if (fits === true && given)
    throw new OfflineError(
      `a rotation of the master key was cut off, and ${next} is the key of the keyring: start ` +
        'once without CUSTOS_MASTER_KEY to complete it',
    )
  if (fits === true) replaceKeyFile(data_dir)
  if (fits === false) destroyFile(next)
  if (existsSync(old) && existsSync(key)) destroyFile(old)
  return fits === true
}

/** Returns null if the keyring is missing or damaged, so that its key is unknown. */
async function isKeyOf(data_dir: string, path: string): Promise<boolean | null> {
  const dir = join(data_dir, 'keyring')
  const master_key = readKeyFile(path)
  // The key file is incomplete, so nothing can be wrapped under the key.
  if (master_key === null) return false
  try {
    const keyring = await openFileKeyring({ dir, master_key, now_us: () => 0, read_only: true })
    keyring.close()
    return true
  } catch (error) {
    if (!(error instanceof KeyringError)) throw error
    return error.code === 'wrong_master_key' ? false : null
  }
}
