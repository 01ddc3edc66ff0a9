// The tables of agents and runs: words are sealed, all else is ids, states, numbers and digests.

import type { CALL_STATES, RUN_STATES, STEP_STATES, TOOL_EFFECTS } from '@custos/contract'
import { blob, integer, nullable, tenantId, text } from './columns.ts'

const reason = nullable(text('enum', 'codes of why it ended'))
const evaluation = nullable(text('minted', 'evaluation id'))
const action = nullable(text('minted', 'record that waited for a person'))
const commitment = text('digest', 'under a salt that is sealed with the text')

export const runTables = {
  bound_texts: {
    tenant_id: tenantId,
    text_id: text('minted', 'random id'),
    kind: text<'run_input' | 'step_input' | 'step_output' | 'call_args' | 'call_result'>(
      'enum',
      'kinds of texts',
    ),
    run_id: text('minted', 'run id'),
    secret_no: integer,
    /** Null: destroyed. */
    sealed: nullable(blob('sealed', 'the facts it was made from are part of the key')),
    created_us: integer,
    destroyed_us: nullable(integer),
  },
  bound_text_facts: {
    tenant_id: tenantId,
    ref: integer,
    text_id: text('minted', 'id of the text'),
  },
  agents: {
    tenant_id: tenantId,
    agent_id: text('minted', 'random id'),
    version: integer,
    name_key: text('digest', 'HMAC under the tenant label salt'),
    definition_label: text('digest', 'HMAC of the definition under the tenant label salt'),
    enabled: integer,
    max_steps: integer,
    max_tokens_per_step: integer,
    secret_no: integer,
    sealed: blob('sealed', 'name, description, prompt and tools'),
    created_us: integer,
  },
  runs: {
    tenant_id: tenantId,
    run_id: text('minted', 'random id'),
    agent_id: text('minted', 'agent id'),
    state: text<(typeof RUN_STATES)[number]>('enum', 'states of runs'),
    termination_reason: reason,
    input_text_id: nullable(text('minted', 'id of the text')),
    /** Null: no limit. */
    budget_tokens: nullable(integer),
    budget_cost_micro: nullable(integer),
    reserved_tokens: integer,
    reserved_cost_micro: integer,
    spent_tokens: integer,
    spent_cost_micro: integer,
    steps: integer,
    max_steps: integer,
    receipts: integer,
    last_receipt_digest: nullable(text('digest', 'SHA-256 of a receipt, which holds no content')),
    started_by: text('minted', 'key id'),
    deadline_us: integer,
    /** When the timer looks at it; null: it has ended. */
    check_us: nullable(integer),
    created_us: integer,
    ended_us: nullable(integer),
  },
  run_steps: {
    tenant_id: tenantId,
    run_id: text('minted', 'run id'),
    step_no: integer,
    step_id: text('minted', 'random id'),
    agent_id: text('minted', 'agent id'),
    state: text<(typeof STEP_STATES)[number]>('enum', 'states of steps'),
    reason,
    store_id: nullable(text('caller_label', 'a label of the caller, kept')),
    model_id: text('caller_label', 'a label of the caller, kept'),
    input_text_id: text('minted', 'id of the text'),
    input_commitment: commitment,
    /** `{retrieved: refs, inherited: refs}` */
    sources: text('composed', 'numbers of memories'),
    memory_seq: integer,
    policy_set: integer,
    evaluation_id: evaluation,
    action_id: action,
    permit: nullable(text('minted', 'random id')),
    reserved_tokens: integer,
    reserved_cost_micro: integer,
    tokens_in: nullable(integer),
    tokens_out: nullable(integer),
    cost_micro: nullable(integer),
    decision_id: nullable(text('digest', 'BLAKE2b-128, fixed by the interface')),
    output_text_id: nullable(text('minted', 'id of the text')),
    receipt: nullable(text('composed', 'signed statement: ids, numbers, commitments, times')),
    /** When its permit ends; null: it has none, or has ended. */
    expires_us: nullable(integer),
    created_us: integer,
    ended_us: nullable(integer),
  },
  run_calls: {
    tenant_id: tenantId,
    run_id: text('minted', 'run id'),
    step_no: integer,
    call_no: integer,
    call_id: text('minted', 'random id'),
    state: text<(typeof CALL_STATES)[number]>('enum', 'states of calls'),
    reason,
    effect: text<(typeof TOOL_EFFECTS)[number]>('enum', 'effect classes'),
    args_text_id: text('minted', 'id of the text'),
    args_commitment: commitment,
    result_text_id: nullable(text('minted', 'id of the text')),
    result_commitment: nullable(commitment),
    policy_set: integer,
    evaluation_id: evaluation,
    action_id: action,
    created_us: integer,
    ended_us: nullable(integer),
  },
}
