// secrets.slots: a flat file of 32-byte secrets, each destroyed by overwriting it in place.
//
// Layout, big-endian:
//   slot 0        header: "custslot" (8) ‖ version u32 (1) ‖ slot size u32 (32) ‖ instance id (16)
//   slot n >= 1   bytes 32n … 32n+31: one secret; 32 zeros if destroyed or not yet used
// Slots are handed out in ascending order and never reused; keyring.db records the owner of each
// slot. The file grows by zeros ahead of use, so that writing a secret changes no file metadata and
// the secret lands on the blocks that destroying it will overwrite. On copy-on-write file systems
// (btrfs, ZFS, snapshots) overwriting keeps the old block: the guarantee needs another file system.

import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  openSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { syncDirectory, writeFileDurably, writeFully } from '../durable-file.ts'
import { KeyringError } from '../keyring-error.ts'
import { type NumberRun, SECRET_BYTES } from '../secret-bytes.ts'

/** The first slot that can hold a secret. */
export const FIRST_SLOT = 1
const MAGIC = 'custslot'
const VERSION = 1
const GROWTH_BYTES = 256 * 1024

export function slotFileHeader(instance_id: string): Buffer {
  const header = Buffer.alloc(SECRET_BYTES)
  header.write(MAGIC, 0, 'latin1')
  header.writeUInt32BE(VERSION, 8)
  header.writeUInt32BE(SECRET_BYTES, 12)
  header.write(instance_id, 16, 'hex')
  return header
}

interface SlotFileExpectation {
  readonly instance_id: string
  /** End (exclusive) of the slots handed out. */
  readonly slots_end: number
}

export class SlotFile {
  readonly #fd: number
  #size: number
  #closed = false

  private constructor(fd: number, size: number) {
    this.#fd = fd
    this.#size = size
  }

  /** Opens for reading beside the process that writes; `slots_end` may have grown since. */
  static openReadOnly(path: string, expected: SlotFileExpectation): SlotFile {
    if (!existsSync(path)) throw new KeyringError('slot_file_missing', `${path} is missing`)
    const fd = openSync(path, 'r')
    try {
      return new SlotFile(fd, checkedSize(fd, path, expected))
    } catch (error) {
      closeSync(fd)
      throw error
    }
  }

  /** Creates the file if no slot was ever handed out; otherwise it must exist and be complete. */
  static open(path: string, expected: SlotFileExpectation): SlotFile {
    const unused = expected.slots_end <= FIRST_SLOT
    // A crash during the very first open can leave the name without its 32 bytes.
    if (unused && existsSync(path) && statSync(path).size < SECRET_BYTES) rmSync(path)
    if (!existsSync(path)) {
      if (!unused) throw new KeyringError('slot_file_missing', `${path} is missing`)
      writeFileDurably(path, slotFileHeader(expected.instance_id))
      syncDirectory(dirname(path))
    }
    const fd = openSync(path, 'r+')
    try {
      return new SlotFile(fd, checkedSize(fd, path, expected))
    } catch (error) {
      closeSync(fd)
      throw error
    }
  }

  /** A copy of slots `[start, end)`. */
  read({ start, end }: NumberRun): Buffer {
    this.#requireOpen()
    const bytes = Buffer.alloc((end - start) * SECRET_BYTES)
    readFully(this.#fd, bytes, start * SECRET_BYTES)
    return bytes
  }

  /** Durable when it returns. The length of `secrets` is a multiple of the slot size. */
  write(start: number, secrets: Uint8Array): void {
    this.#requireOpen()
    const end = start * SECRET_BYTES + secrets.length
    if (end > this.#size) this.#grow(end)
    writeFully(this.#fd, secrets, start * SECRET_BYTES)
    fdatasyncSync(this.#fd)
  }

  /** Writes zeros over every run, then flushes once; then the secrets are gone from the file. */
  erase(runs: readonly NumberRun[]): void {
    if (runs.length === 0) return
    this.#requireOpen()
    for (const { start, end } of runs)
      writeFully(this.#fd, Buffer.alloc((end - start) * SECRET_BYTES), start * SECRET_BYTES)
    fdatasyncSync(this.#fd)
  }

  close(): void {
    this.#closed = true
    closeSync(this.#fd)
  }

  // After the file is closed, the system may have reused its descriptor for another file.
  #requireOpen(): void {
    if (this.#closed) throw new KeyringError('keyring_unavailable', 'the keyring is closed')
  }

  #grow(needed: number): void {
    const size = Math.ceil(needed / GROWTH_BYTES) * GROWTH_BYTES
    writeFully(this.#fd, Buffer.alloc(size - this.#size), this.#size)
    fdatasyncSync(this.#fd)
    this.#size = size
  }
}

function checkedSize(fd: number, path: string, expected: SlotFileExpectation): number {
  const size = fstatSync(fd).size
  if (size < expected.slots_end * SECRET_BYTES)
    throw new KeyringError(
      'slot_file_truncated',
      `${path} has ${size} bytes, ${expected.slots_end * SECRET_BYTES} were in use`,
    )
  const header = Buffer.alloc(SECRET_BYTES)
  readFully(fd, header, 0)
  if (!header.equals(slotFileHeader(expected.instance_id)))
    throw new KeyringError('slot_file_foreign', `${path} does not belong to this keyring`)
  return size
}

function readFully(fd: number, into: Buffer, position: number): void {
  let done = 0
  while (done < into.length) {
    const read = readSync(fd, into, done, into.length - done, position + done)
    if (read === 0) throw new KeyringError('slot_file_truncated', 'the slot file ended early')
    done += read
  }
}
