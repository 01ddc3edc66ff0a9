// Writes files so that they survive a power cut completely.

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

/** A system writes at most 2 GiB at once. */
const ZEROS = Buffer.alloc(64 * 1024)

/** `write` may be short (disk nearly full, a signal): continues until all of `bytes` is written. */
export function writeFully(fd: number, bytes: Uint8Array, position: number | null): void {
  let done = 0
  while (done < bytes.length) {
    const at = position === null ? null : position + done
    done += writeSync(fd, bytes, done, bytes.length - done, at)
  }
}

/** A new file, readable by the owner only; fails if it exists. */
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
 * The same, under its name from the first moment complete: a crash leaves no part of it, and of two
 * processes that create it at once one fails.
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

/** Without hard links, as on some file systems, two processes may both create the file. */
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

/** Overwritten before it is unlinked: an unlinked key stays readable on the block device. */
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
