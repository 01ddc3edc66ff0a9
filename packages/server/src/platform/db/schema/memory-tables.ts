// The tables of stores and facts, their retention and legal holds; of the audit log, of usage,
// subscriptions and quotas, of idempotency and of webhooks.

import type {
  DELIVERY_KINDS,
  DELIVERY_STATUSES,
  PlanName,
  SubscriptionStatus,
  WEBHOOK_DISABLED_REASONS,
  WEBHOOK_SIGNATURES,
  WEBHOOK_STATES,
} from '@custos/contract'
import { blob, integer, nullable, tenantId, text } from './columns.ts'

export const memoryTables = {
  stores: {
    tenant_id: tenantId,
    store_id: text('caller_label', 'minted, `default`, or chosen by the caller as an id'),
    secret_no: integer,
    sealed: blob('sealed', 'name and labels; the secret goes with the store'),
    capabilities: text('enum', 'capability flags'),
    tokenizer: text('enum', 'tokenizer names'),
    /** Name of the embedder that computes its vectors. */
    embedder: text('enum', 'embedder names'),
    /** 1 if texts were ever sent to an external embedding service; never reset. */
    sent_out: integer,
    state: text('enum', 'store states'),
    head_seq: integer,
    created_us: integer,
    /** Null means English. */
    languages: nullable(text('enum', 'codes of languages')),
    /** Idle seconds of a session before its digest; null if the store has no digests. */
    digest_after_s: nullable(integer),
  },
  /** Ids of deleted stores, which no new store gets. */
  deleted_stores: {
    tenant_id: tenantId,
    store_id: text('caller_label', 'see stores.store_id; stays, as in the audit log'),
  },
  facts: {
    tenant_id: tenantId,
    ref: integer,
    store_id: text('caller_label', 'see stores.store_id'),
    namespace: nullable(text('caller_label', 'in clear, removed with the row')),
    written_seq: integer,
    written_us: integer,
    token_count: integer,
    state: integer,
    /** Log position of the last change of `sealed`: the write, or a re-embedding. */
    sealed_seq: integer,
    /** The space of the sealed vector; null if there is none. */
    space_mark: nullable(integer),
    sealed: blob('sealed', 'content, metadata, vector, provenance; key destroyed, row removed'),
  },
  validity: {
    tenant_id: tenantId,
    store_id: text('caller_label', 'see stores.store_id'),
    ref: integer,
    from_seq: integer,
    until_seq: nullable(integer),
    valid_from_us: integer,
    valid_until_us: nullable(integer),
    predecessor: nullable(integer),
    superseded_by: nullable(integer),
  },
  tombstones: {
    tenant_id: tenantId,
    ref: integer,
    store_id: nullable(text('caller_label', 'see stores.store_id')),
    written_seq: nullable(integer),
    erased_seq: integer,
    erased_us: integer,
    certificate_id: nullable(text('minted', 'certificate id')),
  },
  /** Facts that a retrieval has returned at least once. Deleted with the fact. */
  retrieved_facts: {
    tenant_id: tenantId,
    store_id: text('caller_label', 'see stores.store_id'),
    ref: integer,
  },
  /** Secrets of stores whose index has a snapshot; the first erasure deletes the row. */
  index_secrets: {
    tenant_id: tenantId,
    store_id: text('caller_label', 'see stores.store_id; removed with the first erasure'),
    secret_no: integer,
  },
  /** Memories that expire, to find due ones. Their sealed documents have the time too. */
  fact_expiries: {
    tenant_id: tenantId,
    ref: integer,
    store_id: text('caller_label', 'see stores.store_id'),
    expires_us: integer,
  },
  /** Versions of keyed items, each a fact whose document has the name. Deleted with the fact. */
  items: {
    tenant_id: tenantId,
    store_id: text('caller_label', 'see stores.store_id; removed with the fact'),
    name_mac: blob('digest', 'HMAC under the salt of the tenant, of the name'),
    version: integer,
    ref: integer,
    /** 1 for the current version. */
    head: integer,
    namespace_mac: blob('digest', 'HMAC under the salt of the tenant, of the namespace'),
    written_seq: integer,
    /** The time of the first version. */
    created_us: integer,
    /** Position in the order of first puts, in the store. */
    item_no: integer,
    namespace_no: integer,
  },
  /** Memories of sessions, in stores that make digests. Deleted with the fact. */
  session_facts: {
    tenant_id: tenantId,
    ref: integer,
    store_id: text('caller_label', 'see stores.store_id; removed with the fact'),
    session_mac: blob('digest', 'HMAC under the salt of the tenant, of namespace and session'),
  },
  /** Sessions of stores that make digests. */
  digest_sessions: {
    tenant_id: tenantId,
    store_id: text('caller_label', 'see stores.store_id; removed with the store'),
    session_mac: blob('digest', 'see session_facts.session_mac; removed with the store'),
    /** The last log position that changed the input of a digest. */
    changed_seq: integer,
    /** When a digest is due; null if the session has not changed. */
    due_us: nullable(integer),
    /** The last digest; null if there is none, or it is erased. */
    digest_ref: nullable(integer),
  },
  /** The sources of each digest or extracted fact. Deleted with it. */
  digest_sources: {
    tenant_id: tenantId,
    ref: integer,
    digest_ref: integer,
    /** 1 if it is a fact that a model extracted from `ref`; null if it is a digest. */
    extracted: nullable(integer),
  },
  store_retention: {
    tenant_id: tenantId,
    store_id: text('caller_label', 'see stores.store_id; removed with the store'),
    /** Null to retain for good. */
    retain_days: nullable(integer),
    set_us: integer,
    set_by: text('minted', 'key id'),
    /** Null if an earlier version sealed it under the secret of the store. */
    secret_no: nullable(integer),
    /** The legal basis, sealed under the secret of the store and its own. */
    sealed: nullable(blob('sealed', 'the basis; the secret goes with the store')),
    /** The job of the current run; days and cut-off stay the same until it ends. */
    job_id: nullable(text('minted', 'job id')),
    run_days: nullable(integer),
    run_cutoff_us: nullable(integer),
    run_started_us: nullable(integer),
    run_erased: integer,
    /** JSON: the refs of the current batch, counted once they are erased. */
    run_batch: nullable(text('composed', 'refs of the batch under way')),
    last_us: nullable(integer),
    last_erased: integer,
  },
  self_test_stores: {
    tenant_id: tenantId,
    store_id: text('caller_label', 'see stores.store_id; removed with the store'),
  },
  /** Releases of holds, since this table exists. */
  hold_releases: {
    tenant_id: tenantId,
    store_id: text('caller_label', 'see stores.store_id; removed with the store'),
    hold_id: text('minted', 'random id'),
    released_seq: integer,
  },
  store_holds: {
    tenant_id: tenantId,
    hold_id: text('minted', 'random id'),
    store_id: text('caller_label', 'see stores.store_id; removed with the store'),
    placed_seq: integer,
    placed_us: integer,
    placed_by: text('minted', 'key id'),
    until_us: nullable(integer),
    released_us: nullable(integer),
    released_by: nullable(text('minted', 'key id')),
    /** Null if an earlier version sealed it under the secret of the store. */
    secret_no: nullable(integer),
    /** Reason and matter, sealed under the secret of the store and its own. */
    sealed: blob('sealed', 'reason and matter; the secret goes with the store'),
    sealed_release: nullable(blob('sealed', 'reason; the secret goes with the store')),
  },
}

export const logTables = {
  chain_heads: {
    tenant_id: tenantId,
    generation: integer,
    size: integer,
    frontier: blob('digest', 'tree nodes'),
    last_id: blob('digest', 'leaf hash'),
    last_us: integer,
  },
  breadcrumbs: {
    tenant_id: tenantId,
    seq: integer,
    breadcrumb_id: blob('digest', 'leaf hash'),
    record: text('composed', 'closed payload schemas: ids, integers, enums, digests'),
  },
  chain_nodes: {
    tenant_id: tenantId,
    height: integer,
    idx: integer,
    hash: blob('digest', 'tree node'),
  },
  epochs: {
    tenant_id: tenantId,
    epoch_number: integer,
    generation: integer,
    tree_size: integer,
    root_hash: blob('digest', 'tree root'),
    checkpoint: text('composed', 'signed note over origin, size and root'),
    created_us: integer,
  },
  cosignatures: {
    tenant_id: tenantId,
    epoch_number: integer,
    witness: text('minted', 'key of a witness from the settings of the service'),
    generation: integer,
    tree_size: integer,
    signature: blob('digest', 'time and Ed25519 signature over the checkpoint'),
    signed_s: integer,
    created_us: integer,
  },
  epoch_timestamps: {
    tenant_id: tenantId,
    epoch_number: integer,
    token: blob('digest', 'RFC 3161 token over the SHA-256 of the checkpoint'),
    stamped_us: integer,
    created_us: integer,
  },
  usage: {
    tenant_id: tenantId,
    period: text('minted', 'month'),
    operation: text('enum', 'operation ids'),
    count: integer,
    bytes: integer,
  },
  subscriptions: {
    tenant_id: tenantId,
    status: text<SubscriptionStatus>('enum', 'subscription statuses'),
    plan: text<PlanName>('enum', 'plans of the contract'),
    session_id: nullable(text('minted', 'id of the payment provider')),
    customer_id: nullable(text('minted', 'id of the payment provider')),
    subscription_id: nullable(text('minted', 'id of the payment provider')),
    period_start_us: nullable(integer),
    period_end_us: nullable(integer),
    /** When payment first failed, or null. */
    past_due_us: nullable(integer),
    /** When the payment provider was last asked. */
    fetched_us: integer,
  },
  /** Total of a meter at the start of a billing period. */
  meter_marks: {
    tenant_id: tenantId,
    meter: text('enum', 'meters'),
    period_start_us: integer,
    total: integer,
  },
  /** Usage reported to the payment provider: the part of a meter between two totals. */
  meter_reports: {
    tenant_id: tenantId,
    meter: text('enum', 'meters'),
    to_total: integer,
    from_total: integer,
    /** Time of the latest usage in the report. */
    at_us: integer,
    prepared_us: integer,
    identifier: text('digest', 'of tenant, meter and total'),
    state: text('enum', 'prepared, confirmed, refused or skipped'),
  },
  /** How much of each plan limit a tenant uses; no row if not counted yet. */
  quota_counters: {
    tenant_id: tenantId,
    name: text('enum', 'names of limits'),
    value: integer,
    /** Highest log position of a store at the count; the count is invalid at any other. */
    stores_seq: integer,
  },
  idempotency: {
    tenant_id: tenantId,
    key_label: blob('digest', 'HMAC under the tenant label salt'),
    operation: text('enum', 'operation ids'),
    status: integer,
    ids: text('composed', 'ids and numbers a reply is rendered from, never a body'),
    body_mac: text('digest', 'HMAC under a day key destroyed after 48 h'),
    body_day: integer,
    created_us: integer,
  },
}

/** Webhook endpoints and deliveries. Neither payloads nor response bodies are stored. */
export const webhookTables = {
  webhooks: {
    tenant_id: tenantId,
    webhook_id: text('minted', 'random id'),
    state: text<(typeof WEBHOOK_STATES)[number]>('enum', 'states of an endpoint'),
    disabled_reason: nullable(
      text<(typeof WEBHOOK_DISABLED_REASONS)[number]>('enum', 'why it is disabled'),
    ),
    signature: text<(typeof WEBHOOK_SIGNATURES)[number]>('enum', 'kinds of signatures'),
    compatibility: integer,
    /** JSON list of the subscribed event names. */
    events: text('enum', 'names of events'),
    /** Log position of the next entry to deliver from. */
    cursor_seq: integer,
    /** Log position of the last entry that matched the subscription. */
    previous_seq: nullable(integer),
    /** Log generation at the cursor. */
    generation: integer,
    /** Consecutive failures. */
    failures: integer,
    failing_since_us: nullable(integer),
    /** While it is failing: time of the next attempt. */
    next_probe_us: integer,
    last_success_us: nullable(integer),
    /** The job that delivers to it. */
    job_id: text('minted', 'job id'),
    secret_no: integer,
    /** Null if redacted. */
    sealed: nullable(
      blob('sealed', 'URL, description and signing secrets; the secret goes with the endpoint'),
    ),
    created_us: integer,
  },
  /** Deliveries that are pending or ended in the last 30 days. */
  webhook_deliveries: {
    tenant_id: tenantId,
    webhook_id: text('minted', 'random id'),
    delivery_id: text('minted', 'random id'),
    kind: text<(typeof DELIVERY_KINDS)[number]>('enum', 'why it is sent'),
    event_type: text('enum', 'names of events'),
    /** Null for a test event. */
    seq: nullable(integer),
    previous_seq: nullable(integer),
    generation: integer,
    status: text<(typeof DELIVERY_STATUSES)[number]>('enum', 'states of a delivery'),
    attempts: integer,
    /** Time of the next attempt; null if the delivery has ended or is a test event. */
    next_us: nullable(integer),
    response_code: nullable(integer),
    error: nullable(text('enum', 'classes of errors, never text of a peer')),
    /** Job of the replay that created it, or null. */
    job_id: nullable(text('minted', 'job id')),
    created_us: integer,
    completed_us: nullable(integer),
  },
}
