// Tables of the audit log, of usage, subscriptions and quotas, of idempotency and of webhooks.

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
