// The tables of stores and facts, their retention and legal holds.

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
