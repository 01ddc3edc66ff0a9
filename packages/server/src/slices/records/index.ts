// The face of the records kit: what every registry stands on.

export { answerWaiting, checksOf, normalizeDigest, verifyDocument } from './answers.ts'
export {
  type ApprovalDecision,
  applyDecision,
  openApprovalContent,
  readDecision,
} from './apply-decision.ts'
export {
  type ApprovalContent,
  type ApprovalSettings,
  approvalOwner,
  contextOf,
  escalationsOf,
  loadSettings,
} from './approval-request.ts'
export {
  type ApprovalPage,
  type ApprovalRow,
  findApproval,
  findSettings,
  listApprovals,
  listOverdue,
  type SettingsRow,
  upsertSettings,
} from './approvals.sql.ts'
export {
  type ClaimedAuthority,
  claimedAuthority,
  effectiveTier,
  principalOf,
  recordedAuthority,
  tierRank,
} from './authority.ts'
export { checkRecords, type LastEntry, type LoggedRecords } from './check.ts'
export { expireRequest } from './expire-requests.ts'
export {
  contentKey,
  findByContent,
  findByName,
  findRecord,
  listRecords,
  nameKey,
} from './find-records.ts'
export { kindOf, type OpenRecord, openRecords, showRow, statusOf } from './open-record.ts'
export {
  findEarlierAnswer,
  insertPrepared,
  type PreparedRecord,
  type ProposalResult,
  prepareRecord,
  proposeRecord,
  RecordTaken,
  recordRefusal,
  untilFree,
} from './propose.ts'
export { certifyArtifact } from './record-events.ts'
export { countByStatus, findLiveByContent, listSeries, type RecordRow } from './records.sql.ts'
export type { AdmittedProposal, DenyingPolicy, RecordEffect, Registry } from './registry.ts'
export { openSealed, sealAgain, sealNew } from './sealed-record.ts'
export { verifySignedDocument } from './sign-record.ts'
