// The copy of the erasure ledger outside the data: one JSON line per change, never rewritten.
//
// A line is the whole entry as it stood after the change, with `v` and the keyring's
// `instance_id`, without `ledger_id`. A later line of the same subject replaces an earlier one.

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
import type { LedgerEntry } from './keyring.ts'
import { KeyringError } from './keyring-error.ts'

/** What a copy holds of an entry: its number is each keyring's own. */
export type CopiedEntry = Omit<LedgerEntry, 'ledger_id'>

const VERSION = 1
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
   * Every entry of this keyring, oldest first; lines of other keyrings are passed over. A torn
   * last line was never acknowledged and is cut off. `ledger_copy_damaged` for any other line
   * that does not read: skipping it could revive what it says was erased.
   */
  *read(): Generator<CopiedEntry> {
    let number = 0
    let end = 0
    let torn = false
    for (const { text, next, whole } of linesOf(this.#fd)) {
      number += 1
      const line = parseLine(text)
      if (line) {
        if (!whole) this.#endLine()
        if (line.instance_id === this.#instance_id) yield line.entry
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
  append(entries: readonly LedgerEntry[]): number {
    if (this.#torn !== undefined) this.rewind(this.#torn)
    const before = fstatSync(this.#fd).size
    if (entries.length === 0) return before
    const bytes = Buffer.from(entries.map((entry) => this.#lineOf(entry)).join(''))
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

  #lineOf({ ledger_id: _, ...entry }: LedgerEntry): string {
    const head = { v: VERSION, instance_id: this.#instance_id }
    return `${JSON.stringify({ ...head, ...entry })}\n`
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

function parseLine(text: string): { instance_id: string; entry: CopiedEntry } | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  // Parse boundary: the members that steer destruction are checked, the rest is only stored.
  const line = value as Record<string, unknown>
  const { v, instance_id, ...entry } = line
  if (v !== VERSION || typeof instance_id !== 'string' || !isEntry(entry)) return null
  return { instance_id, entry }
}

function isEntry(entry: Record<string, unknown>): entry is Record<string, unknown> & CopiedEntry {
  const { tenant_id, subject_kind, subject, state, requested_us, completed_us, destroys } = entry
  return (
    typeof tenant_id === 'string' &&
    (isKind(subject_kind) || subject_kind === 'store') &&
    typeof subject === 'string' &&
    Number.isSafeInteger(requested_us) &&
    (state === 'completed' ? Number.isSafeInteger(completed_us) : state === 'requested') &&
    Array.isArray(destroys) &&
    destroys.every((ref) => isKind(ref?.kind) && Number.isSafeInteger(ref?.number))
  )
}

function isKind(value: unknown): boolean {
  return value === 'fact' || value === 'decision'
}
