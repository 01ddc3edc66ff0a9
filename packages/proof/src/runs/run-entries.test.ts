// Turns of workflows and compensations that the verifier takes, and those that it finds.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startVerdict } from '../core/verdict.ts'
import { NEVER_UNDONE, UNDONE, type UndoEvent } from '../testing/undo-vectors.ts'
import { entriesOf, TAKEN_WORKFLOWS, WRONG_WORKFLOWS } from '../testing/workflow-vectors.ts'
import { checkCompensation, checkWorkflow } from './run-entries.ts'

function isTaken(mode: string | null, steps: readonly string[]): boolean {
  const findings = startVerdict()
  checkWorkflow(entriesOf(mode, steps), findings)
  return findings.checks.every(({ ok }) => ok)
}

for (const [mode, steps] of TAKEN_WORKFLOWS)
  test(`${mode ?? 'one agent'}: ${steps.join(' ')}`, () => assert.ok(isTaken(mode, steps)))

for (const [mode, steps] of WRONG_WORKFLOWS)
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
