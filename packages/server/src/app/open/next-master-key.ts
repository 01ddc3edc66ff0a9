// The files of a change of the master key: at no moment is there a keyring without its key.

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

/** The 32 bytes that a file holds as 64 hex digits; null: it holds something else. */
export function readKeyFile(path: string): Buffer | null {
  const text = readFileSync(path, 'utf8').trim()
  return HEX.test(text) ? Buffer.from(text, 'hex') : null
}

/** On disk before anything is wrapped under it. */
export function writeNextKey(data_dir: string, key: Buffer): void {
  const { next } = filesOf(data_dir)
  rmSync(next, { force: true })
  writeFileDurably(next, Buffer.from(`${key.toString('hex')}\n`))
  syncDirectory(data_dir)
}

/** Once the keyring is wrapped under the next key. */
export function replaceKeyFile(data_dir: string): void {
  const { key, next, old } = filesOf(data_dir)
  if (existsSync(key)) renameSync(key, old)
  renameSync(next, key)
  syncDirectory(data_dir)
  if (existsSync(old)) destroyFile(old)
}

/** Whether a rotation was cut off before its files were in their place. */
export const hasNextKey = (data_dir: string): boolean => existsSync(filesOf(data_dir).next)

/** The key of such a rotation, for those who only read: the keyring may be under it already. */
export const readNextKey = (data_dir: string): Buffer | null =>
  hasNextKey(data_dir) ? readKeyFile(filesOf(data_dir).next) : null

/**
 * Completes a rotation that was cut off, in a directory that the caller has locked: another process
 * may be in the middle of one. True: `master.key` is now the next key. `given`: the master key is
 * not that of the file; throws OfflineError where only the next key opens the keyring.
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

/** Null: the keyring is missing or damaged, and its key cannot be told. */
async function isKeyOf(data_dir: string, path: string): Promise<boolean | null> {
  const dir = join(data_dir, 'keyring')
  const master_key = readKeyFile(path)
  // Nothing is wrapped under a key that was not written to its end.
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
