// The closed payload schema of every event on the audit log: generated ids, integers, enums, times
// and digests. Texts of callers appear only as labels: HMAC-SHA256 under a salt of the tenant.

import Type, { type Static, type TSchema } from 'typebox'
import { SUBSCRIPTION_STATUSES } from '../access/billing.ts'
import { Hex16, Hex32, Ref } from '../core/common.ts'
import { ROLES } from '../core/scopes.ts'
import { TextKindName } from '../erasure/erasure.ts'
import {
  ASSURANCE_CHECKS,
  ASSURANCE_STATUSES,
  ASSURANCE_TRIGGERS,
  CHECK_STATUSES,
} from '../governance/assurance.ts'
import { KNOWN_OPERATIONS, OPERATION_ALIASES } from '../governance/policy-configs.ts'
import { REPORT_FINDINGS, REPORT_TYPES } from '../governance/reports.ts'
import { JUDGMENTS, OUTCOMES, VERIFIABILITY_TAGS } from '../governance/reputation-records.ts'
import { EMBEDDERS } from '../memory/memory-records.ts'
import { PROVIDER_KINDS } from '../orchestrator/llm.ts'
import {
  CALL_STATES,
  COMPENSATIONS,
  RUN_REASONS,
  RUN_STATES,
  STEP_STATES,
  TOOL_EFFECTS,
  WORKFLOW_MODES,
} from '../orchestrator/orchestrator-records.ts'

const closed = <const P extends Record<string, TSchema>>(properties: P) =>
  Type.Object(properties, { additionalProperties: false })

const Seq = Type.Integer({ minimum: 0 })
const Count = Type.Integer({ minimum: 0 })
const KeyId = Type.String({ pattern: '^[0-9a-f]{16,64}$' })
const MintedId = Type.String({ pattern: '^[a-z0-9_-]{1,64}$' })
/** A label: HMAC-SHA256 of a text of the caller, in hexadecimal. */
const LabelMac = Hex32

const PolicyChange = closed({
  policy_type: MintedId,
  action: MintedId,
  enabled: Type.Boolean(),
  priority: Type.Integer(),
  version: Count,
  policy_set: Count,
  /** Label of name, description and configuration together. */
  label: LabelMac,
  changed_by: MintedId,
})

/** Names of operations. Entries written before an operation was renamed have its earlier name. */
const OPERATIONS = [...KNOWN_OPERATIONS, ...Object.keys(OPERATION_ALIASES)]

/** Subject: the id of the evaluation. The name of an unknown operation is a text of the caller. */
const Evaluated = closed({
  operation: Type.Union([Type.Enum(OPERATIONS), LabelMac]),
  policy_set: Count,
  policies: Type.Array(
    closed({ policy_id: MintedId, version: Count, result: MintedId, reason: MintedId }),
  ),
})

/** Subject: the id of the record. */
const RecordChange = closed({
  proposal_digest: Hex32,
  /** SHA-256 of the signed bytes; null where nothing is signed. */
  record_digest: Type.Union([Hex32, Type.Null()]),
  policy_set: Count,
  evaluation_id: Type.Union([MintedId, Type.Null()]),
  /** Id of the approval request; null if none was needed. */
  request_id: Type.Union([Hex16, Type.Null()]),
  /** Code of the reason for a denial. */
  reason: Type.Union([MintedId, Type.Null()]),
})

/** Subject: the id of the request. */
const ApprovalDecided = closed({
  record_kind: MintedId,
  record_id: Hex16,
  proposal_digest: Hex32,
  /** Label of the name or id of the approver. */
  approver_label: LabelMac,
  decided_by: MintedId,
  /** SHA-256 of the signed bytes of the approval record. */
  record_digest: Hex32,
})

/** Subject: the id of the approver. */
const ApproverChange = closed({ key_digest: Hex32, active: Type.Boolean(), changed_by: MintedId })

/** Marks entries about the store of a self-test and about erasures in it. */
const selfTest = { self_test: Type.Optional(Type.Literal(true)) }
const Hidden = Type.Union([LabelMac, Type.Null()])
const EventTime = Type.String({ pattern: '^[0-9TZ:.-]{27}$' })

const EndReason = Type.Union([Type.Enum(RUN_REASONS), Type.Null()])

/** A run that ended. Subject: the id of the run. */
const RunEnded = closed({
  state: Type.Enum(RUN_STATES),
  reason: EndReason,
  receipts: Count,
  spent_tokens: Count,
  spent_cost_micro: Count,
  /** Present if the run compensates. */
  compensation: Type.Optional(Type.Enum(COMPENSATIONS)),
  /** Ids of the calls that acted, or may have acted, and were not undone. */
  left: Type.Optional(Type.Array(Hex16)),
  /** Why compensation stopped before every call was tried. */
  compensation_stopped: Type.Optional(Type.Enum(RUN_REASONS)),
})

/** A step that ended. Subject: the id of the step. */
const StepEnded = closed({
  run_id: Hex16,
  state: Type.Enum(STEP_STATES),
  reason: EndReason,
  /** SHA-256 of the signed bytes. */
  receipt_digest: Hex32,
})

/** A tool call that ended. Subject: the id of the call. */
const CallEnded = closed({
  run_id: Hex16,
  step_id: Hex16,
  state: Type.Enum(CALL_STATES),
  reason: EndReason,
})

const PlanOfTenant = Type.Enum(['starter', 'pro', 'enterprise', 'local'])

const RoleNames = Type.Array(Type.Enum([...ROLES]))

/** Why a sign-in through a provider was refused. */
export const SIGN_IN_REFUSALS = [
  'provider_error',
  'provider_unavailable',
  'answer_invalid',
  'token_invalid',
  'roles_unknown',
  'role_unmapped',
  'not_invited',
  'email_unverified',
  'domain_foreign',
  'email_taken',
  'too_many',
] as const
export type SignInRefusal = (typeof SIGN_IN_REFUSALS)[number]

export const eventPayloads = {
  'tenant.created': closed({
    plan: PlanOfTenant,
    signing_keys: Type.Array(closed({ purpose: MintedId, key_id: KeyId })),
  }),
  /** `limits`: SHA-256 of the limits that apply from now on; null if the plan has none. */
  'tenant.plan_changed': closed({
    from: PlanOfTenant,
    to: PlanOfTenant,
    limits: Type.Union([Hex32, Type.Null()]),
    overridden: Type.Boolean(),
  }),
  'billing.subscription_changed': closed({
    from: Type.Enum([...SUBSCRIPTION_STATUSES]),
    to: Type.Enum([...SUBSCRIPTION_STATUSES]),
    plan: PlanOfTenant,
  }),
  'billing.usage_reported': closed({
    meter: Type.Enum(['governed_decisions']),
    from_total: Count,
    to_total: Count,
  }),
  /** The provider names a customer or a subscription that belongs to another tenant. */
  'billing.conflict': closed({}),
  'quota.threshold_reached': closed({
    quota: Type.Enum(['governed_decisions']),
    percent: Count,
    limit: Count,
    /** A month, or the first day of a billing period. */
    period: Type.String({ pattern: '^[0-9]{4}-[0-9]{2}(-[0-9]{2})?$' }),
  }),
  'tenant.key_created': closed({ key_id: MintedId, class: MintedId }),
  'tenant.key_rotated': closed({ key_id: MintedId, revoked: Count }),
  'tenant.key_revoked': closed({ key_id: MintedId }),
  /** The last entry of an audit log, unless older data were restored later. */
  'tenant.destroyed': closed({
    certificate_id: Hex16,
    stores: Count,
    facts: Count,
    decisions: Count,
    records: Count,
  }),
  'signing_key.rotated': closed({
    purpose: MintedId,
    key_id: KeyId,
    previous_key_id: Type.Union([KeyId, Type.Null()]),
  }),
  'signing_key.retired': closed({ purpose: MintedId, key_id: KeyId }),
  'store.created': closed({ tokenizer: Type.Enum(['o200k_base', 'chars']), ...selfTest }),
  'store.embedder_changed': closed({
    embedder: Type.Enum(EMBEDDERS),
    previous: Type.Enum(EMBEDDERS),
  }),
  'store.reembedded': closed({
    embedder: Type.Enum(EMBEDDERS),
    count: Count,
    first_ref: Ref,
    last_ref: Ref,
  }),
  'store.deleted': closed({ facts: Count }),
  /** Subject of the next four: the id of the store. */
  'retention.set': closed({
    retain_days: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]),
    set_by: MintedId,
  }),
  'retention.erased': closed({
    job_id: MintedId,
    retain_days: Type.Integer({ minimum: 1 }),
    erased: Count,
    /** `given_up`: it failed too often. The next tick of the timer starts another run. */
    ended_by: Type.Enum([
      'nothing_left',
      'legal_hold',
      'retention_changed',
      'store_deleted',
      'given_up',
    ]),
  }),
  'hold.placed': closed({
    hold_id: Hex16,
    until_at: Type.Union([EventTime, Type.Null()]),
    already_erasing: Count,
    placed_by: MintedId,
  }),
  'hold.released': closed({ hold_id: Hex16, released_by: MintedId }),
  'memory.written': closed({
    count: Count,
    first_ref: Ref,
    last_ref: Ref,
    commitments_root: Hex32,
  }),
  'memory.superseded': closed({ ref: Ref, old_ref: Ref, commitments_root: Hex32 }),
  'memory.erased': closed({
    ref: Ref,
    predecessor: Type.Union([Ref, Type.Null()]),
    ...selfTest,
  }),
  'erasure.certified': closed({
    subject_kind: Type.Enum(['fact', 'decision', 'text']),
    ref: Type.Union([Ref, Type.Null()]),
    outcome: Type.Enum(['erased', 'already_absent', 'nothing_found']),
    scrubbed: Count,
    digest: Hex32,
    ...selfTest,
  }),
  'decision.logged': closed({
    record_digest: Hex32,
    store_label: LabelMac,
    refs: Count,
    memory_seq: Seq,
  }),
  'decision.scrubbed': closed({ ref: Type.Union([Ref, Type.Null()]), redactions: Count }),
  'decision.redacted': closed({ certificate_id: Hex16 }),
  /** Subject: the id of the record. */
  'text.redacted': closed({ text_kind: TextKindName, certificate_id: Hex16 }),
  'policy.created': PolicyChange,
  'policy.updated': PolicyChange,
  'policy.deleted': PolicyChange,
  'evaluation.denied': Evaluated,
  'evaluation.escalated': Evaluated,
  'landing.waiting_hitl': RecordChange,
  'landing.issued': RecordChange,
  'landing.denied': RecordChange,
  'landing.expired': RecordChange,
  'artifact.waiting_hitl': RecordChange,
  'artifact.registered': RecordChange,
  'artifact.denied': RecordChange,
  'artifact.expired': RecordChange,
  'artifact.certified': closed({ certificate_id: Hex16 }),
  'world_type.registered': RecordChange,
  'action.waiting_hitl': RecordChange,
  'action.invoked': RecordChange,
  'action.denied': RecordChange,
  'action.expired': RecordChange,
  'corpus.sealed': RecordChange,
  'composition.waiting_hitl': RecordChange,
  'composition.governed': RecordChange,
  'composition.denied': RecordChange,
  'composition.expired': RecordChange,
  'agent_action.waiting_hitl': RecordChange,
  'agent_action.approved': RecordChange,
  'agent_action.denied': RecordChange,
  'agent_action.expired': RecordChange,
  'agent.changed': closed({
    change: Type.Enum(['created', 'updated', 'deleted']),
    version: Count,
    /** Absent if the agent was created. */
    enabled: Type.Optional(Type.Boolean()),
    /** Label of the whole definition. */
    definition: LabelMac,
    changed_by: MintedId,
  }),
  'workflow.changed': closed({
    change: Type.Enum(['created', 'deleted', 'redacted']),
    mode: Type.Enum(WORKFLOW_MODES),
    /** Label of the whole definition. */
    definition: LabelMac,
    changed_by: MintedId,
  }),
  'provider.changed': closed({
    change: Type.Enum(['created', 'replaced', 'deleted', 'redacted']),
    kind: Type.Enum(PROVIDER_KINDS),
    enabled: Type.Boolean(),
    /** Label of model, address and prices together. */
    definition: LabelMac,
    changed_by: MintedId,
  }),
  'tool.changed': closed({
    change: Type.Enum(['created', 'replaced', 'deleted', 'redacted']),
    version: Count,
    effect: Type.Enum(TOOL_EFFECTS),
    enabled: Type.Boolean(),
    definition: LabelMac,
    changed_by: MintedId,
  }),
  'run.started': closed({
    agent_id: Hex16,
    budget_tokens: Type.Union([Count, Type.Null()]),
    budget_cost_micro: Type.Union([Count, Type.Null()]),
    deadline_at: EventTime,
    started_by: MintedId,
    /** Who asks the models; absent means `client`. */
    executor: Type.Optional(Type.Literal('managed')),
    /** Absent if the run has one agent and no workflow. */
    workflow: Type.Optional(
      closed({
        workflow_id: Hex16,
        mode: Type.Enum(WORKFLOW_MODES),
        agents: Count,
        definition: LabelMac,
      }),
    ),
  }),
  /** The permits of the run are extended to the same time. */
  'run.extended': closed({ deadline_at: EventTime }),
  'run.completed': RunEnded,
  'run.denied': RunEnded,
  'run.failed': RunEnded,
  'run.terminated': RunEnded,
  'step.permitted': closed({
    run_id: Hex16,
    step_no: Count,
    /** Number of the turn in a workflow, from 0. */
    turn_no: Type.Optional(Count),
    agent_id: Hex16,
    permit: Hex16,
    input_commitment: Hex32,
    refs: Count,
    memory_seq: Seq,
    policy_set: Count,
    evaluation_id: Type.Union([MintedId, Type.Null()]),
    action_id: Type.Union([Hex16, Type.Null()]),
    max_tokens: Count,
    max_cost_micro: Count,
    expires_at: EventTime,
  }),
  'step.answered': closed({
    run_id: Hex16,
    output_commitment: Hex32,
    tokens_in: Count,
    tokens_out: Count,
  }),
  'step.completed': StepEnded,
  'step.denied': StepEnded,
  'step.failed': StepEnded,
  'tool.intended': closed({
    run_id: Hex16,
    step_id: Hex16,
    effect: Type.Enum(TOOL_EFFECTS),
    /** Id of the call that this call undoes. */
    compensates: Type.Optional(Hex16),
    /** Present if the caller executes this call of a managed run. */
    executor: Type.Optional(Type.Literal('client')),
    args_commitment: Hex32,
    policy_set: Count,
    evaluation_id: Type.Union([MintedId, Type.Null()]),
    action_id: Type.Union([Hex16, Type.Null()]),
  }),
  'run.compensating': closed({ state: Type.Enum(RUN_STATES), reason: EndReason }),
  'tool.compensated': closed({
    run_id: Hex16,
    step_id: Hex16,
    compensates: Hex16,
    state: Type.Enum(CALL_STATES),
    reason: EndReason,
    args_commitment: Hex32,
    result_commitment: Type.Union([Hex32, Type.Null()]),
  }),
  'tool.completed': CallEnded,
  'tool.failed': CallEnded,
  'tool.uncertain': CallEnded,
  'tool.resolved': closed({
    run_id: Hex16,
    step_id: Hex16,
    state: Type.Enum(CALL_STATES),
    reason: Type.Enum(RUN_REASONS),
    resolved_by: MintedId,
  }),
  'approval.requested': closed({
    record_kind: MintedId,
    record_id: Hex16,
    proposal_digest: Hex32,
    policy_set: Count,
    policies: Type.Array(closed({ policy_id: MintedId, version: Count })),
    expires_at: Type.String({ pattern: '^[0-9TZ:.-]{27}$' }),
    requested_by: MintedId,
  }),
  'approval.approved': ApprovalDecided,
  'approval.denied': ApprovalDecided,
  'approval.expired': closed({ record_kind: MintedId, record_id: Hex16, proposal_digest: Hex32 }),
  'approval.settings_changed': closed({
    different_credential: Type.Boolean(),
    attestation_required: Type.Boolean(),
    expires_after_seconds: Count,
    changed_by: MintedId,
  }),
  'approver.enrolled': ApproverChange,
  'approver.updated': ApproverChange,
  'approver.revoked': ApproverChange,
  /** Subject: the id of the decision. Recomputing scores needs all members except `record`. */
  'cgr.decision_recorded': closed({
    dimension: LabelMac,
    /** Label of the agent in the dimension. */
    agent: LabelMac,
    known_by: Type.Enum(['proven', 'claimed', 'handle']),
    handle: LabelMac,
    /** Label of the first key of the agent's chain of rotations. */
    anchor: Hidden,
    referent: Hidden,
    decision: Type.Enum(JUDGMENTS),
    tag: Type.Enum(VERIFIABILITY_TAGS),
    /** Label of everything that was recorded. */
    record: LabelMac,
  }),
  /** Subject: the label of the referent. */
  'cgr.outcome_recorded': closed({
    outcome: Type.Enum(OUTCOMES),
    event_at: EventTime,
    reporter: Hidden,
    /** Label of amount and source together. */
    content: LabelMac,
  }),
  /** Subject: the label of the referent. */
  'cgr.review_recorded': closed({
    reviewer: LabelMac,
    reviewer_key: Hidden,
    rating_e6: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
    decision_id: Type.Union([Hex16, Type.Null()]),
    handle: Hidden,
    event_at: EventTime,
    /** Label of the source. */
    content: LabelMac,
  }),
  /** Subject: the label of the chain's first key. */
  'cgr.rotation_recorded': closed({
    prev_key: LabelMac,
    new_key: LabelMac,
    position: Type.Integer({ minimum: 1 }),
    /** Label of the whole link. */
    link: LabelMac,
  }),
  /** Subject: the id of the attestation. */
  'cgr.attestation_issued': closed({
    agent: LabelMac,
    issuer_key_id: Hex32,
    /** Label of the signed bytes. */
    record: LabelMac,
  }),
  'cgr.settings_changed': closed({
    compare_credentials: Type.Boolean(),
    judgments_final: Type.Boolean(),
    changed_by: MintedId,
  }),
  /** Subject: the id of the report. */
  'report.generated': closed({
    report_type: Type.Enum(REPORT_TYPES),
    overall_finding: Type.Enum(REPORT_FINDINGS),
    log_seq: Type.Integer({ minimum: -1 }),
    content_digest: Hex32,
    /** SHA-256 of the signed bytes. */
    record_digest: Hex32,
    generated_by: MintedId,
  }),
  'report.deleted': closed({
    report_type: Type.Enum(REPORT_TYPES),
    content_digest: Hex32,
    deleted_by: MintedId,
  }),
  /** Subject: the id of the schedule. */
  'assurance.schedule_changed': closed({
    change: Type.Enum(['created', 'updated', 'deleted']),
    interval_min: Count,
    checks: Type.Array(MintedId),
    enabled: Type.Boolean(),
    changed_by: MintedId,
  }),
  /** Subject: the id of the run. */
  'assurance.completed': closed({
    trigger: Type.Enum(ASSURANCE_TRIGGERS),
    status: Type.Enum(ASSURANCE_STATUSES),
    checks: Type.Array(
      closed({ check: Type.Enum(ASSURANCE_CHECKS), status: Type.Enum(CHECK_STATUSES) }),
    ),
    drift_events: Count,
    /** SHA-256 over the canonical JSON of the results. */
    results_digest: Hex32,
    baseline_id: Type.Union([MintedId, Type.Null()]),
  }),
  /** Subject: the id of the baseline. */
  'assurance.baseline_captured': closed({
    run_id: MintedId,
    /** SHA-256 over the canonical JSON of the snapshot. */
    snapshot_digest: Hex32,
  }),
  /** Subject: the id of the audit. */
  'conformance.audited': closed({
    run_id: MintedId,
    /** The pass rate in millionths. */
    rate_e6: Count,
    passed: Count,
    tested: Count,
    /** SHA-256 of the signed bytes. */
    record_digest: Hex32,
  }),
  /** Subject: the id of the request. */
  'subject.requested': closed({
    facts: Count,
    decisions: Count,
    texts: Type.Optional(Count),
    held: Count,
    found_digest: Hex32,
    /** Label of the search. */
    find: LabelMac,
    received_at: EventTime,
    due_at: EventTime,
    requested_by: MintedId,
  }),
  'subject.extended': closed({
    due_at: EventTime,
    previous_due_at: EventTime,
    extended_by: MintedId,
  }),
  'subject.erased': closed({
    erased: Count,
    held: Count,
    absent: Count,
    found_later: Count,
    certificates_root: Hex32,
    /** SHA-256 of the signed bytes of the manifest. */
    record_digest: Hex32,
  }),
  'subject.accessed': closed({
    facts: Count,
    decisions: Count,
    texts: Type.Optional(Count),
    found_digest: Hex32,
    find: LabelMac,
    received_at: EventTime,
    due_at: EventTime,
    requested_by: MintedId,
  }),
  /** Subject of the next two: the id of the webhook. */
  'webhook.changed': closed({
    change: Type.Enum(['created', 'updated', 'secret_rotated', 'deleted']),
    enabled: Type.Boolean(),
    /** SHA-256 over the canonical JSON of the sorted names of events. */
    events_digest: Hex32,
    changed_by: MintedId,
  }),
  'webhook.disabled': closed({
    reason: Type.Enum(['gone', 'failing', 'redacted', 'unreadable']),
    failing_since: Type.Union([EventTime, Type.Null()]),
  }),
  /** Subject of the next five: the id of the person. */
  'user.created': closed({ roles: RoleNames, created_by: MintedId }),
  'user.joined': closed({ session_id: MintedId }),
  'user.updated': closed({ roles: RoleNames, changed_by: MintedId }),
  'user.removed': closed({ revoked_keys: Count, removed_by: MintedId }),
  'user.signed_in': closed({
    connection_id: Type.Union([MintedId, Type.Null()]),
    method: Type.Enum(['oidc', 'invitation', 'break_glass']),
    session_id: MintedId,
  }),
  /** Subject of the next two: the id of the connection. At most one per minute and reason. */
  'user.sign_in_refused': closed({ reason: Type.Enum(SIGN_IN_REFUSALS) }),
  'sso.connection_changed': closed({
    change: Type.Enum(['created', 'updated', 'deleted', 'domains', 'redacted']),
    enabled: Type.Boolean(),
    enforced: Type.Boolean(),
    /** Label of the settings without secrets. */
    digest: LabelMac,
    changed_by: MintedId,
  }),
  /** Subject of the next two: the id of the session. */
  'session.started': closed({ key_id: MintedId }),
  'session.revoked': closed({ key_id: MintedId, revoked_by: MintedId }),
  'log.restored': closed({
    generation: Type.Integer({ minimum: 1 }),
    epoch_number: Count,
    tree_size: Count,
    root_hash: Type.Union([Hex32, Type.Null()]),
  }),
} as const satisfies Record<string, TSchema>

export type EventType = keyof typeof eventPayloads

export type EventPayload<E extends EventType> = Static<(typeof eventPayloads)[E]>
