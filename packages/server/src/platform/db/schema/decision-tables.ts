// The tables of decisions, of the agent runs that make them, and of their erasure: certificates and
// subject requests.

import type {
  CALL_STATES,
  COMPENSATIONS,
  ON_FAILURE,
  PROVIDER_KINDS,
  RUN_EXECUTORS,
  RUN_REASONS,
  RUN_STATES,
  STEP_STATES,
  TOOL_EFFECTS,
  TOOL_KINDS,
  WORKFLOW_MODES,
} from '@custos/contract'
import { blob, integer, nullable, real, tenantId, text } from './columns.ts'

export const decisionTables = {
  decisions: {
    tenant_id: tenantId,
    seq: integer,
    decision_id: blob('digest', 'BLAKE2b-128, fixed by the interface; a limit of certificates'),
    logged_us: integer,
    store_id: text('caller_label', 'a label of the caller, kept'),
    model_id: text('caller_label', 'a label of the caller, kept'),
    session_label: nullable(blob('digest', 'HMAC under the tenant label salt')),
    secret_no: integer,
    token_count: nullable(integer),
    latency_ms: nullable(real),
    memory_seq: integer,
    sealed: blob('sealed', 'the used facts are part of the key; sealed again, scrubbed'),
  },
  decision_facts: {
    tenant_id: tenantId,
    ref: integer,
    decision_seq: integer,
    bound: integer,
  },
  certificates: {
    tenant_id: tenantId,
    certificate_id: text('minted', 'certificate id'),
    subject_kind: text('enum', 'fact, decision or text'),
    subject: text('minted', 'ref, decision id, or kind and id of another record'),
    stands: integer,
    outcome: text('enum', 'outcomes'),
    completed_us: integer,
    log_seq: integer,
    record: text('composed', 'salted hash, ids, statuses; basis and requester as given'),
  },
  self_test_certificates: {
    tenant_id: tenantId,
    certificate_id: text('minted', 'certificate id'),
  },
  subject_requests: {
    tenant_id: tenantId,
    /** Log position of its entry. */
    seq: integer,
    request_id: blob('minted', 'random id'),
    kind: text('enum', 'kinds of requests'),
    status: text('enum', 'states of requests'),
    job_id: nullable(text('minted', 'job id')),
    /** Label of the search. */
    find_label: blob('digest', 'HMAC under the tenant label salt'),
    found_digest: blob('digest', 'of the ids of what was found'),
    facts: integer,
    superseded_facts: integer,
    decisions_using: integer,
    decisions_naming: integer,
    /** Null if created by an earlier version, which searched no other records. */
    texts: nullable(integer),
    held: integer,
    /** Log position of the first search; `searched_seq` is that of the last one. */
    log_seq: integer,
    searched_seq: integer,
    rounds: integer,
    /** Number of items with an outcome; `items` is the number of all. */
    items_done: integer,
    items: integer,
    received_us: integer,
    due_us: integer,
    extended_us: nullable(integer),
    created_us: integer,
    started_us: nullable(integer),
    completed_us: nullable(integer),
    made_by: text('minted', 'key id'),
    secret_no: integer,
    /** Null once the request is done. */
    sealed: nullable(blob('sealed', 'what was searched for; key destroyed at the end')),
    sealed_reason: nullable(blob('sealed', 'why it takes longer; goes with the search')),
    /** The signed manifest: ids, digests and numbers. */
    manifest: nullable(text('composed', 'signed statement: ids, counts, digests, times')),
  },
  subject_items: {
    tenant_id: tenantId,
    request_id: blob('minted', 'id of the request'),
    /**
     * `1:` and the ref in 16 digits, `2:` and the decision's id, or `3:` with kind and id of
     * another record. Items are listed in this order.
     */
    item: text('minted', 'ref, decision id, or kind and id of another record'),
    outcome: nullable(text('enum', 'outcomes of a manifest')),
    certificate_id: nullable(text('minted', 'certificate id')),
  },
}

const reason = nullable(text<(typeof RUN_REASONS)[number]>('enum', 'codes of why it ended'))
const evaluation = nullable(text('minted', 'evaluation id'))
const action = nullable(text('minted', 'record that waited for a person'))
const commitment = text('digest', 'under a salt that is sealed with the text')

/** Agents and runs: free text is sealed; the rest is ids, states, numbers and digests. */
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
    /** Null if destroyed. */
    sealed: nullable(blob('sealed', 'the facts it was made from are part of the key')),
    created_us: integer,
    destroyed_us: nullable(integer),
  },
  bound_text_facts: {
    tenant_id: tenantId,
    ref: integer,
    text_id: text('minted', 'id of the text'),
  },
  disclosures: {
    tenant_id: tenantId,
    ref: integer,
    recipient_id: text('minted', 'id of the provider or tool'),
    kind: text<'provider' | 'tool'>('enum', 'kinds of recipients'),
    step_id: text('minted', 'step that first sent it'),
    sent_us: integer,
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
    /** Null if it was never updated. */
    updated_us: nullable(integer),
  },
  llm_providers: {
    tenant_id: tenantId,
    provider_id: text('minted', 'random id'),
    model_key: text('digest', 'HMAC of the model under the tenant label salt'),
    kind: text<(typeof PROVIDER_KINDS)[number]>('enum', 'forms of requests'),
    enabled: integer,
    price_in_micro: integer,
    price_out_micro: integer,
    definition_label: text('digest', 'HMAC of the definition under the tenant label salt'),
    secret_no: integer,
    sealed: blob('sealed', 'model, address and key'),
    created_us: integer,
  },
  llm_tools: {
    tenant_id: tenantId,
    tool_id: text('minted', 'random id'),
    name_key: text('digest', 'HMAC under the tenant label salt'),
    version: integer,
    kind: text<(typeof TOOL_KINDS)[number]>('enum', 'kinds of tools'),
    effect: text<(typeof TOOL_EFFECTS)[number]>('enum', 'effect classes'),
    enabled: integer,
    definition_label: text('digest', 'HMAC of the definition under the tenant label salt'),
    secret_no: integer,
    sealed: blob('sealed', 'name, description, schema, address and headers'),
    created_us: integer,
  },
  workflows: {
    tenant_id: tenantId,
    workflow_id: text('minted', 'random id'),
    mode: text<(typeof WORKFLOW_MODES)[number]>('enum', 'how agents take turns'),
    /** JSON array. */
    agent_ids: text('composed', 'ids of agents'),
    supervisor_agent_id: nullable(text('minted', 'agent id')),
    max_rounds: integer,
    max_total_steps: integer,
    one_at_a_time: integer,
    definition_label: text('digest', 'HMAC of the definition under the tenant label salt'),
    secret_no: integer,
    sealed: blob('sealed', 'name and description'),
    /** Its newest run, or its own id while it is being deleted. */
    run_id: nullable(text('minted', 'run id')),
    created_us: integer,
  },
  runs: {
    tenant_id: tenantId,
    run_id: text('minted', 'random id'),
    agent_id: text('minted', 'agent id'),
    state: text<(typeof RUN_STATES)[number]>('enum', 'states of runs'),
    termination_reason: reason,
    input_text_id: nullable(text('minted', 'id of the text')),
    /** Null if there is no limit. */
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
    /** When the timer next checks it; null once it has ended. */
    check_us: nullable(integer),
    created_us: integer,
    ended_us: nullable(integer),
    /** Null means `client`. */
    executor: nullable(text<(typeof RUN_EXECUTORS)[number]>('enum', 'who asks the models')),
    job_id: nullable(text('minted', 'job of a managed run')),
    workflow_id: nullable(text('minted', 'workflow that it executes')),
    /** Null means `stop`. */
    on_failure: nullable(text<(typeof ON_FAILURE)[number]>('enum', 'what becomes of what it did')),
    /** Its final state, set while it compensates. */
    ends_as: nullable(text<(typeof RUN_STATES)[number]>('enum', 'states of runs')),
    compensation: nullable(text<(typeof COMPENSATIONS)[number]>('enum', 'how much was undone')),
    /** Deadline of its compensation; null if it does not compensate. */
    compensation_until_us: nullable(integer),
    compensation_stopped: nullable(
      text<(typeof RUN_REASONS)[number]>('enum', 'why it undid no more'),
    ),
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
    /** When its permit ends; null if it has none, or the permit has ended. */
    expires_us: nullable(integer),
    created_us: integer,
    ended_us: nullable(integer),
    provider_id: nullable(text('minted', 'who was asked by this service')),
    /** When this service called the model; null if it did not. */
    asked_us: nullable(integer),
    /** Turn of the workflow, from 0; null if the run has one agent only. */
    turn_no: nullable(integer),
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
    tool_id: nullable(text('minted', 'tool that this service calls')),
    /** When this service called the tool; null if it did not. */
    sent_us: nullable(integer),
    /** Null for a run of the caller, a turn of another agent, or a call older than kinds. */
    kind: nullable(text<(typeof TOOL_KINDS)[number]>('enum', 'kinds of tools')),
    record_id: nullable(text('minted', 'action of the world model that it proposed')),
    /** The call has no step, so `step_no` is 0. */
    compensates: nullable(text('minted', 'call that it undoes')),
  },
}
