// Turns of workflows and compensations that the verifier takes, and those that it finds.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startVerdict } from '../core/verdict.ts'
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

const stop = ['run.compensating', 'run', { state: 'failed', reason: 'model_failed' }] as const
const intend = (id: string, more = {}) =>
  ['tool.intended', id, { effect: 'once', ...more }] as const
const done = (id: string) => ['tool.completed', id, { state: 'done' }] as const
const undo = (id: string, of: string) => intend(id, { compensates: of })
const undone = (id: string, of: string, state = 'done') =>
  ['tool.compensated', id, { compensates: of, state }] as const
const end = (compensation?: string, more = {}) =>
  ['run.failed', 'run', { state: 'failed', reason: 'model_failed', compensation, ...more }] as const

type Event = readonly [string, string, Readonly<Record<string, unknown>>]

function isUndoTaken(events: readonly Event[]): boolean {
  const findings = startVerdict()
  const entries = events.map(([event_type, subject, payload], seq) => {
    const given = JSON.parse(JSON.stringify(payload))
    return { seq, event_type, subject, at: '', payload: given }
  })
  checkCompensation(entries, findings)
  return findings.checks.every(({ ok }) => ok)
}

const stoppedBy = (compensation_stopped: string, ...left: string[]) => ({
  compensation_stopped,
  left,
})
const cut: readonly Event[] = [
  intend('c', { effect: 'idempotent' }),
  ['tool.failed', 'c', { state: 'failed', reason: 'not_reported' }],
]
const both = [intend('a'), done('a'), intend('b'), done('b')]
const undoBoth = [undo('x', 'b'), undone('x', 'b'), undo('y', 'a'), undone('y', 'a')]
const UNDONE: Readonly<Record<string, readonly Event[]>> = {
  'a run that stops': [...both, end()],
  'nothing to undo': [end('complete')],
  'everything undone': [...both, stop, ...undoBoth, end('complete')],
  'one left': [...both, stop, undo('x', 'b'), undone('x', 'b'), end('partial')],
  'one refused': [...both, stop, undone('x', 'b', 'denied'), end('none')],
  'one listed as left': [...both, stop, ...undoBoth.slice(0, 2), end('partial', { left: ['a'] })],
  'ended by somebody': [...both, stop, end('none', stoppedBy('cancelled', 'b', 'a'))],
  'an idempotent call that was cut off': [...cut, stop, end('none', { left: ['c'] })],
}
for (const [name, events] of Object.entries(UNDONE))
  test(`compensation: ${name}`, () => assert.ok(isUndoTaken(events)))

const NEVER_UNDONE: typeof UNDONE = {
  'before it stops': [...both, ...undoBoth, end('complete')],
  twice: [...both, stop, ...undoBoth, undo('z', 'a'), undone('z', 'a'), end('complete')],
  'twice, by one call': [...both, stop, ...undoBoth, undone('y', 'a'), end('complete')],
  'of a call that was not done': [intend('a'), stop, undo('x', 'a'), undone('x', 'a'), end('none')],
  'more than it did': [...both, stop, undo('x', 'b'), undone('x', 'b'), end('complete')],
  'less than it did': [...both, stop, ...undoBoth, end('partial')],
  'without saying so': [...both, stop, ...undoBoth, end()],
  'and says it without': [...both, end('complete')],
  'and goes on': [...both, stop, intend('c'), done('c'), ...undoBoth, end('complete')],
  'and ends otherwise': [...both, stop, ...undoBoth, end('complete', { reason: 'cancelled' })],
  'and lists another': [...both, stop, end('none', { left: ['a'] })],
  'and lists what it undid': [...both, stop, ...undoBoth, end('complete', { left: ['a'] })],
  'and lists without stopping': [...both, end(undefined, { left: ['a', 'b'] })],
  'and hides what is left': [
    ...both,
    stop,
    end('none', { compensation_stopped: 'deadline_exceeded' }),
  ],
  'and is ended by nobody': [...both, stop, end('none', stoppedBy('policy', 'a', 'b'))],
  'and is ended after all': [...both, stop, ...undoBoth, end('complete', stoppedBy('cancelled'))],
  'and is ended before it stops': [...both, end(undefined, stoppedBy('cancelled', 'a', 'b'))],
  'and leaves a cut call out': [...cut, stop, end('complete')],
  'and stops again': [...both, stop, stop, ...undoBoth, end('complete')],
}
for (const [name, events] of Object.entries(NEVER_UNDONE))
  test(`a run never undoes ${name}`, () => assert.ok(!isUndoTaken(events)))
