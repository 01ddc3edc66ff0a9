// The public interface of the records kit, from which registries are built.

export {
  answerWaiting,
  checksOf,
  normalizeDigest,
  rejection,
  unsignedReason,
  verifyDocument,
} from './answers.ts'
export { applyDecision } from './apply-decision.ts'
export {
  contextOf,
  escalationsOf,
  loadSettings,
  type OpenApproval,
  openApprovals,
} from './approval-request.ts'
export { findApproval, findSettings, listApprovals, upsertSettings } from './approvals.sql.ts'
export {
  type ClaimedAuthority,
  claimedAuthority,
  effectiveTier,
  recordedAuthority,
  tierRank,
} from './authority.ts'
export { checkRecords, type LoggedRecords } from './check.ts'
export { expireApprovals, recordTextSources, withdrawRequest } from './ended-records.ts'
export {
  findByContent,
  findByName,
  findRecord,
  NAMED_MAX,
  nameKey,
  openRecordsInBatches,
} from './find-records.ts'
export {
  isDocumentLarger,
  kindOf,
  type OpenRecord,
  openRecords,
  showRow,
  statusOf,
} from './open-record.ts'
export {
  findEarlierAnswer,
  insertPrepared,
  type PreparedRecord,
  prepareRecord,
  prepareWaitingRecord,
  proposeRecord,
  RECORD_RETRY,
  recordRefusal,
} from './propose.ts'
export { certifyArtifact } from './record-events.ts'
export {
  countByStatus,
  countTypes,
  findLiveByName,
  findRow,
  findTypeVersion,
  listTypeIds,
  type RecordRow,
} from './records.sql.ts'
export type {
  AdmittedProposal,
  Registry,
  RegistryFields,
  RegistryIdentity,
  TenantRecords,
} from './registry.ts'
export { answerProposal, loadRecord, registryHandlers, registryReads } from './registry-handlers.ts'
