// What a monitor keeps of a log: its last checkpoint, its tree, and erasures without certificate.

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

/** An erasure on the log whose certificate is not there yet. */
export interface OpenErasure {
  /** `ref 7`, or the id of a certificate. */
  readonly about: string
  readonly seq: number
  readonly created_at: string
}

export interface MonitorState {
  /** Null: no checkpoint was seen. */
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

/** Throws CommandError for a file that is not a whole state. */
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
  if (!fits(tree, note) || !Array.isArray(open)) throw new Error('parts that disagree')
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

/** Whether a tree is the one that a checkpoint signs. */
export const fits = (tree: Frontier, { size, root }: Checkpoint): boolean =>
  tree.size === size && equalBytes(frontierRoot(tree), root)

export function writeState(path: string, { frontier, ...state }: MonitorState): void {
  const file = {
    custos_monitor: FORMAT,
    ...state,
    frontier: toBase64(encodeFrontier(frontier)),
  }
  replaceFile(path, `${JSON.stringify(file, null, 2)}\n`)
}

/** The old text or the new one, whenever the machine stops. */
export function replaceFile(path: string, text: string): void {
  const next = `${path}.next`
  writeFileSync(next, text, { mode: 0o600, flush: true })
  renameSync(next, path)
  syncDirectory(path)
}

/** Makes the name of a file durable; Windows has no such call and needs none. */
export function syncDirectory(path: string): void {
  if (process.platform === 'win32') return
  const fd = openSync(dirname(path), 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
