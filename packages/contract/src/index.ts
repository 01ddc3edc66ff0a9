// The face of the contract package.

export * from './approvals.ts'
export * from './artifacts.ts'
export * from './assurance.ts'
export * from './billing.ts'
export {
  Base64,
  Hex16,
  Hex32,
  JsonObject,
  Label,
  Limit,
  Nullable,
  page,
  Ref,
  Timestamp,
} from './common.ts'
export * from './compliance.ts'
export * from './compositions.ts'
export * from './decisions.ts'
export * from './erasure.ts'
export * from './events.ts'
export * from './field-descriptions.ts'
export * from './gcrumbs.ts'
export * from './governance.ts'
export * from './identity.ts'
export * from './items.ts'
export * from './jobs.ts'
export * from './keys.ts'
export * from './landing.ts'
export * from './limits.ts'
export * from './llm.ts'
export * from './manifold.ts'
export * from './memory.ts'
export {
  DROP_REASONS,
  type DropReason,
  EXPLAIN_DATES_MAX,
  EXPLAIN_DROPPED_MAX,
  EXPLAIN_PACKED_MAX,
  EXPLAIN_TERMS_MAX,
  type Explanation,
} from './memory-explain.ts'
export { MemoryVersion } from './memory-history.ts'
export { type FactBecame, memoryIngestion } from './memory-ingest.ts'
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
  NOT_BLANK,
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
} from './memory-records.ts'
export * from './monitoring.ts'
export * from './offboarding.ts'
export * from './operation.ts'
export * from './orchestrator.ts'
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
} from './orchestrator-records.ts'
export * from './policy-configs.ts'
export * from './provenance.ts'
export * from './records.ts'
export * from './refusals.ts'
export * from './remedies.ts'
export * from './reports.ts'
export * from './reputation.ts'
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
} from './reputation-records.ts'
export * from './retention.ts'
export * from './scopes.ts'
export { SSO_ALGORITHMS, type SsoConnection } from './sso.ts'
export * from './streams.ts'
export * from './subjects.ts'
export * from './templates.ts'
export * from './tenants.ts'
export * from './webhooks.ts'
export * from './workflows.ts'
export * from './world-model.ts'
