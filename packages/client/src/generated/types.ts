// Records, bodies and replies of the interface. Generated from the contract by `npm run generate`.

/** Every error code of the service. */
export type RefusalCode =
  | 'validation'
  | 'malformed_json'
  | 'rejected'
  | 'order_inverted'
  | 'lengths_differ'
  | 'capability_not_supported'
  | 'signing_key_refused'
  | 'url_refused'
  | 'too_many_sources'
  | 'model_answer_invalid'
  | 'import_refused'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'bad_request'
  | 'payment_signature_invalid'
  | 'unauthenticated'
  | 'credentials_differ'
  | 'scope_missing'
  | 'operator_required'
  | 'tenant_required'
  | 'possession_unproven'
  | 'policy_denied'
  | 'approval_required'
  | 'self_approval'
  | 'attestation_required'
  | 'attestation_invalid'
  | 'tool_refused'
  | 'origin_refused'
  | 'route_not_found'
  | 'method_not_allowed'
  | 'tenant_not_found'
  | 'key_not_found'
  | 'store_not_found'
  | 'memory_not_found'
  | 'decision_not_found'
  | 'certificate_not_found'
  | 'epoch_not_found'
  | 'tile_not_found'
  | 'job_not_found'
  | 'policy_not_found'
  | 'landing_not_found'
  | 'artifact_not_found'
  | 'type_not_found'
  | 'action_not_found'
  | 'template_not_found'
  | 'corpus_not_found'
  | 'composition_not_found'
  | 'request_not_found'
  | 'approver_not_found'
  | 'score_not_found'
  | 'attestation_not_found'
  | 'report_not_found'
  | 'subject_request_not_found'
  | 'hold_not_found'
  | 'schedule_not_found'
  | 'run_not_found'
  | 'baseline_not_found'
  | 'subscription_not_found'
  | 'webhook_not_found'
  | 'user_not_found'
  | 'connection_not_found'
  | 'domain_not_found'
  | 'sso_not_configured'
  | 'session_not_found'
  | 'delivery_not_found'
  | 'agent_not_found'
  | 'tool_not_found'
  | 'call_not_found'
  | 'provider_not_found'
  | 'workflow_not_found'
  | 'step_not_found'
  | 'login_expired'
  | 'login_refused'
  | 'not_invited'
  | 'role_unmapped'
  | 'sso_enforced'
  | 'last_owner'
  | 'name_taken'
  | 'too_many'
  | 'rate_limited'
  | 'quota_exceeded'
  | 'free_ceiling_reached'
  | 'too_many_tokens'
  | 'store_exists'
  | 'store_deleting'
  | 'superseded'
  | 'item_changed'
  | 'erasing'
  | 'tenant_moved'
  | 'tenant_destroyed'
  | 'retention_not_set'
  | 'legal_hold'
  | 'not_waiting'
  | 'approval_expired'
  | 'job_ended'
  | 'job_not_cancellable'
  | 'wrong_state'
  | 'permit_expired'
  | 'budget_exhausted'
  | 'run_in_progress'
  | 'self_report'
  | 'self_review'
  | 'outcome_known'
  | 'older_statement'
  | 'rotation_refused'
  | 'subject_changed'
  | 'chain_empty'
  | 'idempotency_key_reused'
  | 'no_signing_key'
  | 'index_building'
  | 'model_unavailable'
  | 'idp_unavailable'
  | 'billing_not_configured'
  | 'payment_unavailable'
  | 'storage_full'
  | 'tenant_moving'
  | 'unavailable'
  | 'internal'

/** Error codes that any operation may answer with. */
export type CommonRefusal =
  | 'validation'
  | 'malformed_json'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'bad_request'
  | 'signing_key_refused'
  | 'unauthenticated'
  | 'credentials_differ'
  | 'scope_missing'
  | 'origin_refused'
  | 'rate_limited'
  | 'storage_full'
  | 'tenant_moved'
  | 'tenant_moving'
  | 'unavailable'
  | 'internal'

/** The error codes of each operation. */
export interface Refusals {
  'approvals.approver':
    | CommonRefusal
    | 'approver_not_found'
  'approvals.approvers':
    | CommonRefusal
    | 'rejected'
  'approvals.attest':
    | CommonRefusal
    | 'request_not_found'
    | 'approver_not_found'
    | 'attestation_invalid'
    | 'self_approval'
    | 'policy_denied'
    | 'approval_required'
    | 'not_waiting'
    | 'approval_expired'
    | 'rejected'
    | 'no_signing_key'
  'approvals.change_settings':
    | CommonRefusal
  'approvals.enroll':
    | CommonRefusal
    | 'rejected'
    | 'idempotency_key_reused'
  'approvals.request':
    | CommonRefusal
    | 'request_not_found'
  'approvals.requests':
    | CommonRefusal
    | 'rejected'
  'approvals.revoke':
    | CommonRefusal
    | 'approver_not_found'
  'approvals.settings':
    | CommonRefusal
  'approvals.update_approver':
    | CommonRefusal
    | 'approver_not_found'
  'approvals.verify':
    | CommonRefusal
    | 'request_not_found'
  'artifacts.approve':
    | CommonRefusal
    | 'artifact_not_found'
    | 'not_waiting'
    | 'approval_expired'
    | 'self_approval'
    | 'attestation_required'
    | 'no_signing_key'
    | 'idempotency_key_reused'
    | 'policy_denied'
    | 'approval_required'
  'artifacts.certify':
    | CommonRefusal
    | 'artifact_not_found'
    | 'landing_not_found'
    | 'wrong_state'
    | 'rejected'
    | 'idempotency_key_reused'
  'artifacts.get':
    | CommonRefusal
    | 'artifact_not_found'
  'artifacts.integrity':
    | CommonRefusal
    | 'artifact_not_found'
  'artifacts.list':
    | CommonRefusal
    | 'rejected'
  'artifacts.register':
    | CommonRefusal
    | 'policy_denied'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'artifacts.reject':
    | CommonRefusal
    | 'artifact_not_found'
    | 'not_waiting'
    | 'approval_expired'
    | 'self_approval'
    | 'attestation_required'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'artifacts.stats':
    | CommonRefusal
  'artifacts.verify':
    | CommonRefusal
    | 'artifact_not_found'
  'assurance.baseline':
    | CommonRefusal
    | 'baseline_not_found'
  'assurance.capture_baseline':
    | CommonRefusal
    | 'run_in_progress'
    | 'wrong_state'
  'assurance.create_schedule':
    | CommonRefusal
    | 'rejected'
    | 'idempotency_key_reused'
  'assurance.delete_schedule':
    | CommonRefusal
    | 'schedule_not_found'
  'assurance.drift':
    | CommonRefusal
  'assurance.get_run':
    | CommonRefusal
    | 'run_not_found'
  'assurance.run':
    | CommonRefusal
    | 'rejected'
    | 'run_in_progress'
  'assurance.runs':
    | CommonRefusal
    | 'rejected'
  'assurance.schedules':
    | CommonRefusal
  'assurance.stats':
    | CommonRefusal
  'assurance.update_schedule':
    | CommonRefusal
    | 'schedule_not_found'
    | 'rejected'
  'billing.cancel':
    | CommonRefusal
    | 'tenant_not_found'
    | 'subscription_not_found'
    | 'billing_not_configured'
    | 'payment_unavailable'
  'billing.checkout':
    | CommonRefusal
    | 'tenant_not_found'
    | 'tenant_destroyed'
    | 'rejected'
    | 'wrong_state'
    | 'billing_not_configured'
    | 'payment_unavailable'
  'billing.portal':
    | CommonRefusal
    | 'tenant_not_found'
    | 'subscription_not_found'
    | 'billing_not_configured'
    | 'payment_unavailable'
  'billing.subscription':
    | CommonRefusal
    | 'tenant_not_found'
  'billing.webhook':
    | CommonRefusal
    | 'payment_signature_invalid'
    | 'billing_not_configured'
  'cgr.attest':
    | CommonRefusal
    | 'score_not_found'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'cgr.attestation':
    | CommonRefusal
    | 'score_not_found'
    | 'attestation_not_found'
  'cgr.attestations':
    | CommonRefusal
    | 'rejected'
  'cgr.change_settings':
    | CommonRefusal
  'cgr.decide':
    | CommonRefusal
    | 'rejected'
    | 'possession_unproven'
    | 'rotation_refused'
    | 'outcome_known'
    | 'older_statement'
    | 'free_ceiling_reached'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'cgr.issuer':
    | CommonRefusal
    | 'no_signing_key'
  'cgr.outcome':
    | CommonRefusal
    | 'possession_unproven'
    | 'self_report'
    | 'older_statement'
    | 'idempotency_key_reused'
  'cgr.outcomes':
    | CommonRefusal
    | 'rejected'
    | 'possession_unproven'
    | 'self_report'
    | 'older_statement'
    | 'idempotency_key_reused'
  'cgr.review':
    | CommonRefusal
    | 'rejected'
    | 'self_review'
    | 'idempotency_key_reused'
  'cgr.reviews':
    | CommonRefusal
    | 'rejected'
    | 'self_review'
    | 'idempotency_key_reused'
  'cgr.rotate':
    | CommonRefusal
    | 'rejected'
    | 'possession_unproven'
    | 'rotation_refused'
    | 'idempotency_key_reused'
  'cgr.rotations':
    | CommonRefusal
    | 'rejected'
  'cgr.score':
    | CommonRefusal
    | 'score_not_found'
  'cgr.scores':
    | CommonRefusal
    | 'rejected'
  'cgr.settings':
    | CommonRefusal
  'cgr.verify_batch':
    | CommonRefusal
    | 'rejected'
    | 'outcome_known'
    | 'free_ceiling_reached'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'compliance.badge_json':
    | CommonRefusal
  'compliance.badge_svg':
    | CommonRefusal
  'compliance.history':
    | CommonRefusal
    | 'tenant_not_found'
  'compliance.status':
    | CommonRefusal
    | 'rejected'
  'compositions.approve':
    | CommonRefusal
    | 'composition_not_found'
    | 'not_waiting'
    | 'approval_expired'
    | 'self_approval'
    | 'attestation_required'
    | 'no_signing_key'
    | 'idempotency_key_reused'
    | 'policy_denied'
    | 'approval_required'
    | 'rejected'
  'compositions.artifact':
    | CommonRefusal
    | 'composition_not_found'
  'compositions.compose':
    | CommonRefusal
    | 'rejected'
    | 'policy_denied'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'compositions.get':
    | CommonRefusal
    | 'composition_not_found'
  'compositions.list':
    | CommonRefusal
    | 'rejected'
  'compositions.reject':
    | CommonRefusal
    | 'composition_not_found'
    | 'not_waiting'
    | 'approval_expired'
    | 'self_approval'
    | 'attestation_required'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'compositions.stats':
    | CommonRefusal
  'compositions.verify':
    | CommonRefusal
    | 'composition_not_found'
  'decisions.export':
    | CommonRefusal
  'decisions.get':
    | CommonRefusal
    | 'decision_not_found'
  'decisions.list':
    | CommonRefusal
    | 'rejected'
  'decisions.log':
    | CommonRefusal
    | 'lengths_differ'
    | 'rejected'
    | 'no_signing_key'
    | 'store_not_found'
    | 'policy_denied'
    | 'approval_required'
    | 'free_ceiling_reached'
  'decisions.redact':
    | CommonRefusal
    | 'decision_not_found'
    | 'legal_hold'
    | 'no_signing_key'
  'decisions.replay':
    | CommonRefusal
    | 'decision_not_found'
  'decisions.scrub':
    | CommonRefusal
    | 'legal_hold'
  'decisions.stats':
    | CommonRefusal
  'erasure.by_fact':
    | CommonRefusal
    | 'certificate_not_found'
  'erasure.get':
    | CommonRefusal
    | 'certificate_not_found'
  'erasure.issue':
    | CommonRefusal
    | 'no_signing_key'
    | 'memory_not_found'
    | 'legal_hold'
    | 'idempotency_key_reused'
  'erasure.list':
    | CommonRefusal
    | 'rejected'
  'erasure.stats':
    | CommonRefusal
  'erasure.verify':
    | CommonRefusal
    | 'certificate_not_found'
  'gcrumbs.breadcrumbs':
    | CommonRefusal
    | 'rejected'
  'gcrumbs.checkpoint':
    | CommonRefusal
    | 'epoch_not_found'
  'gcrumbs.consistency':
    | CommonRefusal
    | 'epoch_not_found'
    | 'rejected'
  'gcrumbs.epoch':
    | CommonRefusal
    | 'epoch_not_found'
  'gcrumbs.epochs':
    | CommonRefusal
    | 'rejected'
  'gcrumbs.proof':
    | CommonRefusal
    | 'epoch_not_found'
  'gcrumbs.public_key':
    | CommonRefusal
    | 'no_signing_key'
  'gcrumbs.roll':
    | CommonRefusal
    | 'chain_empty'
    | 'no_signing_key'
  'gcrumbs.stats':
    | CommonRefusal
  'gcrumbs.tile':
    | CommonRefusal
    | 'tile_not_found'
  'gcrumbs.verify':
    | CommonRefusal
  'gcrumbs.verify_envelope':
    | CommonRefusal
  'gcrumbs.verify_key':
    | CommonRefusal
    | 'no_signing_key'
  'governance.create_policy':
    | CommonRefusal
    | 'rejected'
    | 'idempotency_key_reused'
  'governance.delete_policy':
    | CommonRefusal
    | 'policy_not_found'
  'governance.evaluate':
    | CommonRefusal
    | 'idempotency_key_reused'
  'governance.get_policy':
    | CommonRefusal
    | 'policy_not_found'
  'governance.list_policies':
    | CommonRefusal
    | 'rejected'
  'governance.logs':
    | CommonRefusal
    | 'rejected'
  'governance.policy_types':
    | CommonRefusal
  'governance.seed_defaults':
    | CommonRefusal
    | 'rejected'
    | 'idempotency_key_reused'
  'governance.stats':
    | CommonRefusal
  'governance.update_policy':
    | CommonRefusal
    | 'policy_not_found'
  'identity.accept':
    | CommonRefusal
    | 'login_expired'
    | 'sso_enforced'
  'identity.backchannel':
    | CommonRefusal
  'identity.configure':
    | CommonRefusal
    | 'url_refused'
    | 'rejected'
    | 'too_many'
  'identity.connection':
    | CommonRefusal
    | 'connection_not_found'
  'identity.connections':
    | CommonRefusal
    | 'rejected'
  'identity.create_connection':
    | CommonRefusal
    | 'url_refused'
    | 'rejected'
    | 'too_many'
  'identity.delete_connection':
    | CommonRefusal
    | 'connection_not_found'
  'identity.drop_domain':
    | CommonRefusal
    | 'connection_not_found'
    | 'domain_not_found'
  'identity.exchange':
    | CommonRefusal
    | 'login_expired'
  'identity.invite':
    | CommonRefusal
    | 'tenant_not_found'
    | 'store_not_found'
    | 'name_taken'
    | 'too_many'
    | 'tenant_destroyed'
  'identity.logout':
    | CommonRefusal
  'identity.me':
    | CommonRefusal
  'identity.providers':
    | CommonRefusal
  'identity.remove_user':
    | CommonRefusal
    | 'user_not_found'
    | 'last_owner'
  'identity.revoke_session':
    | CommonRefusal
    | 'session_not_found'
  'identity.sessions':
    | CommonRefusal
    | 'rejected'
  'identity.set_domains':
    | CommonRefusal
    | 'tenant_not_found'
    | 'connection_not_found'
    | 'name_taken'
  'identity.sign_in':
    | CommonRefusal
    | 'unauthenticated'
    | 'sso_enforced'
  'identity.test':
    | CommonRefusal
    | 'connection_not_found'
  'identity.update_connection':
    | CommonRefusal
    | 'connection_not_found'
    | 'rejected'
    | 'wrong_state'
  'identity.update_user':
    | CommonRefusal
    | 'user_not_found'
    | 'last_owner'
    | 'wrong_state'
  'identity.users':
    | CommonRefusal
    | 'rejected'
  'identity.verify_domain':
    | CommonRefusal
    | 'connection_not_found'
    | 'name_taken'
    | 'too_many'
  'items.batch':
    | CommonRefusal
    | 'policy_denied'
    | 'approval_required'
    | 'store_not_found'
    | 'store_deleting'
    | 'no_signing_key'
    | 'idempotency_key_reused'
    | 'capability_not_supported'
    | 'rejected'
    | 'quota_exceeded'
    | 'item_changed'
    | 'erasing'
    | 'legal_hold'
    | 'index_building'
  'items.delete':
    | CommonRefusal
    | 'policy_denied'
    | 'approval_required'
    | 'store_not_found'
    | 'store_deleting'
    | 'no_signing_key'
    | 'idempotency_key_reused'
    | 'capability_not_supported'
    | 'legal_hold'
  'items.get':
    | CommonRefusal
    | 'policy_denied'
    | 'approval_required'
    | 'store_not_found'
    | 'capability_not_supported'
  'items.namespaces':
    | CommonRefusal
    | 'policy_denied'
    | 'approval_required'
    | 'store_not_found'
  'items.put':
    | CommonRefusal
    | 'policy_denied'
    | 'approval_required'
    | 'store_not_found'
    | 'store_deleting'
    | 'no_signing_key'
    | 'idempotency_key_reused'
    | 'capability_not_supported'
    | 'rejected'
    | 'quota_exceeded'
    | 'item_changed'
    | 'erasing'
  'items.search':
    | CommonRefusal
    | 'policy_denied'
    | 'approval_required'
    | 'store_not_found'
    | 'index_building'
  'jobs.cancel':
    | CommonRefusal
    | 'job_not_found'
    | 'job_not_cancellable'
    | 'job_ended'
  'jobs.get':
    | CommonRefusal
    | 'job_not_found'
  'keys.create':
    | CommonRefusal
    | 'rejected'
    | 'store_not_found'
    | 'idempotency_key_reused'
  'keys.create_token':
    | CommonRefusal
    | 'rejected'
    | 'store_not_found'
    | 'too_many_tokens'
    | 'idempotency_key_reused'
  'keys.current':
    | CommonRefusal
  'keys.list':
    | CommonRefusal
    | 'rejected'
  'keys.revoke':
    | CommonRefusal
    | 'key_not_found'
  'landing.approve':
    | CommonRefusal
    | 'landing_not_found'
    | 'not_waiting'
    | 'approval_expired'
    | 'self_approval'
    | 'attestation_required'
    | 'no_signing_key'
    | 'idempotency_key_reused'
    | 'policy_denied'
    | 'approval_required'
    | 'rejected'
  'landing.conformance':
    | CommonRefusal
    | 'rejected'
  'landing.get':
    | CommonRefusal
    | 'landing_not_found'
  'landing.issue':
    | CommonRefusal
    | 'rejected'
    | 'policy_denied'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'landing.list':
    | CommonRefusal
    | 'rejected'
  'landing.reject':
    | CommonRefusal
    | 'landing_not_found'
    | 'not_waiting'
    | 'approval_expired'
    | 'self_approval'
    | 'attestation_required'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'landing.stats':
    | CommonRefusal
  'landing.verify':
    | CommonRefusal
    | 'landing_not_found'
  'llm.create_provider':
    | CommonRefusal
    | 'url_refused'
    | 'too_many'
    | 'idempotency_key_reused'
  'llm.create_tool':
    | CommonRefusal
    | 'url_refused'
    | 'rejected'
    | 'name_taken'
    | 'too_many'
    | 'idempotency_key_reused'
  'llm.delete_provider':
    | CommonRefusal
    | 'provider_not_found'
  'llm.delete_tool':
    | CommonRefusal
    | 'tool_not_found'
  'llm.list_providers':
    | CommonRefusal
    | 'rejected'
  'llm.list_tools':
    | CommonRefusal
    | 'rejected'
  'llm.seed_builtins':
    | CommonRefusal
    | 'too_many'
    | 'idempotency_key_reused'
  'manifold.clear_cache':
    | CommonRefusal
  'manifold.export':
    | CommonRefusal
  'manifold.field':
    | CommonRefusal
  'manifold.locate':
    | CommonRefusal
    | 'decision_not_found'
  'manifold.picture':
    | CommonRefusal
  'memory.audit':
    | CommonRefusal
    | 'store_not_found'
    | 'capability_not_supported'
    | 'rejected'
  'memory.capabilities':
    | CommonRefusal
    | 'store_not_found'
  'memory.create_store':
    | CommonRefusal
    | 'rejected'
    | 'store_exists'
    | 'quota_exceeded'
    | 'idempotency_key_reused'
  'memory.delete':
    | CommonRefusal
    | 'policy_denied'
    | 'approval_required'
    | 'store_not_found'
    | 'store_deleting'
    | 'no_signing_key'
    | 'idempotency_key_reused'
    | 'legal_hold'
    | 'capability_not_supported'
  'memory.delete_store':
    | CommonRefusal
    | 'policy_denied'
    | 'approval_required'
    | 'store_not_found'
    | 'legal_hold'
    | 'no_signing_key'
  'memory.export':
    | CommonRefusal
    | 'store_not_found'
  'memory.flush':
    | CommonRefusal
    | 'store_not_found'
    | 'store_deleting'
  'memory.get_store':
    | CommonRefusal
    | 'store_not_found'
  'memory.history':
    | CommonRefusal
    | 'store_not_found'
    | 'memory_not_found'
    | 'rejected'
  'memory.import':
    | CommonRefusal
    | 'policy_denied'
    | 'approval_required'
    | 'store_not_found'
    | 'store_deleting'
    | 'no_signing_key'
    | 'idempotency_key_reused'
    | 'import_refused'
    | 'quota_exceeded'
  'memory.ingest':
    | CommonRefusal
    | 'policy_denied'
    | 'approval_required'
    | 'store_not_found'
    | 'store_deleting'
    | 'no_signing_key'
    | 'idempotency_key_reused'
    | 'capability_not_supported'
    | 'rejected'
    | 'quota_exceeded'
    | 'provider_not_found'
    | 'model_unavailable'
    | 'model_answer_invalid'
  'memory.ingestion_stats':
    | CommonRefusal
    | 'store_not_found'
  'memory.list_stores':
    | CommonRefusal
    | 'rejected'
  'memory.memories':
    | CommonRefusal
    | 'store_not_found'
    | 'rejected'
  'memory.memory':
    | CommonRefusal
    | 'store_not_found'
    | 'memory_not_found'
  'memory.reembed':
    | CommonRefusal
    | 'store_not_found'
    | 'store_deleting'
    | 'rejected'
  'memory.retrieve':
    | CommonRefusal
    | 'policy_denied'
    | 'approval_required'
    | 'store_not_found'
    | 'capability_not_supported'
    | 'rejected'
    | 'index_building'
  'memory.stats':
    | CommonRefusal
    | 'store_not_found'
  'memory.supersede':
    | CommonRefusal
    | 'policy_denied'
    | 'approval_required'
    | 'store_not_found'
    | 'store_deleting'
    | 'no_signing_key'
    | 'idempotency_key_reused'
    | 'capability_not_supported'
    | 'rejected'
    | 'quota_exceeded'
    | 'superseded'
    | 'erasing'
    | 'order_inverted'
  'memory.write':
    | CommonRefusal
    | 'policy_denied'
    | 'approval_required'
    | 'store_not_found'
    | 'store_deleting'
    | 'no_signing_key'
    | 'idempotency_key_reused'
    | 'capability_not_supported'
    | 'rejected'
    | 'quota_exceeded'
  'memory.write_batch':
    | CommonRefusal
    | 'policy_denied'
    | 'approval_required'
    | 'store_not_found'
    | 'store_deleting'
    | 'no_signing_key'
    | 'idempotency_key_reused'
    | 'capability_not_supported'
    | 'rejected'
    | 'quota_exceeded'
  'monitoring.stats':
    | CommonRefusal
  'offboarding.destroy_key':
    | CommonRefusal
    | 'tenant_not_found'
    | 'rejected'
    | 'legal_hold'
    | 'wrong_state'
    | 'no_signing_key'
  'offboarding.destruction':
    | CommonRefusal
    | 'tenant_not_found'
    | 'certificate_not_found'
  'orchestrator.approve_action':
    | CommonRefusal
    | 'action_not_found'
    | 'not_waiting'
    | 'approval_expired'
    | 'self_approval'
    | 'attestation_required'
    | 'no_signing_key'
    | 'idempotency_key_reused'
    | 'policy_denied'
    | 'approval_required'
  'orchestrator.begin_step':
    | CommonRefusal
    | 'run_not_found'
    | 'agent_not_found'
    | 'step_not_found'
    | 'store_not_found'
    | 'rejected'
    | 'wrong_state'
    | 'budget_exhausted'
    | 'too_many'
    | 'too_many_sources'
    | 'policy_denied'
    | 'approval_required'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'orchestrator.bundle':
    | CommonRefusal
    | 'run_not_found'
    | 'no_signing_key'
  'orchestrator.call_tool':
    | CommonRefusal
    | 'run_not_found'
    | 'step_not_found'
    | 'wrong_state'
    | 'permit_expired'
    | 'tool_refused'
    | 'too_many'
    | 'rejected'
    | 'policy_denied'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'orchestrator.cancel_run':
    | CommonRefusal
    | 'run_not_found'
    | 'rejected'
    | 'wrong_state'
    | 'no_signing_key'
  'orchestrator.complete_step':
    | CommonRefusal
    | 'run_not_found'
    | 'step_not_found'
    | 'wrong_state'
    | 'permit_expired'
    | 'rejected'
    | 'policy_denied'
    | 'approval_required'
    | 'free_ceiling_reached'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'orchestrator.create_agent':
    | CommonRefusal
    | 'name_taken'
    | 'rejected'
    | 'too_many'
    | 'idempotency_key_reused'
  'orchestrator.delete_agent':
    | CommonRefusal
    | 'agent_not_found'
    | 'wrong_state'
  'orchestrator.get_action':
    | CommonRefusal
    | 'action_not_found'
  'orchestrator.get_agent':
    | CommonRefusal
    | 'agent_not_found'
  'orchestrator.get_call':
    | CommonRefusal
    | 'run_not_found'
    | 'call_not_found'
  'orchestrator.get_receipt':
    | CommonRefusal
    | 'step_not_found'
    | 'wrong_state'
  'orchestrator.get_run':
    | CommonRefusal
    | 'run_not_found'
  'orchestrator.get_step':
    | CommonRefusal
    | 'run_not_found'
    | 'step_not_found'
  'orchestrator.list_actions':
    | CommonRefusal
    | 'rejected'
  'orchestrator.list_agents':
    | CommonRefusal
    | 'rejected'
  'orchestrator.list_roles':
    | CommonRefusal
  'orchestrator.list_runs':
    | CommonRefusal
    | 'rejected'
  'orchestrator.list_steps':
    | CommonRefusal
    | 'run_not_found'
  'orchestrator.propose':
    | CommonRefusal
    | 'agent_not_found'
    | 'tool_refused'
    | 'too_many'
    | 'rejected'
    | 'approval_required'
    | 'no_signing_key'
  'orchestrator.receipts':
    | CommonRefusal
    | 'run_not_found'
  'orchestrator.reject_action':
    | CommonRefusal
    | 'action_not_found'
    | 'not_waiting'
    | 'approval_expired'
    | 'self_approval'
    | 'attestation_required'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'orchestrator.replay':
    | CommonRefusal
    | 'decision_not_found'
    | 'budget_exhausted'
    | 'policy_denied'
    | 'approval_required'
  'orchestrator.report_call':
    | CommonRefusal
    | 'run_not_found'
    | 'call_not_found'
    | 'rejected'
    | 'wrong_state'
    | 'idempotency_key_reused'
  'orchestrator.resolve_call':
    | CommonRefusal
    | 'run_not_found'
    | 'call_not_found'
    | 'rejected'
    | 'wrong_state'
  'orchestrator.start_run':
    | CommonRefusal
    | 'agent_not_found'
    | 'workflow_not_found'
    | 'provider_not_found'
    | 'rejected'
    | 'wrong_state'
    | 'too_many'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'orchestrator.stats':
    | CommonRefusal
  'orchestrator.update_agent':
    | CommonRefusal
    | 'agent_not_found'
    | 'name_taken'
    | 'rejected'
  'orchestrator.verify':
    | CommonRefusal
    | 'run_not_found'
    | 'no_signing_key'
  'platform.health':
    | CommonRefusal
  'platform.healthz':
    | CommonRefusal
  'platform.readyz':
    | CommonRefusal
  'provenance.block':
    | CommonRefusal
    | 'corpus_not_found'
  'provenance.get':
    | CommonRefusal
    | 'corpus_not_found'
  'provenance.list':
    | CommonRefusal
    | 'rejected'
  'provenance.proof':
    | CommonRefusal
    | 'corpus_not_found'
  'provenance.register':
    | CommonRefusal
    | 'rejected'
    | 'approval_required'
    | 'idempotency_key_reused'
    | 'no_signing_key'
  'provenance.stats':
    | CommonRefusal
  'provenance.verify':
    | CommonRefusal
    | 'corpus_not_found'
  'reports.delete':
    | CommonRefusal
    | 'report_not_found'
  'reports.download':
    | CommonRefusal
    | 'report_not_found'
  'reports.download_format':
    | CommonRefusal
    | 'report_not_found'
  'reports.frameworks':
    | CommonRefusal
  'reports.generate':
    | CommonRefusal
    | 'rejected'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'reports.get':
    | CommonRefusal
    | 'report_not_found'
  'reports.list':
    | CommonRefusal
    | 'rejected'
  'reports.stats':
    | CommonRefusal
  'retention.get':
    | CommonRefusal
    | 'store_not_found'
  'retention.holds':
    | CommonRefusal
    | 'store_not_found'
    | 'rejected'
  'retention.place_hold':
    | CommonRefusal
    | 'store_not_found'
    | 'store_deleting'
    | 'rejected'
    | 'idempotency_key_reused'
  'retention.release_hold':
    | CommonRefusal
    | 'store_not_found'
    | 'store_deleting'
    | 'hold_not_found'
  'retention.run':
    | CommonRefusal
    | 'policy_denied'
    | 'approval_required'
    | 'store_not_found'
    | 'store_deleting'
    | 'retention_not_set'
    | 'legal_hold'
    | 'no_signing_key'
  'retention.set':
    | CommonRefusal
    | 'policy_denied'
    | 'approval_required'
    | 'store_not_found'
    | 'store_deleting'
  'streams.events':
    | CommonRefusal
  'streams.run':
    | CommonRefusal
    | 'run_not_found'
  'streams.ticket':
    | CommonRefusal
  'streams.workflow':
    | CommonRefusal
    | 'workflow_not_found'
    | 'wrong_state'
  'subjects.access':
    | CommonRefusal
    | 'rejected'
    | 'store_not_found'
  'subjects.erase':
    | CommonRefusal
    | 'rejected'
    | 'no_signing_key'
    | 'store_not_found'
    | 'subject_changed'
    | 'policy_denied'
    | 'approval_required'
    | 'idempotency_key_reused'
  'subjects.extend':
    | CommonRefusal
    | 'subject_request_not_found'
    | 'wrong_state'
  'subjects.get':
    | CommonRefusal
    | 'subject_request_not_found'
  'subjects.list':
    | CommonRefusal
    | 'rejected'
  'subjects.manifest':
    | CommonRefusal
    | 'subject_request_not_found'
    | 'wrong_state'
  'templates.install':
    | CommonRefusal
    | 'template_not_found'
    | 'rejected'
    | 'policy_denied'
    | 'approval_required'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'templates.list':
    | CommonRefusal
    | 'rejected'
  'tenants.create':
    | CommonRefusal
    | 'idempotency_key_reused'
  'tenants.current_usage':
    | CommonRefusal
    | 'tenant_not_found'
  'tenants.get':
    | CommonRefusal
    | 'tenant_not_found'
  'tenants.list':
    | CommonRefusal
  'tenants.rotate_key':
    | CommonRefusal
    | 'tenant_not_found'
    | 'tenant_destroyed'
    | 'idempotency_key_reused'
  'tenants.update':
    | CommonRefusal
    | 'tenant_not_found'
    | 'tenant_destroyed'
    | 'wrong_state'
  'tenants.usage':
    | CommonRefusal
    | 'tenant_not_found'
  'webhooks.create':
    | CommonRefusal
    | 'url_refused'
    | 'rejected'
    | 'too_many'
    | 'idempotency_key_reused'
  'webhooks.delete':
    | CommonRefusal
    | 'webhook_not_found'
  'webhooks.deliveries':
    | CommonRefusal
    | 'webhook_not_found'
    | 'rejected'
  'webhooks.event_types':
    | CommonRefusal
  'webhooks.get':
    | CommonRefusal
    | 'webhook_not_found'
  'webhooks.list':
    | CommonRefusal
    | 'rejected'
  'webhooks.replay':
    | CommonRefusal
    | 'webhook_not_found'
    | 'rejected'
    | 'wrong_state'
  'webhooks.retry':
    | CommonRefusal
    | 'webhook_not_found'
    | 'delivery_not_found'
    | 'wrong_state'
  'webhooks.rotate_secret':
    | CommonRefusal
    | 'webhook_not_found'
    | 'wrong_state'
  'webhooks.test':
    | CommonRefusal
    | 'webhook_not_found'
    | 'wrong_state'
  'webhooks.update':
    | CommonRefusal
    | 'webhook_not_found'
    | 'url_refused'
    | 'rejected'
    | 'wrong_state'
  'workflows.create':
    | CommonRefusal
    | 'agent_not_found'
    | 'rejected'
    | 'too_many'
    | 'idempotency_key_reused'
  'workflows.delete':
    | CommonRefusal
    | 'workflow_not_found'
    | 'wrong_state'
  'workflows.find_step':
    | CommonRefusal
    | 'step_not_found'
  'workflows.get':
    | CommonRefusal
    | 'workflow_not_found'
  'workflows.list':
    | CommonRefusal
    | 'rejected'
  'workflows.receipts':
    | CommonRefusal
    | 'workflow_not_found'
  'workflows.resume':
    | CommonRefusal
    | 'workflow_not_found'
    | 'action_not_found'
    | 'wrong_state'
    | 'not_waiting'
    | 'approval_expired'
    | 'self_approval'
    | 'attestation_required'
    | 'policy_denied'
    | 'approval_required'
    | 'no_signing_key'
  'workflows.run':
    | CommonRefusal
    | 'workflow_not_found'
    | 'agent_not_found'
    | 'provider_not_found'
    | 'rejected'
    | 'wrong_state'
    | 'too_many'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'workflows.run_step':
    | CommonRefusal
    | 'agent_not_found'
    | 'provider_not_found'
    | 'rejected'
    | 'too_many'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'workflows.terminate':
    | CommonRefusal
    | 'workflow_not_found'
    | 'wrong_state'
    | 'no_signing_key'
  'workflows.verify_chain':
    | CommonRefusal
    | 'workflow_not_found'
    | 'no_signing_key'
  'world_model.action_stats':
    | CommonRefusal
  'world_model.approve_action':
    | CommonRefusal
    | 'action_not_found'
    | 'not_waiting'
    | 'approval_expired'
    | 'self_approval'
    | 'attestation_required'
    | 'no_signing_key'
    | 'idempotency_key_reused'
    | 'policy_denied'
    | 'approval_required'
  'world_model.get_action':
    | CommonRefusal
    | 'action_not_found'
  'world_model.get_type':
    | CommonRefusal
    | 'type_not_found'
  'world_model.invoke':
    | CommonRefusal
    | 'type_not_found'
    | 'policy_denied'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'world_model.list_actions':
    | CommonRefusal
    | 'rejected'
  'world_model.list_types':
    | CommonRefusal
    | 'rejected'
  'world_model.register_type':
    | CommonRefusal
    | 'rejected'
    | 'policy_denied'
    | 'approval_required'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'world_model.reject_action':
    | CommonRefusal
    | 'action_not_found'
    | 'not_waiting'
    | 'approval_expired'
    | 'self_approval'
    | 'attestation_required'
    | 'no_signing_key'
    | 'idempotency_key_reused'
  'world_model.validate_link':
    | CommonRefusal
    | 'type_not_found'
  'world_model.validate_object':
    | CommonRefusal
    | 'type_not_found'
  'world_model.verify_action':
    | CommonRefusal
    | 'action_not_found'
  'world_model.verify_type':
    | CommonRefusal
    | 'type_not_found'
}

/** An action, whether invoked, waiting or refused */
export type Action = {
  /** Id of the action */
  action_id: string
  /** Name of the action type */
  action_name: string
  subject_refs: SubjectRefs
  /** Parameters of the action */
  params: { [key: string]: unknown }
  /** SHA-256 of the parameters; null until it is invoked */
  params_digest: string | null
  /** Under whose authority the caller acts */
  authority: RecordedAuthority
  /** Name of the action in policies */
  operation: string
  /** `allowed` once the action is invoked */
  gate: "allowed" | null
  type: CheckedType
  /** Id of the tenant */
  tenant_id: string
  status: RecordStatus
  /** Whether its texts were erased; a certificate of erasure names it */
  redacted: boolean
  /** The signed record; null where nothing was issued */
  document: { [key: string]: unknown } | null
  /** SHA-256 of the proposal */
  proposal_digest: string
  /** Id of the approval request; null: none was needed */
  approval_request_id: string | null
  /** The approval decision; null: none was needed, or none yet */
  approval: RecordApproval | null
  /** Why it was not issued */
  reason: string | null
  /** Id of the key that asked */
  requested_by: string
  /** Ed25519 signature in base64 */
  signature: string | null
  /** Key that signed, in base64 */
  public_key: string | null
  /** Same as `public_key` */
  signer_public_key: string | null
  /** Id of the signing key */
  key_id: string | null
  /** When it was created */
  created_at: string
}

/** What became of a call that an agent proposes */
export type ActionProposal = {
  agent_id: string
  run_id: string
  step_id: string
  /** Id of the call; null: policies denied the step already */
  call_id: string | null
  /** Name of the tool */
  tool: string
  /** State of the call: act only once it is `intended` */
  state: RunCallState
  /** Whether a policy denied it */
  denied: boolean
  /** Whether a person had, or has, to approve it */
  escalated: boolean
  /** A proposal executes nothing */
  executed: false
  /** Id of the action to approve; null: none */
  action_id: string | null
  /** When it was created */
  created_at: string
}

/** An agent: model, prompt, stores and tools of its steps */
export type Agent = {
  agent_id: string
  /** Id of the tenant */
  tenant_id: string
  /** Unique among the agents of the tenant */
  name: string
  /** What it is for */
  role: AgentRole
  /** What it does */
  description: string
  /** Model that it calls unless a step names another */
  model_id: string
  /** Instructions for the model */
  system_prompt: string
  /** Stores that its steps may read; empty: every store */
  memory_stores: string[]
  /** Models that a managed run calls, in this order, if `model_id` fails */
  fallback_models: string[]
  /** Names of tools that it may call; empty: every tool */
  tools: string[]
  /** Steps of a run that it starts */
  max_steps: number
  /** Maximum tokens of one step, input and output */
  max_tokens_per_step: number
  /** Temperature for the model */
  temperature: number
  /** Version number, from 1 */
  version: number
  /** Whether it may begin steps */
  enabled: boolean
  /** When it was created */
  created_at: string
  /** When it was last changed */
  updated_at: string
}

/** A step or call of an agent that required approval */
export type AgentAction = {
  /** Id of the action */
  action_id: string
  run_id: string
  step_id: string
  /** Id of the call; null: the step itself */
  call_id: string | null
  agent_id: string
  /**
   * Operation to approve. `memory.write`: a fact that a model extracted from a conversation; then
   * `run_id`, `step_id` and `agent_id` are the `extraction_id`
   */
  operation: 'inference' | 'tool_execution' | 'memory.write'
  /** Effect class of the tool; null: the action is a step */
  effect: ToolEffect | null
  /** Salted SHA-256 of the input, or of tool and arguments */
  commitment: string
  /** Text to approve: input of the step, or JSON of tool and arguments */
  text: string | null
  /** Id of the tenant */
  tenant_id: string
  status: RecordStatus
  /** Whether its texts were erased; a certificate of erasure names it */
  redacted: boolean
  /** The signed record; null where nothing was issued */
  document: { [key: string]: unknown } | null
  /** SHA-256 of the proposal */
  proposal_digest: string
  /** Id of the approval request; null: none was needed */
  approval_request_id: string | null
  /** The approval decision; null: none was needed, or none yet */
  approval: RecordApproval | null
  /** Why it was not issued */
  reason: string | null
  /** Id of the key that asked */
  requested_by: string
  /** Ed25519 signature in base64 */
  signature: string | null
  /** Key that signed, in base64 */
  public_key: string | null
  /** Same as `public_key` */
  signer_public_key: string | null
  /** Id of the signing key */
  key_id: string | null
  /** When it was created */
  created_at: string
}

/** What an agent is for */
export type AgentRole = 'researcher' | 'writer' | 'reviewer' | 'classifier' | 'executor' | 'supervisor' | 'custom'

/** Tier of the agent */
export type AgentTier = 'gold' | 'silver' | 'bronze' | 'unproven'

/** A request for an approval */
export type ApprovalRequest = {
  /** Whether its texts were erased; a certificate of erasure names it */
  redacted: boolean
  /** Id of the approval request */
  request_id: string
  /** Kind of the record that waits */
  kind: string
  /** Id of the record that waits */
  record_id: string
  /** The operation as policies name it, for example `artifacts.register` */
  action: string
  /** Same as `record_id` */
  resource: string
  /** When the approval was requested */
  issued_at: string
  /** When the approval request expires */
  expires_at: string
  status: ApprovalState
  /** Id of the key that asked */
  requested_by: string
  /** SHA-256 of the proposal, which a decision is bound to */
  proposal_digest: string
  /** Version number of the tenant's set of policies */
  policy_set: number
  /** The policies that required approval */
  escalations: Escalation[]
}

/** What the tenant requires of approvals */
export type ApprovalSettings = {
  /** Whether the key that decides must not be the key that asked */
  different_credential: boolean
  /** Whether only enrolled approvers may decide, with a signature */
  attestation_required: boolean
  /** How long new approval requests may wait */
  expires_after_seconds: number
}

/** State of an approval request */
export type ApprovalState = 'pending' | 'approved' | 'denied' | 'expired'

/** A person who may sign decisions */
export type Approver = {
  /** Id of the approver */
  approver_id: string
  /** Name of the approver */
  name: string
  /** Role of the approver */
  role: string | null
  /** Ed25519 public key in lower-case hexadecimal */
  public_key: string
  /** False: revoked, and kept because decisions name the approver */
  active: boolean
  /** When it was created */
  created_at: string
  /** When it was last changed */
  updated_at: string
}

/** A registered artifact */
export type Artifact = {
  /** Id of the artifact */
  artifact_id: string
  /** Name of the artifact */
  artifact_ref: string
  /** Name of the base model */
  base_model_ref: string
  /** Kind of artifact */
  kind: string
  /** SHA-256 over base model, kind and the digests in order */
  manifest_digest: string
  /** SHA-256 of each layer in lower-case hexadecimal, in order */
  layer_hashes: string[]
  /** Metadata given at registration */
  metadata: { [key: string]: unknown }
  /** Id of the landing certificate that certifies it */
  certificate_id: string | null
  /** Id of the tenant */
  tenant_id: string
  status: RecordStatus
  /** Whether its texts were erased; a certificate of erasure names it */
  redacted: boolean
  /** The signed record; null where nothing was issued */
  document: { [key: string]: unknown } | null
  /** SHA-256 of the proposal */
  proposal_digest: string
  /** Id of the approval request; null: none was needed */
  approval_request_id: string | null
  /** The approval decision; null: none was needed, or none yet */
  approval: RecordApproval | null
  /** Why it was not issued */
  reason: string | null
  /** Id of the key that asked */
  requested_by: string
  /** Ed25519 signature in base64 */
  signature: string | null
  /** Key that signed, in base64 */
  public_key: string | null
  /** Same as `public_key` */
  signer_public_key: string | null
  /** Id of the signing key */
  key_id: string | null
  /** When it was created */
  created_at: string
}

/** The report as assessment results of OSCAL */
export type AssessmentResults = {
  /** A NIST OSCAL 1.1.3 assessment-results document */
  "assessment-results": { [key: string]: unknown }
}

/** The result of one check */
export type AssuranceCheckResult = {
  status: AssuranceCheckStatus
  /** Whether the status is `pass` */
  passed: boolean
  /** What was checked, or why nothing was */
  detail: string
  /** How many of each thing were checked */
  counts: { [key: string]: number }
  /** The first things that are wrong; never contains content */
  findings: Array<{
    /** Kind of record */
    kind: string
    /** Id or number of the record */
    id: string
    /** What is wrong */
    what: string
  }>
  /** Number of all findings; at most 1,000 of one kind are counted */
  findings_total: number
}

/** Result of a check; `not_checked` is not a pass */
export type AssuranceCheckStatus = 'pass' | 'fail' | 'not_checked'

/**
 * Checks to run; the last four values are names that earlier clients use. Default: all but
 * `conformance`
 */
export type AssuranceChecks = Array<'chain' | 'seals' | 'ledger' | 'policies' | 'clock' | 'conformance' | 'chain_integrity' | 'governance' | 'health' | 'metrics'>

/** A run of checks with its results */
export type AssuranceRun = {
  /** Id of the run */
  run_id: string
  status: AssuranceStatus
  trigger: AssuranceTrigger
  /** Id of the schedule */
  schedule_id: string | null
  /** Checks of the run */
  checks: string[]
  /** Differences from the baseline */
  drift_events_count: number
  /** `interrupted` or `stopped`: the process ended; otherwise the name of an error */
  error: string | null
  /** When the run started */
  started_at: string
  /** When the run ended */
  completed_at: string | null
  /** Results by name, also by the requested alias; empty while the run lasts */
  checks_results: { [key: string]: AssuranceCheckResult }
  /** Differences from the baseline */
  drift_events: Array<{
    /** Name of the check */
    check: string
    type: DriftType
    /** The difference in words */
    detail: string
    /** Status at the baseline */
    baseline_status: AssuranceCheckStatus | null
    /** Status in this run */
    current_status: AssuranceCheckStatus | null
    /** Value at the baseline */
    baseline_value: string | number | null
    /** Value in this run */
    current_value: string | number | null
  }>
  /** Id of the baseline it was compared with */
  baseline_id: string | null
  /** Seed that selected the samples */
  seed: string
  /** Position of its log entry; null: it has none */
  log_seq: number | null
}

/** A run that has not ended */
export type AssuranceRunStarted = {
  /** Id of the run */
  run_id: string
  /** The run has not ended */
  status: "running"
}

/** A run of checks, without its results */
export type AssuranceRunSummary = {
  /** Id of the run */
  run_id: string
  status: AssuranceStatus
  trigger: AssuranceTrigger
  /** Id of the schedule */
  schedule_id: string | null
  /** Checks of the run */
  checks: string[]
  /** Differences from the baseline */
  drift_events_count: number
  /** `interrupted` or `stopped`: the process ended; otherwise the name of an error */
  error: string | null
  /** When the run started */
  started_at: string
  /** When the run ended */
  completed_at: string | null
}

/** A schedule of checks */
export type AssuranceSchedule = {
  /** Id of the schedule */
  schedule_id: string
  /** Minutes between runs */
  interval_min: number
  /** Checks of each run */
  checks: string[]
  /** Whether the schedule is active */
  enabled: boolean
  /** Always null */
  alert_webhook: null
  /** When the next run is due */
  next_due_at: string | null
  /** Id of the last run */
  last_run_id: string | null
  /** When it was created */
  created_at: string
}

/** Status of a run of checks */
export type AssuranceStatus = 'running' | 'pass' | 'fail' | 'drift'

/** What started a run of checks */
export type AssuranceTrigger = 'request' | 'schedule' | 'baseline'

/** A signed score */
export type Attestation = {
  /** Handle of the agent */
  agent_handle: string
  /** Current key of the agent; null: known by its handle only */
  subject_key: string | null
  /** `did:key` of the first key of its rotations */
  subject_did: string | null
  /** Subject area */
  dimension: string
  tier: AgentTier
  /** Score: the mean of the posterior */
  cgr_score: number
  /** Weight of the posterior */
  confidence: number
  /** Resolved decisions */
  n_resolved: number
  /** Reserved */
  capability_tier: null
  /** Time of the score */
  as_of: string
  /** Reason for the tier */
  rationale: string
  /** Name and version of the attestation format */
  schema: string
  /** Who attests */
  issuer: string
  /** Id of the key of the issuer */
  issuer_key_id: string
  /** Ed25519 signature in hexadecimal over the RFC 8785 bytes of the fields above */
  signature: string
  /** Log entry that records the attestation */
  evidence_ref: string | null
}

/** A conformance audit of a tenant */
export type AuditRecord = {
  /** Id of the audit */
  id: string
  /** Id of the tenant */
  tenant_id: string
  /** Store the suite wrote to and deleted; null: it got to none */
  store_id: string | null
  /** Capabilities that passed among those tested; 0 if none was tested */
  conformance_rate: number
  /** Capabilities that passed */
  capabilities: string[]
  /** When the audit ended */
  audited_at: string
  /** The signed result, which `custos verify` checks; null in an overview */
  report_json: { [key: string]: unknown } | null
}

/** Under whose authority the caller acts, as claimed */
export type Authority = {
  /** Reference of the delegation */
  delegation_ref?: string | null
  /** The person on whose behalf the caller acts */
  human_principal?: string | null
  /** Claimed trust tier, capped by the credential */
  trust_tier?: TrustTier
}

/** An entry of the audit log */
export type Breadcrumb = {
  /** RFC 6962 leaf hash of the entry */
  breadcrumb_id: string
  /** Id of the tenant */
  tenant_id: string
  /** Position in the audit log, from 0 */
  seq: number
  /** Kind of event, for example `memory.written` */
  event_type: string
  /** Id of what the event is about */
  subject: string
  /** Ids, numbers and digests of the event; never content */
  payload: { [key: string]: unknown }
  /** `breadcrumb_id` of the previous entry; zeros in the first */
  prev_id: string
  /** When it was created */
  created_at: string
}

/** Identity and rights of the caller */
export type Caller = {
  /** `local`: local mode without a credential; `session`: a cookie; `key`: an API key */
  mode: 'local' | 'session' | 'key'
  /** Id of the tenant; null: an operator */
  tenant_id: string | null
  /** Name of the tenant; null: an operator */
  tenant_name: string | null
  /** The signed-in person; null: unknown */
  user: CallerUser | null
  /** Id of the API key, or of that of the session; null: local mode, or a session without a key */
  key_id: string | null
  /** What the caller may do */
  scopes: Array<'memory:read' | 'memory:write' | 'memory:admin' | 'decisions:read' | 'decisions:write' | 'erasure:execute' | 'gcrumbs:read' | 'gcrumbs:admin' | 'governance:read' | 'governance:admin' | 'artifacts:read' | 'artifacts:admin' | 'compliance:read' | 'compliance:admin' | 'manifold:read' | 'cgr:read' | 'cgr:write' | 'keys:admin' | 'webhooks:admin' | 'orchestrator:run' | 'orchestrator:admin' | 'llm:admin' | 'sso:admin' | 'admin:platform' | '*'>
  /** Stores the caller may use; null: all stores */
  stores: string[] | null
  /** Whether the caller is a platform operator */
  operator: boolean
  /** When the key expires, or the session if it is not used; null: never */
  expires_at: string | null
  /** Send it as `x-custos-csrf` with every request of the session except GET */
  csrf_token: string | null
}

/** A signed-in person */
export type CallerUser = {
  /** Id of the person */
  user_id: string
  /** The name; may be empty */
  name: string
  /** Roles of the person */
  roles: Role[]
}

/** A capability that a store declares and the service enforces */
export type Capability = 'audit' | 'bi_temporal' | 'cryptographic_provenance' | 'hard_delete' | 'multi_tenant' | 'provenance' | 'supersession_chain'

/** Where a fact was looked up */
export type CatalogueSource = {
  /** Name of the source */
  name: string
  /** Address of the source */
  url: string
}

/** A signed certificate of an erasure */
export type Certificate = {
  /** Id of the certificate */
  certificate_id: string
  /** Id of the tenant */
  tenant_id: string
  /** The erased memory; null for anything else */
  fact_ref: number | null
  /** The redacted decision; absent for anything else */
  decision_id?: string
  /** Kind of the redacted record; absent for a memory or decision */
  subject_kind?: string
  /** Id of the redacted record; absent for a memory or decision */
  subject_id?: string
  /** Store of the memory */
  store_id: string | null
  outcome: ErasureOutcome
  /** Salted hash of the content; null if none was stored */
  fact_content_hash: string | null
  /** What the check found, by kind of copy */
  coverage: { [key: string]: string }
  /** Decisions that were redacted */
  scrubbed_decision_ids: string[]
  /** Redactions by decision and field */
  redactions: CertifiedRedaction[]
  verification: ErasureVerification
  /** What the certificate does not cover */
  limits: string[]
  /** Legal basis, as given */
  legal_basis: string
  /** Who requested the erasure, as given */
  requested_by: string | null
  /** When the erasure was requested */
  erasure_requested_at: string
  /** When the erasure was completed */
  erasure_completed_at: string
  /** Position in the audit log */
  log_seq: number | null
  /** The bytes that were signed */
  signed_bytes: string
  /** Ed25519 signature */
  signature: string
  /** Ed25519 public key that signed */
  public_key: string
  /** Id of the signing key */
  key_id: string
  /** Whether the certificate verifies now, with the published keys */
  verified: boolean
}

/** Redactions in one field of a decision */
export type CertifiedRedaction = {
  /** Id of the decision */
  decision_id: string
  /** Name of the field */
  field: string
  /** Number of places redacted */
  count: number
}

/** What the tenant requires of judgments and reviews */
export type CgrSettings = {
  /** Whether outcomes and reviews by the credential of the decision are refused */
  compare_credentials: boolean
  /** Whether a judgment is final once its outcome is `paid` or `default`; another one gets 409 */
  judgments_final: boolean
}

/** Whether each check passed, by name */
export type CheckResults = { [key: string]: boolean }

/** Whether a part of the service works */
export type CheckState = 'ok' | 'failing'

/** The version of the type the action was checked against */
export type CheckedType = {
  /** Id of the type */
  type_id: string
  /** Version of the type */
  version: number
  /** Id of the version */
  record_id: string
  /** SHA-256 of the spec */
  schema_digest: string
  /** Trust tier the action requires */
  required_trust_tier: TrustTier
  /** Object type the subjects must have */
  subject_type: string | null
}

/** Path to the claim: `["resource_access", "custos", "roles"]` */
export type ClaimPath = string[]

/** How far the clock is behind the audit log */
export type ClockAhead = {
  /** Seconds by which the newest time used lies after the clock */
  seconds: number
  /** What the operator does about it */
  advice: string
}

/** `ahead`: the newest time used lies after the clock of this machine */
export type ClockState = 'ok' | 'ahead'

/** A retrieved memory without its metadata and origin */
export type CompactMemory = {
  /** Number of the memory */
  ref: number
  /** Content of the memory */
  content: string
  /** Score in this retrieval */
  score: number
  /** Tokens of the content, counted with the store's tokenizer */
  token_count: number
}

/** How many of the effects of tool calls were undone */
export type Compensation = 'complete' | 'partial' | 'none'

/** A composition */
export type Composition = {
  /** Id of the composition */
  composition_id: string
  /** Kind of composition */
  composition_kind: string
  /** Name of the result */
  target_ref: string
  /** Number of members */
  member_count: number
  /** Members as claimed, and as found when the composition was proposed */
  members: Array<{
    /** The member as claimed */
    ref_id: string
    /** Its licence as claimed */
    license: string
    /** Whether it is certified, as claimed */
    certified: boolean
    /** The record in the registries; null: only the caller claims it */
    found: {
      /** Kind of record */
      kind: 'artifact' | 'landing' | 'corpus' | 'composition'
      /** Id of the record */
      id: string
      /** Status of the record at the time */
      status: string
      /** Licences stated by it and the records it builds on; they apply besides */
      licenses: string[]
    } | null
  }>
  /** What the licences allow; null until signed, and in a list if large */
  license_verdict: LicenseVerdict | null
  /** Under whose authority the caller acts */
  authority: RecordedAuthority
  /** Trust tier the authority must have */
  required_trust_tier: TrustTier
  /** Id of the tenant */
  tenant_id: string
  status: RecordStatus
  /** Whether its texts were erased; a certificate of erasure names it */
  redacted: boolean
  /** The signed record; null where nothing was issued */
  document: { [key: string]: unknown } | null
  /** SHA-256 of the proposal */
  proposal_digest: string
  /** Id of the approval request; null: none was needed */
  approval_request_id: string | null
  /** The approval decision; null: none was needed, or none yet */
  approval: RecordApproval | null
  /** Why it was not issued */
  reason: string | null
  /** Id of the key that asked */
  requested_by: string
  /** Ed25519 signature in base64 */
  signature: string | null
  /** Key that signed, in base64 */
  public_key: string | null
  /** Same as `public_key` */
  signer_public_key: string | null
  /** Id of the signing key */
  key_id: string | null
  /** When it was created */
  created_at: string
}

/** What the service itself found */
export type Conformance = {
  /** Version of the checks */
  harness_version: string
  /**
   * `fail` if a check failed; `pass` if a record or the layers agreed and no check failed;
   * otherwise `not_checked`
   */
  result: ConformanceResult
  per_policy: ConformanceChecks
  evidence: ConformanceEvidence
}

/** Result of each check */
export type ConformanceChecks = {
  /** Whether the layers are the registered ones */
  artifact_integrity: ConformanceResult
  /** Whether a sealed corpus agrees */
  data_provenance: ConformanceResult
  /** Whether the authority is sufficient */
  authority: ConformanceResult
}

/** What the result is based on */
export type ConformanceEvidence = {
  /** Id of the registered artifact with this content */
  artifact_id: string | null
  /** Id of the sealed corpus that agrees with `data_provenance` */
  corpus_id: string | null
  /** Comparison of the layers with `layer_hashes` */
  layer_bytes: 'not_sent' | 'match' | 'differ'
}

/** `not_checked`: there was nothing to compare with, which is not a pass */
export type ConformanceResult = 'pass' | 'fail' | 'not_checked'

/** A sealed corpus */
export type Corpus = {
  /** Id of the corpus */
  corpus_id: string
  /** Id of the tenant */
  tenant_id: string
  status: RecordStatus
  /** Whether its texts were erased; a certificate of erasure names it */
  redacted: boolean
  /** The signed record; null where nothing was issued */
  document: { [key: string]: unknown } | null
  /** SHA-256 of the proposal */
  proposal_digest: string
  /** Id of the approval request; null: none was needed */
  approval_request_id: string | null
  /** The approval decision; null: none was needed, or none yet */
  approval: RecordApproval | null
  /** Why it was not issued */
  reason: string | null
  /** Id of the key that asked */
  requested_by: string
  /** Ed25519 signature in base64 */
  signature: string | null
  /** Key that signed, in base64 */
  public_key: string | null
  /** Same as `public_key` */
  signer_public_key: string | null
  /** Id of the signing key */
  key_id: string | null
  /** When it was created */
  created_at: string
  /** Name of the corpus */
  name: string
  /** Merkle root over the sources */
  merkle_root: string
  /** SHA-256 over name, sources, processing, attestations and root */
  corpus_hash: string
  /** SHA-256 over the list of sources */
  sources_digest: string
  /** Number of sources */
  source_count: number
  /** Every source has a licence or a lawful basis */
  clearance: "cleared"
}

/** The signature of a witness on a checkpoint */
export type Cosignature = {
  /** Key of the witness as a C2SP vkey */
  witness: string
  /** When the witness says it signed */
  signed_at: string
  /** Its line of the signed note, without the line feed */
  line: string
}

/** Counts by key; keys with a count of 0 may be absent */
export type Counts = { [key: string]: number }

/** The credential of the request */
export type CurrentKey = {
  /** Id of the key; `local` in local mode */
  key_id: string
  /** The tenant the key belongs to */
  tenant_id: string
  /** Class of the key */
  class: 'tenant' | 'read_only' | 'service' | 'token' | 'local'
  /** What the key may do */
  scopes: Scope[]
  /** Stores the key may use; empty: all stores */
  allowed_stores: string[]
  /** The only namespace the key may use, as `T/x` or `T` for the root; null: every namespace */
  namespace: string | null
  /** Highest trust tier a call may claim; null: any */
  max_trust_tier: TrustTier | null
  /** When the key stops working; null: never */
  expires_at: string | null
}

/** The corpus the artifact was trained on. Further fields are recorded as given. */
export type DataProvenance = {
  /** 64 hexadecimal characters; without it nothing is issued */
  merkle_root?: unknown
  /** SHA-256 over name, sources, processing, attestations and root */
  corpus_hash?: string | null
  /** Id of the corpus */
  corpus_id?: string | null
  /** Ids of the sources, in the order of the leaves */
  sources?: string[] | null
}

/** A recorded decision of an agent */
export type Decision = {
  /** Id of the decision */
  decision_id: string
  /** Id of the tenant */
  tenant_id: string
  /** Id of the store */
  store_id: string
  /** Session of the agent */
  session_id: string | null
  /** Model that decided */
  model_id: string
  /** What the model was asked */
  query: string
  /** Memories in the context of the model */
  retrieved_refs: number[]
  /** Their contents as the model saw them */
  retrieved_contents: string[]
  /** Their scores */
  retrieved_scores: number[]
  /** What the model answered */
  output: string
  /** Tokens of the output */
  token_count: number | null
  /** Milliseconds the model took */
  latency_ms: number | null
  /** When the decision was recorded */
  timestamp: string
  /** Parameters of the model */
  parameters: { [key: string]: unknown } | null
  /** Ed25519 signature over the 16 bytes of `decision_id` */
  signature: string
  /** Ed25519 public key that signed */
  public_key: string
  /** Id of the signing key */
  key_id: string
  /** SHA-256 of the record, which the audit log holds */
  record_digest: string
  /** Log position the context was read at */
  memory_seq: number
  /** Position in the audit log */
  log_seq: number
  /** Whether text of the decision was redacted */
  redacted: boolean
  /** What was redacted */
  redactions: Array<{
    /** Field in which text was replaced by the redaction marker */
    field: string
    /** Number of places */
    count: number
    /** The erased memory; null when the decision's own text was redacted */
    ref: number | null
  }>
  /** When it was created */
  created_at: string
  /** Same as `retrieved_refs` */
  retrieved_fact_refs: number[]
  /** Same as `retrieved_scores` */
  retrieval_scores: number[]
  /** Same as `token_count` */
  output_tokens: number | null
}

/** The off-boarding of a tenant */
export type Destruction = {
  /** Id of the tenant */
  tenant_id: string
  /** `destroying` lasts seconds, or until the next start of the service */
  status: 'destroying' | 'destroyed'
  /** When the off-boarding was requested */
  requested_at: string
  /** When the keys were destroyed */
  destroyed_at: string | null
  /** The certificate; null until it is signed */
  certificate: TenantCertificate | null
  /** Whether the certificate verifies now, with the published keys */
  verified: boolean | null
  /** What others signed of the last checkpoint; null until it is signed */
  last_checkpoint: {
    /** Number of the checkpoint */
    epoch_number: number
    /** Signatures of witnesses on this checkpoint, in the order they were obtained */
    cosignatures: Cosignature[]
    /** Whether enough witnesses cosigned it; null: the operator has no witnesses */
    witnessed: boolean | null
    /** Its timestamp; null: none was asked for, or none has come yet */
    timestamp: EpochTimestamp | null
  } | null
  /** Removal of the rows, which nobody can decrypt any more */
  removal: {
    /** State */
    state: 'waiting' | 'removing' | 'removed'
    /** When the last row was removed */
    removed_at: string | null
  }
}

/** `unreachable`: no name server answers for the domain */
export type DomainProblem = 'record_missing' | 'unreachable'

/** The record to publish */
export type DomainRecord = {
  /** Where it is published: the domain itself */
  name: string
  /** Always TXT */
  type: "TXT"
  /** Its text; it stays the same for the connection and the domain */
  value: string
}

/** `regression`: it passed at the baseline. `changed`: it passes and differs */
export type DriftType = 'regression' | 'changed'

/** A new memory with the content of another */
export type DuplicateMemory = {
  /** Position in the list of the request, from 0 */
  index: number
  /** A memory with exactly this content */
  duplicate_of: number
}

/** The embedding model of a store; `none`: lexical search only */
export type Embedder = 'static' | 'none' | 'http' | 'onnx'

/** An object without members */
export type EmptyBody = object

/** A signed checkpoint of the audit log */
export type Epoch = {
  /** Number of the checkpoint, from 1 */
  epoch_number: number
  /** How often the audit log was restored from a backup */
  generation: number
  /** Name of the audit log in its checkpoints */
  origin: string
  /** Entries of the audit log it signs */
  tree_size: number
  /** Merkle root over those entries */
  root_hash: string
  /** The signed checkpoint in C2SP form */
  checkpoint: string
  /** Proof that the audit log of the previous checkpoint is a prefix of this one */
  consistency: {
    /** Number of the previous checkpoint */
    from_epoch: number
    /** Entries of the audit log at the previous checkpoint */
    from_size: number
    /** Consistency proof (RFC 9162, section 2.1.4) */
    path: string[]
  } | null
  /** Signatures of witnesses on this checkpoint, in the order they were obtained */
  cosignatures: Cosignature[]
  /** Whether enough witnesses cosigned it; null: the operator has no witnesses */
  witnessed: boolean | null
  /** Its timestamp; null: none was asked for, or none has come yet */
  timestamp: EpochTimestamp | null
  /** When it was created */
  created_at: string
  /** Whether this request signed it */
  rolled?: boolean
  /** Same as `root_hash` */
  merkle_root: string
  /** Same as `tree_size` */
  n_leaves: number
}

/** The timestamp of an authority on a checkpoint */
export type EpochTimestamp = {
  /** When the checkpoint existed, as the authority says */
  stamped_at: string
  /** The RFC 3161 token in DER, over the SHA-256 of the text in `checkpoint` */
  token: string
}

/**
 * `erased`: it was stored and is erased. `already_absent`: only decisions contained it, and were
 * redacted. `nothing_found`: nothing contained it.
 */
export type ErasureOutcome = 'erased' | 'already_absent' | 'nothing_found'

/** Result of the check that runs before the certificate is signed */
export type ErasureVerification = {
  /** When the check ran */
  ran_at: string
  /** The places that were checked */
  paths: Array<{
    /** Name of the read path */
    path: string
    /** What the check found there */
    result: string
  }>
}

/** A policy that required approval */
export type Escalation = {
  /** Id of the policy */
  policy_id: string
  /** Version of the policy */
  version: number
}

/** How often each kind of evidence was found in the period */
export type EvidenceFigures = { [key: string]: number }

/** A signed receipt of one decision, which anybody can verify */
export type ExecutionReceipt = {
  /** BLAKE2b-128 of the fields from `step_id` to `completed_at` */
  receipt_id: string
  /** Random id of the step */
  step_id: string
  /** `governed:` with the pseudonym of the referent, or with the tenant */
  workflow_id: string
  /** Id of the tenant */
  tenant_id: string
  /** Position in the workflow, from 0 */
  step_number: number
  /** BLAKE2b-256 of the previous `receipt_id` of the workflow */
  previous_receipt_hash: string | null
  /** BLAKE2b-256 of `context`, as JSON with sorted keys in the form of Python */
  input_hash: string
  /** BLAKE2b-256 of the memories used: none, so of the empty text */
  memory_snapshot_hash: string
  /** BLAKE2b-256 of `[{decision, reason}]`, in the same form */
  policy_evaluation_hash: string
  /** Model that decided */
  model_id: string
  /** Reserved */
  model_version: null
  /** Hashes of tool calls: there are none */
  tool_call_hashes: string[]
  /** BLAKE2b-256 of `raw_output` */
  output_hash: string
  /** Id of the decision */
  decision_id: string
  /** When the request was read */
  started_at: string
  /** When the decision was recorded */
  completed_at: string
  /** Ed25519 over the 16 bytes of `receipt_id` */
  signature: string
  /** Key that signed, published for the purpose `receipt` */
  public_key: string
  /** Id of the signing key */
  key_id: string
}

/** What became of a fact that the model found */
export type ExtractedFact = {
  outcome: FactOutcome
  /** The memory that it became; null: none was written */
  ref: number | null
  /** The memory that says the same */
  duplicate_of: number | null
  /** The memory that it replaces */
  superseded: number | null
  /** The turns that say it */
  source_refs: number[]
  /** The action that a person has to approve */
  action_id?: string
  /** Why it was not written */
  reason: FactReason | null
}

/** What a model found in a conversation */
export type Extraction = {
  /** Also in the metadata of each memory that was made */
  extraction_id: string
  /** The signed record of the question and the answer */
  decision_id: string
  /** The `config_id` of the provider that was sent the turns */
  provider_id: string
  /** In the order of the answer */
  facts: ExtractedFact[]
}

/**
 * `new`: remembered. `duplicate`: the store has it already, nothing is written. `supersedes`:
 * remembered as the next version of another memory. `waiting`: written once a person approves
 * `action_id`. `refused`: not written.
 */
export type FactOutcome = 'new' | 'duplicate' | 'supersedes' | 'waiting' | 'refused'

/**
 * `not_shown`: it would replace a memory that the model was not shown. `changed`: that memory was
 * replaced, ended or erased meanwhile, or is a digest or an item. `policy`: a policy on
 * `memory.write` denies it. `approval_required`: one wants a person first, for whom it waits,
 * unless it was sent in a session without a key. `too_long`: longer than a memory may be.
 */
export type FactReason = 'not_shown' | 'changed' | 'policy' | 'approval_required' | 'too_long'

/** An item, or null */
export type GetResult = {
  /** The item; null: there is none of this name */
  item: Item | null
}

/** The result of one policy for one request */
export type GovernanceLog = {
  /** Id of the entry; null in a dry run, which is not logged */
  log_id: string | null
  /** Id of the tenant */
  tenant_id: string
  /** Id of the policy */
  policy_id: string
  /** Name of the policy */
  policy_name: string
  policy_type: PolicyType
  action: PolicyAction
  result: PolicyResult
  /** False: the policy does not concern this request */
  applicable: boolean
  /** Why it is not plainly allowed, as a stable code */
  reason: string | null
  /** The result in words; never contains a value of the context */
  detail: string
  /** The operation that was evaluated */
  operation: string
  /** Ids, lengths and keyed hashes of the request */
  request_summary: string
  /** When it was created */
  created_at: string
}

/** A governed decision on record */
export type GovernedDecision = {
  /** Id of the decision */
  decision_id: string
  /** Id of the tenant */
  tenant_id: string
  /** Pseudonym of the referent: `OUT-` and 24 hexadecimal digits; accepted in its place */
  invoice_id: string | null
  decision: Judgment
  /** Why */
  reason: string
  /** The decisive rule of `verify-batch`; null for any other decision */
  reason_code: InvoiceReason | null
  /** Handle of the agent */
  agent_handle: string
  verifiability_tag: VerifiabilityTag
  /** As given */
  agent_tier: number | null
  /** Model that decided */
  model_id: string
  /** Decision and reason as a JSON text */
  raw_output: string
  /** Subject area */
  dimension: string
  /** Whether possession of `agent_key` was proven */
  proven: boolean
  /** When it was created */
  created_at: string
  /** Position in the audit log */
  log_seq: number
  /** Signature in base64; null where governed decisions are not signed */
  signature: string | null
  /** Key that signed, in base64 */
  public_key: string | null
}

/** A legal hold on a store */
export type Hold = {
  /** Id of the legal hold */
  hold_id: string
  /** Id of the store */
  store_id: string
  /** Why the hold was placed */
  reason: string
  /** The legal matter, as given */
  matter: string | null
  /** When the hold was placed */
  placed_at: string
  /** Id of the key that placed it */
  placed_by: string
  /** End of the hold, not included; null: until it is released */
  until: string | null
  /** When the hold was released */
  released_at: string | null
  /** Id of the key that released it */
  released_by: string | null
  /** Why the hold was released */
  release_reason: string | null
  /** Whether the hold is in force: neither released nor past its end */
  standing: boolean
  /** Log position of the placement */
  placed_log_seq: number
  /** Log position of the release */
  released_log_seq: number | null
  /** Log position of the release, or else of the placement */
  log_seq: number
}

/** One turn of a conversation */
export type IngestMessage = {
  /** Content of the memory */
  content: string
  /** As `user`, `assistant`, `tool` */
  role?: string | null
  /** The name of who said it */
  speaker?: string | null
  /** Same as `speaker`, which takes precedence */
  name?: string | null
  /** When it was said */
  timestamp?: string | null
  /** The id of the message */
  message_id?: string | null
}

/**
 * `verbatim`: each message is remembered as it is. `extract`: also the facts that a model finds in
 * them
 */
export type IngestMode = 'verbatim' | 'extract'

/** What a conversation became in a store */
export type IngestedConversation = {
  /** Numbers of the turns, in the order of the request */
  refs: number[]
  /** Turns with the content of another memory */
  duplicates: DuplicateMemory[]
  /** Position in the audit log */
  log_seq: number | null
  /** With `extract` only */
  extraction?: Extraction | null
}

/** Rules for the invoices */
export type InvoicePolicy = {
  /** Whether the amount must not exceed the order; default: true */
  require_amount_within_po: boolean
  /** Field with the amount; default: `invoice_amount` */
  invoice_amount_field: string
  /** Field with the amount of the purchase order; default: `po_amount` */
  po_amount_field: string
  /** Whether the debtor must have approved; default: true */
  require_approval: boolean
  /** Field with the approval; default: `approval_status` */
  approval_field: string
  /** Value of an approval; default: `approved` */
  approved_value: string | number | boolean
  /** Whether an id is certified once in a batch; default: true */
  reject_duplicates: boolean
  /** Field with the id; default: `invoice_id` */
  invoice_id_field: string
  /** Field with the vendor; default: `vendor` */
  vendor_field: string
  /** Field with the debtor; default: `debtor` */
  debtor_field: string
}

/** Why, as a code */
export type InvoiceReason = 'amount_or_po_missing' | 'amount_exceeds_po' | 'no_debtor_approval' | 'duplicate' | 'clean'

/** A certificate with the result of the request */
export type IssuedCertificate = {
  /** Id of the certificate */
  certificate_id: string
  /** Id of the tenant */
  tenant_id: string
  /** The erased memory; null for anything else */
  fact_ref: number | null
  /** The redacted decision; absent for anything else */
  decision_id?: string
  /** Kind of the redacted record; absent for a memory or decision */
  subject_kind?: string
  /** Id of the redacted record; absent for a memory or decision */
  subject_id?: string
  /** Store of the memory */
  store_id: string | null
  outcome: ErasureOutcome
  /** Salted hash of the content; null if none was stored */
  fact_content_hash: string | null
  /** What the check found, by kind of copy */
  coverage: { [key: string]: string }
  /** Decisions that were redacted */
  scrubbed_decision_ids: string[]
  /** Redactions by decision and field */
  redactions: CertifiedRedaction[]
  verification: ErasureVerification
  /** What the certificate does not cover */
  limits: string[]
  /** Legal basis, as given */
  legal_basis: string
  /** Who requested the erasure, as given */
  requested_by: string | null
  /** When the erasure was requested */
  erasure_requested_at: string
  /** When the erasure was completed */
  erasure_completed_at: string
  /** Position in the audit log */
  log_seq: number | null
  /** The bytes that were signed */
  signed_bytes: string
  /** Ed25519 signature */
  signature: string
  /** Ed25519 public key that signed */
  public_key: string
  /** Id of the signing key */
  key_id: string
  /** Whether the certificate verifies now, with the published keys */
  verified: boolean
  /** Whether this request removed a memory */
  deleted: boolean
  /** Same as `deleted` */
  memory_deleted: boolean
  /** Decisions that were redacted */
  decision_records_scrubbed: number
  /**
   * Shown once: `fact_content_hash` is SHA-256 over the bytes of the salt and the content in UTF-8
   */
  content_salt?: string
}

/** One version of an item */
export type Item = {
  /** Namespace of the item; an empty list is the root */
  namespace: ItemNamespace
  /** Key of the item */
  key: string
  /** The value that was put */
  value: { [key: string]: unknown }
  /** The memory that is this version of the item */
  ref: number
  /** When the name was first put */
  created_at: string
  /** When this version was put */
  updated_at: string
  /** When the item expires; null: never */
  expires_at: string | null
}

/** What a deletion has erased */
export type ItemDeleteResult = {
  /** Whether there was an item of this name, or versions left of one */
  deleted: boolean
  /** Ids of the erasure certificates, of the oldest version first */
  certificate_ids: string[]
}

/**
 * What a search finds of the value: `false` nothing, or the texts at these paths, such as `title`,
 * `author.name`, `comments[*].text`, `tags[0]` or `$` for all of it; default: all
 */
export type ItemIndex = false | string[]

/** An item that a search found */
export type ItemMatch = {
  /** Namespace of the item; an empty list is the root */
  namespace: ItemNamespace
  /** Key of the item */
  key: string
  /** The value that was put */
  value: { [key: string]: unknown }
  /** The memory that is this version of the item */
  ref: number
  /** When the name was first put */
  created_at: string
  /** When this version was put */
  updated_at: string
  /** When the item expires; null: never */
  expires_at: string | null
  /** How well it fits the query; only in a search with one */
  score?: number
}

/** The name of an item and what a search finds of it */
export type ItemName = {
  namespace: ItemNamespace
  key: string
  index?: ItemIndex
}

/** The namespace of an item: labels from the outermost to the innermost */
export type ItemNamespace = string[]

/** Namespaces that have an item */
export type ItemNamespacesResult = {
  /** The namespaces of this page */
  namespaces: ItemNamespace[]
}

/** The items that a search found */
export type ItemSearchResult = {
  /** The items of this page */
  items: ItemMatch[]
}

/** Work that continues after the reply */
export type Job = {
  /** Id of the job */
  job_id: string
  /** Kind of work, for example `report.generate` */
  kind: string
  /** State of the job */
  state: 'queued' | 'running' | 'done' | 'failed' | 'cancelled'
  /** Progress, in memories of a store or entries of the audit log */
  progress: {
    /** Units finished */
    done: number
    /** Units in all; 0 until known */
    total: number
  }
  /** Attempts since the job last made progress */
  attempts: number
  /** Why the last attempt failed */
  error: string | null
  /** Whether `DELETE /v1/jobs/{job_id}` cancels it while queued or running */
  cancellable: boolean
  /** What the job produced; null before it is done or if it produces nothing */
  result: {
    report_id?: string
  } | null
  /** When it was created */
  created_at: string
  /** When it was last changed */
  updated_at: string
}

/** What the agent decided */
export type Judgment = 'certify' | 'reject'

/** An API key, without its secret */
export type Key = {
  /** Id of the key */
  key_id: string
  /** Name of the key */
  name: string
  class: KeyClass
  /** First characters of the key, to recognise it by */
  prefix: string
  /** What the key may do */
  scopes: Scope[]
  /** Stores the key may use; empty: all stores */
  allowed_stores: string[]
  /** The only namespace the key may use, as `T/x` or `T` for the root; null: every namespace */
  namespace: string | null
  /** Highest trust tier a call may claim; null: any */
  max_trust_tier: TrustTier | null
  /** When it was created */
  created_at: string
  /** When the key stops working; null: never */
  expires_at: string | null
  /** When the key was revoked; null: it is in force */
  revoked_at: string | null
  /** When the key was last used, at most a minute old; null: never since that is recorded */
  last_used_at: string | null
}

/** Class of the key */
export type KeyClass = 'tenant' | 'read_only' | 'service'

/** The record of a landing certificate */
export type LandingCertificate = {
  /** Id of the certificate */
  certificate_id: string
  /** Id of the tenant */
  tenant_id: string
  status: RecordStatus
  /** Whether its texts were erased; a certificate of erasure names it */
  redacted: boolean
  /** The signed record; null where nothing was issued */
  document: { [key: string]: unknown } | null
  /** SHA-256 of the proposal */
  proposal_digest: string
  /** Id of the approval request; null: none was needed */
  approval_request_id: string | null
  /** The approval decision; null: none was needed, or none yet */
  approval: RecordApproval | null
  /** Why it was not issued */
  reason: string | null
  /** Id of the key that asked */
  requested_by: string
  /** Ed25519 signature in base64 */
  signature: string | null
  /** Key that signed, in base64 */
  public_key: string | null
  /** Same as `public_key` */
  signer_public_key: string | null
  /** Id of the signing key */
  key_id: string | null
  /** When it was created */
  created_at: string
  /** Name of the artifact */
  artifact_ref: string
  /** Name of the base model */
  base_model_ref: string
  /** Kind of artifact */
  kind: string
  /** SHA-256 of each layer, in order */
  layer_hashes: string[]
  /** The corpus the artifact was trained on */
  data_provenance: { [key: string]: unknown }
  /** Under whose authority the caller acts */
  authority: RecordedAuthority
  /** What the service found; null where no certificate was issued */
  conformance: Conformance | null
  /** The caller's own finding */
  claimed_conformance: { [key: string]: unknown }
  /** What the artifact may do */
  permitted_actions: string[]
}

/** A signed landing certificate */
export type LandingDocument = {
  /** Id of the certificate */
  certificate_id: string
  /** Version of the record format */
  schema_version: string
  /** Same as `schema_version` */
  version: string
  /** The artifact */
  artifact: {
    /** Name of the artifact */
    artifact_ref: string
    /** Name of the base model */
    base_model_ref: string
    /** Kind of artifact */
    kind: string
    /** SHA-256 of each layer, in order */
    layer_hashes: string[]
    /** SHA-256 over base model, kind and the digests in order */
    manifest_digest: string
  }
  /** The corpus the artifact was trained on */
  data_provenance: { [key: string]: unknown }
  /** Under whose authority the caller acts */
  authority: RecordedAuthority
  conformance: Conformance
  /** The caller's own finding */
  claimed_conformance: { [key: string]: unknown }
  /** What the artifact may do */
  permitted_actions: string[]
  /** What was not checked */
  not_checked: string[]
  /** The bytes that were signed */
  signed_bytes: string
  /** Ed25519 signature */
  signature: string
  /** Ed25519 public key that signed */
  public_key: string
  /** Id of the signing key */
  key_id: string
}

/** A language by its ISO 639-1 code */
export type Language = 'en' | 'de' | 'es' | 'fr' | 'pt'

/**
 * Languages of the memories of a store, the main one first. A text is taken to be in the language
 * whose stop words it has most of (the first of several with equally many), which determines its
 * stop words and stems
 */
export type Languages = Language[]

/** What the licences of the members allow together */
export type LicenseVerdict = {
  /** Whether the licences can be combined */
  compatible: boolean
  /** The verdict in words */
  detail: string
  /** The licence of the whole as one SPDX expression; null if a part is not SPDX */
  expression: string | null
  /** The same, term by term, after a choice among alternatives */
  terms: string[]
  /** Conflicts between licences */
  reasons: Array<{
    /** The rule that is violated */
    rule: string
    /** Ids of the members concerned */
    members: string[]
    /** The licences concerned */
    licenses: string[]
    /** The conflict in words */
    detail: string
    /** Where the rule comes from */
    source: string | null
  }>
  /**
   * Licences and pairs of licences that no rule covers: they block nothing and are not cleared
   * either
   */
  reported: Array<{
    /** A licence, or a pair `A with B` */
    license: string
    /** Ids of the members concerned */
    members: string[]
    /** Why no rule decides it */
    why: string
  }>
}

/** One version of a memory */
export type Memory = {
  /** Number of the memory */
  ref: number
  /** Content of the memory */
  content: string
  /** Metadata of the memory */
  metadata: { [key: string]: unknown }
  /** When the memory was written */
  written_at: string
  /** From when the content is true */
  valid_from: string
  /** Until when the content is true, not included; null: no end */
  valid_until: string | null
  /** When the memory expires; null: never */
  expires_at: string | null
  /** The tenant `T`, or `T/x` in the namespace x */
  tenant_id: string
  /** The memory that replaced it; null if it is current */
  superseded_by: number | null
  /** Who wrote it, with a signature */
  source: MemorySource
  /** Tokens of the content, counted with the store's tokenizer */
  token_count: number
  /** The name, where the memory is a version of an item */
  item?: ItemName
  /** Where the memory is a digest of a session */
  digest?: SessionDigest
}

/** A memory as it was on record at the decision */
export type MemoryAtDecision = {
  /** Number of the memory */
  ref: number
  /** Content; null, like the next two fields, once it is erased or has expired */
  content: string | null
  /** When the memory was written */
  written_at: string | null
  /** The tenant `T`, or `T/x` in the namespace x */
  tenant_id: string | null
  /** From when the content is true */
  valid_from: string | null
  /** Until when the content is true, not included; null: no end */
  valid_until: string | null
  /** Whether the memory has been erased since */
  erased: boolean
  /** Whether the memory has expired and is not erased yet */
  expired: boolean
}

/** Who wrote a memory, with a signature */
export type MemorySource = {
  /** Id of the write */
  write_id: string
  /** When the memory was written */
  written_at: string
  /** Public key of the writer, in hexadecimal */
  written_by: string
  /** Ed25519 signature over the fact id: content and `tenant_id` */
  signature: string
  /** Ed25519 public key that signed */
  public_key: string
  /** Id of the signing key */
  key_id: string
  /** Id of the credential that wrote it */
  principal: string
  /** When it was first written, if it was imported */
  original_written_at?: string
}

/** One version in the history of a memory */
export type MemoryVersion = {
  /** Number of the memory */
  ref: number
  /** The version; null: it is erased or has expired */
  memory: Memory | null
  /** Position in the audit log at which it was written */
  log_seq: number
  /** From when the content is true */
  valid_from: string
  /** Until when the content is true, not included; null: no end */
  valid_until: string | null
  /** The version that replaced it; null: none has */
  superseded_by: number | null
  /** Whether it was erased, or its erasure is under way */
  erased: boolean
  /** When it was erased */
  erased_at: string | null
  /** Id of the certificate, once there is one */
  erasure_certificate_id: string | null
}

/** Who answers for a model, at which price */
export type ModelProvider = {
  config_id: string
  /** Form of its requests */
  provider: ProviderKind
  /** Model that agents name */
  model_id: string
  /** Address that is asked */
  base_url: string
  /** Whether a key is stored */
  api_key_set: boolean
  /** Whether it is asked for its answers in parts */
  streams: boolean
  /** Price of a million tokens of the prompt, in millionths of the currency */
  price_in_micro: number
  /** Price of a million tokens of the answer, in millionths of the currency */
  price_out_micro: number
  /** Whether managed runs may ask it */
  enabled: boolean
  /** When it was created */
  created_at: string
}

/** The result of one step of a verification */
export type NamedCheck = {
  /** Name of the check */
  name: string
  /** Whether the check passed */
  ok: boolean
  /** What the check found */
  detail?: string
}

/** The key, shown once; null in the replayed reply to a request with the same Idempotency-Key */
export type NewApiKey = string | null

/** A connection to make */
export type NewSsoConnection = {
  /** What people see on the sign-in page */
  name: string
  /** The issuer: `https`, without query and fragment */
  issuer: string
  /** The client id at the provider */
  client_id: string
  /** The client secret; stored sealed and never returned */
  client_secret?: string
  auth_method?: SsoAuthMethod
  /** What is asked of the provider besides `openid` */
  scopes?: OidcScopes
  /** Accepted signature algorithms of ID tokens */
  algorithms?: SsoAlgorithms
  /** Claim that determines the role at every sign-in; null: people keep their roles */
  role_claim?: ClaimPath | null
  /** Roles by values of the claim */
  role_map?: RoleMap
  /** Role of people without a mapped value; null: their sign-in is refused */
  default_role?: Role | null
  /** Whether a mapped value or the default may grant `owner` */
  allow_owner?: boolean
  /** Whether people may sign in without an invitation */
  create_users?: boolean
  /**
   * Directories whose people may sign in, of an issuer of `common` or `organizations`; empty: the
   * issuer is that of one organisation
   */
  directories?: SsoDirectories
  /** Whether people of the tenant can sign in through a provider only */
  enforced?: boolean
  /** Whether people can sign in through it; `false` ends its sessions */
  enabled?: boolean
}

/** Scopes to request from the provider, besides `openid` */
export type OidcScopes = string[]

/**
 * If the run fails: `stop` leaves its effects, `compensate` undoes calls that have a compensation
 */
export type OnFailure = 'stop' | 'compensate'

/** `paid` and `default` resolve a decision; under the others it stays pending */
export type Outcome = 'paid' | 'default' | 'disputed' | 'late' | 'written_off'

/** An outcome to record */
export type OutcomeRequest = {
  invoice_ref: string
  outcome: Outcome
  /** When it happened, stored as data; of two outcomes the later arrival counts */
  outcome_date?: string | null
  /** Amount recovered */
  amount_recovered?: number | null
  /** Where the information comes from */
  source?: string
  /** Key of the reporter; refused if it decided on the referent */
  reporter_key?: string | null
  /** By `reporter_key` over the outcome */
  reporter_signature?: string | null
  /** Part of the signed bytes; an older statement never replaces a newer one */
  signed_at?: string | null
  dimension?: string
}

/** Limits of the plan */
export type PlanLimits = {
  /** Memories, replaced versions included; null: no limit */
  max_memories: number | null
  /** Stores; null: no limit */
  max_stores: number | null
  /** Requests per minute; null: no limit */
  max_requests_per_minute: number | null
  /** Governed decisions a month; null: no limit */
  max_governed_decisions: number | null
}

/** Plan of the tenant */
export type PlanName = 'starter' | 'pro' | 'enterprise'

/** Limits that replace those of the plan */
export type PlanOverrides = {
  /** Memories; null: no limit */
  memories?: number | null
  /** Stores; null: no limit */
  stores?: number | null
  /** Requests per minute; null: no limit */
  requests_per_minute?: number | null
  /** Governed decisions a month */
  governed_decisions?: {
    /** Included in the plan; null: not stated */
    included?: number | null
    /** Where logging ends; null: nowhere */
    ceiling?: number | null
  }
  /** Tokens of managed runs in a calendar month; null: no limit */
  model_tokens?: number | null
  /** Runs of agents at once; null: no limit */
  runs?: number | null
  /** Endpoints of webhooks; null: no limit */
  webhooks?: number | null
  /** Event streams at once; null: no limit */
  streams?: number | null
  /** When the limits of the plan hold again; null: never */
  until?: string | null
}

/** A policy */
export type Policy = {
  /** Id of the policy */
  policy_id: string
  /** Name of the policy */
  name: string
  /** What the policy is for */
  description: string
  policy_type: PolicyType
  action: PolicyAction
  /** Configuration, by the type of policy */
  config: { [key: string]: unknown }
  /** Order of evaluation: lower values first */
  priority: number
  /** Whether the policy is evaluated */
  enabled: boolean
  /** When it was created */
  created_at: string
  /** When it was last changed */
  updated_at: string
  /** Version of the policy, from 1 */
  version: number
  /** Id of the key that made this version */
  changed_by: string
}

/** What happens when the policy is violated */
export type PolicyAction = 'allow' | 'deny' | 'escalate' | 'log_only'

/** Result of a policy for a request */
export type PolicyResult = 'allowed' | 'denied' | 'escalated' | 'logged'

/** Type of policy; see `GET /v1/governance/policy-types` */
export type PolicyType = 'rate_limit' | 'model_allowlist' | 'content_filter' | 'data_scope' | 'token_budget' | 'hitl_required' | 'pii_guard' | 'world_model_constraint' | 'tool_deny'

/** A session of a browser */
export type PortalSession = {
  /** Id of the session */
  session_id: string
  /** Id of the API key it was made with; null: a person is signed in */
  key_id: string | null
  /** Id of the person; null: the key is of nobody */
  user_id: string | null
  /** When it was created */
  created_at: string
  /** When it was last used, to the minute */
  used_at: string
  /** When it ends, if not used */
  expires_at: string
  /** Whether it is the session of this request */
  current: boolean
}

/** `openai`: chat completions, of any compatible service. `anthropic`: messages of Anthropic. */
export type ProviderKind = 'openai' | 'anthropic'

/** A signing key of the service */
export type PublishedKey = {
  /** Id of the signing key */
  key_id: string
  /** What the key signs */
  purpose: string
  /** Ed25519 public key */
  public_key: string
  /** When the key was created */
  valid_from: string
  /** When the key was retired; null: it is in use */
  retired_at: string | null
}

/** What a put has stored */
export type PutResult = {
  /** The memory that is the new version */
  ref: number
  /** Whether there was no item of this name */
  created: boolean
  /** When it was created */
  created_at: string
  /** When it was last changed */
  updated_at: string
  /** Position in the audit log */
  log_seq: number
}

/** A limit of the plan and its use */
export type QuotaUse = {
  /** What is limited */
  quota: string
  /** The limit */
  limit: number
  /** How much of it is used */
  used: number
}

/** A retrieved memory with its score */
export type RankedMemory = {
  /** Number of the memory */
  ref: number
  /** Content of the memory */
  content: string
  /** Metadata of the memory */
  metadata: { [key: string]: unknown }
  /** When the memory was written */
  written_at: string
  /** From when the content is true */
  valid_from: string
  /** Until when the content is true, not included; null: no end */
  valid_until: string | null
  /** When the memory expires; null: never */
  expires_at: string | null
  /** The tenant `T`, or `T/x` in the namespace x */
  tenant_id: string
  /** The memory that replaced it; null if it is current */
  superseded_by: number | null
  /** Who wrote it, with a signature */
  source: MemorySource
  /** Tokens of the content, counted with the store's tokenizer */
  token_count: number
  /** The name, where the memory is a version of an item */
  item?: ItemName
  /** Where the memory is a digest of a session */
  digest?: SessionDigest
  /** Score in this retrieval */
  score: number
  /** The parts of `score`, which add up to it exactly */
  score_parts: {
    /** From the words of the query that the memory contains */
    lexical: number
    /** From words that only neighbouring memories of its session contain */
    neighbour: number
    /** From the similarity of the vectors, its own and its neighbours */
    dense: number
    /** Because the query names who speaks, or a speaker the memory mentions */
    speaker: number
    /** Because the memory is of a day that the query names */
    date: number
    /** Negative for a short question, which asks for what another one says */
    question: number
    /** Negative for a piece of a message that has a better piece nearby */
    message: number
    /** A share of the best score in its session */
    session: number
    /** From the age of the memory */
    recency: number
  }
  /**
   * How likely the memory is about the query, by the terms it has and, with the embedder `static`,
   * the similarity of the vectors; comparable between queries and stores
   */
  confidence: number
}

/**
 * `fused`: by words and vectors. `lexical`: by words alone, because the store has no embedder or it
 * did not answer in time
 */
export type Ranking = 'fused' | 'lexical'

/** An approval decision about a record */
export type RecordApproval = {
  /** Id of the approval request */
  request_id: string
  /** Name of the approver */
  approver: string
  /** Id of the enrolled approver; null: only a name was given */
  approver_id: string | null
  /** Id of the key that decided */
  decided_by: string
  /** When it was decided */
  decided_at: string
  /** Why */
  reason: string | null
  /** SHA-256 of the proposal */
  proposal_digest: string
}

/**
 * `waiting_hitl`: waits for an approval. `denied`, `expired`: refused, or not approved in time. All
 * others: accepted, by the kind of record.
 */
export type RecordStatus = 'waiting_hitl' | 'denied' | 'expired' | 'issued' | 'registered' | 'certified' | 'invoked' | 'sealed' | 'governed' | 'approved'

/** The authority that the caller claims */
export type RecordedAuthority = {
  /** Reference of the delegation */
  delegation_ref: string | null
  /** The person on whose behalf the caller acts */
  human_principal: string | null
  /** Trust tier as claimed; null: none was claimed */
  claimed_tier: TrustTier | null
  /** Trust tier that applies: the claim, capped by the credential */
  trust_tier: TrustTier
}

/** An outcome on record */
export type RecordedOutcome = {
  /** Pseudonym of the referent */
  invoice_ref: string
  outcome: Outcome
  /** When it was recorded */
  recorded_at: string
  /** Whether it replaced an earlier record, which no longer counts */
  superseded_prior: boolean
  /** Whether exactly this was on record already, so nothing was written */
  idempotent: boolean
}

/** A review on record */
export type RecordedReview = {
  /** Pseudonym of the referent */
  invoice_ref: string
  /** Handle of the reviewer */
  reviewer_handle: string
  /** Rating, rounded to millionths */
  rating: number
  /** When it was recorded */
  recorded_at: string
  /** Whether it replaced an earlier record, which no longer counts */
  superseded_prior: boolean
  /** Whether exactly this was on record already, so nothing was written */
  idempotent: boolean
}

export type RejectedAction = {
  /** The record is denied */
  status: "denied"
  /** Who rejected it */
  approver: string
  /** Id of the action */
  action_id: string
}

export type RejectedArtifact = {
  /** The record is denied */
  status: "denied"
  /** Who rejected it */
  approver: string
  /** Id of the artifact */
  artifact_id: string
}

export type RejectedCertificate = {
  /** The record is denied */
  status: "denied"
  /** Who rejected it */
  approver: string
  /** Id of the certificate */
  certificate_id: string
}

export type RejectedComposition = {
  /** The record is denied */
  status: "denied"
  /** Who rejected it */
  approver: string
  /** Id of the composition */
  composition_id: string
}

/** Result of repeating the model call of a decision */
export type ReplayVerdict = {
  replay_id: string
  /** Id of the decision */
  decision_id: string
  /** Id of the tenant */
  tenant_id: string
  /**
   * `degraded`: nearly the same words. `impossible`: the model was not called. `error`: it did not
   * answer, or a policy denied its answer
   */
  status: 'identical' | 'degraded' | 'diverged' | 'impossible' | 'error'
  /** Reason code; null: the answers are identical */
  divergence_reason: string | null
  /** Beginning of the original answer; null: erased, or not compared */
  original_output: string | null
  /** Beginning of the new answer; null: there is none */
  replayed_output: string | null
  /** Similarity of the words of the two answers */
  confidence: number
  /** Whether the prompt was exactly the original one */
  input_reconstructed: boolean
  /** Whether every original memory still exists */
  memory_match: boolean
  /** Whether a provider of the model is configured */
  model_available: boolean
  /** Whether the two answers are equal byte for byte */
  output_hash_match: boolean
  /** Version of the model that answered; null: not reported */
  model_version_used: string | null
  /** Tokens of the prompt */
  tokens_in: number
  /** Tokens of the answer */
  tokens_out: number
  /** Cost in millionths of the currency */
  cost_micro: number
  /** Milliseconds until the model answered */
  replay_latency_ms: number
  /** When it was replayed */
  replayed_at: string
}

/** A signed report */
export type Report = {
  /** Kind of signed record */
  record_kind: "report"
  /** Version of the signed form; absent: version 1 */
  report_version?: 2
  /** Id of the report */
  report_id: string
  /** Id of the tenant */
  tenant_id: string
  report_type: ReportType
  /** Same as `report_type` */
  framework: ReportType
  /** Title of the report */
  title: string
  /** Status of the report */
  status: "complete"
  /** Finding over all sections */
  overall_status: ReportFinding
  /** Same as `overall_status` */
  overall_finding: ReportFinding
  /** Start of the period */
  period_start: string
  /** End of the period, not included */
  period_end: string
  /** Last log entry that is counted */
  log_seq: number
  /** SHA-256 over the canonical JSON of `content` */
  content_hash: string
  /** Bytes of the canonical JSON of `content` */
  file_size_bytes: number
  /** When the report was generated */
  generated_at: string
  /** Same as `generated_at` */
  created_at: string
  /** Name of the tenant at that time; absent from version 1 */
  tenant_name?: string
  /** How many articles have evidence on record; absent from version 1 */
  headline?: string
  /** The result for each article */
  sections: Array<ReportSection | ReportSectionV1>
  /** The evidence, by section */
  content: { [key: string]: unknown }
  /** Ed25519 signature */
  signature: string
  /** Ed25519 public key that signed */
  public_key: string
  /** Id of the signing key */
  key_id: string
}

/** Whether evidence is on record; it does not say whether a law is complied with */
export type ReportFinding = 'EVIDENCE_FOUND' | 'PARTIAL' | 'INSUFFICIENT_DATA' | 'NOT_AUTOMATABLE'

/** Format of the file */
export type ReportFormat = 'json' | 'html' | 'pdf' | 'oscal'

/** A regulatory framework */
export type ReportFramework = 'eu_ai_act' | 'gdpr' | 'dora' | 'nist_ai_rmf' | 'iso_42001' | 'colorado_ai' | 'hipaa'

/** The result for one article */
export type ReportSection = {
  /** Name of the section in `content` */
  key: string
  framework: ReportFramework
  /** Article of the framework */
  article: string
  /** Title of the article */
  title: string
  status: ReportFinding
  /** What is on record in the period, a sentence for each kind of evidence found */
  evidence: string[]
  /** The finding in words, with what is missing and what no log can show */
  detail: string
  figures: EvidenceFigures
}

/** The result for one article in reports of version 1 */
export type ReportSectionV1 = {
  /** Name of the section in `content` */
  key: string
  framework: ReportFramework
  /** Article of the framework */
  article: string
  /** Title of the article */
  title: string
  status: ReportFinding
  evidence: EvidenceFigures
}

/** A framework, or `full_audit` for all of them */
export type ReportType = 'eu_ai_act' | 'gdpr' | 'dora' | 'nist_ai_rmf' | 'iso_42001' | 'colorado_ai' | 'hipaa' | 'full_audit'

/** A decision on a record that waits for an approval */
export type ResumeRequest = {
  /** Who decides; never the principal of the request */
  approver: string
  /** Why */
  reason?: string
}

/** How long a store keeps its memories */
export type Retention = {
  /** Id of the store */
  store_id: string
  /** Days a memory is kept after it was written; null: no limit */
  retain_days: number | null
  /** Why memories are kept this long */
  basis: string | null
  /** When the retention was set */
  set_at: string | null
  /** Id of the key that set it */
  set_by: string | null
  /** Memories that are older than that now, superseded ones included */
  due: number
  /** Memories past an expiry of their own that are not erased yet */
  expired: number
  /** Legal holds in force; while there is one, nothing is erased */
  holds: number
  /** The run in progress */
  run: {
    /** Id of the job */
    job_id: string
    /** When the run started */
    started_at: string
    /** Memories erased so far */
    erased: number
    /** Memories to erase in all */
    due: number
  } | null
  /** The last run that ended */
  last_run: {
    /** When the run ended */
    ended_at: string
    /** Memories erased */
    erased: number
  } | null
}

/**
 * `full`: each memory with its metadata, times, origin and parts of the score. `compact`: only its
 * `ref`, `content`, `score` and `token_count`.
 */
export type RetrieveView = 'full' | 'compact'

/** A review to record */
export type ReviewRequest = {
  invoice_ref: string
  /** Handle of the reviewer; a later review of the same referent replaces an earlier one */
  reviewer_handle: string
  /** Rating of the decisions, from 0 to 1 */
  rating: number
  /** Whose decision is reviewed; default: all agents that certified the referent */
  agent_handle?: string | null
  /** The decision that is reviewed */
  decision_id?: string | null
  /** When the review was made */
  review_date?: string | null
  /** Where the information comes from */
  source?: string
  dimension?: string
}

/** What a person may do; each role is a list of scopes, see docs/people.md */
export type Role = 'owner' | 'admin' | 'operator_of_stores' | 'approver' | 'auditor' | 'viewer'

/** A role of agents */
export type RoleChoice = {
  value: AgentRole
  /** The role for people */
  label: string
}

/** Roles by values of the claim */
export type RoleMap = RoleMapping[]

/** The role that a value of the claim gives */
export type RoleMapping = {
  /** A value of the claim, compared exactly */
  value: string
  /** The role of people with this value */
  role: Role
}

/** Roles of a person */
export type Roles = Role[]

/** A run: steps of agents under one budget */
export type Run = {
  run_id: string
  /** Id of the tenant */
  tenant_id: string
  /** Its agent, or the first of its workflow */
  agent_id: string
  /** Id of the workflow; null: the run is of one agent */
  workflow_id: string | null
  /** Who asks the models */
  executor: RunExecutor
  /** State of the run */
  state: RunState
  /** Reason code if it ended other than completed */
  termination_reason: RunReason | null
  /** What its steps may use */
  budget: RunBudget
  /** What ended steps used, as reported, or reserved where nobody reported */
  spent: RunUse
  /** What steps under way may still use */
  reserved: RunUse
  /** What becomes of what it did when it ends other than completed */
  on_failure: OnFailure
  /** How much was undone; null: no compensation was requested */
  compensation: Compensation | null
  /** Deadline of the compensation; null: no compensation was requested */
  compensation_deadline_at: string | null
  /** Why the compensation stopped early; null: it did not */
  compensation_stopped: RunReason | null
  /** Maximum number of steps */
  max_steps: number
  /** Number of steps so far */
  steps_total: number
  /** Receipts that were signed */
  receipts: number
  /** SHA-256 of the newest receipt; null: none yet */
  last_receipt_digest: string | null
  /** Id of the key that started it */
  started_by: string
  /** When it ends at the latest */
  deadline_at: string
  /** When it was created */
  created_at: string
  /** When it ended */
  ended_at: string | null
}

/** Maximum use of all steps of a run together */
export type RunBudget = {
  /** Tokens of all steps, input and output; null: no limit */
  tokens?: number | null
  /** Cost in millionths of the currency; null: no limit */
  cost_micro?: number | null
}

/** A line; `type` says what it holds */
export type RunBundleLine = { [key: string]: unknown }

/** A call of a tool by a step */
export type RunCall = {
  call_id: string
  step_id: string
  run_id: string
  /** State of the call */
  state: RunCallState
  /** Reason code if it ended other than done */
  reason: RunReason | null
  /** What repeating it does */
  effect: ToolEffect
  /** Whether the caller of the managed run makes the call and reports the result */
  by_caller: boolean
  /** Salted SHA-256 of tool and arguments */
  args_commitment: string
  /** Salted SHA-256 of the result */
  result_commitment: string | null
  /** Number of the policies that were evaluated */
  policy_set: number
  /** Id of the evaluation; null: there were no policies */
  evaluation_id: string | null
  /** Id of the action that required approval; null: none */
  action_id: string | null
  /** Id of the call that this one compensates; null: none */
  compensates: string | null
  /** When it was created */
  created_at: string
  /** When it ended */
  ended_at: string | null
}

/**
 * `intended`: the call may be made. `uncertain`: the call of a `once` tool may have taken effect,
 * but was not reported.
 */
export type RunCallState = 'waiting_hitl' | 'intended' | 'done' | 'denied' | 'failed' | 'uncertain'

/** A call with its texts */
export type RunCallTexts = {
  call_id: string
  step_id: string
  run_id: string
  /** State of the call */
  state: RunCallState
  /** Reason code if it ended other than done */
  reason: RunReason | null
  /** What repeating it does */
  effect: ToolEffect
  /** Whether the caller of the managed run makes the call and reports the result */
  by_caller: boolean
  /** Salted SHA-256 of tool and arguments */
  args_commitment: string
  /** Salted SHA-256 of the result */
  result_commitment: string | null
  /** Number of the policies that were evaluated */
  policy_set: number
  /** Id of the evaluation; null: there were no policies */
  evaluation_id: string | null
  /** Id of the action that required approval; null: none */
  action_id: string | null
  /** Id of the call that this one compensates; null: none */
  compensates: string | null
  /** When it was created */
  created_at: string
  /** When it ended */
  ended_at: string | null
  /** Name of the tool; null: erased, or no right */
  tool: string | null
  /** Arguments; null: erased, or no right */
  args: { [key: string]: unknown } | null
  /** What it answered; null: nothing yet, erased, or no right */
  result: string | null
}

/** `client`: the caller, between `begin` and `complete`. `managed`: this service */
export type RunExecutor = 'client' | 'managed'

/** A memory for the prompt: data, never instructions */
export type RunMemory = {
  /** Number of the memory */
  ref: number
  /** Text of the memory */
  content: string
}

/** Reason code if it ended other than completed */
export type RunReason = 'cancelled' | 'deadline_exceeded' | 'permit_expired' | 'policy' | 'output_refused' | 'hitl_rejected' | 'hitl_expired' | 'input_erased' | 'not_reported' | 'reported' | 'run_ended' | 'model_failed' | 'model_refused' | 'quota_exceeded' | 'attempt_lost' | 'step_refused' | 'budget_exhausted' | 'max_steps_reached' | 'credential_revoked' | 'executor_failed' | 'args_invalid' | 'tool_refused' | 'tool_failed' | 'resolved' | 'loop_detected' | 'no_compensation'

/** Signed statement about one ended step; see docs/orchestration.md */
export type RunReceipt = { [key: string]: unknown }

/**
 * `running`: its executor may begin steps. `waiting_hitl`: a step or call waits for approval.
 * `waiting_client`: the caller has to report the result of a call. `waiting_resolution`: a person
 * has to say whether the call of a `once` tool took effect. `compensating`: it has stopped, and its
 * tool calls are being undone. `denied`: a policy or a person denied a step. `failed`: no model
 * answered. `terminated`: it was stopped early.
 */
export type RunState = 'running' | 'waiting_hitl' | 'waiting_client' | 'waiting_resolution' | 'compensating' | 'completed' | 'denied' | 'failed' | 'terminated'

/** One model call of a run, with its permit */
export type RunStep = {
  step_id: string
  run_id: string
  /** Number of the step in the run, from 1 */
  step_no: number
  /** Turn of the workflow, from 0; null: the run is of one agent */
  turn_no: number | null
  agent_id: string
  /** State of the step */
  state: StepState
  /** Reason code if it ended other than completed */
  reason: RunReason | null
  /** Model that is called */
  model_id: string
  /** Store that was read; null: none */
  store_id: string | null
  /** Log position at which memory was read */
  memory_seq: number
  /** Memories that the step retrieved */
  retrieved_refs: number[]
  /** Memories that its input derives from */
  inherited_refs: number[]
  /** Number of the policies that were evaluated */
  policy_set: number
  /** Id of the evaluation; null: there were no policies */
  evaluation_id: string | null
  /** Id of the action that required approval; null: none */
  action_id: string | null
  /** Id of the permit; null: there is none */
  permit: string | null
  /** Tokens reserved for it, input and output */
  max_tokens: number
  /** Millionths of the currency */
  max_cost_micro: number
  /** When the permit ends; null: there is none, or it has ended */
  expires_at: string | null
  /** Tokens of the prompt, as reported */
  tokens_in: number | null
  /** Tokens of the output, as reported */
  tokens_out: number | null
  /** Millionths of the currency */
  cost_micro: number | null
  /** Id of the logged decision; null: none yet */
  decision_id: string | null
  /** Its calls, oldest first */
  calls: RunCall[]
  /** When it was created */
  created_at: string
  /** When it ended */
  ended_at: string | null
}

/** A step with its texts */
export type RunStepTexts = {
  step_id: string
  run_id: string
  /** Number of the step in the run, from 1 */
  step_no: number
  /** Turn of the workflow, from 0; null: the run is of one agent */
  turn_no: number | null
  agent_id: string
  /** State of the step */
  state: StepState
  /** Reason code if it ended other than completed */
  reason: RunReason | null
  /** Model that is called */
  model_id: string
  /** Store that was read; null: none */
  store_id: string | null
  /** Log position at which memory was read */
  memory_seq: number
  /** Memories that the step retrieved */
  retrieved_refs: number[]
  /** Memories that its input derives from */
  inherited_refs: number[]
  /** Number of the policies that were evaluated */
  policy_set: number
  /** Id of the evaluation; null: there were no policies */
  evaluation_id: string | null
  /** Id of the action that required approval; null: none */
  action_id: string | null
  /** Id of the permit; null: there is none */
  permit: string | null
  /** Tokens reserved for it, input and output */
  max_tokens: number
  /** Millionths of the currency */
  max_cost_micro: number
  /** When the permit ends; null: there is none, or it has ended */
  expires_at: string | null
  /** Tokens of the prompt, as reported */
  tokens_in: number | null
  /** Tokens of the output, as reported */
  tokens_out: number | null
  /** Millionths of the currency */
  cost_micro: number | null
  /** Id of the logged decision; null: none yet */
  decision_id: string | null
  /** Its calls, oldest first */
  calls: RunCall[]
  /** When it was created */
  created_at: string
  /** When it ended */
  ended_at: string | null
  /** Input as policies redacted it; null: erased, or no right */
  input_text: string | null
  /** What the model answered; null: nothing yet, denied, erased, or no right */
  output_text: string | null
}

/** What became of one thing that a run did */
export type RunUndo = {
  /** Call of a tool that acted, or may have */
  call_id: string
  /** Whether it was undone */
  undone: boolean
  /** Id of the call that undoes it; null: there is none */
  undone_by: string | null
  /** Why it was not undone; null: it was, or is being undone */
  reason: RunReason | null
}

/** Tokens and cost */
export type RunUse = {
  /** Tokens */
  tokens: number
  /** Millionths of the currency */
  cost_micro: number
}

/** `empty`: no step has ended yet */
export type RunVerdictStatus = 'intact' | 'tampered' | 'empty'

/** What a key may do; `*` covers every scope of a tenant */
export type Scope = 'memory:read' | 'memory:write' | 'memory:admin' | 'decisions:read' | 'decisions:write' | 'erasure:execute' | 'gcrumbs:read' | 'gcrumbs:admin' | 'governance:read' | 'governance:admin' | 'artifacts:read' | 'artifacts:admin' | 'compliance:read' | 'compliance:admin' | 'manifold:read' | 'cgr:read' | 'cgr:write' | 'keys:admin' | 'webhooks:admin' | 'orchestrator:run' | 'orchestrator:admin' | 'llm:admin' | 'sso:admin' | 'admin:platform' | '*'

/** The score of an agent in a dimension */
export type Score = {
  /** Handle of the agent */
  agent_handle: string
  /** Score: the mean of the posterior */
  cgr_score: number
  /** Weight of the posterior: `n_resolved` + 2 while no review counts */
  confidence: number
  /** Certifying judgments with the outcome `paid` or `default` */
  n_resolved: number
  /** Certifying judgments without `paid` or `default`, including `n_unscored` */
  n_pending: number
  /** Reserved */
  capability_tier: null
  /** Time of the score */
  as_of: string
  /** Subject area */
  dimension: string
  /** Current key of the agent; null: known by its handle only */
  subject_key: string | null
  /** `did:key` of the first key of its rotations */
  subject_did: string | null
  /** Alpha of the Beta posterior */
  post_alpha: number
  /** Beta of the Beta posterior */
  post_beta: number
  /** Value that the posterior exceeds with 95 % */
  cgr_lower: number
  /** Pending judgments whose outcome is `disputed`, `late` or `written_off` */
  n_unscored: number
  /** Whether every decision counted was signed with the key of the agent */
  proven: boolean
  /** Newest log entry that is counted; null: the audit log is empty */
  log_seq: number | null
}

/** What a digest of a session was made from */
export type SessionDigest = {
  /** The session */
  session_id: string | number
  /** The memories it was made from; erasing one of them erases the digest first */
  sources: number[]
}

/** A signature algorithm of ID tokens */
export type SsoAlgorithm = 'RS256' | 'RS384' | 'RS512' | 'PS256' | 'PS384' | 'PS512' | 'ES256' | 'ES384' | 'ES512' | 'EdDSA'

/** Accepted signature algorithms of ID tokens */
export type SsoAlgorithms = SsoAlgorithm[]

/**
 * How the service authenticates to the provider; `private_key_jwt`: with a key that the service
 * generates and whose public part you register there
 */
export type SsoAuthMethod = 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt' | 'none'

/** A connection of the tenant to an OpenID provider */
export type SsoConnection = {
  /** Id of the connection */
  connection_id: string
  /** What people see on the sign-in page */
  name: string
  /** The issuer, as its discovery document names it */
  issuer: string
  /** The client id at the provider */
  client_id: string
  auth_method: SsoAuthMethod
  /** The key to register at the provider; null: the client has none */
  public_jwk: SsoPublicKey | null
  /** What is asked of the provider besides `openid` */
  scopes: OidcScopes
  /** Accepted signature algorithms of ID tokens */
  algorithms: SsoAlgorithms
  /** Claim that determines the role at every sign-in; null: people keep their roles */
  role_claim: ClaimPath | null
  /** Roles by values of the claim */
  role_map: RoleMap
  /** Role of people without a mapped value; null: their sign-in is refused */
  default_role: Role | null
  /** Whether a mapped value or the default may grant `owner` */
  allow_owner: boolean
  /** Whether people may sign in without an invitation */
  create_users: boolean
  /**
   * Directories whose people may sign in, of an issuer of `common` or `organizations`; empty: the
   * issuer is that of one organisation
   */
  directories: SsoDirectories
  /** Whether people of the tenant can sign in through a provider only */
  enforced: boolean
  /** Whether people can sign in through it; `false` ends its sessions */
  enabled: boolean
  /** Verified e-mail domains of the connection */
  domains: string[]
  /** The redirect URI to register at the provider */
  redirect_uri: string
  /** The back-channel logout URI to register at the provider */
  backchannel_logout_uri: string
  /** When it was created */
  created_at: string
  /** When it was last changed */
  changed_at: string
}

export type SsoDirectories = string[]

/** What is wrong with a provider */
export type SsoProblem = 'unreachable' | 'not_a_provider' | 'issuer_differs' | 'no_code_flow' | 'no_common_algorithm' | 'no_keys'

/** A provider that people can sign in with */
export type SsoProvider = {
  /** Given to `identity.authorize` */
  connection_id: string
  /** What people see */
  name: string
}

/** A public key (RFC 7517) */
export type SsoPublicKey = {
  /** Key type */
  kty: string
  /** Curve */
  crv: string
  /** Coordinate */
  x: string
  /** Coordinate */
  y: string
  /** Id of the key */
  kid: string
  /** Algorithm */
  alg: string
  /** Use of the key */
  use: string
}

/** A part of an answer; sent once and not stored */
export type StepDelta = {
  /** Not a log entry; its frame has no id */
  type: "step.delta"
  run_id: string
  step_id: string
  /** Text that the model generated since the previous frame */
  text: string
}

/** What a step may use, and what it was given */
export type StepPermit = {
  /** The step */
  step: RunStep
  step_id: string
  /** Id of the permit; null: the step waits or has ended */
  permit: string | null
  /** Input to use, as policies redacted it; null: erased, or no right */
  input_text: string | null
  /** What the model answered; null: not yet, erased, or no right */
  output_text: string | null
  /** Memories for the prompt, best first */
  memory: RunMemory[]
  /** Log position at which memory was read */
  memory_seq: number
  /** Most tokens, in and out */
  max_tokens: number
  /** When the permit ends */
  expires_at: string | null
}

/**
 * `permitted`: the model may be called until the permit expires. `answered`: it has answered, and
 * its tool calls are in progress
 */
export type StepState = 'waiting_hitl' | 'permitted' | 'answered' | 'completed' | 'denied' | 'failed'

/** Whether a row can be written and read back; `full`: no space is left */
export type StorageState = 'ok' | 'full' | 'failing'

/** A memory store */
export type Store = {
  /** Id of the store */
  store_id: string
  /** Name of the store */
  name: string | null
  /** Backend label given at creation; not interpreted */
  backend: string | null
  /** Labels given at creation; not interpreted */
  labels: { [key: string]: unknown }
  /** Capabilities of the store */
  capabilities: Capability[]
  tokenizer: Tokenizer
  embedder: Embedder
  languages: Languages
  /** Idle seconds after which a session is digested; null: never */
  digest_after_s: number | null
  /** When it was created; null for `default` before its first write */
  created_at: string | null
  /** State of the store */
  state: 'active' | 'deleting' | 'deleted'
}

/** The `data` of a frame: an entry of the audit log */
export type StreamedEntry = {
  /** Same as `event_type` */
  type: string
  /** RFC 6962 leaf hash of the entry */
  breadcrumb_id: string
  /** Id of the tenant */
  tenant_id: string
  /** Position in the audit log, from 0 */
  seq: number
  /** Kind of event, for example `memory.written` */
  event_type: string
  /** Id of what the event is about */
  subject: string
  /** Ids, numbers and digests of the event; never content */
  payload: { [key: string]: unknown }
  /** `breadcrumb_id` of the previous entry; zeros in the first */
  prev_id: string
  /** When it was created */
  created_at: string
}

/**
 * What identifies the person: one group, whose conditions must all match, or a list of groups, of
 * which one must match
 */
export type SubjectFind = SubjectFindGroup | SubjectFindGroup[]

/** Conditions that must all match */
export type SubjectFindGroup = {
  /** Metadata entries that must be equal, type included */
  metadata?: { [key: string]: string | number | boolean }
  /**
   * Text that the content or a text of the metadata must contain; with fewer than four characters
   * it must be a whole word
   */
  text?: string
  /** Session of decisions, and `session_id` in the metadata of memories; must be equal */
  session_id?: string
  /** How `text` is compared, in Unicode NFC either way */
  match?: 'ignore_case' | 'exact_case'
}

/** What was found */
export type SubjectFound = {
  /** Memories, with all earlier and later versions of each */
  facts: number
  /** Those of them that have been superseded */
  superseded_facts: number
  /** Decisions that used one of them; their copies are redacted too */
  decisions_using: number
  /** Decisions whose own text matches; each is redacted and certified */
  decisions_naming: number
  /** Other records whose texts match; each is redacted and certified */
  texts: number
  /** Those of all of them that a legal hold protects from erasure */
  held: number
}

/** Progress of the work */
export type SubjectProgress = {
  /** Items with an outcome */
  done: number
  /** All items */
  total: number
}

/** What the action applies to */
export type SubjectRefs = Array<string | {
  /** Object type of the subject */
  type: string
  /** Name of the subject */
  ref: string
}>

/** A request of a data subject */
export type SubjectRequest = {
  /** Id of the request of a data subject */
  request_id: string
  /** Id of the tenant */
  tenant_id: string
  kind: SubjectRequestKind
  status: SubjectRequestStatus
  /** Id of the job */
  job_id: string | null
  found: SubjectFound
  /** SHA-256 over the sorted ids of everything found; not the `digest` of a preview */
  digest: string
  /** Last log entry when the search began */
  log_seq: number
  /** HMAC of what was searched for under a salt of the tenant: equal for equal searches */
  find_label: string
  /** When the person asked */
  received_at: string
  /** When the request is due */
  due_at: string
  /** When the due date was extended */
  extended_at: string | null
  /** Whether the due date has passed and the request is not done */
  overdue: boolean
  /** When it was created */
  created_at: string
  /** When the work started */
  started_at: string | null
  /** When the work ended */
  completed_at: string | null
  progress: SubjectProgress
  /** Id of the credential that asked */
  requested_with: string
}

/** Kind of request of a data subject */
export type SubjectRequestKind = 'erase' | 'access'

/**
 * `done_with_holds`: the manifest names what was kept: what a legal hold protects, policies in
 * force, labels in clear
 */
export type SubjectRequestStatus = 'queued' | 'running' | 'done' | 'done_with_holds'

/** State of the subscription; `canceling` ends with its period */
export type SubscriptionStatus = 'none' | 'checkout_open' | 'trialing' | 'active' | 'canceling' | 'past_due' | 'unpaid' | 'canceled'

/** A tenant */
export type Tenant = {
  /** Id of the tenant */
  tenant_id: string
  /** Same as `tenant_id` */
  id: string
  /** Name of the tenant */
  name: string
  /** Plan of the tenant */
  plan: string
  /** When it was created */
  created_at: string
  status: TenantStatus
  /** When the keys of the tenant were destroyed */
  destroyed_at: string | null
  limits: PlanLimits
}

/** The signed certificate of an off-boarding */
export type TenantCertificate = {
  /** Kind of signed record */
  record_kind: "tenant_erasure"
  /** Id of the certificate */
  certificate_id: string
  /** Id of the tenant */
  tenant_id: string
  /** What the tenant had when its keys were destroyed, by kind */
  counts: { [key: string]: number }
  /** What was destroyed, by kind */
  destroyed: { [key: string]: string }
  verification: ErasureVerification
  /** The last signed checkpoint of the audit log */
  last_checkpoint: {
    /** Number of the checkpoint */
    epoch_number: number
    /** Entries of the audit log it signs */
    tree_size: number
    /** Merkle root of the audit log */
    root_hash: string
    /** The signed checkpoint in C2SP form */
    checkpoint: string
  }
  /** What remains after the off-boarding */
  remains: string[]
  /** What the certificate does not cover */
  limits: string[]
  /** Legal basis, as given */
  legal_basis: string
  /** Who requested the off-boarding, as given */
  requested_by: string | null
  /** When the erasure was requested */
  erasure_requested_at: string
  /** When the erasure was completed */
  erasure_completed_at: string
  /** Position in the audit log */
  log_seq: number
  /** Ed25519 signature */
  signature: string
  /** Ed25519 public key that signed */
  public_key: string
  /** Id of the signing key */
  key_id: string
}

/** `moved` when another cluster serves it, `destroyed` from the moment its off-boarding began */
export type TenantStatus = 'active' | 'moved' | 'destroyed'

/** What one term adds to a score */
export type TermScore = {
  /** The term */
  term: string
  /** Its contribution to the score */
  score: number
}

/** Kind of a record that is neither a memory nor a decision */
export type TextKind = 'artifact' | 'corpus' | 'world_type' | 'action' | 'composition' | 'landing' | 'approval' | 'approver' | 'governed_decision' | 'attestation' | 'policy' | 'hold' | 'retention' | 'report' | 'store' | 'key' | 'key_namespace' | 'webhook' | 'user' | 'sso_connection' | 'agent' | 'workflow' | 'provider' | 'tool' | 'agent_action' | 'run_text' | 'label'

/** What a token may do */
export type TokenScope = 'memory:read' | 'memory:write'

/** Tokenizer that counts the tokens of memories */
export type Tokenizer = 'o200k_base' | 'chars'

/** What a model may have done, and how often */
export type Tool = {
  tool_id: string
  /** Name, as agents and models use it */
  name: string
  /** What it does, for the model */
  description: string
  tool_type: ToolKind
  /** What repeating a call does */
  effect: ToolEffect
  /** JSON Schema of the arguments: an object */
  input_schema: { [key: string]: unknown }
  /** Method; null: it sends no request */
  method: ToolMethod | null
  /** Address; null: it sends no request */
  url: string | null
  /** Action that it invokes; null: none */
  action_name: string | null
  /** How a call of it is undone; null: not at all */
  compensation: ToolCompensation | null
  /** Whether its name is reserved for `seed-builtins` */
  builtin: boolean
  /** Names of headers that are sent; their values are never shown */
  headers: string[]
  /** Version number, from 1 */
  version: number
  /** Whether managed runs may call it */
  enabled: boolean
  /** When it was created */
  created_at: string
}

/** How a call is undone where its run ends other than completed */
export type ToolCompensation = {
  /** Tool that undoes a call, of any kind but `client` */
  tool: string
  /** Of each of its arguments where it is: `args.id`, or `result.id` of JSON */
  map: { [key: string]: string }
}

/** `read`: changes nothing. `idempotent`: may be repeated. `once`: never repeat it */
export type ToolEffect = 'read' | 'idempotent' | 'once'

/**
 * `http`: a request. `client`: the caller acts and reports. `action`: invokes an action of the
 * world model. `erasure`: erases a memory. The others: the operations of these names
 */
export type ToolKind = 'http' | 'client' | 'action' | 'erasure' | 'memory.retrieve' | 'memory.write' | 'memory.supersede'

/** Method of the request */
export type ToolMethod = 'GET' | 'POST'

/** Trust tier of a caller; the values are in ascending order */
export type TrustTier = 'untrusted' | 'basic' | 'verified' | 'trusted' | 'release' | 'root'

/** A world-model type by kind and name */
export type TypeName = {
  kind: WorldTypeKind
  /** Name of the type */
  name: string
}

/** Usage in one calendar month (UTC): writes exact, reads within a few seconds */
export type Usage = {
  /** Operations that write or erase */
  writes: number
  /** Operations that read */
  reads: number
  /** Memories erased and decisions redacted, without self-tests */
  deletes: number
  /** Operations that supersede */
  supersedes: number
  /** Bytes written */
  total_bytes: number
  /** Operations of all kinds */
  total_operations: number
  /** Calls by operation id */
  operations: { [key: string]: number }
}

/**
 * A calendar month (UTC), by name or as `YYYY-MM`; `current_period` is the current month:
 * operations are counted by month
 */
export type UsagePeriod = 'current_month' | 'previous_month' | 'current_period' | string

/** A person of the tenant */
export type User = {
  /** Id of the person */
  user_id: string
  /** The e-mail address; empty once it was erased */
  email: string
  /** The name; may be empty */
  name: string
  /** Roles of the person */
  roles: Role[]
  /** Stores the person may use; null: all stores */
  stores: string[] | null
  state: UserState
  /** When it was created */
  created_at: string
  /** Until when the invitation can be accepted; null: it was accepted */
  invited_until: string | null
}

/** `invited`: the invitation has not been accepted yet */
export type UserState = 'invited' | 'active'

/** `judgment` can earn reputation; `rule` is recorded and earns none */
export type VerifiabilityTag = 'judgment' | 'rule'

/** What waits for a person */
export type WaitingAction = {
  /** Waits for an approval */
  status: "waiting_hitl"
  /** Id of the approval request */
  request_id: string
  /** Id of the action to approve */
  action_id: string
  /** When the approval request expires */
  expires_at: string
  step_id: string
  /** Id of the call; null: the step itself waits */
  call_id: string | null
}

/** A person has to approve first */
export type WaitingActionReply = {
  /** The approval request */
  detail: WaitingAction
}

/** An endpoint that log entries are sent to */
export type Webhook = {
  /** Id of the webhook */
  webhook_id: string
  /** Where deliveries are sent; empty once it was erased */
  url: string
  /** Names of events */
  events: WebhookEvents
  /** Whether deliveries are sent */
  enabled: boolean
  /** What it is for */
  description: string
  /** How deliveries are signed */
  signature: WebhookSignature
  /** Whether `X-Grafomem-*` headers are sent too */
  compatibility: boolean
  /** State of the endpoint */
  state: WebhookState
  /** Why it is disabled */
  disabled_reason: WebhookDisabledReason | null
  /** Log position of the next entry to look at */
  cursor_seq: number
  /** Log entries after that position */
  lag: number
  /** When a delivery last succeeded */
  last_success_at: string | null
  /** When the failures in a row began */
  failing_since: string | null
  /** When it was created */
  created_at: string
}

/** An entry on its way to an endpoint */
export type WebhookDelivery = {
  /** Id of the delivery */
  delivery_id: string
  /** Id of the webhook */
  webhook_id: string
  /** Event as it was sent */
  event_type: string
  /** Log position of the entry; null: a test */
  seq: number | null
  /** Why it was sent */
  kind: 'log' | 'replay' | 'retry' | 'test'
  /** State of the delivery */
  status: WebhookDeliveryStatus
  /** Requests sent so far */
  attempts: number
  /** Status of the last answer */
  response_code: number | null
  /**
   * Why the last attempt failed: `refused_address`, `dns`, `connect`, `tls`, `timeout`, `redirect`
   * or `status_<n>`
   */
  error: string | null
  /** When it was created */
  created_at: string
  /** When it is sent again */
  next_attempt_at: string | null
  /** When it was delivered or given up */
  completed_at: string | null
}

/** State of a delivery */
export type WebhookDeliveryStatus = 'pending' | 'retrying' | 'delivered' | 'failed'

/** `gone`: it answered 410. `failing`: 5 days without a success */
export type WebhookDisabledReason = 'requested' | 'gone' | 'failing' | 'redacted' | 'unreadable'

/** Names of events, see `/v1/webhooks/events/types`; `*`: every entry */
export type WebhookEvents = string[]

/** Standard Webhooks: `v1` HMAC-SHA256 with a secret, `v1a` Ed25519 with a public key */
export type WebhookSignature = 'v1' | 'v1a'

/** `failing`: 5 failures in a row; one delivery at a time probes the endpoint */
export type WebhookState = 'active' | 'failing' | 'disabled'

/** A workflow: agents that take turns in one run */
export type Workflow = {
  workflow_id: string
  /** Id of the tenant */
  tenant_id: string
  /** What people call it */
  name: string
  /** What it is for */
  description: string
  /** Its agents in order, or those that a supervisor delegates to */
  agent_ids: string[]
  /** How its agents take turns */
  mode: WorkflowMode
  /** Agent that delegates; null: another mode */
  supervisor_agent_id: string | null
  /** Rounds of `round_robin` */
  max_rounds: number
  /** Most steps of a run */
  max_total_steps: number
  /** Whether a run is refused while another is active */
  one_at_a_time: boolean
  /** The same as `agent_ids` */
  agents: string[]
  /** State of its newest run */
  status: WorkflowStatus
  /** Id of the newest run; null: it has none */
  run_id: string | null
  /** Why the newest run ended other than completed */
  termination_reason: RunReason | null
  /** Steps of the newest run */
  current_step: number
  /** Tokens that its steps used */
  total_tokens: number
  /** When the newest run started */
  started_at: string | null
  /** When it ended */
  completed_at: string | null
  /** When it was created */
  created_at: string
  /** Steps of the newest run, oldest first; empty in a list */
  steps: WorkflowStep[]
}

/**
 * `sequential`: the input of each agent is the answer of the previous one. `round_robin`: the same,
 * in rounds. `parallel`: all at once with the input. `supervisor`: one delegates tasks to the
 * others
 */
export type WorkflowMode = 'sequential' | 'parallel' | 'supervisor' | 'round_robin'

/** State of its newest run; `created`: it has none */
export type WorkflowStatus = 'created' | 'running' | 'waiting_hitl' | 'waiting_client' | 'waiting_resolution' | 'compensating' | 'completed' | 'denied' | 'failed' | 'terminated'

/** A step of a workflow with its texts */
export type WorkflowStep = {
  step_id: string
  run_id: string
  /** Number of the step in the run, from 1 */
  step_no: number
  /** Turn of the workflow, from 0; null: the run is of one agent */
  turn_no: number | null
  agent_id: string
  /** State of the step */
  state: StepState
  /** Reason code if it ended other than completed */
  reason: RunReason | null
  /** Model that is called */
  model_id: string
  /** Store that was read; null: none */
  store_id: string | null
  /** Log position at which memory was read */
  memory_seq: number
  /** Memories that the step retrieved */
  retrieved_refs: number[]
  /** Memories that its input derives from */
  inherited_refs: number[]
  /** Number of the policies that were evaluated */
  policy_set: number
  /** Id of the evaluation; null: there were no policies */
  evaluation_id: string | null
  /** Id of the action that required approval; null: none */
  action_id: string | null
  /** Id of the permit; null: there is none */
  permit: string | null
  /** Tokens reserved for it, input and output */
  max_tokens: number
  /** Millionths of the currency */
  max_cost_micro: number
  /** When the permit ends; null: there is none, or it has ended */
  expires_at: string | null
  /** Tokens of the prompt, as reported */
  tokens_in: number | null
  /** Tokens of the output, as reported */
  tokens_out: number | null
  /** Millionths of the currency */
  cost_micro: number | null
  /** Id of the logged decision; empty: none yet */
  decision_id: string
  /** Its calls, oldest first */
  calls: RunCall[]
  /** When it was created */
  created_at: string
  /** When it ended */
  ended_at: string | null
  /** Id of the workflow; null: the run is of one agent */
  workflow_id: string | null
  /** Id of the tenant */
  tenant_id: string
  /** The same as `state` */
  status: StepState
  /** The same as `step_no` */
  step_number: number
  /** `step_no` less one */
  step_index: number
  /** Input of the step; null: erased, or not permitted to the caller */
  input_text: string | null
  /** The same as `output_text` */
  raw_output: string | null
  /** Output of the step; null: none yet, erased, or not permitted to the caller */
  output_text: string | null
  /** Tokens of the output */
  tokens_used: number
  /** Tokens in and out */
  token_usage: number
  /** Names of the tools called; only if the caller may read texts */
  tools_called: string[]
  /** False: a policy or a person denied it */
  governance_allowed: boolean
}

/** A version of a world-model type */
export type WorldType = {
  /** Id of the type, the same for all versions */
  type_id: string
  kind: WorldTypeKind
  /** Name of the type */
  name: string
  /** Definition of the type */
  spec: { [key: string]: unknown }
  /** SHA-256 of the spec */
  schema_digest: string
  /** Version of the type, from 1 */
  version: number
  /** Id of this version */
  record_id: string
  /** Whether this is the newest version */
  newest: boolean
  /** Name of the action in policies; null for other kinds */
  operation: string | null
  /** Id of the tenant */
  tenant_id: string
  status: RecordStatus
  /** Whether its texts were erased; a certificate of erasure names it */
  redacted: boolean
  /** The signed record; null where nothing was issued */
  document: { [key: string]: unknown } | null
  /** SHA-256 of the proposal */
  proposal_digest: string
  /** Id of the approval request; null: none was needed */
  approval_request_id: string | null
  /** The approval decision; null: none was needed, or none yet */
  approval: RecordApproval | null
  /** Why it was not issued */
  reason: string | null
  /** Id of the key that asked */
  requested_by: string
  /** Ed25519 signature in base64 */
  signature: string | null
  /** Key that signed, in base64 */
  public_key: string | null
  /** Same as `public_key` */
  signer_public_key: string | null
  /** Id of the signing key */
  key_id: string | null
  /** When it was created */
  created_at: string
}

/** Kind of world-model type */
export type WorldTypeKind = 'object' | 'link' | 'action'

/** Options of a write */
export type WriteOptions = {
  /** From when the content is true; default: now */
  valid_from?: string | null
  /**
   * When the memory expires: from then on it is hidden, and within ten minutes erased; after
   * `valid_from`; default: never
   */
  expires_at?: string | null
  /** Instead of `expires_at`: seconds from now until the memory expires */
  ttl_s?: number | null
  /** Up to 16 KiB of JSON, 8 levels deep */
  metadata?: { [key: string]: unknown } | null
  /** Same as `namespace` */
  tenant_id?: string | null
  /** Namespace within the tenant; default: the root */
  namespace?: string | null
}

/** A memory to write */
export type WriteRequest = {
  /** Content of the memory */
  content: string
  /**
   * Options; each takes precedence over the field of its name beside it, but two different expiries
   * are refused
   */
  options?: WriteOptions | null
  /** From when the content is true; default: now */
  valid_from?: string | null
  /**
   * When the memory expires: from then on it is hidden, and within ten minutes erased; after
   * `valid_from`; default: never
   */
  expires_at?: string | null
  /** Instead of `expires_at`: seconds from now until the memory expires */
  ttl_s?: number | null
  /** Up to 16 KiB of JSON, 8 levels deep */
  metadata?: { [key: string]: unknown } | null
  /** Same as `namespace` */
  tenant_id?: string | null
  /** Namespace within the tenant; default: the root */
  namespace?: string | null
}

/**
 * `expired` or `erased` in a replayed reply about a memory that has expired, or has been erased,
 * since
 */
export type WriteStatus = 'stored' | 'expired' | 'erased'

/** Memories that were written at once */
export type WrittenBatch = {
  /** Numbers of the memories, in the order of the request */
  refs: number[]
  /** Those with the content of another memory */
  duplicates: DuplicateMemory[]
  /** Position in the audit log */
  log_seq: number | null
}

/** The reply of `approvals.approver`. */
export type ApprovalsApproverReply = Approver

/** The query of `approvals.approvers`. */
export type ApprovalsApproversQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `approvals.approvers`. */
export type ApprovalsApproversReply = {
  /** The items of this page */
  approvers: Approver[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The body of `approvals.attest`. */
export type ApprovalsAttestBody = {
  /** The decision */
  decision: 'approve' | 'deny'
  /** Id of the approver */
  signer_id: string
  /** Ed25519 signature, 64 bytes in hexadecimal or base64 */
  signature: string
  /** Why */
  reason?: string | null
}

/** The reply of `approvals.attest`. */
export type ApprovalsAttestReply = {
  /** Id of the approval request */
  request_id: string
  status: ApprovalState
  /** Kind of the record */
  kind: string
  /** Id of the record */
  record_id: string
  /** Status of the record */
  record_status: RecordStatus
}

/** The body of `approvals.change_settings`. */
export type ApprovalsChangeSettingsBody = {
  /** Whether the key that decides must not be the key that asked */
  different_credential?: boolean | null
  /** Whether only enrolled approvers may decide, with a signature */
  attestation_required?: boolean | null
  /** How long new approval requests may wait */
  expires_after_seconds?: number | null
}

/** The reply of `approvals.change_settings`. */
export type ApprovalsChangeSettingsReply = ApprovalSettings

/** The body of `approvals.enroll`. */
export type ApprovalsEnrollBody = {
  /** Name of the approver */
  name: string
  /** Ed25519 public key in hexadecimal */
  public_key: string
  /** Role of the approver */
  role?: string | null
}

/** The reply of `approvals.enroll`. */
export type ApprovalsEnrollReply = Approver

/** The reply of `approvals.request`. */
export type ApprovalsRequestReply = {
  /** Whether its texts were erased; a certificate of erasure names it */
  redacted: boolean
  /** Id of the approval request */
  request_id: string
  /** Kind of the record that waits */
  kind: string
  /** Id of the record that waits */
  record_id: string
  /** The operation as policies name it, for example `artifacts.register` */
  action: string
  /** Same as `record_id` */
  resource: string
  /** When the approval was requested */
  issued_at: string
  /** When the approval request expires */
  expires_at: string
  status: ApprovalState
  /** Id of the key that asked */
  requested_by: string
  /** SHA-256 of the proposal, which a decision is bound to */
  proposal_digest: string
  /** Version number of the tenant's set of policies */
  policy_set: number
  /** The policies that required approval */
  escalations: Escalation[]
  /** What an approver signs, with the decision added */
  context: { [key: string]: unknown }
  /** RFC 8785 bytes of `context` in hexadecimal */
  context_bytes_hex: string
  /** The exact bytes to sign for either decision */
  signing_input: {
    /** Bytes to sign for an approval, in base64 */
    approve: string
    /** Bytes to sign for a denial, in base64 */
    deny: string
  }
  /** What was requested, in full */
  request: { [key: string]: unknown }
  /** The proposal; SHA-256 of its RFC 8785 bytes is `proposal_digest` */
  proposal: { [key: string]: unknown }
  /** The policies that required approval, in the versions that did */
  policies: Array<{
    /** Id of the policy */
    policy_id: string
    /** Version of the policy */
    version: number
    /** Name of the policy */
    name: string
    /** Reason code of the policy */
    reason: string
  }>
  /** The signed decision; null until there is one */
  record: { [key: string]: unknown } | null
}

/** The query of `approvals.requests`. */
export type ApprovalsRequestsQuery = {
  /** Returns only requests in this state, as it is now */
  status?: 'pending' | 'approved' | 'denied' | 'expired' | 'all'
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `approvals.requests`. */
export type ApprovalsRequestsReply = {
  /** The items of this page */
  requests: ApprovalRequest[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The reply of `approvals.revoke`. */
export type ApprovalsRevokeReply = {
  /** Id of the approver */
  approver_id: string
  /** False when the approver had been revoked before */
  revoked: boolean
}

/** The reply of `approvals.settings`. */
export type ApprovalsSettingsReply = ApprovalSettings

/** The body of `approvals.update_approver`. */
export type ApprovalsUpdateApproverBody = {
  /** Name of the approver */
  name?: string | null
  /** Role of the approver */
  role?: string | null
  /** Whether the approver may decide */
  active?: boolean | null
}

/** The reply of `approvals.update_approver`. */
export type ApprovalsUpdateApproverReply = Approver

/** The reply of `approvals.verify`. */
export type ApprovalsVerifyReply = {
  /** Id of the approval request */
  request_id: string
  status: ApprovalState
  /** Whether every check passed */
  passed: boolean
  /** The checks */
  checks: NamedCheck[]
  /** The signed decision; null: there was none */
  record: { [key: string]: unknown } | null
  /** Id of the approver who signed; null: nobody signed */
  signer_id: string | null
  /** Signature of the approver in base64 */
  signature: string | null
  /** RFC 8785 bytes of what the approver signed, in hexadecimal */
  context_bytes_hex: string
  /** What this verification cannot show */
  not_checked: string[]
}

/** The body of `artifacts.approve`. */
export type ArtifactsApproveBody = ResumeRequest

/** The reply of `artifacts.approve`. */
export type ArtifactsApproveReply = Artifact

/** The body of `artifacts.certify`. */
export type ArtifactsCertifyBody = {
  /** Id of the landing certificate */
  certificate_id: string
}

/** The reply of `artifacts.certify`. */
export type ArtifactsCertifyReply = Artifact

/** The reply of `artifacts.get`. */
export type ArtifactsGetReply = Artifact

/** The body of `artifacts.integrity`. */
export type ArtifactsIntegrityBody = {
  /** SHA-256 of each layer, in order */
  layer_hashes: string[]
}

/** The reply of `artifacts.integrity`. */
export type ArtifactsIntegrityReply = {
  /** Whether they are the same */
  match: boolean
  /** The registered digests */
  registered: string[]
  /** The digests of the request */
  supplied: string[]
}

/** The query of `artifacts.list`. */
export type ArtifactsListQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `artifacts.list`. */
export type ArtifactsListReply = {
  /** The items of this page */
  artifacts: Artifact[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The body of `artifacts.register`. */
export type ArtifactsRegisterBody = {
  /** Name of the artifact */
  artifact_ref: string
  /** Name of the base model */
  base_model_ref: string
  /** The layers, in order */
  layers: Array<{
    /** Media type of the layer */
    media_type?: string | null
    /** SHA-256 of the layer */
    digest: string
    /** Size of the layer in bytes */
    size?: number | null
  }>
  /** Kind of artifact */
  kind?: string
  /** Up to 16384 bytes of JSON, 8 levels deep */
  metadata?: { [key: string]: unknown }
}

/** The reply of `artifacts.register`. */
export type ArtifactsRegisterReply = Artifact

/** The accepted of `artifacts.register`. */
export type ArtifactsRegisterAccepted = {
  /** The approval request */
  detail: {
    /** Waits for an approval */
    status: "waiting_hitl"
    /** Id of the approval request */
    request_id: string
    /** When the approval request expires */
    expires_at: string
    /** Id of the artifact */
    artifact_id: string
  }
}

/** The body of `artifacts.reject`. */
export type ArtifactsRejectBody = ResumeRequest

/** The reply of `artifacts.reject`. */
export type ArtifactsRejectReply = RejectedArtifact

/** The reply of `artifacts.stats`. */
export type ArtifactsStatsReply = Counts

/** The reply of `artifacts.verify`. */
export type ArtifactsVerifyReply = {
  /** Id of the artifact */
  artifact_id: string
  /** Whether every check passed */
  passed: boolean
  /** Checks by name, among them `certificate` if it is certified */
  checks: CheckResults
  /** Recomputed manifest digest */
  manifest_digest: string | null
  /** Status of the record */
  status: string
  /** Id of the landing certificate that certifies it */
  certificate_id: string | null
  /** What this verification cannot show */
  not_checked: string[]
  /** The first check that failed, in words */
  reason: string | null
}

/** The reply of `assurance.baseline`. */
export type AssuranceBaselineReply = {
  /** Id of the baseline */
  baseline_id: string
  /** Id of the run */
  run_id: string
  /** When the baseline was captured */
  captured_at: string
  /** Counts, digests and the status of each check */
  snapshot: { [key: string]: unknown }
}

/** The reply of `assurance.capture_baseline`. */
export type AssuranceCaptureBaselineReply = {
  /** Id of the baseline */
  baseline_id: string
  /** Id of the run */
  run_id: string
  /** When the baseline was captured */
  captured_at: string
  /** What the baseline records */
  snapshot_keys: string[]
}

/** The accepted of `assurance.capture_baseline`. */
export type AssuranceCaptureBaselineAccepted = AssuranceRunStarted

/** The body of `assurance.create_schedule`. */
export type AssuranceCreateScheduleBody = {
  /** Minutes between runs */
  interval_min?: number
  checks?: AssuranceChecks
  /** Not supported: only null is accepted */
  alert_webhook?: string | null
}

/** The reply of `assurance.create_schedule`. */
export type AssuranceCreateScheduleReply = AssuranceSchedule

/** The reply of `assurance.delete_schedule`. */
export type AssuranceDeleteScheduleReply = {
  /** Always true */
  deleted: true
  /** Id of the schedule */
  schedule_id: string
}

/** The query of `assurance.drift`. */
export type AssuranceDriftQuery = {
  /** Largest number of items in a page */
  limit?: number
}

/** The reply of `assurance.drift`. */
export type AssuranceDriftReply = {
  /** The differences */
  drift_events: Array<{
    /** Name of the check */
    check: string
    type: DriftType
    /** The difference in words */
    detail: string
    /** Status at the baseline */
    baseline_status: AssuranceCheckStatus | null
    /** Status in this run */
    current_status: AssuranceCheckStatus | null
    /** Value at the baseline */
    baseline_value: string | number | null
    /** Value in this run */
    current_value: string | number | null
    /** Id of the run */
    run_id: string
    /** When the run found it */
    detected_at: string
  }>
  /** Number of items */
  count: number
}

/** The reply of `assurance.get_run`. */
export type AssuranceGetRunReply = AssuranceRun

/** The body of `assurance.run`. */
export type AssuranceRunBody = {
  checks?: AssuranceChecks
  /** Replies 202 at once */
  background?: boolean
}

/** The reply of `assurance.run`. */
export type AssuranceRunReply = AssuranceRun

/** The accepted of `assurance.run`. */
export type AssuranceRunAccepted = AssuranceRunStarted

/** The query of `assurance.runs`. */
export type AssuranceRunsQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `assurance.runs`. */
export type AssuranceRunsReply = {
  /** The items of this page */
  runs: AssuranceRunSummary[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The reply of `assurance.schedules`. */
export type AssuranceSchedulesReply = {
  /** The schedules */
  schedules: AssuranceSchedule[]
}

/** The reply of `assurance.stats`. */
export type AssuranceStatsReply = {
  /** Stored runs */
  total_runs: number
  /** Runs with the status `pass` */
  passed: number
  /** Runs with the status `drift` */
  drifted: number
  /** Runs with the status `fail` */
  failed: number
  /** Runs that have not ended */
  running: number
  /** Active schedules */
  active_schedules: number
  /** The last run */
  last_run: AssuranceRunSummary | null
}

/** The body of `assurance.update_schedule`. */
export type AssuranceUpdateScheduleBody = {
  /** Minutes between runs */
  interval_min?: number
  checks?: AssuranceChecks
  /** Whether the schedule is active */
  enabled?: boolean
  /** Not supported: only null is accepted */
  alert_webhook?: string | null
}

/** The reply of `assurance.update_schedule`. */
export type AssuranceUpdateScheduleReply = AssuranceSchedule

/** The body of `billing.cancel`. */
export type BillingCancelBody = {
  /** When it ends */
  at?: 'period_end' | 'now'
}

/** The reply of `billing.cancel`. */
export type BillingCancelReply = {
  /** Id of the tenant */
  tenant_id: string
  /** `canceling` or `canceled` */
  status: SubscriptionStatus
}

/** The body of `billing.checkout`. */
export type BillingCheckoutBody = {
  /** The tenant; an operator names it */
  tenant_id?: string | null
  /** The plan to pay for */
  plan?: 'pro'
  /** Where the page leads after payment: on an allowed origin */
  success_url?: string | null
  /** Where the page leads without payment: on an allowed origin */
  cancel_url?: string | null
}

/** The reply of `billing.checkout`. */
export type BillingCheckoutReply = {
  /** The page of the payment provider */
  checkout_url: string
  /** Id of the checkout */
  session_id: string
  /** When the page closes */
  expires_at: string
}

/** The reply of `billing.portal`. */
export type BillingPortalReply = {
  /** The page of the payment provider */
  portal_url: string
}

/** The reply of `billing.subscription`. */
export type BillingSubscriptionReply = {
  /** Id of the tenant */
  tenant_id: string
  /** The plan in force */
  plan: string
  /** Whether this service takes payments */
  configured: boolean
  status: SubscriptionStatus
  /** Id at the payment provider */
  subscription_id: string | null
  /** Same as `subscription_id` */
  stripe_subscription_id: string | null
  /** Start of the paid period */
  current_period_start: string | null
  /** End of the paid period */
  current_period_end: string | null
  /** Whether it ends with its period */
  cancel_at_period_end: boolean
  /** How long the plan stays in force although payment failed */
  grace_until: string | null
}

/** The reply of `billing.webhook`. */
export type BillingWebhookReply = {
  /** The event was taken */
  status: "ok"
  /** Type of the event */
  event_type: string
}

/** The body of `cgr.attest`. */
export type CgrAttestBody = {
  /** Handle of the agent */
  agent_handle: string
  /** Key of the agent, if several share the handle */
  subject_key?: string | null
  dimension?: string
}

/** The reply of `cgr.attest`. */
export type CgrAttestReply = Attestation

/** The query of `cgr.attestation`. */
export type CgrAttestationQuery = {
  dimension?: string
  /** Key of the agent, if several share the handle */
  subject_key?: string
}

/** The reply of `cgr.attestation`. */
export type CgrAttestationReply = Attestation

/** The query of `cgr.attestations`. */
export type CgrAttestationsQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `cgr.attestations`. */
export type CgrAttestationsReply = {
  /** The items of this page */
  attestations: Attestation[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The body of `cgr.change_settings`. */
export type CgrChangeSettingsBody = {
  /** Whether outcomes and reviews by the credential of the decision are refused */
  compare_credentials?: boolean
  /** Whether a judgment is final once its outcome is `paid` or `default`; another one gets 409 */
  judgments_final?: boolean
}

/** The reply of `cgr.change_settings`. */
export type CgrChangeSettingsReply = CgrSettings

/** The body of `cgr.decide`. */
export type CgrDecideBody = {
  decision: Judgment
  /** Why */
  reason?: string
  /** What the decision is about; without it no outcome can be joined */
  invoice_id?: string | null
  /** The data the decision was based on: encrypted, never on the audit log */
  context?: { [key: string]: unknown }
  /** Model that decided */
  model_id?: string
  /** Handle of the agent */
  agent_handle?: string
  verifiability_tag?: VerifiabilityTag
  /** Tier of the agent as stated by the caller; does not influence the score */
  agent_tier?: number | null
  /** Key of the agent */
  agent_key?: string | null
  /** By `agent_key` over the decision: proves possession; without it the agent is unproven */
  agent_signature?: string | null
  /** Part of the signed bytes; an older statement never replaces a newer one */
  signed_at?: string | null
  dimension?: string
}

/** The reply of `cgr.decide`. */
export type CgrDecideReply = {
  /** The record */
  decision_record: GovernedDecision
  /** The receipt; null for a redacted record or one of an earlier version */
  execution_receipt: ExecutionReceipt | null
  /** Whether it replaced an earlier judgment */
  superseded_prior: boolean
  /** Whether exactly this was on record already */
  idempotent: boolean
}

/** The reply of `cgr.issuer`. */
export type CgrIssuerReply = {
  /** Who attests */
  issuer: string
  /** Id of the key */
  issuer_key_id: string
  /** Ed25519 public key */
  public_key: string
  /** Name and version of the attestation format */
  schema: string
}

/** The body of `cgr.outcome`. */
export type CgrOutcomeBody = OutcomeRequest

/** The reply of `cgr.outcome`. */
export type CgrOutcomeReply = RecordedOutcome

/** The body of `cgr.outcomes`. */
export type CgrOutcomesBody = OutcomeRequest[]

/** The reply of `cgr.outcomes`. */
export type CgrOutcomesReply = {
  /** Items recorded */
  count: number
  /** The records */
  recorded: RecordedOutcome[]
  /** Items replaced by a later item of the same request */
  collapsed_in_batch: number
}

/** The body of `cgr.review`. */
export type CgrReviewBody = ReviewRequest

/** The reply of `cgr.review`. */
export type CgrReviewReply = RecordedReview

/** The body of `cgr.reviews`. */
export type CgrReviewsBody = ReviewRequest[]

/** The reply of `cgr.reviews`. */
export type CgrReviewsReply = {
  /** Items recorded */
  count: number
  /** The records */
  recorded: RecordedReview[]
  /** Items replaced by a later item of the same request */
  collapsed_in_batch: number
}

/** The body of `cgr.rotate`. */
export type CgrRotateBody = {
  /** Key that ends */
  prev_key: string
  /** Key that follows */
  new_key: string
  /** Position in the chain of rotations */
  seq?: number
  /** From when the new key applies; signed as sent, and as an empty text if absent */
  not_before?: string | null
  /** By `prev_key` over the RFC 8785 bytes of the four fields above */
  sig: string
  /** By `new_key` over the same bytes, as its consent */
  new_sig?: string | null
  /** Where the information comes from */
  source?: string
}

/** The reply of `cgr.rotate`. */
export type CgrRotateReply = {
  /** Key that ends */
  prev_key: string
  /** Key that follows */
  new_key: string
  /** Position in the chain of rotations */
  seq: number
  /** From when the new key applies */
  not_before: string | null
  /** Always true */
  recorded: true
}

/** The query of `cgr.rotations`. */
export type CgrRotationsQuery = {
  /** Returns only the chain with this first key */
  anchor?: string
  /** Returns only the chain with this key */
  current?: string
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `cgr.rotations`. */
export type CgrRotationsReply = {
  /** The items of this page */
  rotations: Array<{
    /** Key that ends */
    prev_key: string
    /** Key that follows */
    new_key: string
    /** Position in the chain of rotations, from 1 */
    seq: number
    /** From when the new key applies */
    not_before: string | null
    /** Signature by `prev_key` */
    sig: string
  }>
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The query of `cgr.score`. */
export type CgrScoreQuery = {
  dimension?: string
  /** Key of the agent, if several share the handle */
  subject_key?: string
}

/** The reply of `cgr.score`. */
export type CgrScoreReply = {
  /** Handle of the agent */
  agent_handle: string
  /** Score: the mean of the posterior */
  cgr_score: number
  /** Weight of the posterior: `n_resolved` + 2 while no review counts */
  confidence: number
  /** Certifying judgments with the outcome `paid` or `default` */
  n_resolved: number
  /** Certifying judgments without `paid` or `default`, including `n_unscored` */
  n_pending: number
  /** Reserved */
  capability_tier: null
  /** Time of the score */
  as_of: string
  /** Subject area */
  dimension: string
  /** Current key of the agent; null: known by its handle only */
  subject_key: string | null
  /** `did:key` of the first key of its rotations */
  subject_did: string | null
  /** Alpha of the Beta posterior */
  post_alpha: number
  /** Beta of the Beta posterior */
  post_beta: number
  /** Value that the posterior exceeds with 95 % */
  cgr_lower: number
  /** Pending judgments whose outcome is `disputed`, `late` or `written_off` */
  n_unscored: number
  /** Whether every decision counted was signed with the key of the agent */
  proven: boolean
  /** Newest log entry that is counted; null: the audit log is empty */
  log_seq: number | null
  /** The same score, for clients that read it here */
  score: Score
  /** The tier of the agent */
  tiergate: {
    /** Handle of the agent */
    agent_handle: string
    /** Current key of the agent; null: known by its handle only */
    subject_key: string | null
    /** `did:key` of the first key of its rotations */
    subject_did: string | null
    /** Subject area */
    dimension: string
    tier: AgentTier
    /** Score: the mean of the posterior */
    cgr_score: number
    /** Weight of the posterior */
    confidence: number
    /** Resolved decisions */
    n_resolved: number
    /** Reserved */
    capability_tier: null
    /** Time of the score */
    as_of: string
    /** Reason for the tier */
    rationale: string
  }
  /** Number of other agents with the same handle; list them with `agent_handle` */
  same_handle: number
}

/** The query of `cgr.scores`. */
export type CgrScoresQuery = {
  dimension?: string
  /** Returns only agents that used this handle */
  agent_handle?: string
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `cgr.scores`. */
export type CgrScoresReply = {
  /** The scores */
  scores: Score[]
  /** Number of items in this page */
  count: number
  /** Time of the scores */
  as_of: string
  /** Subject area */
  dimension: string
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The reply of `cgr.settings`. */
export type CgrSettingsReply = CgrSettings

/** The body of `cgr.verify_batch`. */
export type CgrVerifyBatchBody = {
  /** The invoices, each of which becomes a governed decision */
  invoices: Array<{ [key: string]: unknown }>
  /** Rules for the invoices; absent fields have their defaults */
  policy?: {
    /** Whether the amount must not exceed the order; default: true */
    require_amount_within_po?: boolean
    /** Field with the amount; default: `invoice_amount` */
    invoice_amount_field?: string
    /** Field with the amount of the purchase order; default: `po_amount` */
    po_amount_field?: string
    /** Whether the debtor must have approved; default: true */
    require_approval?: boolean
    /** Field with the approval; default: `approval_status` */
    approval_field?: string
    /** Value of an approval; default: `approved` */
    approved_value?: string | number | boolean
    /** Whether an id is certified once in a batch; default: true */
    reject_duplicates?: boolean
    /** Field with the id; default: `invoice_id` */
    invoice_id_field?: string
    /** Field with the vendor; default: `vendor` */
    vendor_field?: string
    /** Field with the debtor; default: `debtor` */
    debtor_field?: string
  }
  /** Name of what decided */
  model_id?: string
  /** Handle of the agent */
  agent_handle?: string
  /** Tier of the agent as stated by the caller; does not influence the score */
  agent_tier?: number | null
  /** Key of the agent */
  agent_key?: string | null
  dimension?: string
}

/** The reply of `cgr.verify_batch`. */
export type CgrVerifyBatchReply = {
  /** Number of invoices by decision */
  summary: {
    /** Invoices */
    total: number
    /** Invoices that were certified */
    certified: number
    /** Invoices that were rejected */
    rejected: number
  }
  /** The policy that was applied */
  policy: InvoicePolicy
  /** The results, in the order of `invoices` */
  results: Array<{
    /** As given; null: absent */
    invoice_id: unknown
    /** As given; null: absent */
    vendor: unknown
    /** As given; null: absent */
    debtor: unknown
    decision: Judgment
    /** The decisive rule, as text */
    reason: string
    /** The decisive rule */
    reason_code: 'amount_or_po_missing' | 'amount_exceeds_po' | 'no_debtor_approval' | 'duplicate' | 'clean'
    /** The record */
    decision_record: GovernedDecision
    /** The receipt; null for a redacted record or one of an earlier version */
    execution_receipt: ExecutionReceipt | null
  }>
}

/** The reply of `compliance.badge_json`. */
export type ComplianceBadgeJsonReply = {
  /** Version of the badge format */
  schemaVersion: 1
  /** Left text of the badge */
  label: string
  /** Right text of the badge */
  message: string
  /** Colour of the badge */
  color: 'lightgrey' | 'brightgreen' | 'red'
}

/** The reply of `compliance.badge_svg`. */
export type ComplianceBadgeSvgReply = string

/** The query of `compliance.history`. */
export type ComplianceHistoryQuery = {
  /** Largest number of items in a page */
  limit?: number
}

/** The reply of `compliance.history`. */
export type ComplianceHistoryReply = AuditRecord[]

/** The query of `compliance.status`. */
export type ComplianceStatusQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `compliance.status`. */
export type ComplianceStatusReply = {
  /** The items of this page */
  tenants: AuditRecord[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The body of `compositions.approve`. */
export type CompositionsApproveBody = ResumeRequest

/** The reply of `compositions.approve`. */
export type CompositionsApproveReply = Composition

/** The reply of `compositions.artifact`. */
export type CompositionsArtifactReply = {
  /** Name to register */
  artifact_ref: string | null
  /** Id of the composition */
  composition_id: string
  /** Ids of the members */
  members: string[] | null
  /** Kind to register */
  kind: string | null
  status: RecordStatus
}

/** The body of `compositions.compose`. */
export type CompositionsComposeBody = {
  /** Kind of composition */
  composition_kind: string
  /** What is combined */
  members: Array<{
    /** Id of a record of the registries, for an artifact also its `artifact_ref`; or any name */
    ref_id: string
    /** An SPDX licence expression; other texts are accepted and reported as not SPDX */
    license: string
    /** Whether the member is certified, as claimed */
    certified: boolean
  }>
  /** Name of the result */
  target_ref: string
  /** Under whose authority the caller acts */
  authority?: Authority
  /** Trust tier the authority must have */
  required_trust_tier?: TrustTier
}

/** The reply of `compositions.compose`. */
export type CompositionsComposeReply = Composition

/** The accepted of `compositions.compose`. */
export type CompositionsComposeAccepted = {
  /** The approval request */
  detail: {
    /** Waits for an approval */
    status: "waiting_hitl"
    /** Id of the approval request */
    request_id: string
    /** When the approval request expires */
    expires_at: string
    /** Id of the composition */
    composition_id: string
  }
}

/** The reply of `compositions.get`. */
export type CompositionsGetReply = Composition

/** The query of `compositions.list`. */
export type CompositionsListQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `compositions.list`. */
export type CompositionsListReply = {
  /** The items of this page */
  compositions: Composition[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The body of `compositions.reject`. */
export type CompositionsRejectBody = ResumeRequest

/** The reply of `compositions.reject`. */
export type CompositionsRejectReply = RejectedComposition

/** The reply of `compositions.stats`. */
export type CompositionsStatsReply = Counts

/** The reply of `compositions.verify`. */
export type CompositionsVerifyReply = {
  /** Whether every check passed */
  passed: boolean
  /** Checks by name, among them `signature`, `members_consistent` and `licenses_compatible` */
  checks: CheckResults
  /** What the document attests */
  attestation: {
    /** Kind of composition */
    kind: string
    /** Ids of the members */
    members: string[]
    /** Name of the result */
    target: string
    /** The person on whose behalf it was done */
    by: string | null
    /** Licences of the members */
    licenses: string[]
  }
  status: RecordStatus
  /** Members that only the caller claimed */
  unverified_members: string[]
  /** What this verification cannot show */
  not_checked: string[]
  /** The first check that failed, in words; null if all passed */
  reason: string | null
}

/** The query of `decisions.export`. */
export type DecisionsExportQuery = {
  /** Only decisions from this date or time on */
  from?: string
  /** Only decisions up to and including this date or time */
  to?: string
}

/** The reply of `decisions.export`. */
export type DecisionsExportReply = Decision

/** The reply of `decisions.get`. */
export type DecisionsGetReply = Decision

/** The query of `decisions.list`. */
export type DecisionsListQuery = {
  /** Only decisions of this store */
  store_id?: string
  /** Only decisions of this session */
  session_id?: string
  /** Only decisions of this model */
  model_id?: string
  /** Only decisions from this date or time on */
  from?: string
  /** Only decisions up to and including this date or time */
  to?: string
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `decisions.list`. */
export type DecisionsListReply = {
  /** The items of this page */
  decisions: Decision[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The body of `decisions.log`. */
export type DecisionsLogBody = {
  /** Store the agent read from */
  store_id: string
  /** Model that decided */
  model_id: string
  /** What the model was asked */
  query: string
  /** What the model answered; required here or as `raw_output` */
  output?: string
  /** Session of the agent */
  session_id?: string | null
  /** Memories in the context of the model */
  retrieved_refs?: number[]
  /** Their contents as the model saw them: none, or one for each ref */
  retrieved_contents?: string[]
  /** Their scores: none, or one for each ref */
  retrieved_scores?: number[]
  /** Tokens of the output */
  token_count?: number | null
  /** Milliseconds the model took */
  latency_ms?: number | null
  /** Parameters of the model */
  parameters?: { [key: string]: unknown } | null
  /** Log position the context was read at; default: the current one */
  memory_seq?: number | null
  /** Same as `output` */
  raw_output?: string
  /** Same as `retrieved_refs` */
  retrieved_fact_refs?: number[]
  /** Same as `retrieved_scores` */
  retrieval_scores?: number[]
  /** Same as `token_count` */
  output_tokens?: number | null
}

/** The reply of `decisions.log`. */
export type DecisionsLogReply = Decision

/** The body of `decisions.redact`. */
export type DecisionsRedactBody = {
  /** Legal basis; permanently part of the certificate, so name no person */
  legal_basis?: string | null
  /** Who asks; permanently part of the certificate, so name no person */
  requested_by?: string | null
}

/** The reply of `decisions.redact`. */
export type DecisionsRedactReply = IssuedCertificate

/** The reply of `decisions.replay`. */
export type DecisionsReplayReply = {
  decision: Decision
  /** The store at `memory_seq`: up to 1,000 memories, ordered by number */
  memory_state: MemoryAtDecision[]
  /** Whether the store had more than 1,000 memories */
  memory_state_truncated: boolean
  /** Memories in the context of the model */
  facts_used: Array<{
    /** Number of the memory */
    ref: number
    /** Content of the memory */
    content: string | null
    /** Score in this retrieval */
    score: number | null
    /**
     * Current state of the memory. `expired`: it is not erased yet, but its content is hidden, here
     * and in the decision, as that of an erased one.
     */
    state: 'live' | 'superseded' | 'expired' | 'erased' | 'unknown'
  }>
  /** Those of them that have been erased */
  facts_since_deleted: number[]
  /** Log position the context was read at */
  memory_seq: number
  /** Same as `memory_state` */
  memory_state_at_decision: MemoryAtDecision[]
}

/** The reply of `decisions.scrub`. */
export type DecisionsScrubReply = {
  /** Number of the memory */
  fact_ref: number
  /** Decisions that this request changed */
  decisions_affected: number
  /** Ids of those decisions */
  decision_ids: string[]
}

/** The reply of `decisions.stats`. */
export type DecisionsStatsReply = {
  /** Decisions on record */
  total: number
  /** Same as `total` */
  total_decisions: number
  /** Number of different models */
  models_used: number
  /** Number of different stores */
  stores_used: number
  /** Number of different sessions */
  sessions: number
  /** Mean latency of the decisions that state it */
  avg_latency_ms: number | null
  /** Sum of the tokens of the decisions that state them */
  total_tokens: number
  /** When the first decision was recorded */
  first_decision: string | null
  /** When the last decision was recorded */
  last_decision: string | null
}

/** The reply of `erasure.by_fact`. */
export type ErasureByFactReply = Certificate

/** The query of `erasure.get`. */
export type ErasureGetQuery = {
  /** Format of the reply */
  format?: 'json' | 'pdf'
}

/** The reply of `erasure.get`. */
export type ErasureGetReply = Certificate

/** The body of `erasure.issue`. */
export type ErasureIssueBody = {
  /** The memory to erase */
  fact_ref: number
  /** Store the memory must be in */
  store_id?: string | null
  /** Legal basis; permanently part of the certificate, so name no person */
  legal_basis?: string | null
  /** Who asks; permanently part of the certificate, so name no person */
  requested_by?: string | null
}

/** The reply of `erasure.issue`. */
export type ErasureIssueReply = IssuedCertificate

/** The query of `erasure.list`. */
export type ErasureListQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `erasure.list`. */
export type ErasureListReply = {
  /** The items of this page */
  certificates: Certificate[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The reply of `erasure.stats`. */
export type ErasureStatsReply = {
  /** Certificates, without those of self-tests */
  total: number
  /** Certificates with a signature */
  signed_count: number
  /** Certificates of erased memories */
  erased: number
  /** Certificates with the outcome `already_absent` */
  already_absent: number
  /** Certificates with the outcome `nothing_found` */
  nothing_found: number
  /** Certificates of redacted decisions */
  redactions: number
  /** Certificates of other redacted records */
  redacted_texts: number
  /** Certificates of memories that self-tests erased */
  self_tests: number
  /** When the first erasure completed */
  first_erasure: string | null
  /** When the last erasure completed */
  last_erasure: string | null
}

/** The reply of `erasure.verify`. */
export type ErasureVerifyReply = {
  /** Whether every check passed */
  valid: boolean
  /** Id of the certificate */
  certificate_id: string
  /** The result in words */
  detail: string
  /** Id of the signing key */
  key_id: string
  /** The checks */
  checks: NamedCheck[]
}

/** The query of `gcrumbs.breadcrumbs`. */
export type GcrumbsBreadcrumbsQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `gcrumbs.breadcrumbs`. */
export type GcrumbsBreadcrumbsReply = {
  /** The items of this page */
  breadcrumbs: Breadcrumb[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The reply of `gcrumbs.checkpoint`. */
export type GcrumbsCheckpointReply = string

/** The query of `gcrumbs.consistency`. */
export type GcrumbsConsistencyQuery = {
  /** Number of the earlier checkpoint */
  from: number
}

/** The reply of `gcrumbs.consistency`. */
export type GcrumbsConsistencyReply = {
  /** Number of the earlier checkpoint */
  from_epoch: number
  /** Number of the later checkpoint */
  to_epoch: number
  /** Entries of the audit log at the earlier checkpoint */
  from_size: number
  /** Entries of the audit log at the later checkpoint */
  to_size: number
  /** Merkle root at the earlier checkpoint */
  from_root: string
  /** Merkle root at the later checkpoint */
  to_root: string
  /** Consistency proof (RFC 9162, section 2.1.4) */
  path: string[]
  /** The earlier checkpoint in C2SP form */
  from_checkpoint: string
  /** The later checkpoint in C2SP form */
  to_checkpoint: string
  /** Cosignatures on the earlier checkpoint */
  from_cosignatures: Cosignature[]
  /** `witnessed` of the earlier checkpoint */
  from_witnessed: boolean | null
  /** `timestamp` of the earlier checkpoint */
  from_timestamp: EpochTimestamp | null
  /** Cosignatures on the later checkpoint */
  to_cosignatures: Cosignature[]
  /** `witnessed` of the later checkpoint */
  to_witnessed: boolean | null
  /** `timestamp` of the later checkpoint */
  to_timestamp: EpochTimestamp | null
}

/** The reply of `gcrumbs.epoch`. */
export type GcrumbsEpochReply = Epoch

/** The query of `gcrumbs.epochs`. */
export type GcrumbsEpochsQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `gcrumbs.epochs`. */
export type GcrumbsEpochsReply = {
  /** The items of this page */
  epochs: Epoch[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The query of `gcrumbs.proof`. */
export type GcrumbsProofQuery = {
  /** Position of the entry */
  seq: number
}

/** The reply of `gcrumbs.proof`. */
export type GcrumbsProofReply = {
  /** Whether the entry is in the audit log that the checkpoint signs */
  included: boolean
  /** Position of the entry */
  breadcrumb_seq: number
  /** Number of the checkpoint */
  epoch_number: number
  /** Why the entry is not included */
  reason?: string
  /** The entry */
  breadcrumb?: Breadcrumb
  /** RFC 6962 leaf hash of the entry */
  leaf_hash?: string
  /** Inclusion proof, from the sibling of the leaf upwards */
  audit_path?: string[]
  /** Entries of the audit log at the checkpoint */
  tree_size?: number
  /** Merkle root over those entries */
  root_hash?: string
  /** The signed checkpoint in C2SP form */
  checkpoint?: string
  /** Signatures of witnesses on this checkpoint, in the order they were obtained */
  cosignatures: Cosignature[]
  /** Whether enough witnesses cosigned it; null: the operator has no witnesses */
  witnessed: boolean | null
  /** Its timestamp; null: none was asked for, or none has come yet */
  timestamp: EpochTimestamp | null
  /** The whole proof as a C2SP tlog-proof file, with the cosignatures on its checkpoint */
  tlog_proof?: string
  /** Same as `leaf_hash` */
  leaf?: string
  /** Same as `audit_path` */
  proof?: string[]
  /** Same as `root_hash` */
  merkle_root?: string
}

/** The query of `gcrumbs.public_key`. */
export type GcrumbsPublicKeyQuery = {
  /** Returns only the keys that sign this; default: all */
  purpose?: string
}

/** The reply of `gcrumbs.public_key`. */
export type GcrumbsPublicKeyReply = {
  /** Current Ed25519 public key of the audit log */
  public_key: string
  /** Id of the signing key */
  key_id: string
  /** Name of the audit log in its checkpoints */
  origin: string
  /** All signing keys, including retired ones */
  keys: PublishedKey[]
}

/** The body of `gcrumbs.roll`. */
export type GcrumbsRollBody = EmptyBody

/** The reply of `gcrumbs.roll`. */
export type GcrumbsRollReply = Epoch

/** The reply of `gcrumbs.stats`. */
export type GcrumbsStatsReply = {
  /** Entries of the audit log */
  total_breadcrumbs: number
  /** Signed checkpoints */
  total_epochs: number
  /** How often the audit log was restored from a backup */
  generation: number
  /** The last signed checkpoint */
  last_epoch: Epoch | null
}

/** The reply of `gcrumbs.tile`. */
export type GcrumbsTileReply = string

/** The query of `gcrumbs.verify`. */
export type GcrumbsVerifyQuery = {
  /** Verifies from the first entry */
  full?: boolean
}

/** The reply of `gcrumbs.verify`. */
export type GcrumbsVerifyReply = {
  /** The result */
  status: 'intact' | 'empty' | 'tampered'
  /** Entries that were verified */
  breadcrumbs_verified: number
  /** Checkpoints that were verified */
  epochs_verified: number
  /** Position the verification started at */
  from_seq: number
  /** Entries of the audit log */
  tree_size: number
  /** Merkle root over those entries */
  root_hash: string | null
  /** What was found to be wrong */
  reason?: string
  /** Position of the first entry that fails */
  at_seq?: number
  /** Same as `at_seq` */
  tampered_at?: number
  /** Number of the first checkpoint that fails */
  epoch_number?: number
}

/** The body of `gcrumbs.verify_envelope`. */
export type GcrumbsVerifyEnvelopeBody = { [key: string]: unknown }

/** The reply of `gcrumbs.verify_envelope`. */
export type GcrumbsVerifyEnvelopeReply = {
  /** Whether every check passed */
  valid: boolean
  /** What was verified */
  type: string
  /** The first check that failed, in words */
  reason?: string
  /** The checks */
  checks: NamedCheck[]
  /** Receipts that were verified; only for receipts */
  count?: number
  /** One result for each receipt; only for receipts */
  results?: Array<{
    /** Position in `receipts`, from 0 */
    index: number
    /** As the receipt states it */
    receipt_id: string | null
    /** Whether id and signature hold, by a key that was supplied or published */
    valid: boolean
    /** The result in words */
    reason: string
    /**
     * `supplied`: the key of the request. `published`: a key of this service. `self_signed`: only
     * the receipt names the key, so anybody may have made it
     */
    signed_by: 'supplied' | 'published' | 'self_signed' | null
    /** Id of the published key that signed */
    key_id: string | null
  }>
}

/** The reply of `gcrumbs.verify_key`. */
export type GcrumbsVerifyKeyReply = {
  /** Signature algorithm */
  algorithm: "ed25519"
  /** The public key in hexadecimal */
  public_key_hex: string
  /** The public key in base64 */
  public_key_b64: string
  /** Id of the signing key */
  key_id: string
}

/** The body of `governance.create_policy`. */
export type GovernanceCreatePolicyBody = {
  /** Name of the policy */
  name: string
  policy_type: PolicyType
  /** What the policy is for */
  description?: string | null
  /** Default: `escalate` for `hitl_required`, otherwise `deny` */
  action?: PolicyAction | null
  /** Configuration, by the type of policy */
  config?: { [key: string]: unknown } | null
  /** Whether the policy is evaluated; default: true */
  enabled?: boolean | null
  /** Order of evaluation: lower values first */
  priority?: number | null
}

/** The reply of `governance.create_policy`. */
export type GovernanceCreatePolicyReply = Policy

/** The reply of `governance.delete_policy`. */
export type GovernanceDeletePolicyReply = {
  /** Always true */
  deleted: boolean
  /** Id of the policy */
  policy_id: string
}

/** The body of `governance.evaluate`. */
export type GovernanceEvaluateBody = {
  operation: string
  /** What policies read; see `operations` */
  context?: { [key: string]: unknown } | null
  /** Evaluates without logging or counting */
  dry_run?: boolean | null
}

/** The reply of `governance.evaluate`. */
export type GovernanceEvaluateReply = {
  /** Whether the operation may run */
  allowed: boolean
  /** One entry for each enabled policy, in the order of evaluation */
  evaluations: GovernanceLog[]
  /** Number of policies by result */
  summary: {
    /** Policies evaluated */
    total: number
    /** Policies that allow */
    allowed: number
    /** Policies that deny */
    denied: number
    /** Policies that ask for an approval */
    escalated: number
    /** Policies that are violated and only log it */
    logged: number
  }
  /** A denial takes precedence: a person cannot approve what a policy denies */
  verdict: 'allowed' | 'denied' | 'escalated'
  /** Whether an approval is required */
  escalated: boolean
  /** Whether this was a dry run */
  dry_run: boolean
  /** Id of the evaluation; null in a dry run */
  evaluation_id: string | null
  /** Version number of the tenant's set of policies */
  policy_set: number
  /** The results of `evaluations`, for clients that read them here */
  logs: Array<{
    /** Name of the policy */
    policy_name: string
    policy_type: PolicyType
    action: PolicyAction
    result: PolicyResult
    /** The result in words */
    detail: string
  }>
}

/** The query of `governance.get_policy`. */
export type GovernanceGetPolicyQuery = {
  /** Also returns a deleted policy, in its last version */
  include_deleted?: boolean
}

/** The reply of `governance.get_policy`. */
export type GovernanceGetPolicyReply = {
  /** Id of the policy */
  policy_id: string
  /** Name of the policy */
  name: string
  /** What the policy is for */
  description: string
  policy_type: PolicyType
  action: PolicyAction
  /** Configuration, by the type of policy */
  config: { [key: string]: unknown }
  /** Order of evaluation: lower values first */
  priority: number
  /** Whether the policy is evaluated */
  enabled: boolean
  /** When it was created */
  created_at: string
  /** When it was last changed */
  updated_at: string
  /** Version of the policy, from 1 */
  version: number
  /** Id of the key that made this version */
  changed_by: string
  /** Whether the policy was deleted */
  deleted: boolean
  /** Up to 100 versions, newest first */
  history: Array<{
    /** Version of the policy, from 1 */
    version: number
    /** What changed */
    change: 'created' | 'updated' | 'deleted'
    /** Number of the tenant's set of policies from this change on */
    policy_set: number
    /** Name of the policy */
    name: string
    /** What the policy is for */
    description: string
    action: PolicyAction
    /** Configuration, by the type of policy */
    config: { [key: string]: unknown }
    /** Order of evaluation: lower values first */
    priority: number
    /** Whether the policy is evaluated */
    enabled: boolean
    /** When the change was made */
    changed_at: string
    /** Id of the key that made the change */
    changed_by: string
  }>
}

/** The query of `governance.list_policies`. */
export type GovernanceListPoliciesQuery = {
  /** Returns only enabled policies */
  enabled_only?: boolean
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `governance.list_policies`. */
export type GovernanceListPoliciesReply = {
  /** The items of this page */
  policies: Policy[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The query of `governance.logs`. */
export type GovernanceLogsQuery = {
  /** Returns only results of this policy */
  policy_id?: string
  /** Returns only this result */
  result?: PolicyResult
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `governance.logs`. */
export type GovernanceLogsReply = {
  /** The items of this page */
  logs: GovernanceLog[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The reply of `governance.policy_types`. */
export type GovernancePolicyTypesReply = {
  /** The types of policies */
  types: Array<{
    type: PolicyType
    /** What the type checks */
    description: string
    /** JSON Schema (2020-12) of the configuration */
    config_schema: { [key: string]: unknown }
    /** Actions the type supports */
    actions: PolicyAction[]
    /** Action when none is given */
    default_action: PolicyAction
  }>
  /**
   * Context keys by operation. Policies and `evaluate` accept these names, those of
   * `operation_aliases`, and names that begin with one of `operation_prefixes`.
   */
  operations: { [key: string]: string[] }
  /** Current names of operations by their earlier names */
  operation_aliases: { [key: string]: string }
  /**
   * `worldmodel.action.` with the name of an action; `custom.` with a name of your own, for
   * operations that only you evaluate
   */
  operation_prefixes: string[]
  /** Values that `entities` of a `pii_guard` may have */
  entities: string[]
}

/** The body of `governance.seed_defaults`. */
export type GovernanceSeedDefaultsBody = EmptyBody

/** The reply of `governance.seed_defaults`. */
export type GovernanceSeedDefaultsReply = {
  /** Policies that were created */
  seeded: number
}

/** The reply of `governance.stats`. */
export type GovernanceStatsReply = {
  /** Policies */
  policies_total: number
  /** Enabled policies */
  policies_active: number
  /** Results of single policies: three policies count three times */
  evaluations_total: number
  /** Results `denied` */
  denials_total: number
  /** Results `escalated` */
  escalations_total: number
  /** Results by the name of the policy: the eight most frequent, and `Other` */
  evaluations_by_type: { [key: string]: number }
  /** Same as `policies_total` */
  total_policies: number
  /** Same as `policies_active` */
  active_policies: number
  /** Same as `evaluations_total` */
  total_evaluations: number
  /** Same as `denials_total` */
  denials: number
  /** Same as `escalations_total` */
  escalations: number
  /** Same as `denials_total` */
  evaluations_denied: number
  /** Same as `escalations_total` */
  evaluations_escalated: number
}

/** The body of `governance.update_policy`. */
export type GovernanceUpdatePolicyBody = {
  /** Name of the policy */
  name?: string | null
  /** What the policy is for */
  description?: string | null
  /** What happens when the policy is violated */
  action?: PolicyAction | null
  /** Configuration, by the type of policy */
  config?: { [key: string]: unknown } | null
  /** Whether the policy is evaluated */
  enabled?: boolean | null
  /** Order of evaluation: lower values first */
  priority?: number | null
}

/** The reply of `governance.update_policy`. */
export type GovernanceUpdatePolicyReply = Policy

/** The body of `identity.accept`. */
export type IdentityAcceptBody = {
  /** The invitation */
  invitation: string
}

/** The reply of `identity.accept`. */
export type IdentityAcceptReply = Caller

/** The query of `identity.backchannel`. */
export type IdentityBackchannelQuery = {
  /** Id of the connection */
  connection_id: string
}

/** The reply of `identity.backchannel`. */
export type IdentityBackchannelReply = {
  /** Sessions that were ended */
  ended: number
}

/** The body of `identity.configure`. */
export type IdentityConfigureBody = NewSsoConnection

/** The reply of `identity.configure`. */
export type IdentityConfigureReply = SsoConnection

/** The reply of `identity.connection`. */
export type IdentityConnectionReply = SsoConnection

/** The query of `identity.connections`. */
export type IdentityConnectionsQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `identity.connections`. */
export type IdentityConnectionsReply = {
  /** The items of this page */
  connections: SsoConnection[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The body of `identity.create_connection`. */
export type IdentityCreateConnectionBody = NewSsoConnection

/** The reply of `identity.create_connection`. */
export type IdentityCreateConnectionReply = SsoConnection

/** The reply of `identity.delete_connection`. */
export type IdentityDeleteConnectionReply = {
  /** Id of the connection */
  connection_id: string
  /** Always true */
  deleted: true
}

/** The reply of `identity.drop_domain`. */
export type IdentityDropDomainReply = SsoConnection

/** The body of `identity.exchange`. */
export type IdentityExchangeBody = {
  /** The code */
  code: string
  /** The text whose SHA-256 is the challenge */
  verifier: string
}

/** The reply of `identity.exchange`. */
export type IdentityExchangeReply = {
  /** Id of the session */
  session_id: string
  /** Sent as `x-custos-csrf` with every request that is not a GET */
  csrf_token: string
}

/** The body of `identity.invite`. */
export type IdentityInviteBody = {
  /** The e-mail address of the person */
  email: string
  /** The name of the person */
  name?: string
  /** What the person may do */
  roles: Roles
  /** Stores the person may use; default: those of the caller */
  stores?: string[]
}

/** The reply of `identity.invite`. */
export type IdentityInviteReply = {
  /** The person */
  user: User
  /** Taken by `identity.accept`; shown once */
  invitation: string
}

/** The reply of `identity.logout`. */
export type IdentityLogoutReply = {
  /** Whether there was a session */
  ended: boolean
}

/** The reply of `identity.me`. */
export type IdentityMeReply = Caller

/** The query of `identity.providers`. */
export type IdentityProvidersQuery = {
  /** Id of the tenant */
  tenant: string
}

/** The reply of `identity.providers`. */
export type IdentityProvidersReply = {
  /** Oldest first */
  providers: SsoProvider[]
}

/** The query of `identity.remove_user`. */
export type IdentityRemoveUserQuery = {
  /** Whether keys the person made stay valid */
  keep_keys?: boolean
}

/** The reply of `identity.remove_user`. */
export type IdentityRemoveUserReply = {
  /** Id of the person */
  user_id: string
  /** Always true */
  removed: true
  /** Keys of the person that were revoked */
  revoked_keys: number
}

/** The reply of `identity.revoke_session`. */
export type IdentityRevokeSessionReply = {
  /** Id of the session */
  session_id: string
  /** Always true */
  revoked: true
}

/** The query of `identity.sessions`. */
export type IdentitySessionsQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `identity.sessions`. */
export type IdentitySessionsReply = {
  /** The items of this page */
  sessions: PortalSession[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The body of `identity.set_domains`. */
export type IdentitySetDomainsBody = {
  /** All domains of the connection */
  domains: string[]
}

/** The reply of `identity.set_domains`. */
export type IdentitySetDomainsReply = SsoConnection

/** The body of `identity.sign_in`. */
export type IdentitySignInBody = {
  /** The API key */
  api_key: string
}

/** The reply of `identity.sign_in`. */
export type IdentitySignInReply = Caller

/** The reply of `identity.test`. */
export type IdentityTestReply = {
  /** Whether people can be led to the provider */
  ok: boolean
  /** What is wrong; null: nothing */
  problem: SsoProblem | null
  /** Keys that the provider publishes */
  keys: number
}

/** The body of `identity.update_connection`. */
export type IdentityUpdateConnectionBody = {
  /** What people see on the sign-in page */
  name?: string
  /** The client secret; stored sealed and never returned */
  client_secret?: string
  /** What is asked of the provider besides `openid` */
  scopes?: OidcScopes
  /** Accepted signature algorithms of ID tokens */
  algorithms?: SsoAlgorithms
  /** Claim that determines the role at every sign-in; null: people keep their roles */
  role_claim?: ClaimPath | null
  /** Roles by values of the claim */
  role_map?: RoleMap
  /** Role of people without a mapped value; null: their sign-in is refused */
  default_role?: Role | null
  /** Whether a mapped value or the default may grant `owner` */
  allow_owner?: boolean
  /** Whether people may sign in without an invitation */
  create_users?: boolean
  /**
   * Directories whose people may sign in, of an issuer of `common` or `organizations`; empty: the
   * issuer is that of one organisation
   */
  directories?: SsoDirectories
  /** Whether people of the tenant can sign in through a provider only */
  enforced?: boolean
  /** Whether people can sign in through it; `false` ends its sessions */
  enabled?: boolean
}

/** The reply of `identity.update_connection`. */
export type IdentityUpdateConnectionReply = SsoConnection

/** The body of `identity.update_user`. */
export type IdentityUpdateUserBody = {
  /** The name of the person */
  name?: string
  /** What the person may do */
  roles?: Roles
}

/** The reply of `identity.update_user`. */
export type IdentityUpdateUserReply = User

/** The query of `identity.users`. */
export type IdentityUsersQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `identity.users`. */
export type IdentityUsersReply = {
  /** The items of this page */
  users: User[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The body of `identity.verify_domain`. */
export type IdentityVerifyDomainBody = {
  /** The domain, without subdomains of it */
  domain: string
}

/** The reply of `identity.verify_domain`. */
export type IdentityVerifyDomainReply = {
  /** The domain */
  domain: string
  /** Whether the domain is that of the connection */
  verified: boolean
  /** Why it is not; null: it is */
  problem: DomainProblem | null
  record: DomainRecord
}

/** The body of `items.batch`. */
export type ItemsBatchBody = {
  /** The operations */
  operations: Array<{
    /** As `items.put` */
    op: "put"
    /** Namespace of the item; an empty list is the root */
    namespace: ItemNamespace
    /** Key of the item */
    key: string
    /** The value: up to 256 KiB of JSON */
    value: { [key: string]: unknown }
    index?: ItemIndex
    /** Puts only if this memory is the current version; otherwise 409 `item_changed` */
    if_ref?: number
    /**
     * When the memory expires: from then on it is hidden, and within ten minutes erased; after
     * `valid_from`; default: never
     */
    expires_at?: string | null
    /** Instead of `expires_at`: seconds from now until the memory expires */
    ttl_s?: number | null
  } | {
    /** As `items.get` */
    op: "get"
    /** Namespace of the item; an empty list is the root */
    namespace: ItemNamespace
    /** Key of the item */
    key: string
    /** Returns the version that was on record at this time */
    known_at?: string | null
  } | {
    /** As `items.search` */
    op: "search"
    /** Labels that namespaces begin with; empty: every one */
    namespace_prefix: ItemNamespace
    /** What to search for; without it, the first put of each namespace comes first */
    query?: string | null
    /**
     * Conditions on top-level members of the value, all of which hold: a value to equal, or an
     * object of `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte` (of numbers), `$in`, `$nin`
     */
    filter?: { [key: string]: unknown } | null
    /** The most items to return; default: 10 */
    limit?: number
    /** Items to skip; default: 0 */
    offset?: number
    /** The most tokens of the values together; what does not fit is left out */
    budget_tokens?: number | null
  } | {
    /** As `items.delete` */
    op: "delete"
    /** Namespace of the item; an empty list is the root */
    namespace: ItemNamespace
    /** Key of the item */
    key: string
  } | {
    /** As `items.namespaces` */
    op: "namespaces"
    /** Labels the namespaces begin with; `*` stands for any one label */
    prefix?: ItemNamespace | null
    /** Labels the namespaces end with; `*` stands for any one label */
    suffix?: ItemNamespace | null
    /** Cuts longer namespaces to this number of labels */
    max_depth?: number | null
    /** The most namespaces to return; default: 100 */
    limit?: number
    /** Namespaces to skip; default: 0 */
    offset?: number
  }>
}

/** The reply of `items.batch`. */
export type ItemsBatchReply = {
  /** The reply of each operation, in the order of `operations` */
  results: Array<PutResult | GetResult | ItemSearchResult | ItemDeleteResult | ItemNamespacesResult>
  /** Number of results */
  count: number
}

/** The body of `items.delete`. */
export type ItemsDeleteBody = {
  /** Namespace of the item; an empty list is the root */
  namespace: ItemNamespace
  /** Key of the item */
  key: string
}

/** The reply of `items.delete`. */
export type ItemsDeleteReply = ItemDeleteResult

/** The body of `items.get`. */
export type ItemsGetBody = {
  /** Namespace of the item; an empty list is the root */
  namespace: ItemNamespace
  /** Key of the item */
  key: string
  /** Returns the version that was on record at this time */
  known_at?: string | null
}

/** The reply of `items.get`. */
export type ItemsGetReply = GetResult

/** The body of `items.namespaces`. */
export type ItemsNamespacesBody = {
  /** Labels the namespaces begin with; `*` stands for any one label */
  prefix?: ItemNamespace | null
  /** Labels the namespaces end with; `*` stands for any one label */
  suffix?: ItemNamespace | null
  /** Cuts longer namespaces to this number of labels */
  max_depth?: number | null
  /** The most namespaces to return; default: 100 */
  limit?: number
  /** Namespaces to skip; default: 0 */
  offset?: number
}

/** The reply of `items.namespaces`. */
export type ItemsNamespacesReply = ItemNamespacesResult

/** The body of `items.put`. */
export type ItemsPutBody = {
  /** Namespace of the item; an empty list is the root */
  namespace: ItemNamespace
  /** Key of the item */
  key: string
  /** The value: up to 256 KiB of JSON */
  value: { [key: string]: unknown }
  index?: ItemIndex
  /** Puts only if this memory is the current version; otherwise 409 `item_changed` */
  if_ref?: number
  /**
   * When the memory expires: from then on it is hidden, and within ten minutes erased; after
   * `valid_from`; default: never
   */
  expires_at?: string | null
  /** Instead of `expires_at`: seconds from now until the memory expires */
  ttl_s?: number | null
}

/** The reply of `items.put`. */
export type ItemsPutReply = PutResult

/** The body of `items.search`. */
export type ItemsSearchBody = {
  /** Labels that namespaces begin with; empty: every one */
  namespace_prefix: ItemNamespace
  /** What to search for; without it, the first put of each namespace comes first */
  query?: string | null
  /**
   * Conditions on top-level members of the value, all of which hold: a value to equal, or an object
   * of `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte` (of numbers), `$in`, `$nin`
   */
  filter?: { [key: string]: unknown } | null
  /** The most items to return; default: 10 */
  limit?: number
  /** Items to skip; default: 0 */
  offset?: number
  /** The most tokens of the values together; what does not fit is left out */
  budget_tokens?: number | null
}

/** The reply of `items.search`. */
export type ItemsSearchReply = ItemSearchResult

/** The reply of `jobs.cancel`. */
export type JobsCancelReply = Job

/** The reply of `jobs.get`. */
export type JobsGetReply = Job

/** The body of `keys.create`. */
export type KeysCreateBody = {
  /** Name of the key */
  name?: string
  /** Class of the key, which sets the default scopes */
  class?: KeyClass
  /** What the key may do; default: by its class */
  scopes?: Scope[]
  /** Existing stores the key may use, at least one; left out: those of the calling key */
  allowed_stores?: string[]
  /** The only namespace the key may use; left out: those of the calling key */
  namespace?: string
  /** When the key stops working; default: never */
  expires_at?: string | null
  /** Highest trust tier a call may claim; default: any */
  max_trust_tier?: TrustTier | null
}

/** The reply of `keys.create`. */
export type KeysCreateReply = {
  /** Id of the key */
  key_id: string
  /** Name of the key */
  name: string
  class: KeyClass
  /** First characters of the key, to recognise it by */
  prefix: string
  /** What the key may do */
  scopes: Scope[]
  /** Stores the key may use; empty: all stores */
  allowed_stores: string[]
  /** The only namespace the key may use, as `T/x` or `T` for the root; null: every namespace */
  namespace: string | null
  /** Highest trust tier a call may claim; null: any */
  max_trust_tier: TrustTier | null
  /** When it was created */
  created_at: string
  /** When the key stops working; null: never */
  expires_at: string | null
  api_key: NewApiKey
}

/** The body of `keys.create_token`. */
export type KeysCreateTokenBody = {
  /** The existing store the token may use */
  store_id: string
  /** The namespace the token may use */
  namespace: string
  /** What the token may do */
  scopes: TokenScope[]
  /** Seconds until the token ends */
  ttl_s?: number
}

/** The reply of `keys.create_token`. */
export type KeysCreateTokenReply = {
  /** Id of the token */
  key_id: string
  /** The token, shown once; sent like an API key */
  token: NewApiKey
  /** The store the token may use */
  store_id: string
  /** The namespace the token may use, as `T/x` or `T` for the root */
  namespace: string
  /** What the token may do */
  scopes: Scope[]
  /** When it was created */
  created_at: string
  /** When the token ends */
  expires_at: string
}

/** The reply of `keys.current`. */
export type KeysCurrentReply = CurrentKey

/** The query of `keys.list`. */
export type KeysListQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `keys.list`. */
export type KeysListReply = {
  /** The items of this page */
  keys: Key[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The reply of `keys.revoke`. */
export type KeysRevokeReply = {
  /** Id of the key */
  key_id: string
  /** False when the key had been revoked before */
  revoked: boolean
}

/** The body of `landing.approve`. */
export type LandingApproveBody = ResumeRequest

/** The reply of `landing.approve`. */
export type LandingApproveReply = LandingDocument

/** The body of `landing.conformance`. */
export type LandingConformanceBody = {
  /** Name of the artifact */
  artifact_ref: string
  /** SHA-256 of each layer, in order */
  layer_hashes: string[]
  data_provenance: DataProvenance
  /** Name of the base model */
  base_model_ref?: string | null
  /** Kind of artifact */
  kind?: string | null
  /** Under whose authority the caller acts */
  authority?: Authority | null
  /** The layers themselves, compared with `layer_hashes` and not stored */
  layer_bytes?: string[] | null
}

/** The reply of `landing.conformance`. */
export type LandingConformanceReply = {
  /** Version of the checks */
  harness_version: string
  /**
   * `fail` if a check failed; `pass` if a record or the layers agreed and no check failed;
   * otherwise `not_checked`
   */
  result: ConformanceResult
  per_policy: ConformanceChecks
  evidence: ConformanceEvidence
  /** Why checks failed */
  reasons: string[]
  /** What was not checked */
  not_checked: string[]
}

/** The reply of `landing.get`. */
export type LandingGetReply = LandingCertificate

/** The body of `landing.issue`. */
export type LandingIssueBody = {
  /** Name of the artifact */
  artifact_ref: string
  /** Name of the base model */
  base_model_ref: string
  /** SHA-256 of each layer, in order */
  layer_hashes: string[]
  data_provenance: DataProvenance
  /** Under whose authority the caller acts */
  authority: Authority
  /**
   * The caller's own finding, if there is one: recorded beside what is computed, never relied on.
   * Absent, `not_checked` is recorded.
   */
  conformance?: {
    /** The caller's result; default: `not_checked` */
    result?: ConformanceResult | null
    /** Version of the harness that was used */
    harness_version?: string | null
    /** Results by policy; `fail` and false claim that a check failed */
    per_policy?: { [key: string]: string | boolean } | null
  } | null
  /** What the artifact may do */
  permitted_actions: string[]
  /** Kind of artifact; default: `lora+rag` */
  kind?: string | null
  /** The layers themselves, compared with `layer_hashes` and not stored */
  layer_bytes?: string[] | null
}

/** The reply of `landing.issue`. */
export type LandingIssueReply = LandingDocument

/** The accepted of `landing.issue`. */
export type LandingIssueAccepted = {
  /** The approval request */
  detail: {
    /** Waits for an approval */
    status: "waiting_hitl"
    /** Id of the approval request */
    request_id: string
    /** When the approval request expires */
    expires_at: string
    /** Id of the certificate */
    certificate_id: string
  }
}

/** The query of `landing.list`. */
export type LandingListQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `landing.list`. */
export type LandingListReply = {
  /** The items of this page */
  certificates: LandingCertificate[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The body of `landing.reject`. */
export type LandingRejectBody = ResumeRequest

/** The reply of `landing.reject`. */
export type LandingRejectReply = RejectedCertificate

/** The reply of `landing.stats`. */
export type LandingStatsReply = Counts

/** The reply of `landing.verify`. */
export type LandingVerifyReply = {
  /** Whether every check passed */
  passed: boolean
  /**
   * Checks by name, among them `signature`, `authority_present` and `conformance_pass`, or
   * `conformance_not_failed` where there was nothing to compare with; all false if unsigned
   */
  checks: CheckResults
  /** The first check that failed, in words; null if all passed */
  reason: string | null
  /** What the certificate says in words; empty where none was issued */
  reconstruction: {
    /** What the artifact is */
    what?: string
    /** Which data it was trained on */
    from_where?: string
    /** Under whose authority */
    under_whom?: string
    /** How it was checked */
    cleared_how?: string
    /** What it may do */
    may_do?: string[]
  }
  status: RecordStatus
  /** What this verification cannot show */
  not_checked: string[]
}

/** The body of `llm.create_provider`. */
export type LlmCreateProviderBody = {
  /** Form of its requests */
  provider: ProviderKind
  /** Model, as agents and the provider name it */
  model_id: string
  /** Address before `/chat/completions` or `/messages`: https, no user name */
  base_url?: string | null
  /** Key of the provider; it is sealed and never shown */
  api_key?: string | null
  /** Price of a million tokens of the prompt, in millionths of the currency */
  price_in_micro?: number
  /** Price of a million tokens of the answer, in millionths of the currency */
  price_out_micro?: number
  /** Whether managed runs may ask it */
  enabled?: boolean
  /** Whether it is asked for its answers in parts, which streams of runs show */
  streams?: boolean
}

/** The reply of `llm.create_provider`. */
export type LlmCreateProviderReply = ModelProvider

/** The body of `llm.create_tool`. */
export type LlmCreateToolBody = {
  /** Name, as agents and models use it */
  name: string
  /** What it does, for the model */
  description: string
  /** Kind; default: `http` with a `url`, else `client` */
  tool_type?: ToolKind | null
  /** What repeating a call does; default: `once`, or that of the kind */
  effect?: ToolEffect | null
  /**
   * JSON Schema of the arguments: an object; needed by `http`. Of an `action`: of its parameters
   */
  input_schema?: { [key: string]: unknown } | null
  /** Method of the request; default: `POST` */
  method?: ToolMethod | null
  /** Address; see `Tool.url`. Needed by `http` */
  url?: string | null
  /** Action of the world model; needed by `action` */
  action_name?: string | null
  /** How a call of it is undone; default: not at all */
  compensation?: ToolCompensation | null
  /** Headers to send, for example a key; they are sealed */
  headers?: { [key: string]: string } | null
  /** Whether managed runs may call it */
  enabled?: boolean
}

/** The reply of `llm.create_tool`. */
export type LlmCreateToolReply = Tool

/** The reply of `llm.delete_provider`. */
export type LlmDeleteProviderReply = {
  /** Always true */
  deleted: true
  /** The model */
  model_id: string
}

/** The reply of `llm.delete_tool`. */
export type LlmDeleteToolReply = {
  /** Always true */
  deleted: true
  /** The name */
  tool_name: string
}

/** The query of `llm.list_providers`. */
export type LlmListProvidersQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `llm.list_providers`. */
export type LlmListProvidersReply = {
  /** The items of this page */
  providers: ModelProvider[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The query of `llm.list_tools`. */
export type LlmListToolsQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `llm.list_tools`. */
export type LlmListToolsReply = {
  /** The items of this page */
  tools: Tool[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The body of `llm.seed_builtins`. */
export type LlmSeedBuiltinsBody = EmptyBody

/** The reply of `llm.seed_builtins`. */
export type LlmSeedBuiltinsReply = {
  /** Tools that were created */
  seeded: number
}

/** The reply of `manifold.clear_cache`. */
export type ManifoldClearCacheReply = {
  /** Always `ok` */
  status: "ok"
  /** Cached maps that were discarded */
  cleared: number
}

/** The query of `manifold.export`. */
export type ManifoldExportQuery = {
  dimension?: string
}

/** The reply of `manifold.export`. */
export type ManifoldExportReply = {
  /** How the map was computed */
  meta: {
    /** Version of the export format */
    version: string
    /** Always null: nothing is trained */
    somVersion: null
    /** When the map was computed */
    generatedAt: string
    /** Origin of the vectors */
    source: 'real-vectors' | 'none'
    /** Cells along each side */
    somGrid: [number, number]
    /** Always 0 */
    nSteps: number
    /** Decisions on the map */
    nDecisions: number
    /** Names of the lenses of a cell */
    lenses: string[]
  }
  /** Cells that contain a decision */
  cells: Array<{
    /** Id of the cell */
    id: string
    /** Axial coordinate q */
    q: number
    /** Axial coordinate r */
    r: number
    /** Centre of the cell in pixels */
    x: number
    /** Centre of the cell in pixels */
    y: number
    /** Decisions in the cell */
    count: number
    /** Label of the cell */
    label: string
    /** Ids of up to eight decisions, the newest */
    exemplars: string[]
    /** Values by which the cells can be coloured */
    lenses: {
      /** Share of `paid` among the resolved decisions; null: none is */
      paid: number | null
      /** Resolved decisions */
      resolved: number
    }
  }>
  /** Always empty */
  steps: unknown[]
  /** Always empty */
  edges: unknown[]
  /** The decisions */
  decisions: Array<{
    /** Id of the decision */
    decision_id: string
    /** Position in the audit log */
    log_seq: number
    /** Id of the cell */
    cell_id: string
    /** Position on the first axis */
    x: number
    /** Position on the second axis */
    y: number
  }>
  /** Size of a cell in pixels */
  hex_px: number
  /** When the map was computed */
  generated_at: string
  /** Origin of the data */
  provenance: {
    /** Origin of the vectors */
    vectors: {
      /** Origin of the vectors */
      source: string
      /** Embedding model */
      model: string
      /** Dimensions of the vectors */
      dim: number
      /** Decisions with a vector */
      matched: number
      /** Decisions */
      requested: number
    }
    /** Steps of workflows, of which there are none */
    steps: {
      /** Always `none` */
      source: "none"
      /** Always 0 */
      real_count: number
      /** Always 0 */
      synthetic_count: number
    }
  }
}

/** The query of `manifold.field`. */
export type ManifoldFieldQuery = {
  dimension?: string
}

/** The reply of `manifold.field`. */
export type ManifoldFieldReply = {
  /** The decisions */
  points: Array<{
    /** Id of the decision */
    decision_id: string
    /** Position in the audit log */
    log_seq: number
    /** Position on the first axis */
    x: number
    /** Position on the second axis */
    y: number
    /** Outcome of a governed decision; absent: none was reported */
    outcome?: Outcome
    /** Handle of the agent of a governed decision */
    agent_handle?: string
    /** Current key of the agent, if it has one */
    agent_key?: string
    verifiability_tag?: VerifiabilityTag
    decision?: Judgment
  }>
  /** The outcomes as a field over the map */
  field: {
    /** Nodes along each axis; 0 if there is nothing to show */
    resolution: number
    /** Range of the first axis */
    x_range: [number, number]
    /** Range of the second axis */
    y_range: [number, number]
    /** Standard deviation of the kernel, in the units of the axes */
    bandwidth: number
    /** The bandwidth as a fraction of the longer axis */
    h_frac?: number
    /** Expected share of `paid`: rows by ascending y, columns by ascending x */
    grid: Array<number[]>
    /** Weight of the outcomes near each node; 0: the grid has 0.5 for lack of data */
    support: Array<number[]>
  }
  /** The agents */
  agents: Array<{
    /** Handle of the agent */
    agent_handle: string
    /** Current key of the agent */
    agent_key: string | null
    /** Mean position of its decisions on the first axis */
    x: number
    /** Mean position of its decisions on the second axis */
    y: number
    /** Decisions on the map */
    n_decisions: number
    /** Score, as in `GET /v1/cgr/scores` */
    cgr_score: number
    /** Reserved */
    capability_tier: null
    /** Resolved decisions */
    n_resolved: number
    /** Weight of the posterior */
    confidence: number
  }>
  /** Share of the variance along each axis */
  variance_explained: [number, number]
  /** How the map was computed */
  meta: {
    /** Subject area */
    dimension: string
    /** Decisions on the map */
    n_points: number
    /** Decisions with a known outcome */
    n_resolved: number
    /** Decisions that could be on the map */
    n_embeddings_total: number
    /** Whether older decisions were left out */
    truncated: boolean
    /** Origin of the vectors */
    source: "decision_embeddings"
    /** Embedding model, the same for every store */
    model: string
    /** When the map was computed */
    generated_at: string
    /** Newest log entry that is counted; null: the audit log is empty */
    log_seq: number | null
    /** What to consider when reading the map */
    note?: string
  }
}

/** The query of `manifold.locate`. */
export type ManifoldLocateQuery = {
  dimension?: string
}

/** The reply of `manifold.locate`. */
export type ManifoldLocateReply = {
  /** Id of the decision */
  stepId: string
  /** Id of the decision */
  decision_id: string
  /** Id of the cell; null, like `x` and `y`, below three decisions */
  cellId: string | null
  /** Always null: nothing is trained */
  somVersion: null
  /** Position on the first axis */
  x: number | null
  /** Position on the second axis */
  y: number | null
  /** Position in the audit log */
  log_seq: number
}

/** The query of `manifold.picture`. */
export type ManifoldPictureQuery = {
  dimension?: string
}

/** The reply of `manifold.picture`. */
export type ManifoldPictureReply = string

/** The query of `memory.audit`. */
export type MemoryAuditQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `memory.audit`. */
export type MemoryAuditReply = {
  /** The memories of this page */
  memories: Memory[]
  /** Number of items in this page */
  count: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The reply of `memory.capabilities`. */
export type MemoryCapabilitiesReply = {
  /** Capabilities of the store */
  capabilities: Capability[]
}

/** The body of `memory.create_store`. */
export type MemoryCreateStoreBody = {
  /**
   * Id of the store; default: a random one. It appears in the audit log, so choose no personal
   * data. An id is never used twice, also not after the store was deleted.
   */
  store_id?: string | null
  /** Languages, the main one first; default: English */
  languages?: Languages | null
  /** Idle seconds after which a session is digested; default: never */
  digest_after_s?: number | null
  /** Name of the store */
  name?: string | null
  /** Stored as given and not interpreted */
  backend?: string | null
  /** Stored as given and not interpreted */
  labels?: { [key: string]: unknown } | null
  /** Capabilities; default: all offered */
  capabilities?: Capability[] | null
  /** Tokenizer; default: that of the service */
  tokenizer?: Tokenizer | null
  /** Embedder; default: that of the service */
  embedder?: Embedder | null
  /**
   * For a test of the service: reports and statistics of erasures leave the store out, and
   * certificates of its memories name a self-test as their basis
   */
  self_test?: boolean
}

/** The reply of `memory.create_store`. */
export type MemoryCreateStoreReply = Store

/** The body of `memory.delete`. */
export type MemoryDeleteBody = {
  /** The memory to erase */
  ref: number
  /** Legal basis; permanently part of the certificate, so name no person */
  legal_basis?: string | null
  /** Who asks; permanently part of the certificate, so name no person */
  requested_by?: string | null
}

/** The reply of `memory.delete`. */
export type MemoryDeleteReply = {
  /** Whether this request erased the memory */
  deleted: boolean
  /** Id of the erasure certificate */
  erasure_certificate_id?: string
  /** Number of the memory */
  ref: number
}

/** The reply of `memory.delete_store`. */
export type MemoryDeleteStoreReply = {
  /** Id of the job */
  job_id: string
  /** Id of the store */
  store_id: string
  /** State of the store */
  state: "deleting"
  /** Memories to erase */
  facts: number
}

/** The reply of `memory.export`. */
export type MemoryExportReply = {
  /** Version of the export format */
  custos_export: 1
  /** Id of the tenant */
  tenant_id?: string
  /** The store that was exported */
  store?: unknown
  /** When the export began */
  exported_at?: string
} | Memory

/** The body of `memory.flush`. */
export type MemoryFlushBody = EmptyBody

/** The reply of `memory.flush`. */
export type MemoryFlushReply = object

/** The reply of `memory.get_store`. */
export type MemoryGetStoreReply = {
  /** Id of the store */
  store_id: string
  /** Name of the store */
  name: string | null
  /** Backend label given at creation; not interpreted */
  backend: string | null
  /** Labels given at creation; not interpreted */
  labels: { [key: string]: unknown }
  /** Capabilities of the store */
  capabilities: Capability[]
  tokenizer: Tokenizer
  embedder: Embedder
  languages: Languages
  /** Idle seconds after which a session is digested; null: never */
  digest_after_s: number | null
  /** When it was created; null for `default` before its first write */
  created_at: string | null
  /** State of the store */
  state: 'active' | 'deleting'
  /** Memories, superseded ones included */
  facts: number
  /** Progress of the deletion; only while it runs */
  deletion?: {
    /** Memories that are not erased yet */
    facts_left: number
  }
}

/** The query of `memory.history`. */
export type MemoryHistoryQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `memory.history`. */
export type MemoryHistoryReply = {
  /** The versions of this page */
  versions: MemoryVersion[]
  /** Number of items in this page */
  count: number
  /** Where the next page begins; null: this is the last */
  next_cursor: string | null
}

/** The query of `memory.import`. */
export type MemoryImportQuery = {
  /** Also imports duplicate lines */
  allow_duplicates?: boolean
}

/** The body of `memory.import`. */
export type MemoryImportBody = {
  /** Content of the memory */
  content: string
  /** Up to 16 KiB of JSON, 8 levels deep */
  metadata?: { [key: string]: unknown } | null
  /** Number to keep; another is assigned where it is taken */
  ref?: number | null
  /** Kept as `source.original_written_at` */
  written_at?: string | null
  /** From when the content is true */
  valid_from?: string | null
  /** Until when the content is true, not included; null: no end */
  valid_until?: string | null
  /**
   * When the memory expires: from then on it is hidden, and within ten minutes erased; after
   * `valid_from`; default: never
   */
  expires_at?: string | null
  /** Instead of `expires_at`: seconds from now until the memory expires */
  ttl_s?: number | null
  /** The memory of this import that replaced it */
  superseded_by?: number | null
  /** The name of the item it is a version of; `content` is the JSON of its value */
  item?: ItemName | null
  /** Same as `namespace` */
  tenant_id?: string | null
  /** Namespace within the tenant; default: the root */
  namespace?: string | null
  /** Origin of the memory */
  source?: {
    /** When the memory was first written */
    original_written_at?: string | null
  } | null
}

/** The reply of `memory.import`. */
export type MemoryImportReply = {
  /** Memories that were imported */
  imported: number
  /** Lines that were left out because the store or the import had them */
  duplicates: number
  /** Memories that got another number in this store */
  refs_mapped: Array<{
    /** Number in the import */
    from: number
    /** Number in this store */
    to: number
  }>
  /** Position in the audit log */
  log_seq: number | null
}

/** The body of `memory.ingest`. */
export type MemoryIngestBody = {
  /** The turns, oldest first */
  messages: IngestMessage[]
  mode?: IngestMode
  /** The model that `extract` asks: one that a provider is configured for */
  model_id?: string | null
  /** The session that the messages belong to */
  session_id?: string | null
  /** Same as `namespace` */
  tenant_id?: string | null
  /** Namespace within the tenant; default: the root */
  namespace?: string | null
  /** For each of the memories; what the messages say takes precedence */
  metadata?: { [key: string]: unknown } | null
}

/** The reply of `memory.ingest`. */
export type MemoryIngestReply = IngestedConversation

/** The reply of `memory.ingestion_stats`. */
export type MemoryIngestionStatsReply = {
  /** Always true */
  batching_enabled: true
  /** Writes waiting for their batch */
  pending: number
  /** Writes received since this process started */
  total_submitted: number
  /** Writes committed since this process started */
  total_committed: number
  /** Batches committed since this process started */
  total_batches: number
  /** Mean number of writes in a batch */
  avg_batch_size: number
  /**
   * Current memories with a near duplicate: another current memory of the namespace that shares
   * nine tenths of the distinct words of both. Null until counted.
   */
  near_duplicates: number | null
  /**
   * Current memories that no retrieval has returned, not counting retrievals of the last seconds in
   * other processes. Null until counted.
   */
  never_retrieved: number | null
}

/** The query of `memory.list_stores`. */
export type MemoryListStoresQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `memory.list_stores`. */
export type MemoryListStoresReply = {
  /** The items of this page */
  stores: Store[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
  /** Totals over all pages */
  tenant_stats: {
    /** Memories in these stores */
    fact_count: number
    /** Bytes of all memories of the tenant */
    total_bytes: number | null
  }
}

/** The query of `memory.memories`. */
export type MemoryMemoriesQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
  /** Lists this namespace only; default: all */
  namespace?: string
  /** Which memories come first; the same for every page */
  order?: 'oldest' | 'newest'
}

/** The reply of `memory.memories`. */
export type MemoryMemoriesReply = {
  /** The items of this page */
  memories: Memory[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The reply of `memory.memory`. */
export type MemoryMemoryReply = Memory

/** The body of `memory.reembed`. */
export type MemoryReembedBody = {
  /** New embedder; default: the current one */
  embedder?: Embedder | null
}

/** The reply of `memory.reembed`. */
export type MemoryReembedReply = {
  /** Id of the job */
  job_id: string
  /** Id of the store */
  store_id: string
  embedder: Embedder
  /** Memories to embed */
  missing: number
}

/** The body of `memory.retrieve`. */
export type MemoryRetrieveBody = {
  /** What to search for */
  query: string
  /** Options; each takes precedence over the field of its name beside it */
  options?: {
    /** Token budget, counted with the store's tokenizer; default 1024, clamped to 2^30 */
    budget_tokens?: number | null
    /** Largest number of memories to return */
    top_k?: number | null
    /** Same as `top_k` */
    limit?: number | null
    /** Returns what was valid at this time */
    as_of?: string | null
    /** Returns what was on record at this time */
    known_at?: string | null
    /**
     * Leaves out memories with a lower score. Scores are not normalised: they are a BM25 sum from 0
     * without an upper bound, which depends on the words of the query and on the store. In a store
     * with vectors a perfect similarity adds one and a half times the best such sum, and a lower
     * one proportionally less.
     */
    min_score?: number | null
    /**
     * Leaves out memories with a lower confidence. Without it a query is answered with nothing only
     * if no memory has a word of it or one of similar meaning, or is of a day that it names, and
     * the most similar one is no more similar than unrelated texts are; 0 switches that off, as
     * does an embedder other than `static` and `none`.
     */
    min_confidence?: number | null
    /** How much of each memory to return; default: full */
    view?: RetrieveView | null
    /**
     * Adds `explain`: the parts of each score, and why memories were left out. Costs two further
     * searches.
     */
    explain?: boolean | null
    /** Same as `namespace` */
    tenant_id?: string | null
    /** Namespace within the tenant; default: the root */
    namespace?: string | null
    /** Returns only memories whose metadata has these entries */
    metadata?: { [key: string]: unknown } | null
  } | null
  /** Token budget, counted with the store's tokenizer; default 1024, clamped to 2^30 */
  budget_tokens?: number | null
  /** Largest number of memories to return */
  top_k?: number | null
  /** Same as `top_k` */
  limit?: number | null
  /** Returns what was valid at this time */
  as_of?: string | null
  /** Returns what was on record at this time */
  known_at?: string | null
  /**
   * Leaves out memories with a lower score. Scores are not normalised: they are a BM25 sum from 0
   * without an upper bound, which depends on the words of the query and on the store. In a store
   * with vectors a perfect similarity adds one and a half times the best such sum, and a lower one
   * proportionally less.
   */
  min_score?: number | null
  /**
   * Leaves out memories with a lower confidence. Without it a query is answered with nothing only
   * if no memory has a word of it or one of similar meaning, or is of a day that it names, and the
   * most similar one is no more similar than unrelated texts are; 0 switches that off, as does an
   * embedder other than `static` and `none`.
   */
  min_confidence?: number | null
  /** How much of each memory to return; default: full */
  view?: RetrieveView | null
  /**
   * Adds `explain`: the parts of each score, and why memories were left out. Costs two further
   * searches.
   */
  explain?: boolean | null
  /** Same as `namespace` */
  tenant_id?: string | null
  /** Namespace within the tenant; default: the root */
  namespace?: string | null
}

/** The reply of `memory.retrieve`. */
export type MemoryRetrieveReply = {
  /** The memories, best first; `view` says in which form */
  memories: Array<RankedMemory | CompactMemory>
  /** Tokens of the returned memories */
  tokens_used: number
  /** The budget that was applied */
  budget_tokens: number
  /**
   * Memories that did not fit and rank above the last one returned, or, with none returned, all
   * that were tried; those below the last one are not counted
   */
  dropped: number
  /** Ranked memories left out, as a returned one has exactly their content */
  duplicates: number
  /** Position in the audit log */
  log_seq: number
  tokenizer: Tokenizer
  ranking: Ranking
  /** How the memories were ranked; only with the option `explain` */
  explain?: {
    /** How the query was read */
    query: {
      /** The first terms, by name */
      terms: Array<{
        /** The term as it is searched for: case-folded and stemmed */
        term: string
        /** Memories of the namespace that contain it, superseded ones included, expired ones not */
        memories: number
        /** Its weight: higher the fewer memories contain it */
        weight: number
        /** Terms that count as it, at half weight: of similar meaning, or another name */
        similar: string[]
      }>
      /** Number of terms that are not listed */
      further_terms: number
      /** The first dates recognised in the query */
      dates: Array<{
        /** The date */
        date: string
        /** Terms searched for because of it */
        terms: string[]
      }>
      /** Days that the query names: memories of these days get `date` */
      days: Array<{
        /** The words of the query */
        expression: string
        /** The first day that it means, as an ISO 8601 date */
        from: string
        /** The last day that it means */
        to: string
      }>
    }
    ranking: Ranking
    /** Vector space of the compared vectors; null where none were compared */
    space: string | null
    /** Best lexical score: a similarity of 1 adds one and a half times as much */
    best_words: number
    /** How many memories each step kept */
    candidates: {
      /** Memories that were valid at the time and pass the filter */
      visible: number
      /** Of those, memories with a term of the query, own or lent */
      matched: number
      /** Of those, memories considered for the budget */
      ranked: number
    }
    /** The first memories of the reply, in its order */
    packed: Array<{
      /** Number of the memory */
      ref: number
      /** Rank among the candidates, from 1 */
      rank: number
      /** Score in this retrieval */
      score: number
      /** Terms of the query that the memory contains */
      own: TermScore[]
      /** Terms of the query that only neighbouring memories of its session contain */
      lent: TermScore[]
      /** Contribution of the terms that are not listed */
      further: number
      /** Similarity of the vectors; null where none were compared */
      likeness: {
        /** Dot product of the two vectors, in units of 1/127 */
        dot: number
        /** The dot product over 127 x 127: from -1 to 1, but for rounding */
        cosine: number
        /** Dot product of the more similar neighbour in the session, or 0 */
        neighbour_dot: number
        /** Contribution of both to the score */
        score: number
      } | null
      /** Contribution of a speaker whom the query names */
      speaker: number
      /** Contribution of a day that the query names */
      date: number
      /** What a short question loses */
      question: number
      /** What a piece of a message loses where a better one is nearby */
      message: number
      /** Share of the best score in its session */
      session: number
      /** Contribution of the age of the memory */
      recency: number
    }>
    /** The best memories that were left out, by rank; hidden ones last */
    dropped: Array<{
      /** Number of the memory */
      ref: number | null
      /** Rank among the candidates, from 1 */
      rank: number | null
      /** Score in this retrieval */
      score: number | null
      /** Tokens of the content, counted with the store's tokenizer */
      token_count: number | null
      /**
       * `over_budget`: longer than the rest of the budget. `below_min_score`, `beyond_top_k`:
       * excluded by the request. `below_min_confidence`: by the request, or because no memory is
       * about the query. `duplicate`: a better ranked memory has exactly its content.
       * `budget_filled`: the budget was spent before it was considered. `hidden`: being erased, so
       * nothing of it is shown.
       */
      reason: 'over_budget' | 'below_min_score' | 'below_min_confidence' | 'beyond_top_k' | 'duplicate' | 'budget_filled' | 'hidden'
    }>
  }
}

/** The reply of `memory.stats`. */
export type MemoryStatsReply = {
  /** Id of the store */
  store_id: string
  /** Memories, superseded ones included */
  facts: number
  /** Memories that have not been superseded */
  current: number
  /** Memories that have been superseded */
  superseded: number
  /** Tokens of all memories */
  tokens: number
  /** Memories that were erased */
  erased: number
  /** How many memories have a vector */
  vectors: {
    /** Vector space of the store's embedder; null without an embedder */
    space: string | null
    /** Memories with a vector of this space */
    embedded: number
    /** Memories without a vector of this space */
    missing: number
  }
  /** The search index of this process */
  index: {
    /** State of the index */
    state: 'absent' | 'building' | 'ready'
    /** Memories in the index */
    facts: number
    /** Memory the index takes in this process */
    bytes: number
  }
  /** Always true */
  batching_enabled: true
  /** Writes waiting for their batch */
  pending: number
  /** Writes received since this process started */
  total_submitted: number
  /** Writes committed since this process started */
  total_committed: number
  /** Batches committed since this process started */
  total_batches: number
  /** Mean number of writes in a batch */
  avg_batch_size: number
  /**
   * Current memories with a near duplicate: another current memory of the namespace that shares
   * nine tenths of the distinct words of both. Null until counted.
   */
  near_duplicates: number | null
  /**
   * Current memories that no retrieval has returned, not counting retrievals of the last seconds in
   * other processes. Null until counted.
   */
  never_retrieved: number | null
}

/** The body of `memory.supersede`. */
export type MemorySupersedeBody = {
  /** The memory to replace */
  old_ref: number
  /** Content of the memory */
  content: string
  /**
   * Options; each takes precedence over the field of its name beside it, but two different expiries
   * are refused
   */
  options?: WriteOptions | null
  /** From when the content is true; default: now */
  valid_from?: string | null
  /**
   * When the memory expires: from then on it is hidden, and within ten minutes erased; after
   * `valid_from`; default: never
   */
  expires_at?: string | null
  /** Instead of `expires_at`: seconds from now until the memory expires */
  ttl_s?: number | null
  /** Up to 16 KiB of JSON, 8 levels deep */
  metadata?: { [key: string]: unknown } | null
  /** Same as `namespace` */
  tenant_id?: string | null
  /** Namespace within the tenant; default: the root */
  namespace?: string | null
}

/** The reply of `memory.supersede`. */
export type MemorySupersedeReply = {
  /** Number of the memory */
  ref: number
  /** Hash of the content; null once the memory has expired or is erased */
  content_hash: string | null
  status: WriteStatus
  /** A current memory with exactly this content */
  duplicate_of: number | null
  /** Position in the audit log */
  log_seq: number
  /** Tokens of the content, counted with the store's tokenizer */
  token_count: number
  /** The memory that was replaced */
  old_ref: number
  /** `old_ref` is not in this store and namespace, so this was a plain write */
  warning?: "unknown_ref"
}

/** The body of `memory.write`. */
export type MemoryWriteBody = WriteRequest

/** The reply of `memory.write`. */
export type MemoryWriteReply = {
  /** Number of the memory */
  ref: number
  /** Hash of the content; null once the memory has expired or is erased */
  content_hash: string | null
  status: WriteStatus
  /** A current memory with exactly this content */
  duplicate_of: number | null
  /** Position in the audit log */
  log_seq: number
  /** Tokens of the content, counted with the store's tokenizer */
  token_count: number
}

/** The body of `memory.write_batch`. */
export type MemoryWriteBatchBody = {
  /** The memories to write */
  items: WriteRequest[]
}

/** The reply of `memory.write_batch`. */
export type MemoryWriteBatchReply = WrittenBatch

/** The reply of `monitoring.stats`. */
export type MonitoringStatsReply = {
  /** Always `ok` */
  status: "ok"
  /** Version of the service */
  version: string
  /** Seconds since the process started */
  uptime_seconds: number
  /** When this process started */
  started_at: string
  /** Id of the tenant; null for an operator, who sees all tenants */
  tenant_id: string | null
  /** Stores the caller may use */
  stores: {
    /** Stores that are not being deleted */
    active: number
  }
  /** Memories in those stores, superseded ones included */
  memories: number
  /** Decisions on record */
  decisions: number
  /** Erasure certificates */
  certificates: number | null
  /** Entries of the audit log */
  log_size: number | null
  /** Usage in the current calendar month */
  usage_this_month: Usage | null
  /** The same numbers under the names that dashboards read */
  metrics: {
    /** Always true */
    available: boolean
    /** Memory operations in this calendar month */
    memory_operations: number | null
    /** Same as `decisions` */
    decisions_logged: number
    /** Same as `certificates` */
    erasure_certificates: number | null
  }
  /** Number of tenants; operators only */
  tenants?: number
  /** Numbers of this process; operators only */
  process?: {
    /** Resident memory of the process in bytes */
    rss_bytes: number
    /** Used JavaScript heap in bytes */
    heap_used_bytes: number
    /** Database engine */
    engine: string
    /** Database commits since the process started */
    commits: number
    /** Units of work since the process started */
    units: number
    /** Units of work that wait for the writer */
    queued: number
  }
}

/** The body of `offboarding.destroy_key`. */
export type OffboardingDestroyKeyBody = {
  /** The text `destroy ` followed by the id of the tenant */
  confirm: string
  /** Legal basis; permanently part of the certificate, so name no person */
  legal_basis?: string | null
  /** Who asks; permanently part of the certificate, so name no person */
  requested_by?: string | null
}

/** The reply of `offboarding.destroy_key`. */
export type OffboardingDestroyKeyReply = Destruction

/** The reply of `offboarding.destruction`. */
export type OffboardingDestructionReply = Destruction

/** The body of `orchestrator.approve_action`. */
export type OrchestratorApproveActionBody = ResumeRequest

/** The reply of `orchestrator.approve_action`. */
export type OrchestratorApproveActionReply = AgentAction

/** The body of `orchestrator.begin_step`. */
export type OrchestratorBeginStepBody = {
  /** Agent of the step; default: that of the run */
  agent_id?: string | null
  /** Input of the step */
  input_text?: string | null
  /** Step whose output is the input */
  input_from?: string | null
  /** Model; default: that of the agent */
  model_id?: string | null
  /** Store to read; default: the first of the agent */
  store_id?: string | null
  /** What to search; default: the input */
  query?: string | null
  /** Tokens of memory to retrieve */
  budget_tokens?: number | null
  /** Tokens to reserve, in and out */
  max_tokens?: number | null
  /** Cost to reserve, in millionths */
  max_cost_micro?: number | null
  /** Seconds until the permit ends */
  permit_s?: number
}

/** The reply of `orchestrator.begin_step`. */
export type OrchestratorBeginStepReply = StepPermit

/** The accepted of `orchestrator.begin_step`. */
export type OrchestratorBeginStepAccepted = WaitingActionReply

/** The reply of `orchestrator.bundle`. */
export type OrchestratorBundleReply = RunBundleLine

/** The body of `orchestrator.call_tool`. */
export type OrchestratorCallToolBody = {
  /** Name of the tool */
  tool: string
  /** Arguments, exactly as the tool will get them */
  args?: { [key: string]: unknown }
  /** What repeating it does */
  effect?: ToolEffect
}

/** The reply of `orchestrator.call_tool`. */
export type OrchestratorCallToolReply = RunCall

/** The accepted of `orchestrator.call_tool`. */
export type OrchestratorCallToolAccepted = WaitingActionReply

/** The body of `orchestrator.cancel_run`. */
export type OrchestratorCancelRunBody = {
  /**
   * Whether to undo what its tools did; default: as the run was started. `false` also ends the
   * undoing of a run that is `compensating`
   */
  compensate?: boolean | null
}

/** The reply of `orchestrator.cancel_run`. */
export type OrchestratorCancelRunReply = Run

/** The body of `orchestrator.complete_step`. */
export type OrchestratorCompleteStepBody = {
  /** What the model answered */
  output: string
  /** Results of the tool calls of the step */
  calls?: Array<{
    call_id: string
    /** Result of the tool */
    result: string
    /** Whether the tool failed */
    failed?: boolean
  }> | null
  /** Tokens of the prompt */
  tokens_in: number
  /** Tokens of the output */
  tokens_out: number
  /** Cost in millionths of the currency; default: as reserved */
  cost_micro?: number | null
  /** Version of the model that answered */
  model_version?: string | null
  /** Whether this step completes the run */
  final?: boolean
}

/** The reply of `orchestrator.complete_step`. */
export type OrchestratorCompleteStepReply = {
  /** The step */
  step: RunStep
  /** The run after it */
  run: Run
  /** The receipt */
  receipt: RunReceipt
}

/** The body of `orchestrator.create_agent`. */
export type OrchestratorCreateAgentBody = {
  /** Unique among the agents of the tenant */
  name: string
  /** What it is for */
  role?: AgentRole
  /** Model that it calls unless a step names another */
  model_id: string
  /** What it does */
  description?: string | null
  /** Instructions for the model */
  system_prompt?: string | null
  /** Stores that its steps may read; empty: every store */
  memory_stores?: string[] | null
  /** Instead of `memory_stores`, if there is only one */
  store_id?: string | null
  /** Models that a managed run calls, in this order, if `model_id` fails */
  fallback_models?: string[] | null
  /** Names of tools that it may call; empty: every tool */
  tools?: string[] | null
  /** Steps of a run that it starts */
  max_steps?: number | null
  /** Maximum tokens of one step, input and output */
  max_tokens_per_step?: number | null
  /** Temperature for the model */
  temperature?: number | null
}

/** The reply of `orchestrator.create_agent`. */
export type OrchestratorCreateAgentReply = Agent

/** The reply of `orchestrator.delete_agent`. */
export type OrchestratorDeleteAgentReply = {
  /** Always true */
  deleted: true
  agent_id: string
}

/** The reply of `orchestrator.get_action`. */
export type OrchestratorGetActionReply = AgentAction

/** The reply of `orchestrator.get_agent`. */
export type OrchestratorGetAgentReply = Agent

/** The reply of `orchestrator.get_call`. */
export type OrchestratorGetCallReply = RunCallTexts

/** The reply of `orchestrator.get_receipt`. */
export type OrchestratorGetReceiptReply = RunReceipt

/** The reply of `orchestrator.get_run`. */
export type OrchestratorGetRunReply = {
  run_id: string
  /** Id of the tenant */
  tenant_id: string
  /** Its agent, or the first of its workflow */
  agent_id: string
  /** Id of the workflow; null: the run is of one agent */
  workflow_id: string | null
  /** Who asks the models */
  executor: RunExecutor
  /** State of the run */
  state: RunState
  /** Reason code if it ended other than completed */
  termination_reason: RunReason | null
  /** What its steps may use */
  budget: RunBudget
  /** What ended steps used, as reported, or reserved where nobody reported */
  spent: RunUse
  /** What steps under way may still use */
  reserved: RunUse
  /** What becomes of what it did when it ends other than completed */
  on_failure: OnFailure
  /** How much was undone; null: no compensation was requested */
  compensation: Compensation | null
  /** Deadline of the compensation; null: no compensation was requested */
  compensation_deadline_at: string | null
  /** Why the compensation stopped early; null: it did not */
  compensation_stopped: RunReason | null
  /** Maximum number of steps */
  max_steps: number
  /** Number of steps so far */
  steps_total: number
  /** Receipts that were signed */
  receipts: number
  /** SHA-256 of the newest receipt; null: none yet */
  last_receipt_digest: string | null
  /** Id of the key that started it */
  started_by: string
  /** When it ends at the latest */
  deadline_at: string
  /** When it was created */
  created_at: string
  /** When it ended */
  ended_at: string | null
  /** Its steps, oldest first */
  steps: RunStep[]
  /** Of a run that compensates: what its tools did, newest first */
  undone: RunUndo[]
}

/** The reply of `orchestrator.get_step`. */
export type OrchestratorGetStepReply = StepPermit

/** The query of `orchestrator.list_actions`. */
export type OrchestratorListActionsQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `orchestrator.list_actions`. */
export type OrchestratorListActionsReply = {
  /** The items of this page */
  actions: AgentAction[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The query of `orchestrator.list_agents`. */
export type OrchestratorListAgentsQuery = {
  /** Returns only enabled agents */
  enabled_only?: boolean
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `orchestrator.list_agents`. */
export type OrchestratorListAgentsReply = {
  /** The items of this page */
  agents: Agent[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The reply of `orchestrator.list_roles`. */
export type OrchestratorListRolesReply = {
  /** Every role */
  roles: RoleChoice[]
}

/** The query of `orchestrator.list_runs`. */
export type OrchestratorListRunsQuery = {
  /** Only those in this state */
  state?: RunState
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `orchestrator.list_runs`. */
export type OrchestratorListRunsReply = {
  /** The items of this page */
  runs: Run[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The reply of `orchestrator.list_steps`. */
export type OrchestratorListStepsReply = {
  run_id: string
  /** Its steps */
  steps: RunStepTexts[]
  /** Number of steps */
  count: number
}

/** The body of `orchestrator.propose`. */
export type OrchestratorProposeBody = {
  /** Name of the tool */
  tool: string
  /** Arguments, exactly as the tool will get them */
  args?: { [key: string]: unknown }
  /** What repeating it does */
  effect?: ToolEffect
  /** Why the agent wants it: the input of the step */
  reason?: string | null
}

/** The reply of `orchestrator.propose`. */
export type OrchestratorProposeReply = ActionProposal

/** The reply of `orchestrator.receipts`. */
export type OrchestratorReceiptsReply = {
  run_id: string
  /** One for each ended step */
  receipts: RunReceipt[]
  /** Number of receipts */
  count: number
}

/** The body of `orchestrator.reject_action`. */
export type OrchestratorRejectActionBody = ResumeRequest

/** The reply of `orchestrator.reject_action`. */
export type OrchestratorRejectActionReply = RejectedAction

/** The body of `orchestrator.replay`. */
export type OrchestratorReplayBody = {
  /** Maximum tokens, input and output; default: those of the step */
  max_tokens?: number | null
  /** Maximum cost in millionths of the currency; default: that of the step */
  max_cost_micro?: number | null
}

/** The reply of `orchestrator.replay`. */
export type OrchestratorReplayReply = ReplayVerdict

/** The body of `orchestrator.report_call`. */
export type OrchestratorReportCallBody = {
  /** Result of the tool */
  result: string
  /** Whether the tool failed */
  failed?: boolean
}

/** The reply of `orchestrator.report_call`. */
export type OrchestratorReportCallReply = RunCall

/** The body of `orchestrator.resolve_call`. */
export type OrchestratorResolveCallBody = {
  /** Whether the tool acted */
  happened: boolean
  /** What it answered, for the model */
  result?: string | null
}

/** The reply of `orchestrator.resolve_call`. */
export type OrchestratorResolveCallReply = RunCall

/** The body of `orchestrator.start_run`. */
export type OrchestratorStartRunBody = {
  /** Agent that it starts with; or `workflow_id` */
  agent_id?: string | null
  /** Workflow that it executes, as `managed` */
  workflow_id?: string | null
  /** Input of the run */
  input_text?: string | null
  /** Budget of its steps; default: no limit */
  budget?: RunBudget | null
  /** Seconds until it ends at the latest */
  deadline_s?: number
  /** Of a `managed` run that ends other than completed; default: `stop` */
  on_failure?: OnFailure | null
  /** Who asks the models; default: `client`, of a workflow `managed` */
  executor?: RunExecutor
}

/** The reply of `orchestrator.start_run`. */
export type OrchestratorStartRunReply = Run

/** The reply of `orchestrator.stats`. */
export type OrchestratorStatsReply = {
  /** Agents */
  agents_total: number
  /** Agents that are enabled */
  agents_active: number
  /** Runs */
  runs_total: number
  /** Runs that have not ended */
  runs_active: number
  /** Runs by state */
  runs: Counts
  /** Steps */
  steps_total: number
  /** Steps that a policy or a person denied */
  steps_denied: number
  /** Steps that required approval */
  steps_escalated: number
  /** Calls of tools */
  calls_total: number
  /** Calls that a policy or a person denied */
  calls_denied: number
  /** Calls that required approval */
  calls_escalated: number
  /** Receipts that were signed */
  receipts_total: number
  /** Tokens that runs have used */
  tokens_total: number
  /** Cost of runs, in millionths of the currency */
  cost_micro_total: number
}

/** The body of `orchestrator.update_agent`. */
export type OrchestratorUpdateAgentBody = {
  /** Unique among the agents of the tenant */
  name?: string | null
  /** What it is for */
  role?: AgentRole | null
  /** Model that it calls unless a step names another */
  model_id?: string | null
  /** What it does */
  description?: string | null
  /** Instructions for the model */
  system_prompt?: string | null
  /** Stores that its steps may read; empty: every store */
  memory_stores?: string[] | null
  /** Instead of `memory_stores`, if there is only one */
  store_id?: string | null
  /** Models that a managed run calls, in this order, if `model_id` fails */
  fallback_models?: string[] | null
  /** Names of tools that it may call; empty: every tool */
  tools?: string[] | null
  /** Steps of a run that it starts */
  max_steps?: number | null
  /** Maximum tokens of one step, input and output */
  max_tokens_per_step?: number | null
  /** Temperature for the model */
  temperature?: number | null
  /** Whether it may begin steps */
  enabled?: boolean | null
}

/** The reply of `orchestrator.update_agent`. */
export type OrchestratorUpdateAgentReply = Agent

/** The reply of `orchestrator.verify`. */
export type OrchestratorVerifyReply = {
  run_id: string
  status: RunVerdictStatus
  /** Receipts that are valid and follow each other, from the first */
  steps_verified: number
  /** First step whose receipt is not; null: none */
  tampered_at_step: number | null
  /** The check that failed; null: none did */
  reason: string | null
}

/** The reply of `platform.health`. */
export type PlatformHealthReply = {
  /** Always `ok` */
  status: "ok"
  /** Version of the service */
  version: string
}

/** The reply of `platform.healthz`. */
export type PlatformHealthzReply = {
  /** Always `ok` */
  status: "ok"
  /** Seconds since the process started */
  uptime_seconds: number
  /** When this process started */
  started_at: string
  /** Version of the service */
  version: string
}

/** The reply of `platform.readyz`. */
export type PlatformReadyzReply = {
  /** Always `ok` */
  status: "ok"
  /** State of the database, its disk, the keyring, the audit log and the clock */
  checks: {
    database: CheckState
    storage: StorageState
    keyring: CheckState
    log: CheckState
    clock: ClockState
  }
  /** Null while `checks.clock` is `ok` */
  clock_ahead: ClockAhead | null
  /** Seconds since the process started */
  uptime_seconds: number
}

/** The reply of `provenance.block`. */
export type ProvenanceBlockReply = {
  /** Id of the corpus */
  corpus_id: string
  /** Merkle root over the sources */
  merkle_root: string
  /** SHA-256 over name, sources, processing, attestations and root */
  corpus_hash: string
  /** Ids, in the order of the leaves */
  sources: string[]
}

/** The reply of `provenance.get`. */
export type ProvenanceGetReply = Corpus

/** The query of `provenance.list`. */
export type ProvenanceListQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `provenance.list`. */
export type ProvenanceListReply = {
  /** The items of this page */
  corpora: Corpus[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The query of `provenance.proof`. */
export type ProvenanceProofQuery = {
  source_id: string
}

/** The reply of `provenance.proof`. */
export type ProvenanceProofReply = {
  /** Whether the source is in the corpus */
  included: boolean
  /** Id of the corpus */
  corpus_id: string
  /** Id of the source */
  source_id: string
  /** Why the source is not included */
  reason?: string
  /** RFC 6962 leaf hash of the source as shown */
  leaf?: string
  /** Position of the leaf, from 0 */
  leaf_index?: number
  /** Number of leaves */
  tree_size?: number
  /** Inclusion proof, from the sibling of the leaf upwards */
  audit_path?: string[]
  /** The same path as pairs of side and hash; `L`: the sibling is on the left */
  proof?: Array<string[]>
  /** Merkle root over the sources */
  merkle_root?: string
  /** The source */
  source?: { [key: string]: unknown }
}

/** The body of `provenance.register`. */
export type ProvenanceRegisterBody = {
  /** Name of the corpus */
  name: string
  /** The sources, in the order of their leaves */
  sources: Array<{
    id: string
    /** Licence of the source; this or `lawful_basis` must not be blank */
    license?: string | null
    /** Lawful basis for using the source */
    lawful_basis?: string | null
    /** SHA-256 of the content */
    content_hash?: string | null
    /** Number of records */
    record_count?: number | null
  }>
  /** Statements on the corpus; `representativeness` and `bias_examination` must not be blank */
  attestations?: { [key: string]: unknown } | null
  /** Processing steps; not interpreted */
  processing?: unknown[] | null
  /** Stored as given and not interpreted */
  metadata?: { [key: string]: unknown } | null
}

/** The reply of `provenance.register`. */
export type ProvenanceRegisterReply = Corpus

/** The reply of `provenance.stats`. */
export type ProvenanceStatsReply = Counts

/** The reply of `provenance.verify`. */
export type ProvenanceVerifyReply = {
  /** Whether every check passed */
  passed: boolean
  /**
   * Checks by name, among them `signature`, `merkle_consistent`, `sources_consistent` and `cleared`
   */
  checks: CheckResults
  /** The first check that failed, in words; null if all passed */
  reason: string | null
  /** Merkle root over the sources */
  merkle_root: string
  /** SHA-256 over name, sources, processing, attestations and root */
  corpus_hash: string
  /** What this verification cannot show */
  not_checked: string[]
}

/** The reply of `reports.delete`. */
export type ReportsDeleteReply = {
  /** Always true */
  deleted: true
  /** Id of the report */
  report_id: string
  /** When the report was deleted */
  deleted_at: string
}

/** The query of `reports.download`. */
export type ReportsDownloadQuery = {
  format?: ReportFormat
}

/** The reply of `reports.download`. */
export type ReportsDownloadReply = Report | AssessmentResults

/** The reply of `reports.download_format`. */
export type ReportsDownloadFormatReply = Report | AssessmentResults

/** The reply of `reports.frameworks`. */
export type ReportsFrameworksReply = {
  /** The frameworks */
  frameworks: Array<{
    type: ReportType
    /** Name of the framework */
    name: string
    /** Official reference of the regulation */
    regulation: string
    /** Articles, as the framework numbers them */
    articles: string[]
    /** The articles in detail */
    catalogue: Array<{
      /** Name of the section in a report */
      key: string
      framework: ReportFramework
      /** Article of the framework */
      article: string
      /** Title of the article */
      title: string
      /** Day from which the article applies */
      in_force_from: string | null
      /** Day until which the article applies */
      in_force_to: string | null
      /** Main source */
      source: CatalogueSource
      /** All sources */
      sources: CatalogueSource[]
      /** Whether two sources agree */
      verified: boolean
      /** Kinds of evidence */
      evidence: string[]
      /** How much of the article can be shown from records */
      automation: 'full' | 'partial' | 'manual'
      /** What people still have to provide */
      not_covered: string
    }>
  }>
  /** Version of the catalogue */
  catalogue_version: string
  /** What each kind of evidence is */
  evidence: { [key: string]: string }
}

/** The body of `reports.generate`. */
export type ReportsGenerateBody = {
  /** What to report on; default: `framework`, or `full_audit` */
  report_type?: ReportType
  /** Same as `report_type` */
  framework?: ReportType
  /** Length of the period up to `to` or now; default 30 if `from` is absent too */
  period_days?: number
  /** Start of the period */
  from?: string
  /** End of the period, not included and not in the future; today ends now */
  to?: string
  /** Log position of an earlier report, to get the same content; default: the newest */
  log_seq?: number
  /** Title of the report */
  title?: string
  /** Replies 202 at once and generates the report as a job */
  background?: boolean
}

/** The reply of `reports.generate`. */
export type ReportsGenerateReply = Report

/** The accepted of `reports.generate`. */
export type ReportsGenerateAccepted = {
  /** The report is being generated */
  status: "generating"
  /** `GET /v1/reports/{report_id}` returns it once the job is done */
  report_id: string
  /** Id of the job */
  job_id: string
  report_type: ReportType
  /** Start of the period */
  period_start: string
  /** End of the period, not included */
  period_end: string
  /** Last log entry that is counted */
  log_seq: number
}

/** The reply of `reports.get`. */
export type ReportsGetReply = Report

/** The query of `reports.list`. */
export type ReportsListQuery = {
  /** Also returns deleted reports */
  include_deleted?: boolean
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `reports.list`. */
export type ReportsListReply = {
  /** The items of this page */
  reports: Array<{
    /** Id of the report */
    report_id: string
    /** Id of the tenant */
    tenant_id: string
    report_type: ReportType
    /** Same as `report_type` */
    framework: ReportType
    /** Title of the report; null once deleted */
    title: string | null
    /** Status of the report */
    status: 'complete' | 'deleted'
    /** Finding over all sections */
    overall_status: ReportFinding
    /** Same as `overall_status` */
    overall_finding: ReportFinding
    /** Start of the period */
    period_start: string
    /** End of the period, not included */
    period_end: string
    /** Last log entry that is counted */
    log_seq: number
    /** SHA-256 over the canonical JSON of `content` */
    content_hash: string
    /** Bytes of the canonical JSON of `content` */
    file_size_bytes: number
    /** When the report was generated */
    generated_at: string
    /** Same as `generated_at` */
    created_at: string
    /** When the report was deleted */
    deleted_at: string | null
  }>
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The reply of `reports.stats`. */
export type ReportsStatsReply = {
  /** Reports, deleted ones included */
  total_reports: number
  /** Reports with their content */
  complete: number
  /** Deleted reports */
  deleted: number
  /** Types of reports generated */
  frameworks_used: ReportType[]
  /** When the last report was generated */
  last_report: string | null
}

/** The reply of `retention.get`. */
export type RetentionGetReply = Retention

/** The query of `retention.holds`. */
export type RetentionHoldsQuery = {
  /** Returns only holds that are in force */
  standing?: boolean
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `retention.holds`. */
export type RetentionHoldsReply = {
  /** The items of this page */
  holds: Hold[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The body of `retention.place_hold`. */
export type RetentionPlaceHoldBody = {
  /** Why the hold is placed */
  reason: string
  /** The legal matter */
  matter?: string | null
  /** End of the hold; default: until it is released */
  until?: string | null
}

/** The reply of `retention.place_hold`. */
export type RetentionPlaceHoldReply = {
  /** Id of the legal hold */
  hold_id: string
  /** Id of the store */
  store_id: string
  /** Why the hold was placed */
  reason: string
  /** The legal matter, as given */
  matter: string | null
  /** When the hold was placed */
  placed_at: string
  /** Id of the key that placed it */
  placed_by: string
  /** End of the hold, not included; null: until it is released */
  until: string | null
  /** When the hold was released */
  released_at: string | null
  /** Id of the key that released it */
  released_by: string | null
  /** Why the hold was released */
  release_reason: string | null
  /** Whether the hold is in force: neither released nor past its end */
  standing: boolean
  /** Log position of the placement */
  placed_log_seq: number
  /** Log position of the release */
  released_log_seq: number | null
  /** Log position of the release, or else of the placement */
  log_seq: number
  /** Memories whose erasure began before the hold and can no longer be stopped */
  already_erasing: number
}

/** The body of `retention.release_hold`. */
export type RetentionReleaseHoldBody = {
  /** Why the hold is released */
  reason?: string | null
}

/** The reply of `retention.release_hold`. */
export type RetentionReleaseHoldReply = Hold

/** The reply of `retention.run`. */
export type RetentionRunReply = {
  /** Id of the job */
  job_id: string
  /** Id of the store */
  store_id: string
  /** Days a memory is kept after it was written */
  retain_days: number
  /** Memories to erase */
  due: number
}

/** The body of `retention.set`. */
export type RetentionSetBody = {
  /** Days to keep a memory after it was written; null: no limit */
  retain_days: number | null
  /** Why memories are kept this long */
  basis?: string | null
}

/** The reply of `retention.set`. */
export type RetentionSetReply = Retention

/** The query of `streams.events`. */
export type StreamsEventsQuery = {
  /** Kinds of events, separated by commas; absent: all */
  events?: string
  /**
   * Where to begin: `head` (what is appended from now on), `start`, the position of the first
   * entry, or the id of the last frame received
   */
  from?: string
  /** `message`: omits `event:`, so that all frames reach `onmessage` */
  format?: 'named' | 'message'
  /** A ticket in place of an API key */
  ticket?: string
}

/** The reply of `streams.events`. */
export type StreamsEventsReply = StreamedEntry

/** The query of `streams.run`. */
export type StreamsRunQuery = {
  /** Id of the last frame received; absent: from the first event of the run */
  from?: string
  /** Whether to stream the text of answers (`step.delta`); needs `decisions:read` */
  deltas?: boolean
  /** `message`: omits `event:`, so that all frames reach `onmessage` */
  format?: 'named' | 'message'
  /** A ticket in place of an API key */
  ticket?: string
}

/** The reply of `streams.run`. */
export type StreamsRunReply = StreamedEntry | StepDelta

/** The body of `streams.ticket`. */
export type StreamsTicketBody = {
  /** The stream it opens: `/v1/events/stream`, or that of a run or workflow */
  path: string
  /** Seconds it can be used */
  ttl_s?: number
}

/** The reply of `streams.ticket`. */
export type StreamsTicketReply = {
  /** Opens one stream; shown once */
  ticket: string
  /** When it can no longer be used */
  expires_at: string
}

/** The query of `streams.workflow`. */
export type StreamsWorkflowQuery = {
  /** Id of the last frame received; absent: from the first event of the run */
  from?: string
  /** Whether to stream the text of answers (`step.delta`); needs `decisions:read` */
  deltas?: boolean
  /** `message`: omits `event:`, so that all frames reach `onmessage` */
  format?: 'named' | 'message'
  /** A ticket in place of an API key */
  ticket?: string
}

/** The reply of `streams.workflow`. */
export type StreamsWorkflowReply = StreamedEntry | StepDelta

/** The query of `subjects.access`. */
export type SubjectsAccessQuery = {
  /** Format of the reply */
  format?: 'ndjson' | 'json' | 'html' | 'pdf'
}

/** The body of `subjects.access`. */
export type SubjectsAccessBody = {
  /** What identifies the person; may be left out where `namespace` is given */
  find?: SubjectFind
  /** Stores to search; default: all stores the key may use */
  store_ids?: string[]
  /** Searches only this namespace; without `find` everything in it matches */
  namespace?: string | null
  /** Whether to search decisions too */
  include_decisions?: boolean
  /** Whether to search registry records, approvals and all other records too */
  include_records?: boolean
  /** When the person asked; default: now */
  received_at?: string
  /** Due date; default: one month after receipt (GDPR Article 12(3)) */
  due_at?: string
}

/** The reply of `subjects.access`. */
export type SubjectsAccessReply = { [key: string]: unknown }

/** The body of `subjects.erase`. */
export type SubjectsEraseBody = {
  /** What identifies the person; may be left out where `namespace` is given */
  find?: SubjectFind
  /** Stores to search; default: all stores the key may use */
  store_ids?: string[]
  /** Searches only this namespace; without `find` everything in it matches */
  namespace?: string | null
  /** Whether to search decisions too */
  include_decisions?: boolean
  /** Whether to search registry records, approvals and all other records too */
  include_records?: boolean
  /** When the person asked; default: now */
  received_at?: string
  /** Due date; default: one month after receipt (GDPR Article 12(3)) */
  due_at?: string
  /** Reports what would be erased */
  preview?: boolean
  /**
   * `digest` of a preview of the same search, required to erase; 409 `subject_changed` if it no
   * longer matches
   */
  expect_digest?: string
  /** Legal basis; permanently part of the certificate, so name no person */
  legal_basis?: string | null
  /** Who asks; permanently part of the certificate, so name no person */
  requested_by?: string | null
}

/** The reply of `subjects.erase`. */
export type SubjectsEraseReply = SubjectRequest

/** The preview of `subjects.erase`. */
export type SubjectsErasePreview = {
  /** Nothing was changed */
  preview: true
  /** What was found */
  found: {
    /** Memories, with all earlier and later versions of each */
    facts: number
    /** Those of them that have been superseded */
    superseded_facts: number
    /** Decisions that used one of them; their copies are redacted too */
    decisions_using: number
    /** Decisions whose own text matches; each is redacted and certified */
    decisions_naming: number
    /** Other records whose texts match; each is redacted and certified */
    texts: number
    /** Those of all of them that a legal hold protects from erasure */
    held: number
    /** Counts by store */
    stores: Array<{
      /** Id of the store */
      store_id: string
      /** Memories in this store */
      facts: number
      /** Those of them that a legal hold protects */
      held: number
    }>
    /** Counts of other records by kind */
    kinds: Array<{
      kind: TextKind
      /** Records of this kind */
      texts: number
      /** Those of them that a legal hold protects */
      held: number
    }>
  }
  /** Some of the memories */
  sample_refs: number[]
  /** Sessions of decisions that were found, to search for with `session_id` */
  session_ids: string[]
  /**
   * Digest of this search and everything it found, of this tenant only; sent as `expect_digest` it
   * must still match
   */
  digest: string
  /** Last log entry when the search began; later writes may be missing */
  log_seq: number
  /** What was searched */
  scanned: {
    /** Memories */
    facts: number
    /** Decisions */
    decisions: number
    /** Other records */
    texts: number
  }
  /** Namespace as requested; null: all namespaces */
  namespace: string | null
  /** Whether decisions were searched */
  include_decisions: boolean
  /** Whether other records were searched */
  include_records: boolean
  /** Places that were searched */
  searched: string[]
  /** Places that were not searched */
  not_searched: string[]
}

/** The body of `subjects.extend`. */
export type SubjectsExtendBody = {
  /** As told to the person; encrypted, and destroyed when the request is done */
  reason: string
}

/** The reply of `subjects.extend`. */
export type SubjectsExtendReply = SubjectRequest

/** The reply of `subjects.get`. */
export type SubjectsGetReply = {
  /** Id of the request of a data subject */
  request_id: string
  /** Id of the tenant */
  tenant_id: string
  kind: SubjectRequestKind
  status: SubjectRequestStatus
  /** Id of the job */
  job_id: string | null
  found: SubjectFound
  /** SHA-256 over the sorted ids of everything found; not the `digest` of a preview */
  digest: string
  /** Last log entry when the search began */
  log_seq: number
  /** HMAC of what was searched for under a salt of the tenant: equal for equal searches */
  find_label: string
  /** When the person asked */
  received_at: string
  /** When the request is due */
  due_at: string
  /** When the due date was extended */
  extended_at: string | null
  /** Whether the due date has passed and the request is not done */
  overdue: boolean
  /** When it was created */
  created_at: string
  /** When the work started */
  started_at: string | null
  /** When the work ended */
  completed_at: string | null
  progress: SubjectProgress
  /** Id of the credential that asked */
  requested_with: string
  /** What was searched for; null once the request is done */
  find: SubjectFind | null
  /** Why the due date was extended; null once the request is done */
  extension_reason: string | null
}

/** The query of `subjects.list`. */
export type SubjectsListQuery = {
  /** Returns only requests of this kind */
  kind?: SubjectRequestKind
  /** Returns only requests with this status */
  status?: SubjectRequestStatus
  /** Returns only requests that are, or are not, overdue */
  overdue?: boolean
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `subjects.list`. */
export type SubjectsListReply = {
  /** The items of this page */
  requests: SubjectRequest[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The query of `subjects.manifest`. */
export type SubjectsManifestQuery = {
  /** Format of the reply */
  format?: 'json' | 'bundle' | 'pdf'
}

/** The reply of `subjects.manifest`. */
export type SubjectsManifestReply = {
  /** Kind of signed record */
  record_kind: "erasure_manifest"
  /** Id of the request of a data subject */
  request_id: string
  /** Id of the tenant */
  tenant_id: string
  /** Kind of request */
  kind: "erase"
  /** Status of the request */
  status: 'done' | 'done_with_holds'
  /** HMAC of what was searched for under a salt of the tenant */
  find_label: string
  /** SHA-256 over the ids of everything found first */
  found_digest: string
  /** What was found first; `texts` is absent where only memories and decisions were searched */
  found: {
    /** Memories, with all earlier and later versions of each */
    facts: number
    /** Those of them that have been superseded */
    superseded_facts: number
    /** Decisions that used one of them; their copies are redacted too */
    decisions_using: number
    /** Decisions whose own text matches; each is redacted and certified */
    decisions_naming: number
    /** Other records whose texts match; each is redacted and certified */
    texts?: number
    /** Those of all of them that a legal hold protects from erasure */
    held: number
  }
  /** What only the later searches found */
  found_later: number
  /** Whether it was searched again at the end */
  searched_again: boolean
  /** Places that were not searched */
  not_searched: string[]
  /** When the person asked */
  received_at: string
  /** When the request was due */
  due_at: string
  /** When the work started */
  started_at: string
  /** When the work ended */
  completed_at: string
  /** Name of the audit log in its checkpoints */
  origin: string
  /** Last log entry when the first search began */
  log_seq: number
  /** Last log entry when the last search began */
  searched_to_seq: number
  /** Number of certificates */
  certificates: number
  /** Merkle root over the certificates */
  certificates_root: string
  /** The outcome of each item */
  entries: Array<{
    /** The memory */
    fact_ref?: number
    /** The decision */
    decision_id?: string
    /** Kind of another record */
    subject_kind?: TextKind
    /** Id of the other record */
    subject_id?: string
    /**
     * `held`: a legal hold protects it, or it is a policy in force or a label in clear. `absent`:
     * it was gone already
     */
    outcome: 'erased' | 'held' | 'absent'
    /** Id of the certificate */
    certificate_id: string | null
    /** SHA-256 of the certificate */
    certificate_digest: string | null
  }>
  /** Ed25519 signature */
  signature: string
  /** Ed25519 public key that signed */
  public_key: string
  /** Id of the signing key */
  key_id: string
}

/** The body of `templates.install`. */
export type TemplatesInstallBody = {
  template_id: string
  /** Reports the outcome and changes nothing */
  dry_run?: boolean
}

/** The reply of `templates.install`. */
export type TemplatesInstallReply = {
  /** Always `success` */
  status: "success"
  /** The outcome */
  data: {
    /** Id of the template */
    template: string
    /** Version of the template */
    version: string
    /** Types of the template that are now registered */
    installed_types_count: number
    /** Whether this was a dry run */
    dry_run: boolean
    /** Types registered by this request; in a dry run, those that would be */
    installed: TypeName[]
    /** Types that were already registered with the same spec */
    already_there: TypeName[]
    /** Types that block the installation; filled only in a dry run */
    conflicts: TypeName[]
  }
}

/** The query of `templates.list`. */
export type TemplatesListQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `templates.list`. */
export type TemplatesListReply = {
  /** The items of this page */
  templates: Array<{
    /** Id of the template */
    id: string
    /** Name of the template */
    name: string
    /** Version of the template */
    version: string
    /** What the template models */
    description: string
  }>
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The body of `tenants.create`. */
export type TenantsCreateBody = {
  /** Name of the tenant */
  name?: string
  plan?: PlanName
}

/** The reply of `tenants.create`. */
export type TenantsCreateReply = {
  /** Id of the tenant */
  tenant_id: string
  /** Same as `tenant_id` */
  id: string
  /** Name of the tenant */
  name: string
  /** Plan of the tenant */
  plan: string
  /** When it was created */
  created_at: string
  status: TenantStatus
  /** When the keys of the tenant were destroyed */
  destroyed_at: string | null
  limits: PlanLimits
  api_key: NewApiKey
}

/** The reply of `tenants.current_usage`. */
export type TenantsCurrentUsageReply = {
  /** Plan of the tenant */
  plan: string
  /** The period that is counted */
  period: {
    /** Start of the period */
    start: string
    /** End of the period, not included */
    end: string
    /** How the period is defined */
    source: 'subscription' | 'calendar_month'
  }
  /** Decisions and judgments on the audit log in the period */
  governed_decisions: number
  /** Governed decisions by kind */
  breakdown: {
    /** Decisions that agents logged */
    logged: number
    /** Judgments that certify */
    certify: number
    /** Judgments that reject */
    reject: number
  }
  /** Governed decisions the plan includes; null: not stated */
  included_allotment: number | null
  /** Always false */
  included_allotment_is_placeholder: boolean
  /** Always false */
  is_placeholder: boolean
  /** Used of `included_allotment`, in percent; null: none is stated */
  pct_used: number | null
  /** `approaching` from 80 % of `included_allotment` on */
  state: 'normal' | 'approaching' | 'at_or_over'
  /** Whether use beyond the plan is billed */
  metered_enabled: boolean
  /** The limits of the plan with their use */
  limits: QuotaUse[]
  /** Position of the newest log entry that is counted; null: none */
  log_seq: number | null
  /** Operations that write or erase */
  writes: number
  /** Operations that read */
  reads: number
  /** Memories erased and decisions redacted, without self-tests */
  deletes: number
  /** Operations that supersede */
  supersedes: number
  /** Bytes written */
  total_bytes: number
  /** Operations of all kinds */
  total_operations: number
  /** Calls by operation id */
  operations: { [key: string]: number }
}

/** The reply of `tenants.get`. */
export type TenantsGetReply = Tenant

/** The reply of `tenants.list`. */
export type TenantsListReply = Tenant[]

/** The reply of `tenants.rotate_key`. */
export type TenantsRotateKeyReply = {
  /** Id of the tenant */
  tenant_id: string
  /** Id of the new key */
  key_id: string
  api_key: NewApiKey
  /** Same as `api_key` */
  new_api_key: NewApiKey
  /** Number of keys that were revoked */
  revoked: number
}

/** The body of `tenants.update`. */
export type TenantsUpdateBody = {
  /** Name of the tenant */
  name?: string
  plan?: PlanName
  /** Limits that replace those of the plan; null: none do */
  overrides?: PlanOverrides | null
}

/** The reply of `tenants.update`. */
export type TenantsUpdateReply = Tenant

/** The query of `tenants.usage`. */
export type TenantsUsageQuery = {
  /** The month to return */
  period?: UsagePeriod
}

/** The reply of `tenants.usage`. */
export type TenantsUsageReply = {
  /** Id of the tenant */
  tenant_id: string
  period: UsagePeriod
  /** Start of the period */
  period_start: string
  /** End of the period, not included */
  period_end: string
  /** Operations that write or erase */
  writes: number
  /** Operations that read */
  reads: number
  /** Memories erased and decisions redacted, without self-tests */
  deletes: number
  /** Operations that supersede */
  supersedes: number
  /** Bytes written */
  total_bytes: number
  /** Operations of all kinds */
  total_operations: number
  /** Calls by operation id */
  operations: { [key: string]: number }
}

/** The body of `webhooks.create`. */
export type WebhooksCreateBody = {
  /** Where deliveries are sent: https, no user name, no fragment */
  url: string
  /** Names of events */
  events: WebhookEvents
  /** What it is for */
  description?: string | null
  /** How deliveries are signed */
  signature?: WebhookSignature
  /** Sends `X-Grafomem-*` headers too */
  compatibility?: boolean
  /** First log position to send; default: the next entry */
  from_seq?: number | null
}

/** The reply of `webhooks.create`. */
export type WebhooksCreateReply = {
  /** Id of the webhook */
  webhook_id: string
  /** Where deliveries are sent; empty once it was erased */
  url: string
  /** Names of events */
  events: WebhookEvents
  /** Whether deliveries are sent */
  enabled: boolean
  /** What it is for */
  description: string
  /** How deliveries are signed */
  signature: WebhookSignature
  /** Whether `X-Grafomem-*` headers are sent too */
  compatibility: boolean
  /** State of the endpoint */
  state: WebhookState
  /** Why it is disabled */
  disabled_reason: WebhookDisabledReason | null
  /** Log position of the next entry to look at */
  cursor_seq: number
  /** Log entries after that position */
  lag: number
  /** When a delivery last succeeded */
  last_success_at: string | null
  /** When the failures in a row began */
  failing_since: string | null
  /** When it was created */
  created_at: string
  /** `whsec_…`, shown only once; null for `v1a` and in a repeated reply */
  secret: string | null
  /** `whpk_…` for `v1a`: the key of this service that signs */
  public_key: string | null
}

/** The reply of `webhooks.delete`. */
export type WebhooksDeleteReply = {
  /** Always true */
  deleted: true
  /** Id of the webhook */
  webhook_id: string
}

/** The query of `webhooks.deliveries`. */
export type WebhooksDeliveriesQuery = {
  /** Only those in this state */
  status?: WebhookDeliveryStatus
  /** Only those of this event */
  event?: string
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `webhooks.deliveries`. */
export type WebhooksDeliveriesReply = {
  /** The items of this page */
  deliveries: WebhookDelivery[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The reply of `webhooks.event_types`. */
export type WebhooksEventTypesReply = {
  /** Names in alphabetical order */
  event_types: string[]
}

/** The reply of `webhooks.get`. */
export type WebhooksGetReply = Webhook

/** The query of `webhooks.list`. */
export type WebhooksListQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `webhooks.list`. */
export type WebhooksListReply = {
  /** The items of this page */
  webhooks: Webhook[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The body of `webhooks.replay`. */
export type WebhooksReplayBody = {
  /** First log position; or name `since` */
  from_seq?: number | null
  /** Entries after this time */
  since?: string | null
  /** Last log position; default: the last entry */
  to_seq?: number | null
  /** Names of events; default: those of the endpoint */
  events?: WebhookEvents | null
}

/** The reply of `webhooks.replay`. */
export type WebhooksReplayReply = {
  /** Id of the job */
  job_id: string
  /** Id of the webhook */
  webhook_id: string
  /** First log position */
  from_seq: number
  /** Last log position */
  to_seq: number
}

/** The reply of `webhooks.retry`. */
export type WebhooksRetryReply = {
  /** Always true */
  retried: true
  /** The new delivery */
  delivery: WebhookDelivery
}

/** The body of `webhooks.rotate_secret`. */
export type WebhooksRotateSecretBody = {
  /** Hours for which the old secret also signs */
  overlap_hours?: number
}

/** The reply of `webhooks.rotate_secret`. */
export type WebhooksRotateSecretReply = {
  /** Id of the webhook */
  webhook_id: string
  /** The new `whsec_…`, shown only once */
  secret: string
  /** Until when the old secret also signs */
  previous_valid_until: string
}

/** The reply of `webhooks.test`. */
export type WebhooksTestReply = {
  /** Always true */
  test: true
  /** The delivery; `pending` if the answer is late */
  delivery: WebhookDelivery
}

/** The body of `webhooks.update`. */
export type WebhooksUpdateBody = {
  /** Where deliveries are sent: https, no user name, no fragment */
  url?: string | null
  /** Names of events */
  events?: WebhookEvents | null
  /** What it is for */
  description?: string | null
  /** Whether deliveries are sent */
  enabled?: boolean | null
}

/** The reply of `webhooks.update`. */
export type WebhooksUpdateReply = Webhook

/** The body of `workflows.create`. */
export type WorkflowsCreateBody = {
  /** What people call it */
  name: string
  /** What it is for */
  description?: string | null
  /** Its agents in order, or those that a supervisor delegates to */
  agent_ids: string[]
  /** How they take turns */
  mode?: WorkflowMode
  /** Agent that delegates, of `supervisor` */
  supervisor_agent_id?: string | null
  /** Rounds of `round_robin` */
  max_rounds?: number | null
  /** Most steps of a run */
  max_total_steps?: number | null
  /** Whether a run is refused while another is active; default: false */
  one_at_a_time?: boolean
}

/** The reply of `workflows.create`. */
export type WorkflowsCreateReply = Workflow

/** The reply of `workflows.delete`. */
export type WorkflowsDeleteReply = {
  /** It is deleted */
  deleted: true
  workflow_id: string
}

/** The reply of `workflows.find_step`. */
export type WorkflowsFindStepReply = WorkflowStep

/** The reply of `workflows.get`. */
export type WorkflowsGetReply = Workflow

/** The query of `workflows.list`. */
export type WorkflowsListQuery = {
  /** Only those in this state */
  status?: WorkflowStatus
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `workflows.list`. */
export type WorkflowsListReply = {
  /** The items of this page */
  workflows: Workflow[]
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The reply of `workflows.receipts`. */
export type WorkflowsReceiptsReply = {
  workflow_id: string
  /** One for each ended step */
  receipts: RunReceipt[]
  /** Number of receipts */
  count: number
}

/** The body of `workflows.resume`. */
export type WorkflowsResumeBody = {
  /** Whether it is approved */
  approved: boolean
  /** Who decides; never the principal of the request */
  approver: string
  /** Why */
  feedback?: string | null
  /** Action to decide on; default: the only one */
  action_id?: string | null
}

/** The reply of `workflows.resume`. */
export type WorkflowsResumeReply = Workflow

/** The body of `workflows.run`. */
export type WorkflowsRunBody = {
  /** Input of the run */
  input_text: string
  /** Seconds to wait for the end of the run */
  timeout_seconds?: number
  /** Budget of its steps; default: no limit */
  budget?: RunBudget | null
}

/** The reply of `workflows.run`. */
export type WorkflowsRunReply = Workflow

/** The accepted of `workflows.run`. */
export type WorkflowsRunAccepted = Workflow

/** The body of `workflows.run_step`. */
export type WorkflowsRunStepBody = {
  /** Agent that is asked */
  agent_id: string
  /** What it is asked */
  input_text: string
  /** Seconds to wait for the end of the run */
  timeout_seconds?: number
}

/** The reply of `workflows.run_step`. */
export type WorkflowsRunStepReply = WorkflowStep

/** The accepted of `workflows.run_step`. */
export type WorkflowsRunStepAccepted = Run

/** The reply of `workflows.terminate`. */
export type WorkflowsTerminateReply = {
  /** The run has ended */
  terminated: true
  workflow_id: string
}

/** The reply of `workflows.verify_chain`. */
export type WorkflowsVerifyChainReply = {
  workflow_id: string
  /** Id of the newest run; null: it has none */
  run_id: string | null
  status: RunVerdictStatus
  /** Receipts that are valid and follow each other, from the first */
  steps_verified: number
  /** First step whose receipt is not; null: none */
  tampered_at_step: number | null
  /** The check that failed; null: none did */
  reason: string | null
  /** The same as `tampered_at_step` */
  tampered_at: number | null
}

/** The reply of `world_model.action_stats`. */
export type WorldModelActionStatsReply = {
  /** Types by kind */
  types: Counts
  /** Actions by status */
  actions: Counts
}

/** The body of `world_model.approve_action`. */
export type WorldModelApproveActionBody = ResumeRequest

/** The reply of `world_model.approve_action`. */
export type WorldModelApproveActionReply = Action

/** The reply of `world_model.get_action`. */
export type WorldModelGetActionReply = Action

/** The query of `world_model.get_type`. */
export type WorldModelGetTypeQuery = {
  /** Version; default: the newest */
  version?: number
}

/** The reply of `world_model.get_type`. */
export type WorldModelGetTypeReply = WorldType

/** The body of `world_model.invoke`. */
export type WorldModelInvokeBody = {
  /** Name of the action type */
  action_name: string
  /**
   * What the action applies to: a name, or a name with its object type where the action requires
   * one
   */
  subject_refs: Array<string | {
    /** Object type of the subject */
    type: string
    /** Name of the subject */
    ref: string
  }>
  /** Parameters of the action */
  params?: { [key: string]: unknown } | null
  /** Under whose authority the caller acts */
  authority?: Authority | null
}

/** The reply of `world_model.invoke`. */
export type WorldModelInvokeReply = Action

/** The accepted of `world_model.invoke`. */
export type WorldModelInvokeAccepted = {
  /** The approval request */
  detail: {
    /** Waits for an approval */
    status: "waiting_hitl"
    /** Id of the approval request */
    request_id: string
    /** When the approval request expires */
    expires_at: string
    /** Id of the action */
    action_id: string
  }
}

/** The query of `world_model.list_actions`. */
export type WorldModelListActionsQuery = {
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `world_model.list_actions`. */
export type WorldModelListActionsReply = {
  /** The items of this page */
  invocations: Array<{
    /** Id of the action */
    action_id: string
    /** Name of the action type */
    action_name: string
    subject_refs: SubjectRefs
    /** Parameters of the action; null where they are large */
    params: { [key: string]: unknown } | null
    /** SHA-256 of the parameters; null until it is invoked */
    params_digest: string | null
    /** Under whose authority the caller acts */
    authority: RecordedAuthority
    /** Name of the action in policies */
    operation: string
    /** `allowed` once the action is invoked */
    gate: "allowed" | null
    type: CheckedType
    /** Id of the tenant */
    tenant_id: string
    status: RecordStatus
    /** Whether its texts were erased; a certificate of erasure names it */
    redacted: boolean
    /** The signed record; null where nothing was issued */
    document: { [key: string]: unknown } | null
    /** SHA-256 of the proposal */
    proposal_digest: string
    /** Id of the approval request; null: none was needed */
    approval_request_id: string | null
    /** The approval decision; null: none was needed, or none yet */
    approval: RecordApproval | null
    /** Why it was not issued */
    reason: string | null
    /** Id of the key that asked */
    requested_by: string
    /** Ed25519 signature in base64 */
    signature: string | null
    /** Key that signed, in base64 */
    public_key: string | null
    /** Same as `public_key` */
    signer_public_key: string | null
    /** Id of the signing key */
    key_id: string | null
    /** When it was created */
    created_at: string
  }>
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The query of `world_model.list_types`. */
export type WorldModelListTypesQuery = {
  /** Returns only types of this kind */
  kind?: WorldTypeKind
  /** Largest number of items in a page */
  limit?: number
  /** Number of items to skip before the page */
  offset?: number
  /** `next_cursor` of the previous page; takes precedence over `offset` */
  cursor?: string
}

/** The reply of `world_model.list_types`. */
export type WorldModelListTypesReply = {
  /** The items of this page */
  types: Array<{
    /** Id of the type, the same for all versions */
    type_id: string
    kind: WorldTypeKind
    /** Name of the type */
    name: string
    /** Definition of the type; null where it is large */
    spec: { [key: string]: unknown } | null
    /** SHA-256 of the spec */
    schema_digest: string
    /** Version of the type, from 1 */
    version: number
    /** Id of this version */
    record_id: string
    /** Whether this is the newest version */
    newest: boolean
    /** Name of the action in policies; null for other kinds */
    operation: string | null
    /** Id of the tenant */
    tenant_id: string
    status: RecordStatus
    /** Whether its texts were erased; a certificate of erasure names it */
    redacted: boolean
    /** Always null in a list */
    document: null
    /** SHA-256 of the proposal */
    proposal_digest: string
    /** Id of the approval request; null: none was needed */
    approval_request_id: string | null
    /** The approval decision; null: none was needed, or none yet */
    approval: RecordApproval | null
    /** Why it was not issued */
    reason: string | null
    /** Id of the key that asked */
    requested_by: string
    /** Ed25519 signature in base64 */
    signature: string | null
    /** Key that signed, in base64 */
    public_key: string | null
    /** Same as `public_key` */
    signer_public_key: string | null
    /** Id of the signing key */
    key_id: string | null
    /** When it was created */
    created_at: string
  }>
  /** Number of items in this page */
  count: number
  /** Largest number of items in a page */
  limit: number
  /** Number of items to skip before the page */
  offset: number
  /** Cursor of the next page; null on the last page */
  next_cursor: string | null
}

/** The body of `world_model.register_type`. */
export type WorldModelRegisterTypeBody = {
  kind: WorldTypeKind
  /** Name of the type; of an action up to 46 letters, digits, `_`, `.`, `:` and `-` */
  name: string
  /**
   * Object: `properties` or a JSON Schema. Link: `from_type` and `to_type`. Action: a trust tier
   * and optional schemas.
   */
  spec: { [key: string]: unknown }
}

/** The reply of `world_model.register_type`. */
export type WorldModelRegisterTypeReply = WorldType

/** The body of `world_model.reject_action`. */
export type WorldModelRejectActionBody = ResumeRequest

/** The reply of `world_model.reject_action`. */
export type WorldModelRejectActionReply = RejectedAction

/** The body of `world_model.validate_link`. */
export type WorldModelValidateLinkBody = {
  /** Name of the link type */
  link_name: string
  /** Object type the link starts from */
  from_type: string
  /** Object type the link leads to */
  to_type: string
  /** Name of the object the link starts from */
  from_id?: string | null
  /** Name of the object the link leads to */
  to_id?: string | null
  /** Existing links of this type */
  existing?: Array<{
    /** Name of the object the link starts from */
    from_id: string
    /** Name of the object the link leads to */
    to_id: string
  }> | null
}

/** The reply of `world_model.validate_link`. */
export type WorldModelValidateLinkReply = {
  /** Whether it is valid */
  valid: boolean
  /** The first eight errors, without any values */
  errors: string[]
  /** Id of the type */
  type_id: string
  /** Version of the type it was checked against */
  version: number
  /** Cardinality of the link type */
  cardinality: 'one_to_one' | 'one_to_many' | 'many_to_one' | 'many_to_many'
  /** What was not checked because names are missing */
  not_checked: string[]
}

/** The body of `world_model.validate_object`. */
export type WorldModelValidateObjectBody = {
  /** Name of the object type */
  type_name: string
  /** The object */
  instance: { [key: string]: unknown }
  /** Version of the type; default: the newest */
  version?: number | null
}

/** The reply of `world_model.validate_object`. */
export type WorldModelValidateObjectReply = {
  /** Whether it is valid */
  valid: boolean
  /** The first eight errors, without any values */
  errors: string[]
  /** Id of the type */
  type_id: string
  /** Version of the type it was checked against */
  version: number
}

/** The reply of `world_model.verify_action`. */
export type WorldModelVerifyActionReply = {
  /** Whether every check passed */
  passed: boolean
  checks: CheckResults
  /** What this verification cannot show */
  not_checked: string[]
  /** The first check that failed, in words; null if all passed */
  reason: string | null
  /** Who did what to which subject, and under what authority */
  attribution: {
    /** The person on whose behalf it was done, as claimed */
    who: string | null
    /** Name of the action type */
    did: string
    to: SubjectRefs
    /** The authority */
    under: {
      /** Reference of the delegation */
      delegation_ref: string | null
      /** Trust tier that applied */
      trust_tier: TrustTier
    }
    /** `allowed` once the action is invoked */
    gate: "allowed" | null
  }
  status: RecordStatus
}

/** The query of `world_model.verify_type`. */
export type WorldModelVerifyTypeQuery = {
  /** Version; default: the newest */
  version?: number
}

/** The reply of `world_model.verify_type`. */
export type WorldModelVerifyTypeReply = {
  /** Whether every check passed */
  passed: boolean
  checks: CheckResults
  /** What this verification cannot show */
  not_checked: string[]
  /** The first check that failed, in words; null if all passed */
  reason: string | null
  kind: WorldTypeKind
  /** Name of the type */
  name: string
  /** Version of the type */
  version: number
}
