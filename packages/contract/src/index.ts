// The face of the contract package.

export * from './approvals.ts'
export * from './artifacts.ts'
export * from './common.ts'
export * from './compositions.ts'
export * from './decisions.ts'
export * from './erasure.ts'
export * from './events.ts'
export * from './gcrumbs.ts'
export * from './governance.ts'
export * from './jobs.ts'
export * from './keys.ts'
export * from './landing.ts'
export * from './limits.ts'
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
export {
  CAPABILITIES,
  type Capability,
  EMBEDDERS,
  type EmbedderName,
  ExportHeader,
  IMPORT_LINES_MAX,
  ImportLine,
  Memory,
  MemorySource,
  RankedMemory,
  RetrieveRequest,
  Store,
  Superseded,
  TOKENIZERS,
  type WriteOptions,
  WriteRequest,
  Written,
} from './memory-records.ts'
export * from './monitoring.ts'
export * from './operation.ts'
export * from './platform.ts'
export * from './policy-configs.ts'
export * from './provenance.ts'
export * from './records.ts'
export * from './refusals.ts'
export * from './remedies.ts'
export * from './reputation.ts'
export * from './scopes.ts'
export * from './templates.ts'
export * from './tenants.ts'
export * from './world-model.ts'
