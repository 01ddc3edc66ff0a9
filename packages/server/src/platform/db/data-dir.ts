// The data directory: its files, and the lock that keeps a second process out.

import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { OperatorError } from '../operator-error.ts'
import { sqliteFault } from '../storage-fault.ts'

/** Another live process works on the directory. */
export class DataDirHeld extends OperatorError {}

/** A connection that nothing refers to is closed when memory is tidied up, and its lock with it. */
const held = new Set<DatabaseSync>()

const PRIVATE_FILE = 0o600
const PRIVATE_DIRECTORY = 0o700
const FOR_OTHERS = 0o077
const LOCK = 'custos.lock'
const ADDRESS = 'custos.address'

export const databasePath = (dir: string): string => join(dir, 'custos.db')

/**
 * Creates the directory if needed and locks it. The lock is an exclusive SQLite transaction on a
 * file of its own, so the operating system drops it with the process, however that ends.
 */
export function lockDataDir(path: string): {
  readonly path: string
  readonly database: string
  unlock(): void
} {
  makeDirectory(path)
  makePrivate(join(path, LOCK))
  const lock = new DatabaseSync(join(path, LOCK), { timeout: 0 })
  try {
    lock.exec('PRAGMA journal_mode = DELETE')
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if (!(error instanceof Error && 'errcode' in error)) throw error
    // SQLITE_BUSY or SQLITE_LOCKED: somebody holds it.
    if ([5, 6].includes(Number(error.errcode)))
      throw new DataDirHeld(`the data directory ${path} is in use by another process`)
    throw new OperatorError(explainNoLock(path, error))
  }
  held.add(lock)
  // Of a process that was killed: another program may listen there now.
  rmSync(join(path, ADDRESS), { force: true })
  const unlock = () => {
    held.delete(lock)
    rmSync(join(path, ADDRESS), { force: true })
    lock.close()
  }
  return { path, database: databasePath(path), unlock }
}

/** SQLite's primary result code of a directory that takes no file beside the lock. */
const READONLY = 8

function explainNoLock(dir: string, error: Error & { errcode: unknown }): string {
  if (sqliteFault(error) === 'full') return `the disk of ${dir} is full: free space, then try again`
  if ((Number(error.errcode) & 0xff) === READONLY)
    return `the data directory ${dir} cannot be written by this user`
  return (
    `${join(dir, LOCK)} cannot be locked (${error.message}): it holds nothing, so ` +
    'delete it while no process uses the directory, or use a file system that has locks'
  )
}

/**
 * With what is above it. The recursive form of Node never ends below a parent that takes no
 * children, such as `/proc`.
 */
export function makeDirectory(path: string): void {
  if (existsSync(path)) return
  makeDirectory(dirname(path))
  try {
    mkdirSync(path, { mode: PRIVATE_DIRECTORY })
  } catch (error) {
    // Another process was quicker.
    if (!existsSync(path)) throw error
  }
}

/** Tells other processes of this user where the service of a locked directory listens. */
export function publishAddress(dir: string, url: string): void {
  const written = join(dir, `${ADDRESS}.new`)
  rmSync(written, { force: true })
  writeFileSync(written, `${url}\n`, { mode: PRIVATE_FILE, flag: 'wx' })
  renameSync(written, join(dir, ADDRESS))
}

/** Where the process that holds the directory listens; null as long as it has not said so. */
export function readAddress(dir: string): string | null {
  try {
    return readFileSync(join(dir, ADDRESS), 'utf8').trim()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

/**
 * Creates a database file that only its owner can read, whatever the directory allows, or makes it
 * so. SQLite gives the files beside it the mode of the database.
 */
export function makePrivate(path: string): void {
  closeSync(openSync(path, 'a', PRIVATE_FILE))
  for (const file of [path, `${path}-wal`, `${path}-shm`])
    if (existsSync(file) && isOpenToOthers(file)) chmodSync(file, PRIVATE_FILE)
}

/** Whether the mode lets anybody but the owner read or change it. Windows has no such modes. */
export const isOpenToOthers = (path: string): boolean =>
  process.platform !== 'win32' && (statSync(path).mode & FOR_OTHERS) !== 0
