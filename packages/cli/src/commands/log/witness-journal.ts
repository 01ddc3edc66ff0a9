// What a witness remembers: an append-only file of the checkpoints that it cosigned.
//
// The first line names the key that cosigns. Then one line for each checkpoint; the last line of an
// origin is its state. Each line has its digest in front and is durable before its cosignature
// leaves; one that a crash cut off was never answered.

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
/** A file of more lines than this, most of them superseded, is written again at the start. */
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
   * `key`: the vkey of the witness; `unused`: it has cosigned nothing, so the file may be missing.
   * Throws CommandError for a file that is damaged, missing, in use, or that of another key.
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

  /** Durable when it returns. After an error it takes nothing more: what is on disk is unknown. */
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

/** False: the checkpoint contradicts one before it. */
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
  // Without its line feed the last line was being written when the process ended.
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  const lines = whole.split('\n').slice(0, -1)
  let owner: string | null = null
  for (const [i, line] of lines.entries()) {
    const [digest, json] = [line.slice(0, DIGEST_CHARS), line.slice(DIGEST_CHARS + 1)]
    const said = digestOf(json) === digest ? JSON.parse(json) : null
    if (i === 0 && typeof said?.key === 'string') owner = said.key
    // Without this line it could cosign an earlier tree: it does not start.
    else if (said === null || !take(heads, said))
      throw new CommandError(`${path} is damaged in line ${i + 1}`)
  }
  return { heads, lines: lines.length, bytes: Buffer.byteLength(whole), owner }
}

/** The file with the last line of each origin only; returns its length. */
function rewrite(path: string, key: string, heads: ReadonlyMap<string, WitnessedHead>): number {
  const said = [{ key }, ...[...heads.values()].map(({ checkpoint }) => checkpoint)]
  const text = said.map(lineOf).join('')
  replaceFile(path, text)
  return Buffer.byteLength(text)
}

/**
 * Two witnesses on one file would each cosign a tree that the other does not know of. The lock is
 * the system's, by way of SQLite: it ends with its process, whatever is written in the file, and
 * holds between containers that share the directory.
 */
function takeLock(lock: string): DatabaseSync {
  // Closing a second descriptor of the file would end a lock that this process has on it.
  if (!existsSync(lock)) closeSync(openSync(lock, 'a', PRIVATE_FILE))
  const held = new DatabaseSync(lock, { timeout: 0 })
  try {
    held.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE')
    return held
  } catch (error) {
    held.close()
    const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0
    // SQLITE_BUSY or SQLITE_LOCKED: somebody holds it.
    if (code === 5 || code === 6)
      throw new CommandError(`another process uses the state: it holds ${lock}`)
    throw new CommandError(`${lock} cannot be locked: remove it if no witness uses the state`)
  }
}
