// The state file of a log monitor: last checkpoint, tree frontier, erasures without a certificate.

import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import {
  type Checkpoint,
  decodeFrontier,
  EMPTY_FRONTIER,
  encodeFrontier,
  equalBytes,
  type Frontier,
  fromBase64,
  frontierRoot,
  GENESIS_PREV_ID,
  isObject,
  parseCheckpoint,
  toBase64,
} from '@custos/proof'
import { CommandError } from '../../command.ts'

/** An erasure on the log that has no certificate yet. */
export interface OpenErasure {
  /** The erased item, for messages: `memory 7` or `the text of certificate ID`. */
  readonly about: string
  readonly seq: number
  readonly created_at: string
}

export interface MonitorState {
  /** The last checkpoint; null if the monitor has not seen one yet. */
  readonly checkpoint: string | null
  readonly frontier: Frontier
  /** The id and the time of the last entry. */
  readonly last_id: string
  readonly last_at: string
  readonly open: readonly OpenErasure[]
}

const NEW_STATE: MonitorState = {
  checkpoint: null,
  frontier: EMPTY_FRONTIER,
  last_id: GENESIS_PREV_ID,
  last_at: '',
  open: [],
}

const FORMAT = 1

/** Returns an empty state if the file is missing. Throws CommandError if it is damaged. */
export function readState(path: string): MonitorState {
  if (!existsSync(path)) return NEW_STATE
  try {
    return parseState(JSON.parse(readFileSync(path, 'utf8')))
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) throw error
    throw new CommandError(`${path} is not the state of a monitor, or damaged`)
  }
}

function parseState(given: unknown): MonitorState {
  if (!isObject(given) || given['custos_monitor'] !== FORMAT) throw new Error('another format')
  const { checkpoint, frontier, last_id, last_at, open } = given
  const tree = decodeFrontier(fromBase64(String(frontier)))
  const note = parseCheckpoint(String(checkpoint))
  if (!matchesCheckpoint(tree, note) || !Array.isArray(open)) throw new Error('parts that disagree')
  return {
    checkpoint: String(checkpoint),
    frontier: tree,
    last_id: String(last_id),
    last_at: String(last_at),
    open: open.filter(isObject).map(({ about, seq, created_at }) => ({
      about: String(about),
      seq: Number(seq),
      created_at: String(created_at),
    })),
  }
}

/** Whether a tree has the size and root that a checkpoint signs. */
export const matchesCheckpoint = (tree: Frontier, { size, root }: Checkpoint): boolean =>
  tree.size === size && equalBytes(frontierRoot(tree), root)

export function writeState(path: string, { frontier, ...state }: MonitorState): void {
  const file = {
    custos_monitor: FORMAT,
    ...state,
    frontier: toBase64(encodeFrontier(frontier)),
  }
  replaceFile(path, `${JSON.stringify(file, null, 2)}\n`)
}

/** Replaces a file atomically and durably. After a crash it has the old or the new text. */
export function replaceFile(path: string, text: string): void {
  const next = `${path}.next`
  writeFileSync(next, text, { mode: 0o600, flush: true })
  renameSync(next, path)
  syncDirectory(path)
}

/** Flushes the directory entry of a file to the disk; not needed on Windows. */
export function syncDirectory(path: string): void {
  if (process.platform === 'win32') return
  const fd = openSync(dirname(path), 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
