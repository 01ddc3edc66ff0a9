// Actions of agents that a person approved: a step or a call of a run, or a memory that a model
// found in a conversation. A record has the salted commitment to the text.
import type { JsonObject } from '../core/canonical.ts'
import { isText, orNull } from '../core/shape.ts'
import { addCheck, type VerdictDraft } from '../core/verdict.ts'
import { checkShape, isDigest, isOneOf, isRecordId } from './document-shape.ts'
import type { RecordRules } from './registry-record.ts'

/** The action that is proposed and approved, in normal form. The text itself is kept elsewhere. */
export type AgentActionRequest = {
  readonly run_id: string
  readonly step_id: string
  /** The call; null if the action is the step itself. */
  readonly call_id: string | null
  readonly agent_id: string
  readonly operation: 'inference' | 'tool_execution' | 'memory.write'
  readonly effect: 'read' | 'idempotent' | 'once' | null
  readonly text_id: string
  /** Hex SHA-256 of salt ‖ text. */
  readonly commitment: string
}

const SHAPE = {
  action_id: isRecordId,
  run_id: isRecordId,
  step_id: isRecordId,
  call_id: orNull(isRecordId),
  agent_id: isRecordId,
  operation: isOneOf(['inference', 'tool_execution', 'memory.write']),
  effect: orNull(isOneOf(['read', 'idempotent', 'once'])),
  text_id: isRecordId,
  commitment: isDigest,
  gate: isText,
}

function requestOf(document: JsonObject): JsonObject {
  const { run_id = null, step_id = null, call_id = null, agent_id = null } = document
  const { operation = null, effect = null, text_id = null, commitment = null } = document
  return { run_id, step_id, call_id, agent_id, operation, effect, text_id, commitment }
}

function check(document: JsonObject, findings: VerdictDraft): void {
  checkShape(document, SHAPE, findings)
  const { operation, call_id, gate } = document
  const named = (operation !== 'inference') === (call_id !== null)
  addCheck(findings, 'operation', named, 'does not fit what is proposed')
  addCheck(findings, 'gate', gate === 'allowed', 'is not allowed')
  findings.notChecked.push('the text under the commitment: see the bundle of the run')
}

export const agentActionRules: RecordRules = {
  kind: 'agent_action',
  id_field: 'action_id',
  schema_version: 'run/1',
  requestOf,
  check,
}
