// The state of a witness: an append-only file of the checkpoints that it cosigned.
//
// The first line names the cosigning key. One line for each checkpoint follows; the last line of an
// origin is its state. Each line begins with its digest and is durable before the cosignature is
// sent, so a line that a crash cut off was never answered.

import { hash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { equalBytes, parseCheckpoint } from '@custos/proof'
import { CommandError } from '../../command.ts'
import { replaceFile, syncDirectory } from './monitor-state.ts'

interface WitnessedHead {
  readonly size: number
  readonly root: Uint8Array
  /** The signed checkpoint as the log sent it. */
  readonly checkpoint: string
}

const PRIVATE_FILE = 0o600
const DIGEST_CHARS = 16
/** A file with more lines than this, most of them superseded, is compacted at the start. */
const COMPACT_LINES = 1_000

const digestOf = (text: string): string => hash('sha256', text).slice(0, DIGEST_CHARS)
const lineOf = (said: string | { readonly key: string }): string => {
  const text = JSON.stringify(said)
  return `${digestOf(text)} ${text}\n`
}

export class WitnessJournal {
  readonly #heads: Map<string, WitnessedHead>
  readonly #lock: DatabaseSync
  readonly #fd: number
  #bytes: number
  #failed = false

  /**
   * `key` is the vkey of the witness. If `unused`, it has cosigned nothing and the file may be
   * missing. Throws CommandError if the file is damaged, missing, in use, or of another key.
   */
  constructor(path: string, { key, unused }: { key: string; unused: boolean }) {
    this.#lock = takeLock(`${path}.lock`)
    try {
      const { heads, lines, bytes, owner } = readHeads(path)
      if (lines === 0 && !unused) throw new CommandError(missing(path))
      if (owner !== null && owner !== key)
        throw new CommandError(`${path} is the state of another key: ${owner}`)
      this.#heads = heads
      const isLong = lines > COMPACT_LINES && lines > 2 * heads.size
      this.#bytes = isLong || owner === null ? rewrite(path, key, heads) : bytes
      this.#fd = openSync(path, 'a', PRIVATE_FILE)
      ftruncateSync(this.#fd, this.#bytes)
      fsyncSync(this.#fd)
      syncDirectory(path)
    } catch (error) {
      this.#lock.close()
      throw error
    }
  }

  find(origin: string): WitnessedHead | undefined {
    return this.#heads.get(origin)
  }

  /** Appends durably. After an error every further call throws: the state on disk is unknown. */
  append(checkpoint: string): void {
    if (this.#failed) throw new CommandError('the state could not be written: restart the witness')
    const bytes = Buffer.from(lineOf(checkpoint))
    try {
      for (let done = 0; done < bytes.length; ) done += writeSync(this.#fd, bytes, done)
      fsyncSync(this.#fd)
    } catch (error) {
      this.#failed = true
      ftruncateSync(this.#fd, this.#bytes)
      throw error
    }
    this.#bytes += bytes.length
    take(this.#heads, checkpoint)
  }

  close(): void {
    closeSync(this.#fd)
    this.#lock.close()
  }
}

const missing = (path: string): string =>
  `${path} is missing or empty, and its key was there before: a witness without its state would ` +
  'cosign a fork; make a new key, or pass --new-state if this one has never cosigned'

/** Records a checkpoint. Returns false if it contradicts an earlier one. */
function take(heads: Map<string, WitnessedHead>, checkpoint: string): boolean {
  const { origin, size, root } = parseCheckpoint(checkpoint)
  const last = heads.get(origin)
  if (last && (size < last.size || (size === last.size && !equalBytes(root, last.root))))
    return false
  heads.set(origin, { size, root, checkpoint })
  return true
}

function readHeads(path: string) {
  const heads = new Map<string, WitnessedHead>()
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  // A last line without a line feed was cut off when the process ended.
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  const lines = whole.split('\n').slice(0, -1)
  let owner: string | null = null
  for (const [i, line] of lines.entries()) {
    const [digest, json] = [line.slice(0, DIGEST_CHARS), line.slice(DIGEST_CHARS + 1)]
    const said = digestOf(json) === digest ? JSON.parse(json) : null
    if (i === 0 && typeof said?.key === 'string') owner = said.key
    // Without this line the witness could cosign an earlier tree, so it does not start.
    else if (said === null || !take(heads, said))
      throw new CommandError(`${path} is damaged in line ${i + 1}`)
  }
  return { heads, lines: lines.length, bytes: Buffer.byteLength(whole), owner }
}

/** Rewrites the file with only the last line of each origin. Returns its length. */
function rewrite(path: string, key: string, heads: ReadonlyMap<string, WitnessedHead>): number {
  const said = [{ key }, ...[...heads.values()].map(({ checkpoint }) => checkpoint)]
  const text = said.map(lineOf).join('')
  replaceFile(path, text)
  return Buffer.byteLength(text)
}

/**
 * Locks the state: two witnesses on one file would each cosign trees that the other does not know.
 * SQLite provides the lock of the operating system. It ends with the process, whatever the file
 * contains, and it works between containers that share the directory.
 */
function takeLock(lock: string): DatabaseSync {
  // Created only if missing: closing a second descriptor would release a lock of this process.
  if (!existsSync(lock)) closeSync(openSync(lock, 'a', PRIVATE_FILE))
  const held = new DatabaseSync(lock, { timeout: 0 })
  try {
    held.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE')
    return held
  } catch (error) {
    held.close()
    const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0
    // SQLITE_BUSY or SQLITE_LOCKED: another process holds the lock.
    if (code === 5 || code === 6)
      throw new CommandError(`another process uses the state: it holds ${lock}`)
    throw new CommandError(`${lock} cannot be locked: remove it if no witness uses the state`)
  }
}
