// The data directory: its files, and the lock that keeps a second process out.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { OperatorError } from '../operator-error.ts'

interface DataDir {
  readonly path: string
  readonly database: string
  unlock(): void
}

/** Another live process works on the directory. */
export class DataDirHeld extends OperatorError {}

/** A connection that nothing refers to is closed when memory is tidied up, and its lock with it. */
const held = new Set<DatabaseSync>()

export const databasePath = (dir: string): string => join(dir, 'custos.db')

/**
 * Creates the directory if needed and locks it. The lock is an exclusive SQLite transaction on a
 * file of its own, so the operating system drops it with the process, however that ends.
 */
export function lockDataDir(path: string): DataDir {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const lock = new DatabaseSync(join(path, 'custos.lock'), { timeout: 0 })
  try {
    lock.exec('PRAGMA journal_mode = DELETE')
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    // SQLITE_BUSY or SQLITE_LOCKED: somebody holds it. Anything else is not ours to explain away.
    if (error instanceof Error && 'errcode' in error && [5, 6].includes(Number(error.errcode)))
      throw new DataDirHeld(`the data directory ${path} is in use by another process`)
    throw error
  }
  held.add(lock)
  const unlock = () => {
    held.delete(lock)
    lock.close()
  }
  return { path, database: databasePath(path), unlock }
}
