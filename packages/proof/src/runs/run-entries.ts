// Log entries of a run: parsing, and the checks of workflow turns and of compensation.

import type { JsonObject } from '../core/canonical.ts'
import { isCount, isObject, isText } from '../core/shape.ts'
import { addCheck, type VerdictDraft } from '../core/verdict.ts'
import { mayHaveActed, UNDO_STOPS } from './transitions.ts'

export interface LogEntry {
  readonly seq: number
  readonly event_type: string
  readonly subject: string
  readonly at: string
  readonly payload: JsonObject
}

/** Parses a log entry; null if the value is not one. */
export function readEntry(value: unknown): LogEntry | null {
  if (!isObject(value)) return null
  const { seq, event_type, subject, payload } = value
  const at = String(value['created_at'] ?? value['timestamp'] ?? '')
  if (!isCount(seq) || !isText(event_type) || !isText(subject) || !isObject(payload)) return null
  return { seq, event_type, subject, at, payload }
}

/**
 * Checks that agents took their turns as the workflow's mode requires. A run of one agent has none.
 * @param entries the entries in the order of the log
 */
export function checkWorkflow(entries: readonly LogEntry[], findings: VerdictDraft): void {
  const workflow = entries[0]?.payload['workflow']
  const mode = isObject(workflow) ? workflow['mode'] : null
  const agents = isObject(workflow) ? Number(workflow['agents']) : 0
  /** The agent of each turn, and the state of its newest step. */
  const turns = new Map<number, { agent: unknown; state: unknown }>()
  const turnOf = new Map<string, number>()
  const wrong: string[] = []
  let delegated = 0
  for (const { event_type, subject, payload } of entries) {
    if (event_type === 'tool.intended') delegated += 1
    if (/^step\.(completed|denied|failed)$/.test(event_type)) {
      const turn = turns.get(turnOf.get(subject) ?? -1)
      if (turn) turn.state = payload['state']
    }
    if (event_type !== 'step.permitted') continue
    const { turn_no, agent_id } = payload
    if (mode === null ? turn_no !== undefined : !isCount(turn_no)) {
      wrong.push(`${subject}: ${mode === null ? 'a turn without a workflow' : 'no turn'}`)
      continue
    }
    if (!isCount(turn_no)) continue
    const known = turns.get(turn_no)
    if (known && known.agent !== agent_id) wrong.push(`${subject}: another agent in its turn`)
    const early =
      mode === 'parallel'
        ? turn_no >= agents
        : mode === 'supervisor'
          ? turn_no > 0 && !known && delegatedTurns(turns) >= delegated
          : turn_no > 0 && turns.get(turn_no - 1)?.state !== 'completed'
    if (early) wrong.push(`${subject}: its turn has not come`)
    if (mode !== 'parallel' && mode !== 'supervisor' && turns.has(turn_no + 1))
      wrong.push(`${subject}: its turn is over`)
    turns.set(turn_no, { agent: agent_id, state: 'permitted' })
    turnOf.set(subject, turn_no)
  }
  addCheck(findings, 'turns', wrong.length === 0, wrong[0])
}

/** Counts delegated turns. Their numbers have gaps: a refused or denied call skips its number. */
const delegatedTurns = (turns: ReadonlyMap<number, unknown>): number =>
  [...turns.keys()].filter((turn_no) => turn_no > 0).length

const ENDED = /^run\.(completed|denied|failed|terminated)$/

/**
 * Checks that a run undoes calls only after it has stopped, each at most once and only calls that
 * are done, and that its end states how much was undone and lists what is left.
 * @param entries the entries in the order of the log
 */
export function checkCompensation(entries: readonly LogEntry[], findings: VerdictDraft): void {
  const wrong: string[] = []
  const effects = new Map<string, unknown>()
  const states = new Map<string, Record<'state' | 'reason', unknown>>()
  /** For each call that is undone, the call that undoes it and the state of that call. */
  const undone = new Map<string, { by: string; state: unknown }>()
  let stopped: LogEntry | null = null
  for (const entry of entries) {
    const { event_type, subject, payload } = entry
    const { compensates } = payload
    if (event_type === 'run.compensating') {
      if (stopped) wrong.push(`${entry.seq}: it stops twice`)
      stopped = entry
    } else if (ENDED.test(event_type)) checkEnd(entry, { stopped, effects, states, undone }, wrong)
    else if (event_type === 'tool.compensated' || isText(compensates)) {
      const call_id = String(compensates)
      const known = undone.get(call_id)
      if (!stopped) wrong.push(`${subject}: it undoes a call of a run that goes on`)
      if (states.get(call_id)?.state !== 'done')
        wrong.push(`${subject}: it undoes what was not done`)
      if (known && (known.by !== subject || known.state !== 'intended'))
        wrong.push(`${subject}: it undoes a call again`)
      const intended = event_type === 'tool.intended'
      undone.set(call_id, { by: subject, state: intended ? 'intended' : payload['state'] })
    } else if (stopped && /^(run|step|tool)\./.test(event_type))
      wrong.push(`${entry.seq}: after the run has stopped`)
    else if (event_type === 'tool.intended') effects.set(subject, payload['effect'])
    else if (event_type.startsWith('tool.'))
      states.set(subject, { state: payload['state'], reason: payload['reason'] })
  }
  addCheck(findings, 'compensation', wrong.length === 0, wrong[0])
}

function checkEnd(
  { payload, seq }: LogEntry,
  {
    stopped,
    effects,
    states,
    undone,
  }: {
    readonly stopped: LogEntry | null
    readonly effects: ReadonlyMap<string, unknown>
    readonly states: ReadonlyMap<string, Record<'state' | 'reason', unknown>>
    readonly undone: ReadonlyMap<string, { readonly state: unknown }>
  },
  wrong: string[],
): void {
  const { state, reason, compensation, compensation_stopped, left } = payload
  const acted = [...effects].flatMap(([id, effect]) => {
    const end = states.get(id)
    // Services that do not write `left` do not count interrupted calls, whether sent or not.
    const why = left === undefined ? null : end?.reason
    return end && mayHaveActed(effect, end.state, why) ? [id] : []
  })
  const remaining = acted.filter((id) => undone.get(id)?.state !== 'done')
  const some = remaining.length === acted.length ? 'none' : 'partial'
  const said = remaining.length === 0 ? 'complete' : some
  if (stopped ? compensation !== said : compensation !== undefined && acted.length > 0)
    wrong.push(`${seq}: it says that something else was undone`)
  const listed = left === undefined ? [] : Array.isArray(left) ? left.toSorted() : null
  if (left !== undefined && (!stopped || String(listed) !== String(remaining.toSorted())))
    wrong.push(`${seq}: it lists something else as left`)
  if (compensation_stopped !== undefined) {
    const known = UNDO_STOPS.some((one) => one === compensation_stopped)
    if (!known || !stopped || remaining.length === 0 || left === undefined)
      wrong.push(`${seq}: it ends an undoing that was not under way`)
  }
  const as = stopped?.payload ?? { state, reason }
  if (as['state'] !== state || as['reason'] !== reason) wrong.push(`${seq}: it stopped otherwise`)
}
