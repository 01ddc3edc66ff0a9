// The tables of the data database. Times are microseconds, flags 0/1, documents JSON text.

import type { AssuranceTables } from './tables-assurance.ts'
import type { RetentionTables } from './tables-retention.ts'

export interface Tables extends AssuranceTables, RetentionTables {
  // control tables: reached only through control.sql.ts
  instance: { instance_id: string }
  tenants: { tenant_id: string; name: string; plan: string; created_us: number }
  credentials: {
    key_hash: Uint8Array
    key_id: string
    tenant_id: string | null
    class: string
    name: string
    prefix: string
    scopes: string
    allowed_stores: string
    max_trust_tier: string | null
    created_us: number
    expires_us: number | null
    revoked_us: number | null
  }
  jobs: {
    job_id: string
    tenant_id: string
    kind: string
    state: string
    payload: string
    progress_done: number
    progress_total: number
    attempts: number
    error: string | null
    created_us: number
    updated_us: number
    lease_until_us: number
  }
  leases: { name: string; holder: string; until_us: number }
  /** The number of a tenant's policies as a whole; absent: it never had one. */
  policy_sets: { tenant_id: string; policy_set: number }

  // the log
  chain_heads: {
    tenant_id: string
    generation: number
    size: number
    frontier: Uint8Array
    last_id: Uint8Array
    last_us: number
  }
  breadcrumbs: { tenant_id: string; seq: number; breadcrumb_id: Uint8Array; record: string }
  chain_nodes: { tenant_id: string; height: number; idx: number; hash: Uint8Array }
  epochs: {
    tenant_id: string
    epoch_number: number
    generation: number
    tree_size: number
    root_hash: Uint8Array
    checkpoint: string
    created_us: number
  }

  // memory
  stores: {
    tenant_id: string
    store_id: string
    secret_no: number
    sealed: Uint8Array
    capabilities: string
    tokenizer: string
    /** Name of what makes its vectors. */
    embedder: string
    /** 1: texts have been given to an embedding service outside; it stays so. */
    sent_out: number
    state: string
    head_seq: number
    created_us: number
  }
  facts: {
    tenant_id: string
    ref: number
    store_id: string
    namespace: string | null
    written_seq: number
    written_us: number
    token_count: number
    state: number
    /** Log position at which `sealed` became what it is: written, or embedded again. */
    sealed_seq: number
    /** The space of the sealed vector; null: there is none. */
    space_mark: number | null
    sealed: Uint8Array
  }
  validity: {
    tenant_id: string
    store_id: string
    ref: number
    from_seq: number
    until_seq: number | null
    valid_from_us: number
    valid_until_us: number | null
    predecessor: number | null
    superseded_by: number | null
  }
  tombstones: {
    tenant_id: string
    ref: number
    store_id: string | null
    written_seq: number | null
    erased_seq: number
    erased_us: number
    certificate_id: string | null
  }
  /** A retrieval has returned it at least once. Goes with the fact. */
  retrieved_facts: { tenant_id: string; store_id: string; ref: number }

  // decisions
  decisions: {
    tenant_id: string
    seq: number
    decision_id: Uint8Array
    logged_us: number
    store_id: string
    model_id: string
    session_label: Uint8Array | null
    secret_no: number
    token_count: number | null
    latency_ms: number | null
    memory_seq: number
    sealed: Uint8Array
  }
  decision_facts: { tenant_id: string; ref: number; decision_seq: number; bound: number }

  // governance
  policies: {
    tenant_id: string
    policy_id: string
    version: number
    policy_set: number
    change: string
    stands: number
    policy_type: string
    action: string
    enabled: number
    priority: number
    seed_key: string | null
    secret_no: number
    sealed: Uint8Array
    created_us: number
    changed_us: number
    changed_by: string
  }
  policy_members: { tenant_id: string; policy_set: number; members: string }
  policy_counts: { tenant_id: string; policy_id: string; result: string; count: number }
  evaluations: {
    tenant_id: string
    created_us: number
    evaluation_id: string
    policy_set: number
    operation: string
    /** A letter for each member of the policy set. */
    verdicts: string
    details: string | null
    request: string
    members: number
    denied: number
    escalated: number
    logged: number
  }
  rate_slots: { tenant_id: string; policy_id: string; slot_us: number; count: number }

  // registries
  records: {
    tenant_id: string
    record_id: string
    kind: string
    status: string
    /** 1: the one that its content, or its name, leads to. */
    live: number
    content_key: string | null
    name_key: string | null
    /** The first version's id; its own where there are no versions. */
    series_id: string
    version: number
    proposal_digest: string
    policy_set: number
    request_id: string | null
    linked_id: string | null
    requested_by: string
    secret_no: number
    sealed: Uint8Array
    created_us: number
  }
  approvals: {
    tenant_id: string
    request_id: string
    kind: string
    record_id: string
    state: string
    proposal_digest: string
    policy_set: number
    escalations: string
    requested_by: string
    nonce: string
    issued_us: number
    expires_us: number
    decided_us: number | null
    decided_by: string | null
    approver_id: string | null
    secret_no: number
    sealed: Uint8Array
  }
  approvers: {
    tenant_id: string
    approver_id: string
    public_key: Uint8Array
    active: number
    secret_no: number
    sealed: Uint8Array
    created_us: number
    changed_us: number
  }
  approval_settings: {
    tenant_id: string
    different_credential: number
    attestation_required: number
    expires_after_s: number
    changed_us: number
    changed_by: string
  }

  // reputation
  cgr_agents: {
    tenant_id: string
    /** The place on the log of its first decision. */
    agent_no: number
    dimension: Uint8Array
    identity: Uint8Array
    kind: string
    /** Of the first key of its rotations; null: known by its handle. */
    anchor: Uint8Array | null
    /** The place on the log of its newest decision. */
    newest_seq: number
    n_success: number
    n_failure: number
    n_pending: number
    n_unscored: number
  }
  cgr_names: { tenant_id: string; name: Uint8Array; agent_no: number }
  cgr_decisions: {
    tenant_id: string
    seq: number
    decision_id: Uint8Array
    agent_no: number
    referent: Uint8Array | null
    decision: string
    tag: string
    /** 1: the one that counts for its agent and referent. */
    current: number
    handle: Uint8Array
    anchor: Uint8Array | null
    signed_us: number | null
    recorded_by: string
    recorded_us: number
    secret_no: number
    sealed_name: Uint8Array
    sealed: Uint8Array
  }
  cgr_outcomes: {
    tenant_id: string
    referent: Uint8Array
    outcome: string
    amount: number | null
    content: Uint8Array
    reporter: Uint8Array | null
    signed_us: number | null
    event_us: number
    seq: number
    recorded_by: string
  }
  cgr_reviewers: {
    tenant_id: string
    reviewer_no: number
    name: Uint8Array
    anchor: Uint8Array | null
    observations: number
    /** The sum of squared errors in 1e-12 is `error_ones` · 1e12 + `error_parts`. */
    error_ones: number
    error_parts: number
  }
  cgr_reviews: {
    tenant_id: string
    referent: Uint8Array
    reviewer_no: number
    rating_e6: number
    /** The agent it is limited to. */
    agent_no: number | null
    /** The handle it is limited to. */
    handle: Uint8Array | null
    content: Uint8Array
    event_us: number
    seq: number
    recorded_by: string
  }
  cgr_live_reviews: {
    tenant_id: string
    agent_no: number
    reviewer_no: number
    count: number
    rating_sum_e6: number
  }
  cgr_rotations: {
    tenant_id: string
    seq: number
    anchor: Uint8Array
    position: number
    prev_key: Uint8Array
    new_key: Uint8Array
    not_before_us: number | null
    secret_no: number
    sealed: Uint8Array
  }
  cgr_attestations: {
    tenant_id: string
    seq: number
    attestation_id: Uint8Array
    agent_no: number
    secret_no: number
    sealed: Uint8Array
  }
  cgr_settings: {
    tenant_id: string
    compare_credentials: number
    judgments_final: number
    changed_us: number
    changed_by: string
  }

  // reports
  reports: {
    tenant_id: string
    /** Position of its entry on the log. */
    seq: number
    report_id: Uint8Array
    report_type: string
    overall_finding: string
    period_start_us: number
    period_end_us: number
    log_seq: number
    content_hash: Uint8Array
    size_bytes: number
    created_us: number
    deleted_us: number | null
    secret_no: number
    /** Null: deleted. */
    sealed_title: Uint8Array | null
    sealed: Uint8Array | null
  }
  /** Until the report is made, or its job is cancelled. */
  report_requests: {
    tenant_id: string
    report_id: Uint8Array
    secret_no: number
    sealed_title: Uint8Array
  }

  // per tenant bookkeeping
  usage: { tenant_id: string; period: string; operation: string; count: number; bytes: number }
  idempotency: {
    tenant_id: string
    key_label: Uint8Array
    operation: string
    status: number
    ids: string
    body_mac: string
    body_day: number
    created_us: number
  }
}

export type ControlTable =
  | 'instance'
  | 'tenants'
  | 'credentials'
  | 'jobs'
  | 'leases'
  | 'policy_sets'
  | 'destructions'
export type TenantTable = Exclude<keyof Tables, ControlTable>
