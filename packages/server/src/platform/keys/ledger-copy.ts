// The copy of ledger and checkpoints outside the data: one JSON line per change, never rewritten.
//
// A line is the whole entry as it stood after the change, with `v` and the keyring's
// `instance_id`, without `ledger_id`. A later line of the same subject replaces an earlier one.
// A line with `part` is a part of a plan: it counts once a later line claims its `parts_id`.
// A line with `checkpoint` is a signed checkpoint of a tenant's log: the newest one counts.

import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { PRIVATE_FILE, syncDirectory, writeFully } from './durable-file.ts'
import type { LedgerEntry, LedgerPart, TenantCheckpoint } from './keyring.ts'
import { KeyringError } from './keyring-error.ts'

/** What a copy holds of an entry: its number is each keyring's own. */
export type CopiedEntry = Omit<LedgerEntry, 'ledger_id'>

/** What is appended as one line. */
export type CopiedChange = LedgerEntry | LedgerPart | TenantCheckpoint

const VERSION = 2
const CHUNK_BYTES = 1024 * 1024
const NEWLINE = 0x0a

export class LedgerCopy {
  readonly #path: string
  readonly #instance_id: string
  readonly #fd: number
  // Where a write of ours failed and could not be taken back yet. Nothing else is ever cut off:
  // another keyring may be appending to the same file.
  #torn: number | undefined

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
      throw new KeyringError('ledger_copy_failed', `${path} cannot be opened`, error)
    }
  }

  /**
   * Every entry and part of this keyring, oldest first; lines of other keyrings are passed over.
   * A torn last line was never acknowledged and is cut off. `ledger_copy_damaged` for any other
   * line that does not read: skipping it could revive what it says was erased.
   */
  *read(): Generator<CopiedEntry | LedgerPart> {
    for (const line of this.#lines()) if (!('checkpoint' in line)) yield line
  }

  /** Every checkpoint of this keyring, oldest first; otherwise as `read`. */
  *readCheckpoints(): Generator<TenantCheckpoint> {
    for (const line of this.#lines()) if ('checkpoint' in line) yield line
  }

  *#lines(): Generator<CopiedLine> {
    let number = 0
    let end = 0
    let torn = false
    for (const { text, next, whole } of linesOf(this.#fd)) {
      number += 1
      const line = parseLine(text)
      if (line) {
        if (!whole) this.#endLine()
        if (line.instance_id === this.#instance_id) yield line.value
      } else if (!whole) {
        torn = true
      } else {
        throw new KeyringError('ledger_copy_damaged', `${this.#path}: line ${number} is damaged`)
      }
      if (line) end = whole ? next : next + 1
    }
    if (torn) this.#cut(end)
  }

  /** Durable when it returns; on failure nothing of it stays. The size to `rewind` to. */
  append(changes: readonly CopiedChange[]): number {
    if (this.#torn !== undefined) this.rewind(this.#torn)
    const before = fstatSync(this.#fd).size
    if (changes.length === 0) return before
    const bytes = Buffer.from(changes.map((change) => this.#lineOf(change)).join(''))
    try {
      if (this.#torn !== undefined) throw new Error('an earlier failed write is still there')
      writeFully(this.#fd, bytes, null)
      fsyncSync(this.#fd)
    } catch (error) {
      this.rewind(this.#torn ?? before)
      throw new KeyringError('ledger_copy_failed', `${this.#path} cannot be written`, error)
    }
    return before
  }

  /** Takes back what was appended since; if that fails too, the next append does it first. */
  rewind(size: number): void {
    this.#torn = size
    try {
      this.#cut(size)
      this.#torn = undefined
    } catch {
      // The error that led here is the one to report.
    }
  }

  close(): void {
    closeSync(this.#fd)
  }

  #lineOf(change: CopiedChange): string {
    const head = { v: VERSION, instance_id: this.#instance_id }
    // A number is each keyring's own: left out.
    return `${JSON.stringify({ ...head, ...change, ledger_id: undefined })}\n`
  }

  #cut(size: number): void {
    ftruncateSync(this.#fd, size)
    fsyncSync(this.#fd)
  }

  #endLine(): void {
    writeFully(this.#fd, Buffer.of(NEWLINE), null)
    fsyncSync(this.#fd)
  }
}

interface Line {
  readonly text: string
  /** Offset just after the line and its newline, if it has one. */
  readonly next: number
  /** False for a last line without its newline. */
  readonly whole: boolean
}

function* linesOf(fd: number): Generator<Line> {
  const chunk = Buffer.alloc(CHUNK_BYTES)
  let rest = Buffer.alloc(0)
  let offset = 0
  // A device can be read without end; only what a file holds is lines.
  const size = fstatSync(fd).size
  for (let at = 0; at < size; ) {
    const read = readSync(fd, chunk, 0, Math.min(chunk.length, size - at), at)
    if (read === 0) break
    at += read
    rest = Buffer.concat([rest, chunk.subarray(0, read)])
    let start = 0
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE, start)) {
      yield { text: rest.toString('utf8', start, end), next: offset + end + 1, whole: true }
      start = end + 1
    }
    offset += start
    rest = rest.subarray(start)
  }
  if (rest.length > 0)
    yield { text: rest.toString('utf8'), next: offset + rest.length, whole: false }
}

type CopiedLine = CopiedEntry | LedgerPart | TenantCheckpoint

interface Parsed {
  readonly instance_id: string
  readonly value: CopiedLine
}

function parseLine(text: string): Parsed | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  // Parse boundary: the members that steer destruction are checked, the rest is only stored.
  const line = value as Record<string, unknown>
  const { v, instance_id, ...members } = line
  if (v !== VERSION || typeof instance_id !== 'string') return null
  const known = isEntry(members) || isPart(members) || isCheckpoint(members)
  return known ? { instance_id, value: members } : null
}

function isEntry(entry: Record<string, unknown>): entry is Record<string, unknown> & CopiedEntry {
  const { tenant_id, subject_kind, subject, state, requested_us, completed_us, destroys } = entry
  return (
    typeof tenant_id === 'string' &&
    (isKind(subject_kind) || subject_kind === 'store' || subject_kind === 'scrub') &&
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
