// The public interface of the contract package.

export * from './access/billing.ts'
export * from './access/identity.ts'
export * from './access/jobs.ts'
export * from './access/keys.ts'
export * from './access/monitoring.ts'
export * from './access/offboarding.ts'
export { SSO_ALGORITHMS, type SsoConnection } from './access/sso.ts'
export * from './access/tenants.ts'
export {
  Base64,
  Hex16,
  Hex32,
  JsonObject,
  Label,
  Limit,
  NOT_BLANK,
  Nullable,
  page,
  Ref,
  Timestamp,
} from './core/common.ts'
export * from './core/field-descriptions.ts'
export * from './core/limits.ts'
export * from './core/operation.ts'
export * from './core/refusals.ts'
export * from './core/remedies.ts'
export * from './core/scopes.ts'
export * from './erasure/erasure.ts'
export * from './erasure/retention.ts'
export * from './erasure/subjects.ts'
export * from './events/events.ts'
export * from './events/gcrumbs.ts'
export * from './events/streams.ts'
export * from './events/webhooks.ts'
export * from './governance/assurance.ts'
export * from './governance/compliance.ts'
export * from './governance/governance.ts'
export * from './governance/manifold.ts'
export * from './governance/policy-configs.ts'
export * from './governance/reports.ts'
export * from './governance/reputation.ts'
export {
  type AgentScore,
  type Attestation,
  CGR_BULK_ITEMS_MAX,
  CGR_BULK_PAIRS_MAX,
  CGR_CONTEXT_BYTES_MAX,
  CGR_ROTATIONS_PER_CHAIN_MAX,
  type CgrSettings,
  type DecisionRecord,
  DIMENSION_DEFAULT,
  type ExecutionReceipt,
  type GovernedDecisionRequest,
  type InvoicePolicy,
  invoicePolicyDefaults,
  JUDGMENTS,
  JUDGMENTS_PER_REFERENT_MAX,
  OUTCOMES,
  type Outcome,
  type OutcomeRequest,
  REVIEWS_PER_REFERENT_MAX,
  type RecordedOutcome,
  type RecordedReview,
  Referent,
  type ReviewRequest,
  type Rotation,
  type ScoreObject,
  VERIFIABILITY_TAGS,
  VERIFY_BATCH_MAX,
} from './governance/reputation-records.ts'
export * from './memory/decisions.ts'
export * from './memory/items.ts'
export * from './memory/memory.ts'
export {
  DROP_REASONS,
  type DropReason,
  EXPLAIN_DATES_MAX,
  EXPLAIN_DROPPED_MAX,
  EXPLAIN_PACKED_MAX,
  EXPLAIN_TERMS_MAX,
  type Explanation,
} from './memory/memory-explain.ts'
export { MemoryVersion } from './memory/memory-history.ts'
export { type FactBecame, memoryIngestion } from './memory/memory-ingest.ts'
export {
  CAPABILITIES,
  type Capability,
  EMBEDDERS,
  type EmbedderName,
  ExportHeader,
  IMPORT_LINES_MAX,
  ImportLine,
  ItemName,
  LANGUAGES,
  type Language,
  Memory,
  MemorySource,
  RankedMemory,
  RETRIEVE_VIEWS,
  RetrieveRequest,
  type SessionDigest,
  Store,
  SupersedeReply,
  TOKENIZERS,
  type WriteOptions,
  WriteReply,
  WriteRequest,
} from './memory/memory-records.ts'
export * from './orchestrator/llm.ts'
export * from './orchestrator/orchestrator.ts'
export {
  AGENT_ROLES,
  type Agent,
  type AgentAction,
  CALL_STATES,
  COMPENSATIONS,
  ON_FAILURE,
  RUN_EXECUTORS,
  RUN_REASONS,
  RUN_STATES,
  type Run,
  type RunCall,
  type RunStep,
  type RunUndo,
  runLimits,
  STEP_STATES,
  type StepPermit,
  TOOL_EFFECTS,
  WORKFLOW_MODES,
  type WorkflowStep,
} from './orchestrator/orchestrator-records.ts'
export * from './orchestrator/workflows.ts'
export * from './registries/approvals.ts'
export * from './registries/artifacts.ts'
export * from './registries/compositions.ts'
export * from './registries/landing.ts'
export * from './registries/provenance.ts'
export * from './registries/records.ts'
export * from './registries/templates.ts'
export * from './registries/world-model.ts'
