// Entries of the log that are of a run, and the turns of a workflow in them.

import type { JsonObject } from '../core/canonical.ts'
import { isCount, isObject, isText } from '../core/shape.ts'
import { addCheck, type VerdictDraft } from '../core/verdict.ts'

export interface LogEntry {
  readonly seq: number
  readonly event_type: string
  readonly subject: string
  readonly at: string
  readonly payload: JsonObject
}

/** Null: it is none. */
export function readEntry(value: unknown): LogEntry | null {
  if (!isObject(value)) return null
  const { seq, event_type, subject, payload } = value
  const at = String(value['created_at'] ?? value['timestamp'] ?? '')
  if (!isCount(seq) || !isText(event_type) || !isText(subject) || !isObject(payload)) return null
  return { seq, event_type, subject, at, payload }
}

/**
 * Who takes a turn when, by the mode of the workflow. A run of one agent has no turns.
 * @param entries in the order of the log
 */
export function checkWorkflow(entries: readonly LogEntry[], findings: VerdictDraft): void {
  const workflow = entries[0]?.payload['workflow']
  const mode = isObject(workflow) ? workflow['mode'] : null
  const agents = isObject(workflow) ? Number(workflow['agents']) : 0
  /** Of each turn: its agent, and the state of its newest step. */
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
          ? turn_no > delegated
          : turn_no > 0 && turns.get(turn_no - 1)?.state !== 'completed'
    if (early) wrong.push(`${subject}: its turn has not come`)
    if (mode !== 'parallel' && mode !== 'supervisor' && turns.has(turn_no + 1))
      wrong.push(`${subject}: its turn is over`)
    turns.set(turn_no, { agent: agent_id, state: 'permitted' })
    turnOf.set(subject, turn_no)
  }
  addCheck(findings, 'turns', wrong.length === 0, wrong[0])
}
