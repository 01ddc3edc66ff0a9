// Writes files that survive a power cut completely.

import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'

export const PRIVATE_FILE = 0o600
export const PRIVATE_DIRECTORY = 0o700

/** Small, because a system writes at most 2 GiB at once. */
const ZEROS = Buffer.alloc(64 * 1024)

/** Repeats short writes (disk nearly full, a signal) until all of `bytes` is written. */
export function writeFully(fd: number, bytes: Uint8Array, position: number | null): void {
  let done = 0
  while (done < bytes.length) {
    const at = position === null ? null : position + done
    done += writeSync(fd, bytes, done, bytes.length - done, at)
  }
}

/** Creates a file that only the owner can read; fails if it exists. */
export function writeFileDurably(path: string, bytes: Uint8Array): void {
  const fd = openSync(path, 'wx', PRIVATE_FILE)
  try {
    writeFully(fd, bytes, null)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/**
 * The same, but the file is complete when its name appears: a crash leaves no partial file, and if
 * two processes create it at once, one fails.
 */
export function createFileDurably(path: string, bytes: Uint8Array): void {
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    writeFileDurably(draft, bytes)
    linkOrMove(draft, path)
  } finally {
    rmSync(draft, { force: true })
  }
  syncDirectory(dirname(path))
}

/** On a file system without hard links, two processes may both create the file. */
function linkOrMove(draft: string, path: string): void {
  try {
    linkSync(draft, path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(code) || existsSync(path))
      throw error
    renameSync(draft, path)
  }
}

/** Flushes an existing file. */
export function syncFile(path: string): void {
  const fd = openSync(path, 'r+')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Overwrites before it unlinks, because an unlinked key stays readable on the block device. */
export function destroyFile(path: string): void {
  const fd = openSync(path, 'r+')
  try {
    const { size } = fstatSync(fd)
    for (let at = 0; at < size; at += ZEROS.length) writeFully(fd, ZEROS.subarray(0, size - at), at)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  rmSync(path)
}

/** Makes a created, renamed or linked name durable. Windows has no such call and needs none. */
export function syncDirectory(path: string): void {
  if (process.platform === 'win32') return
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
