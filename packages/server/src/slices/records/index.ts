// The face of the records kit: what every registry stands on.

export { checksOf, normalDigest, verifyDocument, waitingAnswer } from './answers.ts'
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
  saveSettings,
} from './approvals.sql.ts'
export { checkRecords, type LastEntry, type LoggedRecords } from './check.ts'
export { expireRequest } from './expire.ts'
export {
  contentKey,
  findByContent,
  findByName,
  findRecord,
  listRecords,
  nameKey,
} from './find-records.ts'
export { certifyArtifact } from './link.ts'
export { type OpenRecord, openRecords, showRow } from './open-record.ts'
export { principalOf } from './principal.ts'
export {
  answeredBefore,
  insertPrepared,
  type Prepared,
  type Proposal,
  prepare,
  propose,
  RecordTaken,
  refused,
  untilFree,
} from './propose.ts'
export { countByStatus, findLiveRow, listSeries, type RecordRow } from './records.sql.ts'
export type { DeniedBy, Effect, Proposed, Registry } from './registry.ts'
export { type Decision, decisionOf, openRequest, resume } from './resume.ts'
export { kindOf, statusOf } from './row-words.ts'
export { openSealed, sealAgain, sealNew } from './sealed-record.ts'
export { verifySigned } from './sign-record.ts'
export {
  type ClaimedAuthority,
  claimedAuthority,
  effectiveTier,
  recordedAuthority,
  tierRank,
} from './tiers.ts'
