// The tables of reputation.

import { blob, integer, nullable, real, tenantId, text } from './columns.ts'

export const reputationTables = {
  cgr_agents: {
    tenant_id: tenantId,
    /** Log position of its first decision. */
    agent_no: integer,
    dimension: blob('digest', 'HMAC under the tenant label salt'),
    identity: blob('digest', 'HMAC under the tenant label salt'),
    kind: text('enum', 'how the agent is known'),
    /** HMAC of the first of its rotated keys; null if the agent is known by its handle. */
    anchor: nullable(blob('digest', 'HMAC under the tenant label salt')),
    /** Log position of its newest decision. */
    newest_seq: integer,
    n_success: integer,
    n_failure: integer,
    n_pending: integer,
    n_unscored: integer,
  },
  cgr_names: {
    tenant_id: tenantId,
    name: blob('digest', 'HMAC under the tenant label salt'),
    agent_no: integer,
  },
  cgr_decisions: {
    tenant_id: tenantId,
    seq: integer,
    decision_id: blob('minted', 'random id'),
    agent_no: integer,
    referent: nullable(blob('digest', 'HMAC under the tenant label salt')),
    decision: text('enum', 'certify or reject'),
    tag: text('enum', 'verifiability tags'),
    /** 1 if it is the judgment that counts for its agent and referent. */
    current: integer,
    handle: blob('digest', 'HMAC under the tenant label salt'),
    anchor: nullable(blob('digest', 'HMAC under the tenant label salt')),
    signed_us: nullable(integer),
    recorded_by: text('minted', 'key id'),
    recorded_us: integer,
    secret_no: integer,
    sealed_name: blob('sealed', 'handle and key of the agent'),
    sealed: blob('sealed', 'reason and context as the caller sent them; no memory is in them'),
  },
  cgr_receipts: {
    tenant_id: tenantId,
    /** Log position of its decision, whose secret seals what the receipt hashes. */
    seq: integer,
    workflow: blob('digest', 'HMAC under the tenant label salt'),
    /** Counts from 0 within the workflow. */
    step_number: integer,
    previous: nullable(blob('digest', 'receipt_id of the step before')),
    receipt_id: blob('digest', 'BLAKE2b-128 over a random step id and hashes, all of them sealed'),
    signature: blob('digest', 'Ed25519 over receipt_id'),
    key_id: text('minted', 'id of a published key'),
  },
  cgr_outcomes: {
    tenant_id: tenantId,
    referent: blob('digest', 'HMAC under the tenant label salt'),
    outcome: text('enum', 'outcomes'),
    amount: nullable(real),
    content: blob('digest', 'HMAC under the tenant label salt'),
    reporter: nullable(blob('digest', 'HMAC under the tenant label salt')),
    signed_us: nullable(integer),
    event_us: integer,
    seq: integer,
    recorded_by: text('minted', 'key id'),
  },
  cgr_reviewers: {
    tenant_id: tenantId,
    reviewer_no: integer,
    name: blob('digest', 'HMAC under the tenant label salt'),
    anchor: nullable(blob('digest', 'HMAC under the tenant label salt')),
    observations: integer,
    /** The sum of squared errors in 1e-12 is `error_ones` · 1e12 + `error_parts`. */
    error_ones: integer,
    error_parts: integer,
  },
  cgr_reviews: {
    tenant_id: tenantId,
    referent: blob('digest', 'HMAC under the tenant label salt'),
    reviewer_no: integer,
    rating_e6: integer,
    /** The agent that it is limited to, or null. */
    agent_no: nullable(integer),
    /** The handle that it is limited to, or null. */
    handle: nullable(blob('digest', 'HMAC under the tenant label salt')),
    content: blob('digest', 'HMAC under the tenant label salt'),
    event_us: integer,
    seq: integer,
    recorded_by: text('minted', 'key id'),
  },
  cgr_live_reviews: {
    tenant_id: tenantId,
    agent_no: integer,
    reviewer_no: integer,
    count: integer,
    rating_sum_e6: integer,
  },
  cgr_rotations: {
    tenant_id: tenantId,
    seq: integer,
    anchor: blob('digest', 'HMAC under the tenant label salt'),
    position: integer,
    prev_key: blob('digest', 'HMAC under the tenant label salt'),
    new_key: blob('digest', 'HMAC under the tenant label salt'),
    not_before_us: nullable(integer),
    secret_no: integer,
    sealed: blob('sealed', 'the link with its public keys'),
  },
  cgr_attestations: {
    tenant_id: tenantId,
    seq: integer,
    attestation_id: blob('minted', 'random id'),
    agent_no: integer,
    secret_no: integer,
    sealed: blob('sealed', 'the signed score; no memory is in it'),
  },
  cgr_settings: {
    tenant_id: tenantId,
    compare_credentials: integer,
    judgments_final: integer,
    changed_us: integer,
    changed_by: text('minted', 'key id'),
  },
}
