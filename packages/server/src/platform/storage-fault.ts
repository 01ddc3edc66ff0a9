// Tells machine faults (disk full, no file descriptors, a failing disk) from bugs.

import { Refusal } from './refusal.ts'

/** Primary result codes of SQLite: BUSY, LOCKED, NOMEM, READONLY, IOERR, CORRUPT, CANTOPEN. */
const SQLITE_IO: readonly number[] = [5, 6, 7, 8, 10, 11, 14]
const SQLITE_FULL = 13

const FULL: readonly string[] = ['ENOSPC', 'EDQUOT']
const IO: readonly string[] = ['EMFILE', 'ENFILE', 'EIO', 'EROFS', 'ENOMEM']

/**
 * The machine fault behind an error of SQLite: `full` if no space is left, `io` if files cannot be
 * opened, read or written now. Returns null for any other error.
 */
export function sqliteFault(error: unknown): 'full' | 'io' | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null
  const primary = Number(error.errcode) & 0xff
  if (primary === SQLITE_FULL) return 'full'
  return SQLITE_IO.includes(primary) ? 'io' : null
}

/** The same for any error of SQLite or the system, or one that has such an error as its cause. */
export function storageFault(error: unknown): 'full' | 'io' | null {
  if (!(error instanceof Error)) return null
  const code = 'code' in error ? String(error.code) : ''
  if (FULL.includes(code)) return 'full'
  if (IO.includes(code)) return 'io'
  return sqliteFault(error) ?? storageFault(error.cause)
}

/** The same as one line for operators; null if it is no machine fault. */
export function describeStorageFault(error: Error): string | null {
  const fault = storageFault(error)
  if (fault === null) return null
  return fault === 'full'
    ? `the disk is full: free space, then try again (${error.message})`
    : `a file cannot be opened, read or written (${error.message})`
}

export const refusalOfStorage = (fault: 'full' | 'io'): Refusal =>
  fault === 'full'
    ? new Refusal('storage_full', undefined, { retry_after_s: 30 })
    : new Refusal('unavailable', undefined, { retry_after_s: 5 })
