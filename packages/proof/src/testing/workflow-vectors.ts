// Turns of workflows that verifiers take, and those that they find.

import type { LogEntry } from '../runs/run-entries.ts'

/** `a0`: a step of agent a in turn 0 is permitted; `+a0`, `-a0`: it is completed, it fails. */
export function entriesOf(mode: string | null, steps: readonly string[]): LogEntry[] {
  const workflow = mode === null ? {} : { workflow: { mode, agents: 3 } }
  const events = steps.map((step): [string, LogEntry['payload']] => {
    if (step === 'call') return ['tool.intended', {}]
    if (step.startsWith('+')) return ['step.completed', { state: 'completed' }]
    if (step.startsWith('-')) return ['step.failed', { state: 'failed' }]
    const [agent_id = '', turn] = step
    return ['step.permitted', { agent_id, ...(turn !== undefined && { turn_no: Number(turn) }) }]
  })
  return [['run.started', workflow] as const, ...events].map(([event_type, payload], seq) => ({
    seq,
    event_type,
    subject: (steps[seq - 1] ?? 'run').replace(/^[+-]/, ''),
    at: '',
    payload,
  }))
}

/** By the mode of the workflow; null: a run of one agent. */
export const TAKEN_WORKFLOWS: [string | null, string[]][] = [
  [null, ['a', '+a', 'b']],
  ['sequential', ['a0', '+a0', 'b1', '+b1', 'c2']],
  ['sequential', ['a0', '-a0', 'a0', '+a0', 'b1']],
  ['round_robin', ['a0', '+a0', 'b1', '+b1', 'a2']],
  ['parallel', ['a0', 'c2', 'b1', '+b1', '+a0']],
  ['supervisor', ['a0', 'call', 'b1', '+b1', 'a0', 'call', 'b2']],
  // Its first call was refused, or denied.
  ['supervisor', ['a0', 'call', 'b2']],
]

export const WRONG_WORKFLOWS: [string | null, string[]][] = [
  [null, ['a0']],
  ['sequential', ['a']],
  ['sequential', ['b1']],
  ['sequential', ['a0', 'b1']],
  ['sequential', ['a0', '-a0', 'b1']],
  ['sequential', ['a0', '+a0', 'b1', 'a0']],
  ['sequential', ['a0', '-a0', 'b0']],
  ['round_robin', ['a0', '+a0', 'a2']],
  ['parallel', ['a0', 'b3']],
  ['supervisor', ['a0', 'b1']],
  ['supervisor', ['a0', 'call', 'b1', '+b1', 'b2']],
  ['supervisor', ['a0', 'call', 'b2', '+b2', 'b1']],
]
