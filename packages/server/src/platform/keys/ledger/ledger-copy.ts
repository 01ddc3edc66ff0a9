// A copy of ledger and checkpoints outside the data: one JSON line per change, append-only.
//
// A line is the whole entry after the change, with `v` and the keyring's `instance_id`, without
// `ledger_id`. A later line of the same subject replaces an earlier one.
// A line with `part` is a part of a plan: it counts once a later line claims its `parts_id`.
// A line with `checkpoint` is a signed checkpoint of a tenant's log: the newest one counts.
//
// A process never truncates the remains of a failed write, because another process may be writing
// there. It ends the line with `#torn` and the SHA-256 (hex) of the line up to that mark, which
// records that the line had no newline and was therefore never acknowledged.

import { createHash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { PRIVATE_FILE, syncDirectory } from '../durable-file.ts'
import type { LedgerEntry, LedgerPart, TenantCheckpoint } from '../keyring.ts'
import { KeyringError } from '../keyring-error.ts'

/** An entry without its number, which differs between keyrings. */
export type CopiedEntry = Omit<LedgerEntry, 'ledger_id'>

/** A change that is appended as one line. */
export type CopiedChange = LedgerEntry | LedgerPart | TenantCheckpoint

const VERSION = 2
const CHUNK_BYTES = 1024 * 1024
const NEWLINE = 0x0a
const TORN = '#torn '
const TORN_BYTES = TORN.length + 64

export class LedgerCopy {
  readonly #path: string
  readonly #instance_id: string
  readonly #fd: number
  /** End of the file after this process's last write. */
  #end: number | undefined
  #closed = false

  private constructor(path: string, instance_id: string, fd: number) {
    this.#path = path
    this.#instance_id = instance_id
    this.#fd = fd
  }

  static open(path: string, instance_id: string): LedgerCopy {
    try {
      const existed = existsSync(path)
      const fd = openSync(path, 'a+', PRIVATE_FILE)
      if (!existed) syncDirectory(dirname(path))
      return new LedgerCopy(path, instance_id, fd)
    } catch (error) {
      throw new KeyringError(
        'ledger_copy_failed',
        `the ledger copy ${path} cannot be opened`,
        error,
      )
    }
  }

  /**
   * Every entry and part of this keyring, oldest first. Skips lines of other keyrings and torn
   * lines, which were never acknowledged. Throws `ledger_copy_damaged` for any other unreadable
   * line, because skipping it could restore what it erased. Changes nothing, so others may append
   * meanwhile.
   */
  *read(): Generator<CopiedEntry | LedgerPart> {
    for (const line of this.#lines()) if (!('checkpoint' in line)) yield line
  }

  /** Every checkpoint of this keyring, oldest first. Skips and throws as `read` does. */
  *readCheckpoints(): Generator<TenantCheckpoint> {
    for (const line of this.#lines()) if ('checkpoint' in line) yield line
  }

  *#lines(): Generator<CopiedLine> {
    let number = 0
    for (const { bytes, whole } of linesOf(this.#fd)) {
      number += 1
      const line = parseLine(bytes)
      if (line && line.instance_id === this.#instance_id) yield line.value
      if (!line && whole && !isTorn(bytes))
        throw new KeyringError('ledger_copy_damaged', `${this.#path}: line ${number} is damaged`)
    }
  }

  /** Size in bytes, to pass to `rewind`. */
  get size(): number {
    return fstatSync(this.#fd).size
  }

  /**
   * Durable when it returns. If it throws, some lines or a part of a line may remain: those changes
   * were requested but not acknowledged.
   */
  append(changes: readonly CopiedChange[]): void {
    if (changes.length === 0) return
    const lines = changes.map((change) => this.#lineOf(change)).join('')
    try {
      // After the file is closed, the system may have reused its descriptor for another file.
      if (this.#closed) throw new Error('the copy is closed')
      // One write, because the system does not mix it with others. A short write is not continued,
      // since another process may have appended by then.
      const bytes = Buffer.from(endingOf(lastLine(this.#fd)) + lines)
      const before = this.size
      const written = writeSync(this.#fd, bytes)
      this.#end = before + written
      if (written < bytes.length)
        throw Object.assign(new Error('the write was cut short'), { code: 'ENOSPC' })
      fsyncSync(this.#fd)
    } catch (error) {
      throw new KeyringError('ledger_copy_failed', `${this.#path} cannot be written`, error)
    }
  }

  /**
   * Removes what was appended after `size`, if it is still the end of the file. Only for a keyring
   * of one process: another one could append between the check and the truncation.
   */
  rewind(size: number): void {
    try {
      if (this.#closed || this.size !== this.#end) return
      ftruncateSync(this.#fd, size)
      fsyncSync(this.#fd)
    } catch {
      // The caller reports the error that caused the rewind.
    }
  }

  close(): void {
    this.#closed = true
    closeSync(this.#fd)
  }

  #lineOf(change: CopiedChange): string {
    const head = { v: VERSION, instance_id: this.#instance_id }
    // Omits the number, which differs between keyrings.
    return `${JSON.stringify({ ...head, ...change, ledger_id: undefined })}\n`
  }
}

/** What to write before further lines, to end a last line that has no newline. */
function endingOf(last: Buffer): string {
  if (last.length === 0) return ''
  // A line that lacks only its newline counts.
  return parseLine(last) ? '\n' : `${TORN}${sha256(last)}\n`
}

/**
 * Whether the line is marked as torn. An empty line, or a mark alone, comes from a process that saw
 * a torn line whose end was written later.
 */
function isTorn(line: Buffer): boolean {
  if (line.length === 0) return true
  const at = line.length - TORN_BYTES
  if (at < 0 || line.toString('latin1', at, at + TORN.length) !== TORN) return false
  return at === 0 || line.toString('latin1', at + TORN.length) === sha256(line.subarray(0, at))
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** `whole`: false for a last line without its newline. */
function* linesOf(fd: number): Generator<{ readonly bytes: Buffer; readonly whole: boolean }> {
  const chunk = Buffer.alloc(CHUNK_BYTES)
  let rest = Buffer.alloc(0)
  // Reading a device never ends, so only a file has lines.
  const size = fstatSync(fd).size
  for (let at = 0; at < size; ) {
    const read = readSync(fd, chunk, 0, Math.min(chunk.length, size - at), at)
    if (read === 0) break
    at += read
    rest = Buffer.concat([rest, chunk.subarray(0, read)])
    let start = 0
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE, start)) {
      yield { bytes: rest.subarray(start, end), whole: true }
      start = end + 1
    }
    rest = rest.subarray(start)
  }
  if (rest.length > 0) yield { bytes: rest, whole: false }
}

/** The bytes after the last newline; usually none. */
function lastLine(fd: number): Buffer {
  let last = Buffer.alloc(0)
  for (let at = fstatSync(fd).size; at > 0; ) {
    const chunk = Buffer.alloc(last.length === 0 ? 1 : Math.min(CHUNK_BYTES, at))
    at -= chunk.length
    readSync(fd, chunk, 0, chunk.length, at)
    const newline = chunk.lastIndexOf(NEWLINE)
    last = Buffer.concat([chunk.subarray(newline + 1), last])
    if (newline >= 0) break
  }
  return last
}

type CopiedLine = CopiedEntry | LedgerPart | TenantCheckpoint

function parseLine(
  bytes: Buffer,
): { readonly instance_id: string; readonly value: CopiedLine } | null {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  // Parse boundary: validates the members that control destruction; the rest is only stored.
  const line = value as Record<string, unknown>
  const { v, instance_id, ...members } = line
  if (v !== VERSION || typeof instance_id !== 'string') return null
  const known = isEntry(members) || isPart(members) || isCheckpoint(members)
  return known ? { instance_id, value: members } : null
}

const KINDS_BESIDES = ['store', 'scrub', 'tenant', 'text']

function isEntry(entry: Record<string, unknown>): entry is Record<string, unknown> & CopiedEntry {
  const { tenant_id, subject_kind, subject, state, requested_us, completed_us, destroys } = entry
  return (
    typeof tenant_id === 'string' &&
    (isKind(subject_kind) || KINDS_BESIDES.some((kind) => kind === subject_kind)) &&
    typeof subject === 'string' &&
    Number.isSafeInteger(requested_us) &&
    (state === 'completed' ? Number.isSafeInteger(completed_us) : state === 'requested') &&
    Array.isArray(destroys) &&
    destroys.every((ref) => isKind(ref?.kind) && Number.isSafeInteger(ref?.number)) &&
    isParts(entry['parts'])
  )
}

function isParts(parts: unknown): boolean {
  if (typeof parts !== 'object' || parts === null) return parts === null
  const named = 'parts_id' in parts && typeof parts.parts_id === 'string'
  return named && 'count' in parts && Number.isSafeInteger(parts.count)
}

function isPart(line: Record<string, unknown>): line is Record<string, unknown> & LedgerPart {
  const { tenant_id, parts_id, part, renewals } = line
  return (
    typeof tenant_id === 'string' &&
    typeof parts_id === 'string' &&
    Number.isSafeInteger(part) &&
    Array.isArray(renewals) &&
    renewals.every(
      (one) =>
        Number.isSafeInteger(one?.number) &&
        Number.isSafeInteger(one?.renewed_as) &&
        typeof one?.box === 'string',
    )
  )
}

function isCheckpoint(
  line: Record<string, unknown>,
): line is Record<string, unknown> & TenantCheckpoint {
  const { tenant_id, generation, epoch_number, tree_size, root_hash, checkpoint } = line
  return (
    typeof tenant_id === 'string' &&
    [generation, epoch_number, tree_size].every((n) => Number.isSafeInteger(n)) &&
    typeof root_hash === 'string' &&
    /^[0-9a-f]{64}$/.test(root_hash) &&
    typeof checkpoint === 'string'
  )
}

function isKind(value: unknown): boolean {
  return value === 'fact' || value === 'decision'
}
