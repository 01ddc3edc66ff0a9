// Locks a data directory, and completes a file exchange that a killed command left unfinished.

import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { databasePath, lockDataDir } from '../../platform/db/data-dir.ts'
import { destroyFile, syncDirectory } from '../../platform/keys/durable-file.ts'
import { finishRotation } from './next-master-key.ts'

/**
 * The folder of a prepared restore whose files are not yet in place. A restore that has this folder
 * can only be completed, not cancelled.
 */
const READY = /^restore-[0-9a-f]{12}\.ready$/

/**
 * Locks the directory. Throws DataDirHeld if another process holds it, OfflineError if a rotation
 * of the master key was cut off and the configuration gives a key, and errors of reading the
 * keyring. `restored`: it completed a restore; `rotated`: it put the new master key in place.
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

/** Replaces the files of the directory by those of the stage; survives a crash at any point. */
export function putRestored(data_dir: string, stage: string): void {
  syncDirectory(stage)
  renameSync(stage, `${stage}.ready`)
  syncDirectory(data_dir)
  finishRestore(data_dir)
}

/** The folder of a restore whose files are not all in place; undefined if there is none. */
export const readyRestore = (data_dir: string): string | undefined =>
  readdirSync(data_dir, { withFileTypes: true }).find(
    (entry) => READY.test(entry.name) && entry.isDirectory(),
  )?.name

/**
 * Completes a prepared restore. A crash may interrupt it before any step; the next call continues
 * there. Returns false if there was nothing to do.
 */
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
    // SQLite would apply the WAL of the old database to the new one, so the WAL is removed first.
    for (const suffix of ['-wal', '-shm']) rmSync(`${database.to}${suffix}`, { force: true })
    renameSync(database.from, database.to)
    syncDirectory(data_dir)
  }
  removeStage(from)
  return true
}

/** Removes the stage and overwrites the secrets in it. */
export function removeStage(stage: string): void {
  for (const folder of ['keyring', 'replaced'])
    if (existsSync(join(stage, folder, 'secrets.slots')))
      destroyFile(join(stage, folder, 'secrets.slots'))
  rmSync(stage, { recursive: true })
}
