// custos monitor: follows an audit log and reports misbehaviour, such as a fork or a gap.

import { setTimeout as delay } from 'node:timers/promises'
import { parseVerifierKey } from '@custos/proof'
import { formatTime, wallTime } from '@custos/server/clock'
import { CLIENT_HELP, CLIENT_OPTIONS, clientAddress } from '../../client-calls.ts'
import {
  type Command,
  CommandError,
  readArguments,
  requirePositionals,
  UsageError,
} from '../../command.ts'
import { startProgress } from '../../output.ts'
import { type FollowOptions, followLog, LogFinding } from './follow-log.ts'
import { type MonitorState, readState, replaceFile, writeState } from './monitor-state.ts'
import { LogUnreadable, TileReader } from './tile-reader.ts'
import { readLogKey } from './witness.ts'

const DAY_S = 86_400
const YEAR_MIN = 366 * 24 * 60
const MINUTE_US = 60_000_000

export const monitor: Command = {
  usage: '--url URL --key KEY… --state FILE [--once] [options]',
  help: `Follows the audit log of a tenant over its tiles: reads every entry, recomputes every root
and every hash of a tile, and keeps the last checkpoint. It reports a fork, a smaller tree, a gap, a
restored log, and an erasure whose certificate is missing. The credential needs the scopes
gcrumbs:read and erasure:read.

  --key KEY           public key of the log, 64 hex digits or a vkey, obtained in a way you trust;
                      the name in a vkey is the origin of the log. May be repeated
  --state FILE        what was seen so far; created if it is missing. Keep it from the operator
  --once              one round
  --interval SECONDS  time between rounds, 1 to 86400; default: 60
  --grace MINUTES     how long after an erasure its certificate may be missing; default: 60
${CLIENT_HELP}

Exit status 0: nothing found. 1: a finding; FILE.evidence has both checkpoints. 2: the log or FILE
could not be read or written. Without --once it goes on until it has a finding.`,
  run: runMonitor,
}

/** Exit status 1 is reserved for findings, because alarms depend on it. */
async function runMonitor(args: readonly string[]): Promise<number> {
  try {
    return await follow(args)
  } catch (error) {
    const isOfSystem = error instanceof Error && 'syscall' in error
    if (!(error instanceof CommandError || isOfSystem)) throw error
    console.error(`custos monitor: ${error.message}`)
    return 2
  }
}

async function follow(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    ...CLIENT_OPTIONS,
    key: { type: 'string', multiple: true },
    state: { type: 'string' },
    once: { type: 'boolean' },
    interval: { type: 'string', default: '60' },
    grace: { type: 'string', default: '60' },
  })
  requirePositionals(positionals)
  const { state: path, key: keys = [] } = values
  if (path === undefined || keys.length === 0)
    throw new UsageError('name --key KEY and --state FILE')
  const interval_ms = wholeNumber('interval', values.interval, 1, DAY_S) * 1_000
  const grace_us = wholeNumber('grace', values.grace, 0, YEAR_MIN) * MINUTE_US
  const reader = new TileReader(clientAddress(values))
  const log = { reader, keys: keys.map((key) => readLogKey(key, '--key')), origin: originOf(keys) }
  for (;;) {
    const status = await runRound(path, { ...log, due_at: formatTime(wallTime() - grace_us) })
    if (values.once || status === 1) return status
    await delay(interval_ms)
  }
}

async function runRound(path: string, options: Omit<FollowOptions, 'progress'>): Promise<number> {
  const state = readState(path)
  const progress = startProgress('monitor')
  try {
    const next = await followLog(state, { ...options, progress: (text) => progress.show(text) })
    progress.end()
    if (next.checkpoint !== null) writeState(path, next)
    console.log(roundLine(state, next))
    return 0
  } catch (error) {
    progress.end()
    if (error instanceof LogUnreadable) {
      console.error(`custos monitor: the log cannot be read: ${error.message}`)
      return 2
    }
    if (!(error instanceof LogFinding)) throw error
    report(path, state, error)
    return 1
  }
}

function roundLine(
  { frontier: before }: MonitorState,
  { checkpoint, frontier, open }: MonitorState,
) {
  if (checkpoint === null) return 'no checkpoint yet'
  const [origin] = checkpoint.split('\n', 1)
  const waiting = open.length === 0 ? '' : `, ${open.length} erasures wait for their certificate`
  return `${origin}: ${frontier.size} entries, ${frontier.size - before.size} new${waiting}`
}

// Saves the two signed checkpoints, which are the proof, for the person who judges the finding.
function report(path: string, { checkpoint: kept }: MonitorState, finding: LogFinding): void {
  const { kind, message, shown } = finding
  const evidence = { kind, message, kept, shown }
  console.log(`${kind}: ${message}`)
  try {
    replaceFile(`${path}.evidence`, `${JSON.stringify(evidence, null, 2)}\n`)
  } catch (error) {
    // A full disk must not hide a finding.
    const why = error instanceof Error ? error.message : 'unknown error'
    console.error(`custos monitor: the evidence could not be kept: ${why}`)
    console.error(JSON.stringify({ evidence }))
  }
}

function wholeNumber(name: string, text: string, min: number, max: number): number {
  if (/^[0-9]{1,7}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text)
  throw new UsageError(`--${name} takes a whole number from ${min} to ${max}`)
}

/** The origin: the name in a vkey; null if the keys are in hex without a name. */
function originOf(keys: readonly string[]): string | null {
  const named = keys.find((key) => key.includes('+'))
  if (named === undefined) return null
  try {
    return parseVerifierKey(named).name
  } catch {
    throw new UsageError('--key takes 64 hex digits or a vkey')
  }
}
