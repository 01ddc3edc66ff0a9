// The files of the data directory, and the lock that keeps out a second process.

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

/** Another running process has locked the directory. */
export class DataDirHeld extends OperatorError {}

/** Keeps references: the garbage collector closes an unreferenced connection and its lock. */
const held = new Set<DatabaseSync>()

const PRIVATE_FILE = 0o600
const PRIVATE_DIRECTORY = 0o700
const FOR_OTHERS = 0o077
const LOCK = 'custos.lock'
const ADDRESS = 'custos.address'

export const databasePath = (dir: string): string => join(dir, 'custos.db')

/**
 * Creates the directory if needed and locks it. The lock is an exclusive SQLite transaction on a
 * separate file, so the operating system releases it however the process ends.
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
    // SQLITE_BUSY or SQLITE_LOCKED: another process has the lock.
    if ([5, 6].includes(Number(error.errcode)))
      throw new DataDirHeld(`the data directory ${path} is in use by another process`)
    throw new OperatorError(explainNoLock(path, error))
  }
  held.add(lock)
  // The address of a killed process: another program may listen there now.
  rmSync(join(path, ADDRESS), { force: true })
  const unlock = () => {
    held.delete(lock)
    rmSync(join(path, ADDRESS), { force: true })
    lock.close()
  }
  return { path, database: databasePath(path), unlock }
}

/** SQLite's primary result code for a directory in which it cannot create a journal. */
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
 * Creates the directory and its missing parents. The recursive form of Node never returns below a
 * parent that accepts no children, such as `/proc`.
 */
export function makeDirectory(path: string): void {
  if (existsSync(path)) return
  makeDirectory(dirname(path))
  try {
    mkdirSync(path, { mode: PRIVATE_DIRECTORY })
  } catch (error) {
    // Another process may have created it first.
    if (!existsSync(path)) throw error
  }
}

/** Publishes the address of the service to other processes of this user. */
export function publishAddress(dir: string, url: string): void {
  const written = join(dir, `${ADDRESS}.new`)
  rmSync(written, { force: true })
  writeFileSync(written, `${url}\n`, { mode: PRIVATE_FILE, flag: 'wx' })
  renameSync(written, join(dir, ADDRESS))
}

/** The address of the process that has locked the directory; null until it is published. */
export function readAddress(dir: string): string | null {
  try {
    return readFileSync(join(dir, ADDRESS), 'utf8').trim()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

/**
 * Creates a database file that only its owner can read, or restricts an existing one, whatever the
 * directory allows. SQLite gives the files beside it the mode of the database.
 */
export function makePrivate(path: string): void {
  closeSync(openSync(path, 'a', PRIVATE_FILE))
  for (const file of [path, `${path}-wal`, `${path}-shm`])
    if (existsSync(file) && isOpenToOthers(file)) chmodSync(file, PRIVATE_FILE)
}

/** Whether the mode lets anybody but the owner read or change it. False on Windows. */
export const isOpenToOthers = (path: string): boolean =>
  process.platform !== 'win32' && (statSync(path).mode & FOR_OTHERS) !== 0
