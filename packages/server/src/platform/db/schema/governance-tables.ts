// The tables of policies, evaluations, registry records and approvals; and of what is reported of
// them: reports, assurance runs and conformance audits.

import type { AssuranceStatus, AssuranceTrigger } from '@custos/contract'
import { blob, integer, nullable, tenantId, text } from './columns.ts'

export const governanceTables = {
  policies: {
    tenant_id: tenantId,
    policy_id: text('minted', 'policy id'),
    version: integer,
    policy_set: integer,
    change: text('enum', 'created, updated or deleted'),
    stands: integer,
    policy_type: text('enum', 'policy types'),
    action: text('enum', 'actions'),
    enabled: integer,
    priority: integer,
    seed_key: nullable(text('enum', 'keys of the default policies')),
    secret_no: integer,
    sealed: blob('sealed', 'name, description and configuration; no memory is in them'),
    created_us: integer,
    changed_us: integer,
    changed_by: text('minted', 'key id'),
  },
  policy_members: {
    tenant_id: tenantId,
    policy_set: integer,
    members: text('composed', 'policy ids and versions'),
  },
  policy_counts: {
    tenant_id: tenantId,
    policy_id: text('minted', 'policy id'),
    result: text('enum', 'results'),
    count: integer,
  },
  evaluations: {
    tenant_id: tenantId,
    created_us: integer,
    evaluation_id: text('minted', 'evaluation id'),
    policy_set: integer,
    operation: text('composed', 'names of our own, or an HMAC of the caller’s'),
    /** One letter per policy of the set. */
    verdicts: text('enum', 'a letter for each policy'),
    details: nullable(text('composed', 'reason codes, positions and numbers')),
    request: text('composed', 'lengths, and HMACs under the tenant label salt'),
    members: integer,
    denied: integer,
    escalated: integer,
    logged: integer,
  },
  rate_slots: {
    tenant_id: tenantId,
    policy_id: text(
      'composed',
      'id of a policy or name of a limit, some with an HMAC of a network',
    ),
    slot_us: integer,
    count: integer,
  },
  records: {
    tenant_id: tenantId,
    record_id: text('digest', 'of the proposal with a random nonce'),
    kind: text('enum', 'kinds of records'),
    status: text('enum', 'statuses'),
    /** 1 if its content, or its name, resolves to this record. */
    live: integer,
    content_key: nullable(text('digest', 'HMAC under the tenant label salt')),
    name_key: nullable(text('digest', 'HMAC under the tenant label salt')),
    /** The id of the first version; its own id if the registry has no versions. */
    series_id: text('digest', 'see records.record_id'),
    version: integer,
    proposal_digest: text('digest', 'of the proposal with a random nonce'),
    policy_set: integer,
    request_id: nullable(text('minted', 'approval request id')),
    linked_id: nullable(text('minted', 'certificate id')),
    requested_by: text('minted', 'key id'),
    secret_no: integer,
    sealed: blob('sealed', 'what was asked for and issued; no memory is in it'),
    created_us: integer,
  },
  approvals: {
    tenant_id: tenantId,
    request_id: text('minted', 'approval request id'),
    kind: text('enum', 'kinds of records'),
    record_id: text('digest', 'see records.record_id'),
    state: text('enum', 'states of an approval'),
    proposal_digest: text('digest', 'see records.proposal_digest'),
    policy_set: integer,
    escalations: text('composed', 'policy ids and versions'),
    requested_by: text('minted', 'key id'),
    nonce: text('minted', 'random'),
    issued_us: integer,
    expires_us: integer,
    decided_us: nullable(integer),
    decided_by: nullable(text('minted', 'key id')),
    approver_id: nullable(text('minted', 'approver id')),
    secret_no: integer,
    sealed: blob('sealed', 'operation, approver and reason; no memory is in them'),
  },
  approvers: {
    tenant_id: tenantId,
    approver_id: text('minted', 'approver id'),
    public_key: blob('minted', 'public key of the approver'),
    active: integer,
    secret_no: integer,
    sealed: blob('sealed', 'name and role of the approver'),
    created_us: integer,
    changed_us: integer,
  },
  approval_settings: {
    tenant_id: tenantId,
    different_credential: integer,
    attestation_required: integer,
    expires_after_s: integer,
    changed_us: integer,
    changed_by: text('minted', 'key id'),
  },
  /** People of a tenant; name and address are sealed under the person's own secret. */
  users: {
    tenant_id: tenantId,
    user_id: text('minted', 'random id'),
    state: text<'invited' | 'active'>('enum', 'states of a person'),
    /** JSON list. */
    roles: text('enum', 'roles of the contract'),
    allowed_stores: text('minted', 'store ids'),
    /** Random once the person is redacted. */
    email_label: text('digest', 'HMAC of the e-mail address under a salt of the tenant'),
    /** Null once it was accepted. */
    invitation_hash: nullable(blob('digest', 'SHA-256 of a random invitation')),
    invited_until_us: nullable(integer),
    secret_no: integer,
    /** Null if redacted. */
    sealed: nullable(blob('sealed', 'name and e-mail address; the secret goes with the person')),
    created_us: integer,
    /** 1 if an operator invited the person, who may sign in even if a provider is enforced. */
    break_glass: nullable(integer),
  },
  /** Connections to OpenID providers. */
  sso_connections: {
    tenant_id: tenantId,
    connection_id: text('minted', 'random id'),
    enabled: integer,
    enforced: integer,
    secret_no: integer,
    /** Null if redacted. */
    sealed: nullable(
      blob('sealed', 'provider, client secret and roles; the secret goes with the connection'),
    ),
    created_us: integer,
    changed_us: integer,
  },
  /** The identity of a person at a provider. */
  sso_identities: {
    tenant_id: tenantId,
    connection_id: text('minted', 'random id'),
    sub_label: text('digest', 'HMAC of the subject under a salt of the tenant'),
    user_id: text('minted', 'random id'),
    created_us: integer,
  },
  /** Logout tokens that were processed, until they expire. */
  sso_logouts: {
    tenant_id: tenantId,
    connection_id: text('minted', 'random id'),
    jti_hash: blob('digest', 'SHA-256 of the id of a token'),
    expires_us: integer,
  },
}

export const reportTables = {
  reports: {
    tenant_id: tenantId,
    /** Log position of its entry. */
    seq: integer,
    report_id: blob('minted', 'random id'),
    report_type: text('enum', 'frameworks'),
    overall_finding: text('enum', 'findings'),
    period_start_us: integer,
    period_end_us: integer,
    log_seq: integer,
    content_hash: blob('digest', 'of the content, in which no memory is'),
    size_bytes: integer,
    created_us: integer,
    deleted_us: nullable(integer),
    secret_no: integer,
    /** Null if deleted. */
    sealed_title: nullable(blob('sealed', 'the title; no memory is in it')),
    sealed: nullable(blob('sealed', 'the signed report: counts, ids, names of models')),
  },
  /** Requests of reports, until the report is created or its job is cancelled. */
  report_requests: {
    tenant_id: tenantId,
    report_id: blob('minted', 'random id'),
    secret_no: integer,
    sealed_title: blob('sealed', 'the title; no memory is in it'),
  },
  assurance_schedules: {
    tenant_id: tenantId,
    schedule_id: text('minted', 'random id'),
    interval_min: integer,
    /** Names of the requested checks. */
    checks: text('enum', 'names of checks'),
    enabled: integer,
    next_due_us: integer,
    last_run_id: nullable(text('minted', 'random id')),
    created_us: integer,
    created_by: text('minted', 'key id'),
  },
  assurance_runs: {
    tenant_id: tenantId,
    run_id: text('minted', 'random id'),
    begun_by: text<AssuranceTrigger>('enum', 'what began it'),
    schedule_id: nullable(text('minted', 'random id')),
    requested_by: text('minted', 'key id'),
    /** Names of the requested checks. */
    checks: text('enum', 'names of checks'),
    status: text<AssuranceStatus>('enum', 'states of a run'),
    results: nullable(text('composed', 'counts, ids and fixed descriptions of faults')),
    drift: nullable(text('composed', 'counts, digests and fixed descriptions')),
    drift_count: integer,
    baseline_id: nullable(text('minted', 'random id')),
    error: nullable(text('minted', 'name of an error class, never its message')),
    seed: text('minted', 'random'),
    /** Log position of its entry. */
    log_seq: nullable(integer),
    /** Keys and stores that an audit has created and has to delete. */
    scratch: nullable(text('composed', 'ids of keys and stores an audit made')),
    started_us: integer,
    completed_us: nullable(integer),
    /** If it is in the past, the process that ran it has ended. */
    lease_until_us: integer,
  },
  assurance_baselines: {
    tenant_id: tenantId,
    baseline_id: text('minted', 'random id'),
    run_id: text('minted', 'random id'),
    captured_us: integer,
    snapshot: text('composed', 'counts, digests, key ids'),
  },
  conformance_audits: {
    tenant_id: tenantId,
    /** Log position of its entry. */
    seq: integer,
    audit_id: text('minted', 'random id'),
    run_id: text('minted', 'random id'),
    store_id: nullable(text('minted', 'id of a store the suite made')),
    rate_e6: integer,
    capabilities: text('enum', 'capabilities'),
    audited_us: integer,
    /** The signed result. */
    record: text('composed', 'what the suite measured of its own words'),
  },
}
