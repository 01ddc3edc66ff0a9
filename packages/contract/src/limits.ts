// Limits of the interface. Each is enforced and tested at min-1, min, max and max+1.

export const limits = {
  body_bytes: 8 * 1024 * 1024,
  import_bytes: 1024 * 1024 * 1024,
  import_line_bytes: 1024 * 1024,
  verify_body_bytes: 4 * 1024 * 1024,
  json_depth: 32,
  batch_items: 1_000,
  content_bytes: 256 * 1024,
  query_bytes: 256 * 1024,
  metadata_bytes: 16 * 1024,
  metadata_depth: 8,
  budget_tokens: 2 ** 30,
  budget_tokens_default: 1_024,
  refs_per_decision: 1_000,
  latency_ms: 1_000_000_000_000,
  label_chars: 256,
  namespace_chars: 128,
  name_chars: 200,
  keys_per_tenant: 1_000,
  live_tokens_per_key: 10_000,
  token_ttl_s: { min: 1, max: 86_400, default: 3_600 },
  idempotency_key_chars: 255,
  /** Of a sign-in; the operator's own key is a text of any length up to it. */
  api_key_chars: 512,
  users_per_tenant: 1_000,
  user_stores: 100,
  email_chars: 254,
  invitation_chars: 200,
  /** A further one ends the oldest. */
  sessions_per_key: 100,
  page: { min: 1, max: 1_000, default: 100 },
  erasure_page: { min: 1, max: 500, default: 50 },
  policies_per_tenant: 200,
  policies_page: { min: 1, max: 500, default: 200 },
  policy_config_bytes: 64 * 1024,
  policy_list_items: 1_000,
  patterns_per_policy: 50,
  pattern_chars: 1_000,
  /** Bytes of a field that patterns of policies read; a longer field is denied. */
  pattern_field_bytes: 64 * 1024,
  /** Bytes of a field that only recognisers read. */
  recogniser_field_bytes: 1024 * 1024,
  records_page: { min: 1, max: 200, default: 50 },
  reason_chars: 2_000,
  ref_chars: 512,
  layers_per_artifact: 1_000,
  governance_logs_page: { min: 1, max: 500, default: 50 },
  store_delete_facts_per_transaction: 500,
  subject_text_chars: 1_000,
  subject_metadata_keys: 20,
  subject_find_groups: 20,
  subject_stores: 1_000,
  /** Memories and decisions of one request of a data subject. */
  subject_items: 50_000,
  /** Characters of the records in a document of a request for access. */
  subject_html_chars: 16_000_000,
  subject_pdf_chars: 1_000_000,
  /** At most 100 years of 365 days. */
  ttl_s: { min: 1, max: 3_153_600_000 },
  retain_days: { min: 1, max: 36_500 },
  /** Of the rest of a session before its digest. */
  digest_after_s: { min: 1, max: 2_592_000 },
  /** In force at the same time. */
  holds_per_store: 100,
  assurance_schedules: 100,
  assurance_runs_kept: 500,
  assurance_baselines_kept: 20,
  assurance_runs_page: { min: 1, max: 200, default: 20 },
  assurance_drift_page: { min: 1, max: 500, default: 50 },
  /** Event streams that are open at once. */
  open_streams: { per_key: 8, per_tenant: 64, per_process: 2_000 },
  /** Seconds a ticket of an event stream can be used. */
  ticket_ttl_s: { min: 1, max: 30, default: 30 },
  event_names_chars: 4_096,
  /** Where no plan has limits. */
  webhooks_per_tenant: 50,
  webhook_events: 100,
  webhook_url_chars: 2_048,
  webhook_overlap_h: { min: 0, max: 72, default: 24 },
  webhook_replay_entries: 100_000,
  webhook_tests_per_minute: 10,
  /** A larger entry is sent without its data, then without its text. */
  webhook_payload_bytes: 20_000,
  /** Versions of a memory that its history finds, and of one page. */
  history_versions: 10_000,
  history_page: { min: 1, max: 500, default: 100 },
  deliveries_page: { min: 1, max: 100, default: 20 },
  /** Of the namespace of an item. */
  item_namespace_labels: 16,
  item_key_chars: 512,
  item_index_paths: 32,
  item_batch_operations: 100,
  item_search: { min: 1, max: 1_000, default: 10 },
  audits_page: { min: 1, max: 100, default: 10 },
} as const
