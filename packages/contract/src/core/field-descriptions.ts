// Default descriptions of fields by name; a description in the schema takes precedence.

export const fieldDescriptions: Readonly<Record<string, string>> = {
  // paging
  limit: 'Largest number of items in a page',
  offset: 'Number of items to skip before the page',
  cursor: '`next_cursor` of the previous page; takes precedence over `offset`',
  next_cursor: 'Cursor of the next page; null on the last page',

  // ids
  tenant_id: 'Id of the tenant',
  store_id: 'Id of the store',
  ref: 'Number of the memory',
  fact_ref: 'Number of the memory',
  decision_id: 'Id of the decision',
  certificate_id: 'Id of the certificate',
  artifact_id: 'Id of the artifact',
  corpus_id: 'Id of the corpus',
  composition_id: 'Id of the composition',
  action_id: 'Id of the action',
  hold_id: 'Id of the legal hold',
  webhook_id: 'Id of the webhook',
  delivery_id: 'Id of the delivery',
  job_id: 'Id of the job',
  policy_id: 'Id of the policy',
  key_id: 'Id of the signing key',
  requested_by: 'Id of the key that asked',

  // memories
  content: 'Content of the memory',
  metadata: 'Metadata of the memory',
  written_at: 'When the memory was written',
  valid_from: 'From when the content is true',
  valid_until: 'Until when the content is true, not included; null: no end',
  token_count: "Tokens of the content, counted with the store's tokenizer",
  score: 'Score in this retrieval',
  capabilities: 'Capabilities of the store',

  // times
  created_at: 'When it was created',
  updated_at: 'When it was last changed',
  started_at: 'When it started',
  period_start: 'Start of the period',
  period_end: 'End of the period, not included',
  erasure_requested_at: 'When the erasure was requested',
  erasure_completed_at: 'When the erasure was completed',

  // signatures and the audit log
  log_seq: 'Position in the audit log',
  signed_bytes: 'The bytes that were signed',
  signature: 'Ed25519 signature',
  public_key: 'Ed25519 public key that signed',
  proposal_digest: 'SHA-256 of the proposal',
  not_checked: 'What this verification cannot show',
  policy_set: "Version number of the tenant's set of policies",

  // records
  authority: 'Under whose authority the caller acts',
  legal_basis: 'Legal basis, as given',

  // the service
  uptime_seconds: 'Seconds since the process started',
  usage_this_month: 'Usage in the current calendar month',
}
