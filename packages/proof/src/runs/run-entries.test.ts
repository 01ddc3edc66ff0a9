// Turns of workflows and compensations that the verifier takes, and those that it finds.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startVerdict } from '../core/verdict.ts'
import { NEVER_UNDONE, UNDONE, type UndoEvent } from '../testing/undo-vectors.ts'
import { checkCompensation, checkWorkflow, type LogEntry } from './run-entries.ts'

/** `a0`: a step of agent a in turn 0 is permitted; `+a0`, `-a0`: it is completed, it fails. */
function entriesOf(mode: string | null, steps: readonly string[]): LogEntry[] {
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

function isTaken(mode: string | null, steps: readonly string[]): boolean {
  const findings = startVerdict()
  checkWorkflow(entriesOf(mode, steps), findings)
  return findings.checks.every(({ ok }) => ok)
}

const TAKEN: [string | null, string[]][] = [
  [null, ['a', '+a', 'b']],
  ['sequential', ['a0', '+a0', 'b1', '+b1', 'c2']],
  ['sequential', ['a0', '-a0', 'a0', '+a0', 'b1']],
  ['round_robin', ['a0', '+a0', 'b1', '+b1', 'a2']],
  ['parallel', ['a0', 'c2', 'b1', '+b1', '+a0']],
  ['supervisor', ['a0', 'call', 'b1', '+b1', 'a0', 'call', 'b2']],
  // Its first call was refused, or denied.
  ['supervisor', ['a0', 'call', 'b2']],
]
for (const [mode, steps] of TAKEN)
  test(`${mode ?? 'one agent'}: ${steps.join(' ')}`, () => assert.ok(isTaken(mode, steps)))

const WRONG: [string | null, string[]][] = [
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
for (const [mode, steps] of WRONG)
  test(`${mode ?? 'one agent'} is never: ${steps.join(' ')}`, () =>
    assert.ok(!isTaken(mode, steps)))

function isUndoTaken(events: readonly UndoEvent[]): boolean {
  const findings = startVerdict()
  const entries = events.map(([event_type, subject, payload], seq) => {
    const given = JSON.parse(JSON.stringify(payload))
    return { seq, event_type, subject, at: '', payload: given }
  })
  checkCompensation(entries, findings)
  return findings.checks.every(({ ok }) => ok)
}

for (const [name, events] of Object.entries(UNDONE))
  test(`compensation: ${name}`, () => assert.ok(isUndoTaken(events)))

for (const [name, events] of Object.entries(NEVER_UNDONE))
  test(`a run never undoes ${name}`, () => assert.ok(!isUndoTaken(events)))
