// Locks a data directory, and completes what a killed command has left half exchanged in it.

import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { databasePath, lockDataDir } from '../../platform/db/data-dir.ts'
import { destroyFile, syncDirectory } from '../../platform/keys/durable-file.ts'
import { finishRotation } from './next-master-key.ts'

/** A restore that is complete but for its place: from then on it only goes forward. */
const READY = /^restore-[0-9a-f]{12}\.ready$/

/**
 * Throws DataDirHeld, and what reading the keyring throws. `restored`: a restore was completed,
 * `rotated`: the key of the keyring was put in its place.
 */
export async function lockData({
  data_dir,
  master_key,
}: Config): Promise<{ readonly restored: boolean; readonly rotated: boolean; unlock(): void }> {
  const { unlock } = lockDataDir(data_dir)
  try {
    const restored = finishRestore(data_dir)
    const rotated = await finishRotation(data_dir, { given: master_key !== null })
    return { restored, rotated, unlock }
  } catch (error) {
    unlock()
    throw error
  }
}

/** Exchanges the files of the directory for those of the stage, whatever ends the process. */
export function putRestored(data_dir: string, stage: string): void {
  syncDirectory(stage)
  renameSync(stage, `${stage}.ready`)
  syncDirectory(data_dir)
  finishRestore(data_dir)
}

/** The folder of a restore whose files are not all in their place; undefined: there is none. */
export const readyRestore = (data_dir: string): string | undefined =>
  readdirSync(data_dir, { withFileTypes: true }).find(
    (entry) => READY.test(entry.name) && entry.isDirectory(),
  )?.name

/** Each step may be the first one of another process. False: there was nothing to do. */
function finishRestore(data_dir: string): boolean {
  const name = readyRestore(data_dir)
  if (name === undefined) return false
  const from = join(data_dir, name)
  const keyring = { from: join(from, 'keyring'), to: join(data_dir, 'keyring') }
  if (existsSync(keyring.from)) {
    if (existsSync(keyring.to)) renameSync(keyring.to, join(from, 'replaced'))
    syncDirectory(from)
    renameSync(keyring.from, keyring.to)
    syncDirectory(data_dir)
  }
  const database = { from: databasePath(from), to: databasePath(data_dir) }
  if (existsSync(database.from)) {
    // The log of the old database would be read into the new one: it goes first.
    for (const suffix of ['-wal', '-shm']) rmSync(`${database.to}${suffix}`, { force: true })
    renameSync(database.from, database.to)
    syncDirectory(data_dir)
  }
  removeStage(from)
  return true
}

/** Secrets in it are overwritten. */
export function removeStage(stage: string): void {
  for (const folder of ['keyring', 'replaced'])
    if (existsSync(join(stage, folder, 'secrets.slots')))
      destroyFile(join(stage, folder, 'secrets.slots'))
  rmSync(stage, { recursive: true })
}
