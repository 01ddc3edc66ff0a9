// What a witness remembers: an append-only file of the checkpoints that it cosigned.
//
// One line for each, its digest in front; the last line of an origin is its state. A line is
// durable before its cosignature leaves, and one that a crash cut off was never answered.

import { hash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { parseCheckpoint } from '@custos/proof'
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
const lineOf = (checkpoint: string): string => {
  const text = JSON.stringify(checkpoint)
  return `${digestOf(text)} ${text}\n`
}

export class WitnessJournal {
  readonly #heads: Map<string, WitnessedHead>
  readonly #lock: string
  readonly #fd: number
  #bytes: number
  #failed = false

  /** Throws CommandError for a file that is damaged or in use. */
  constructor(path: string) {
    this.#lock = `${path}.lock`
    takeLock(this.#lock)
    try {
      const { heads, lines, bytes } = readHeads(path)
      this.#heads = heads
      const isLong = lines > COMPACT_LINES && lines > 2 * heads.size
      this.#bytes = isLong ? rewrite(path, heads) : bytes
      this.#fd = openSync(path, 'a', PRIVATE_FILE)
      ftruncateSync(this.#fd, this.#bytes)
      fsyncSync(this.#fd)
      syncDirectory(path)
    } catch (error) {
      releaseLock(this.#lock)
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
    releaseLock(this.#lock)
  }
}

function take(heads: Map<string, WitnessedHead>, checkpoint: string): void {
  const { origin, size, root } = parseCheckpoint(checkpoint)
  heads.set(origin, { size, root, checkpoint })
}

function readHeads(path: string) {
  const heads = new Map<string, WitnessedHead>()
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  // Without its line feed the last line was being written when the process ended.
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  const lines = whole.split('\n').slice(0, -1)
  for (const [i, line] of lines.entries()) {
    const [digest, json] = [line.slice(0, DIGEST_CHARS), line.slice(DIGEST_CHARS + 1)]
    // Without this line it could cosign an earlier tree: it does not start.
    if (digestOf(json) !== digest) throw new CommandError(`${path} is damaged in line ${i + 1}`)
    take(heads, JSON.parse(json))
  }
  return { heads, lines: lines.length, bytes: Buffer.byteLength(whole) }
}

/** The file with the last line of each origin only; returns its length. */
function rewrite(path: string, heads: ReadonlyMap<string, WitnessedHead>): number {
  const text = [...heads.values()].map(({ checkpoint }) => lineOf(checkpoint)).join('')
  replaceFile(path, text)
  return Buffer.byteLength(text)
}

/** Of this process. */
const locks = new Set<string>()

function releaseLock(lock: string): void {
  rmSync(lock, { force: true })
  locks.delete(lock)
}

// Two witnesses on one file would each cosign a tree that the other does not know of.
function takeLock(lock: string): void {
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx', mode: PRIVATE_FILE })
      locks.add(lock)
      return
    } catch (error) {
      if (!(error instanceof Error) || !('code' in error) || error.code !== 'EEXIST') throw error
    }
    if (isHeld(lock)) throw new CommandError(`another process uses the state: see ${lock}`)
    rmSync(lock, { force: true })
  }
}

/** A process that was killed leaves its lock behind; in a container the next one has its number. */
function isHeld(lock: string): boolean {
  const pid = Number(readFileSync(lock, 'utf8'))
  if (pid === process.pid) return locks.has(lock)
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
