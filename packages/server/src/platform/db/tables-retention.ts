// The tables of certificates, retention, legal holds and off-boarding.

export interface RetentionTables {
  /** Tenants that are off-boarded, or about to be. */
  destructions: {
    tenant_id: string
    certificate_id: string
    requested_us: number
    /** JSON: the basis and who asked, as they will be certified. */
    reasons: string
    /** Of the last entry of its log; null: not there yet. */
    log_seq: number | null
    destroyed_us: number | null
    /** The signed certificate; null: not signed yet. */
    record: string | null
    /** Removes the rows. */
    job_id: string | null
    removed_us: number | null
  }
  store_retention: {
    tenant_id: string
    store_id: string
    /** Null: for good. */
    retain_days: number | null
    set_us: number
    set_by: string
    /** On what basis, under the secret of the store. */
    sealed: Uint8Array | null
    /** The run under way, and what it goes by to its end. */
    job_id: string | null
    run_days: number | null
    run_cutoff_us: number | null
    run_started_us: number | null
    run_erased: number
    /** JSON: the refs it is at, counted once they are gone. */
    run_batch: string | null
    last_us: number | null
    last_erased: number
  }
  store_holds: {
    tenant_id: string
    hold_id: string
    store_id: string
    placed_seq: number
    placed_us: number
    placed_by: string
    until_us: number | null
    released_us: number | null
    released_by: string | null
    /** Reason and matter, under the secret of the store. */
    sealed: Uint8Array
    sealed_release: Uint8Array | null
  }

  // requests of data subjects
  subject_requests: {
    tenant_id: string
    /** Position of its entry on the log. */
    seq: number
    request_id: Uint8Array
    kind: string
    status: string
    job_id: string | null
    /** Of what was searched for. */
    find_label: Uint8Array
    found_digest: Uint8Array
    facts: number
    superseded_facts: number
    decisions_using: number
    decisions_naming: number
    held: number
    /** What the first search saw, and what the last one did. */
    log_seq: number
    searched_seq: number
    rounds: number
    /** Of the items, those with an outcome and all. */
    items_done: number
    items: number
    received_us: number
    due_us: number
    extended_us: number | null
    created_us: number
    started_us: number | null
    completed_us: number | null
    made_by: string
    secret_no: number
    /** Null: it is done. */
    sealed: Uint8Array | null
    sealed_reason: Uint8Array | null
    /** The signed manifest: ids, digests, numbers. */
    manifest: string | null
  }
  subject_items: {
    tenant_id: string
    request_id: Uint8Array
    /** `1:` and the ref in 16 digits, or `2:` and the decision's id: in this order listed. */
    item: string
    outcome: string | null
    certificate_id: string | null
  }
  certificates: {
    tenant_id: string
    certificate_id: string
    subject_kind: string
    subject: string
    stands: number
    outcome: string
    completed_us: number
    log_seq: number
    record: string
  }
}
