// The tables of decisions and of what erases them: certificates and subject requests.

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
    /** Position of its entry on the log. */
    seq: integer,
    request_id: blob('minted', 'random id'),
    kind: text('enum', 'kinds of requests'),
    status: text('enum', 'states of requests'),
    job_id: nullable(text('minted', 'job id')),
    /** Of what was searched for. */
    find_label: blob('digest', 'HMAC under the tenant label salt'),
    found_digest: blob('digest', 'of the ids of what was found'),
    facts: integer,
    superseded_facts: integer,
    decisions_using: integer,
    decisions_naming: integer,
    /** Null: by an earlier version, which searched no other records. */
    texts: nullable(integer),
    held: integer,
    /** What the first search saw, and what the last one did. */
    log_seq: integer,
    searched_seq: integer,
    rounds: integer,
    /** Of the items, those with an outcome and all. */
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
    /** Null: it is done. */
    sealed: nullable(blob('sealed', 'what was searched for; key destroyed at the end')),
    sealed_reason: nullable(blob('sealed', 'why it takes longer; goes with the search')),
    /** The signed manifest: ids, digests, numbers. */
    manifest: nullable(text('composed', 'signed statement: ids, counts, digests, times')),
  },
  subject_items: {
    tenant_id: tenantId,
    request_id: blob('minted', 'id of the request'),
    /**
     * `1:` and the ref in 16 digits, `2:` and the decision's id, or `3:` with kind and id of
     * another record: listed in this order.
     */
    item: text('minted', 'ref, decision id, or kind and id of another record'),
    outcome: nullable(text('enum', 'outcomes of a manifest')),
    certificate_id: nullable(text('minted', 'certificate id')),
  },
}
