// Writes files so that they survive a power cut completely.

import { closeSync, fstatSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'

export const PRIVATE_FILE = 0o600
export const PRIVATE_DIRECTORY = 0o700

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
    writeFully(fd, Buffer.alloc(fstatSync(fd).size), 0)
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
