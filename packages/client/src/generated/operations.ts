// The operation table: one row an operation, for `call`. Generated from the contract by `npm run generate`.

import type { CallOptions, Operation } from '../exchange.ts'
import type { Pending } from '../call-result.ts'
import { type EventFrames, eventFrames } from '../reply-events.ts'
import { type FileReply, file } from '../reply-file.ts'
import { type Lines, type LineSource, lines, sendLines } from '../reply-lines.ts'
import type * as types from './types.ts'

/** Returns one approver. */
export const approvalsApprover: Operation<[approverId: string, options?: CallOptions], Pending<types.ApprovalsApproverReply>> = {
  id: 'approvals.approver',
  method: 'GET',
  path: '/v1/hitl/approvers/{approver_id}',
}

/** Lists approvers, newest first, including revoked ones. */
export const approvalsApprovers: Operation<[query?: types.ApprovalsApproversQuery, options?: CallOptions], Pending<types.ApprovalsApproversReply>> = {
  id: 'approvals.approvers',
  method: 'GET',
  path: '/v1/hitl/approvers',
  takes: 'query',
  items: 'approvers',
}

/** Approves or denies a request with an enrolled approver's signature. */
export const approvalsAttest: Operation<[requestId: string, body: types.ApprovalsAttestBody, options?: CallOptions], Pending<types.ApprovalsAttestReply>> = {
  id: 'approvals.attest',
  method: 'POST',
  path: '/v1/hitl/requests/{request_id}/attest',
  takes: 'body',
}

/** Changes what the tenant requires of approvals. */
export const approvalsChangeSettings: Operation<[body: types.ApprovalsChangeSettingsBody, options?: CallOptions], Pending<types.ApprovalsChangeSettingsReply>> = {
  id: 'approvals.change_settings',
  method: 'PUT',
  path: '/v1/hitl/settings',
  takes: 'body',
}

/** Enrols an approver with an Ed25519 key. */
export const approvalsEnroll: Operation<[body: types.ApprovalsEnrollBody, options?: CallOptions], Pending<types.ApprovalsEnrollReply>> = {
  id: 'approvals.enroll',
  method: 'POST',
  path: '/v1/hitl/approvers',
  takes: 'body',
  idempotent: true,
}

/** Returns an approval request with the full proposal and the bytes to sign. */
export const approvalsRequest: Operation<[requestId: string, options?: CallOptions], Pending<types.ApprovalsRequestReply>> = {
  id: 'approvals.request',
  method: 'GET',
  path: '/v1/hitl/requests/{request_id}',
}

/** Lists approval requests, newest first. */
export const approvalsRequests: Operation<[query?: types.ApprovalsRequestsQuery, options?: CallOptions], Pending<types.ApprovalsRequestsReply>> = {
  id: 'approvals.requests',
  method: 'GET',
  path: '/v1/hitl/requests',
  takes: 'query',
  items: 'requests',
}

/** Revokes an approver with immediate effect. */
export const approvalsRevoke: Operation<[approverId: string, options?: CallOptions], Pending<types.ApprovalsRevokeReply>> = {
  id: 'approvals.revoke',
  method: 'DELETE',
  path: '/v1/hitl/approvers/{approver_id}',
}

/** Returns what the tenant requires of approvals. */
export const approvalsSettings: Operation<[options?: CallOptions], Pending<types.ApprovalsSettingsReply>> = {
  id: 'approvals.settings',
  method: 'GET',
  path: '/v1/hitl/settings',
}

/** Changes the name, the role or the state of an approver. */
export const approvalsUpdateApprover: Operation<[approverId: string, body: types.ApprovalsUpdateApproverBody, options?: CallOptions], Pending<types.ApprovalsUpdateApproverReply>> = {
  id: 'approvals.update_approver',
  method: 'PUT',
  path: '/v1/hitl/approvers/{approver_id}',
  takes: 'body',
}

/** Verifies the signed record of a decision and the approver’s signature in it. */
export const approvalsVerify: Operation<[requestId: string, options?: CallOptions], Pending<types.ApprovalsVerifyReply>> = {
  id: 'approvals.verify',
  method: 'GET',
  path: '/v1/hitl/requests/{request_id}/verify',
}

/** Approves an artifact that waits for an approval. */
export const artifactsApprove: Operation<[artifactId: string, body: types.ArtifactsApproveBody, options?: CallOptions], Pending<types.ArtifactsApproveReply>> = {
  id: 'artifacts.approve',
  method: 'POST',
  path: '/v1/artifacts/{artifact_id}/approve',
  takes: 'body',
  idempotent: true,
}

/** Marks an artifact as certified by an issued landing certificate of the same artifact. */
export const artifactsCertify: Operation<[artifactId: string, body: types.ArtifactsCertifyBody, options?: CallOptions], Pending<types.ArtifactsCertifyReply>> = {
  id: 'artifacts.certify',
  method: 'POST',
  path: '/v1/artifacts/{artifact_id}/certify',
  takes: 'body',
  idempotent: true,
}

/** Returns one artifact. */
export const artifactsGet: Operation<[artifactId: string, options?: CallOptions], Pending<types.ArtifactsGetReply>> = {
  id: 'artifacts.get',
  method: 'GET',
  path: '/v1/artifacts/{artifact_id}',
}

/** Compares digests of layers with the registered ones, in order and number. */
export const artifactsIntegrity: Operation<[artifactId: string, body: types.ArtifactsIntegrityBody, options?: CallOptions], Pending<types.ArtifactsIntegrityReply>> = {
  id: 'artifacts.integrity',
  method: 'POST',
  path: '/v1/artifacts/{artifact_id}/integrity',
  takes: 'body',
  safe: true,
}

/** Lists artifacts, newest first. */
export const artifactsList: Operation<[query?: types.ArtifactsListQuery, options?: CallOptions], Pending<types.ArtifactsListReply>> = {
  id: 'artifacts.list',
  method: 'GET',
  path: '/v1/artifacts',
  takes: 'query',
  items: 'artifacts',
}

/** Registers an artifact. */
export const artifactsRegister: Operation<[body: types.ArtifactsRegisterBody, options?: CallOptions], Pending<types.ArtifactsRegisterReply | types.ArtifactsRegisterAccepted>> = {
  id: 'artifacts.register',
  method: 'POST',
  path: '/v1/artifacts/register',
  takes: 'body',
  idempotent: true,
}

/** Rejects an artifact that waits for an approval. */
export const artifactsReject: Operation<[artifactId: string, body: types.ArtifactsRejectBody, options?: CallOptions], Pending<types.ArtifactsRejectReply>> = {
  id: 'artifacts.reject',
  method: 'POST',
  path: '/v1/artifacts/{artifact_id}/reject',
  takes: 'body',
  idempotent: true,
}

/** Counts artifacts by status. */
export const artifactsStats: Operation<[options?: CallOptions], Pending<types.ArtifactsStatsReply>> = {
  id: 'artifacts.stats',
  method: 'GET',
  path: '/v1/artifacts/stats',
}

/** Verifies the signed document of an artifact and everything derived in it. */
export const artifactsVerify: Operation<[artifactId: string, options?: CallOptions], Pending<types.ArtifactsVerifyReply>> = {
  id: 'artifacts.verify',
  method: 'GET',
  path: '/v1/artifacts/{artifact_id}/verify',
}

/** Returns the newest baseline. */
export const assuranceBaseline: Operation<[options?: CallOptions], Pending<types.AssuranceBaselineReply>> = {
  id: 'assurance.baseline',
  method: 'GET',
  path: '/v1/assurance/baseline',
}

/** Checks the tenant and stores its state as the baseline of later runs. */
export const assuranceCaptureBaseline: Operation<[options?: CallOptions], Pending<types.AssuranceCaptureBaselineReply | types.AssuranceCaptureBaselineAccepted>> = {
  id: 'assurance.capture_baseline',
  method: 'POST',
  path: '/v1/assurance/baseline',
}

/** Creates a schedule that runs checks at an interval. */
export const assuranceCreateSchedule: Operation<[body?: types.AssuranceCreateScheduleBody, options?: CallOptions], Pending<types.AssuranceCreateScheduleReply>> = {
  id: 'assurance.create_schedule',
  method: 'POST',
  path: '/v1/assurance/schedules',
  takes: 'body',
  idempotent: true,
}

/** Deletes a schedule; its runs remain readable. */
export const assuranceDeleteSchedule: Operation<[scheduleId: string, options?: CallOptions], Pending<types.AssuranceDeleteScheduleReply>> = {
  id: 'assurance.delete_schedule',
  method: 'DELETE',
  path: '/v1/assurance/schedules/{schedule_id}',
}

/** Lists differences from the baseline that runs found, newest first. */
export const assuranceDrift: Operation<[query?: types.AssuranceDriftQuery, options?: CallOptions], Pending<types.AssuranceDriftReply>> = {
  id: 'assurance.drift',
  method: 'GET',
  path: '/v1/assurance/drift',
  takes: 'query',
}

/** Returns one run with its results. */
export const assuranceGetRun: Operation<[runId: string, options?: CallOptions], Pending<types.AssuranceGetRunReply>> = {
  id: 'assurance.get_run',
  method: 'GET',
  path: '/v1/assurance/runs/{run_id}',
}

/** Checks the tenant now and compares the results with the baseline. */
export const assuranceRun: Operation<[body?: types.AssuranceRunBody, options?: CallOptions], Pending<types.AssuranceRunReply | types.AssuranceRunAccepted>> = {
  id: 'assurance.run',
  method: 'POST',
  path: '/v1/assurance/run',
  takes: 'body',
}

/** Lists runs, newest first. */
export const assuranceRuns: Operation<[query?: types.AssuranceRunsQuery, options?: CallOptions], Pending<types.AssuranceRunsReply>> = {
  id: 'assurance.runs',
  method: 'GET',
  path: '/v1/assurance/runs',
  takes: 'query',
  items: 'runs',
}

/** Lists the schedules, oldest first, up to 100. */
export const assuranceSchedules: Operation<[options?: CallOptions], Pending<types.AssuranceSchedulesReply>> = {
  id: 'assurance.schedules',
  method: 'GET',
  path: '/v1/assurance/schedules',
}

/** Counts the stored runs by result. */
export const assuranceStats: Operation<[options?: CallOptions], Pending<types.AssuranceStatsReply>> = {
  id: 'assurance.stats',
  method: 'GET',
  path: '/v1/assurance/stats',
}

/** Changes a schedule. */
export const assuranceUpdateSchedule: Operation<[scheduleId: string, body: types.AssuranceUpdateScheduleBody, options?: CallOptions], Pending<types.AssuranceUpdateScheduleReply>> = {
  id: 'assurance.update_schedule',
  method: 'PUT',
  path: '/v1/assurance/schedules/{schedule_id}',
  takes: 'body',
}

/** Cancels the subscription of a tenant. */
export const billingCancel: Operation<[tenantId: string, body?: types.BillingCancelBody, options?: CallOptions], Pending<types.BillingCancelReply>> = {
  id: 'billing.cancel',
  method: 'POST',
  path: '/v1/cloud/billing/cancel/{tenant_id}',
  takes: 'body',
}

/** Opens a checkout page of the payment provider for a plan. */
export const billingCheckout: Operation<[body?: types.BillingCheckoutBody, options?: CallOptions], Pending<types.BillingCheckoutReply>> = {
  id: 'billing.checkout',
  method: 'POST',
  path: '/v1/cloud/billing/checkout',
  takes: 'body',
}

/** Opens the page of the payment provider for invoices and cards. */
export const billingPortal: Operation<[tenantId: string, options?: CallOptions], Pending<types.BillingPortalReply>> = {
  id: 'billing.portal',
  method: 'POST',
  path: '/v1/cloud/billing/portal/{tenant_id}',
}

/** Returns the subscription of a tenant. */
export const billingSubscription: Operation<[tenantId: string, options?: CallOptions], Pending<types.BillingSubscriptionReply>> = {
  id: 'billing.subscription',
  method: 'GET',
  path: '/v1/cloud/billing/subscription/{tenant_id}',
}

/** Takes an event of the payment provider. */
export const billingWebhook: Operation<[body: Uint8Array | string, options?: CallOptions], Pending<types.BillingWebhookReply>> = {
  id: 'billing.webhook',
  method: 'POST',
  path: '/v1/cloud/billing/webhook',
  takes: 'body',
  raw: true,
}

/** Signs the current score of an agent. */
export const cgrAttest: Operation<[body: types.CgrAttestBody, options?: CallOptions], Pending<types.CgrAttestReply>> = {
  id: 'cgr.attest',
  method: 'POST',
  path: '/v1/cgr/attestations',
  takes: 'body',
  idempotent: true,
}

/** Returns the newest attestation of an agent. */
export const cgrAttestation: Operation<[agentHandle: string, query?: types.CgrAttestationQuery, options?: CallOptions], Pending<types.CgrAttestationReply>> = {
  id: 'cgr.attestation',
  method: 'GET',
  path: '/v1/cgr/attestation/{agent_handle}',
  takes: 'query',
}

/** Lists issued attestations, newest first. */
export const cgrAttestations: Operation<[query?: types.CgrAttestationsQuery, options?: CallOptions], Pending<types.CgrAttestationsReply>> = {
  id: 'cgr.attestations',
  method: 'GET',
  path: '/v1/cgr/attestations',
  takes: 'query',
  items: 'attestations',
}

/** Changes what the tenant requires of judgments, outcomes and reviews. */
export const cgrChangeSettings: Operation<[body: types.CgrChangeSettingsBody, options?: CallOptions], Pending<types.CgrChangeSettingsReply>> = {
  id: 'cgr.change_settings',
  method: 'PUT',
  path: '/v1/cgr/settings',
  takes: 'body',
}

/** Records a governed decision of an agent. */
export const cgrDecide: Operation<[body: types.CgrDecideBody, options?: CallOptions], Pending<types.CgrDecideReply>> = {
  id: 'cgr.decide',
  method: 'POST',
  path: '/v1/governed/decisions',
  takes: 'body',
  idempotent: true,
}

/** Returns the issuer of attestations and its key. */
export const cgrIssuer: Operation<[options?: CallOptions], Pending<types.CgrIssuerReply>> = {
  id: 'cgr.issuer',
  method: 'GET',
  path: '/v1/cgr/issuer',
}

/** Records the outcome of a referent. */
export const cgrOutcome: Operation<[body: types.CgrOutcomeBody, options?: CallOptions], Pending<types.CgrOutcomeReply>> = {
  id: 'cgr.outcome',
  method: 'POST',
  path: '/v1/governed/outcomes',
  takes: 'body',
  idempotent: true,
}

/** Records up to 10,000 outcomes, all or none. */
export const cgrOutcomes: Operation<[body: types.CgrOutcomesBody, options?: CallOptions], Pending<types.CgrOutcomesReply>> = {
  id: 'cgr.outcomes',
  method: 'POST',
  path: '/v1/governed/outcomes/bulk',
  takes: 'body',
  idempotent: true,
}

/** Records a review of the decisions on a referent. */
export const cgrReview: Operation<[body: types.CgrReviewBody, options?: CallOptions], Pending<types.CgrReviewReply>> = {
  id: 'cgr.review',
  method: 'POST',
  path: '/v1/governed/reviews',
  takes: 'body',
  idempotent: true,
}

/** Records up to 10,000 reviews, all or none. */
export const cgrReviews: Operation<[body: types.CgrReviewsBody, options?: CallOptions], Pending<types.CgrReviewsReply>> = {
  id: 'cgr.reviews',
  method: 'POST',
  path: '/v1/governed/reviews/bulk',
  takes: 'body',
  idempotent: true,
}

/** Records that a key of an agent is replaced by another, signed by the old key. */
export const cgrRotate: Operation<[body: types.CgrRotateBody, options?: CallOptions], Pending<types.CgrRotateReply>> = {
  id: 'cgr.rotate',
  method: 'POST',
  path: '/v1/cgr/rotation',
  takes: 'body',
  idempotent: true,
}

/** Lists rotations of keys, oldest first. */
export const cgrRotations: Operation<[query?: types.CgrRotationsQuery, options?: CallOptions], Pending<types.CgrRotationsReply>> = {
  id: 'cgr.rotations',
  method: 'GET',
  path: '/v1/cgr/rotations',
  takes: 'query',
  items: 'rotations',
}

/** Returns the score of one agent by its handle. */
export const cgrScore: Operation<[agentHandle: string, query?: types.CgrScoreQuery, options?: CallOptions], Pending<types.CgrScoreReply>> = {
  id: 'cgr.score',
  method: 'GET',
  path: '/v1/cgr/scores/{agent_handle}',
  takes: 'query',
}

/** Lists the scores of all agents in a dimension, highest first. */
export const cgrScores: Operation<[query?: types.CgrScoresQuery, options?: CallOptions], Pending<types.CgrScoresReply>> = {
  id: 'cgr.scores',
  method: 'GET',
  path: '/v1/cgr/scores',
  takes: 'query',
  items: 'scores',
}

/** Returns what the tenant requires of judgments, outcomes and reviews. */
export const cgrSettings: Operation<[options?: CallOptions], Pending<types.CgrSettingsReply>> = {
  id: 'cgr.settings',
  method: 'GET',
  path: '/v1/cgr/settings',
}

/** Checks up to 500 invoices by rules and records a governed decision for each. */
export const cgrVerifyBatch: Operation<[body: types.CgrVerifyBatchBody, options?: CallOptions], Pending<types.CgrVerifyBatchReply>> = {
  id: 'cgr.verify_batch',
  method: 'POST',
  path: '/v1/governed/verify-batch',
  takes: 'body',
  idempotent: true,
}

/** Returns the content of the conformance badge as JSON. */
export const complianceBadgeJson: Operation<[tenantId: string, options?: CallOptions], Pending<types.ComplianceBadgeJsonReply>> = {
  id: 'compliance.badge_json',
  method: 'GET',
  path: '/v1/cloud/compliance/badge/{tenant_id}.json',
}

/** Returns the conformance badge as an SVG picture. */
export const complianceBadgeSvg: Operation<[tenantId: string, options?: CallOptions], Pending<types.ComplianceBadgeSvgReply>> = {
  id: 'compliance.badge_svg',
  method: 'GET',
  path: '/v1/cloud/compliance/badge/{tenant_id}.svg',
}

/** Lists the conformance audits of a tenant, newest first, as a plain array. */
export const complianceHistory: Operation<[tenantId: string, query?: types.ComplianceHistoryQuery, options?: CallOptions], Pending<types.ComplianceHistoryReply>> = {
  id: 'compliance.history',
  method: 'GET',
  path: '/v1/cloud/tenants/{tenant_id}/compliance',
  takes: 'query',
}

/** Lists the newest conformance audit of each tenant that has one. */
export const complianceStatus: Operation<[query?: types.ComplianceStatusQuery, options?: CallOptions], Pending<types.ComplianceStatusReply>> = {
  id: 'compliance.status',
  method: 'GET',
  path: '/v1/cloud/compliance/status',
  takes: 'query',
  items: 'tenants',
}

/** Approves a composition that waits for an approval, and signs it. */
export const compositionsApprove: Operation<[compositionId: string, body: types.CompositionsApproveBody, options?: CallOptions], Pending<types.CompositionsApproveReply>> = {
  id: 'compositions.approve',
  method: 'POST',
  path: '/v1/compositions/{composition_id}/approve',
  takes: 'body',
  idempotent: true,
}

/** Returns the artifact to register for the composed result. */
export const compositionsArtifact: Operation<[compositionId: string, options?: CallOptions], Pending<types.CompositionsArtifactReply>> = {
  id: 'compositions.artifact',
  method: 'GET',
  path: '/v1/compositions/{composition_id}/artifact',
}

/** Checks members, licences, trust tier and policies of a composition and signs it. */
export const compositionsCompose: Operation<[body: types.CompositionsComposeBody, options?: CallOptions], Pending<types.CompositionsComposeReply | types.CompositionsComposeAccepted>> = {
  id: 'compositions.compose',
  method: 'POST',
  path: '/v1/compositions',
  takes: 'body',
  idempotent: true,
}

/** Returns one composition. */
export const compositionsGet: Operation<[compositionId: string, options?: CallOptions], Pending<types.CompositionsGetReply>> = {
  id: 'compositions.get',
  method: 'GET',
  path: '/v1/compositions/{composition_id}',
}

/** Lists compositions, newest first. */
export const compositionsList: Operation<[query?: types.CompositionsListQuery, options?: CallOptions], Pending<types.CompositionsListReply>> = {
  id: 'compositions.list',
  method: 'GET',
  path: '/v1/compositions',
  takes: 'query',
  items: 'compositions',
}

/** Rejects a composition that waits for an approval. */
export const compositionsReject: Operation<[compositionId: string, body: types.CompositionsRejectBody, options?: CallOptions], Pending<types.CompositionsRejectReply>> = {
  id: 'compositions.reject',
  method: 'POST',
  path: '/v1/compositions/{composition_id}/reject',
  takes: 'body',
  idempotent: true,
}

/** Counts compositions by status. */
export const compositionsStats: Operation<[options?: CallOptions], Pending<types.CompositionsStatsReply>> = {
  id: 'compositions.stats',
  method: 'GET',
  path: '/v1/compositions/stats',
}

/** Verifies the signed document of a composition and everything derived in it. */
export const compositionsVerify: Operation<[compositionId: string, options?: CallOptions], Pending<types.CompositionsVerifyReply>> = {
  id: 'compositions.verify',
  method: 'GET',
  path: '/v1/compositions/{composition_id}/verify',
}

/** Streams every decision as NDJSON, oldest first. */
export const decisionsExport: Operation<[query?: types.DecisionsExportQuery, options?: CallOptions], Lines<types.DecisionsExportReply>> = {
  id: 'decisions.export',
  method: 'GET',
  path: '/v1/decisions/export',
  takes: 'query',
  answer: lines,
}

/** Returns one decision. */
export const decisionsGet: Operation<[decisionId: string, options?: CallOptions], Pending<types.DecisionsGetReply>> = {
  id: 'decisions.get',
  method: 'GET',
  path: '/v1/decisions/{decision_id}',
}

/** Lists decisions, newest first. */
export const decisionsList: Operation<[query?: types.DecisionsListQuery, options?: CallOptions], Pending<types.DecisionsListReply>> = {
  id: 'decisions.list',
  method: 'GET',
  path: '/v1/decisions',
  takes: 'query',
  items: 'decisions',
}

/** Records one decision, encrypted and signed, with its digest on the audit log. */
export const decisionsLog: Operation<[body: types.DecisionsLogBody, options?: CallOptions], Pending<types.DecisionsLogReply>> = {
  id: 'decisions.log',
  method: 'POST',
  path: '/v1/decisions/log',
  takes: 'body',
  idempotent: true,
}

/** Erases the text of a decision and certifies it. */
export const decisionsRedact: Operation<[decisionId: string, body?: types.DecisionsRedactBody, options?: CallOptions], Pending<types.DecisionsRedactReply>> = {
  id: 'decisions.redact',
  method: 'POST',
  path: '/v1/decisions/{decision_id}/redact',
  takes: 'body',
  idempotent: true,
}

/** Returns a decision with the memories that were on record at the time. */
export const decisionsReplay: Operation<[decisionId: string, options?: CallOptions], Pending<types.DecisionsReplayReply>> = {
  id: 'decisions.replay',
  method: 'GET',
  path: '/v1/decisions/{decision_id}/replay',
}

/** Redacts the content of a memory in every decision that used it. */
export const decisionsScrub: Operation<[factRef: number, options?: CallOptions], Pending<types.DecisionsScrubReply>> = {
  id: 'decisions.scrub',
  method: 'DELETE',
  path: '/v1/decisions/scrub/{fact_ref}',
}

/** Returns totals over all decisions. */
export const decisionsStats: Operation<[options?: CallOptions], Pending<types.DecisionsStatsReply>> = {
  id: 'decisions.stats',
  method: 'GET',
  path: '/v1/decisions/stats',
}

/** Returns the certificate of an erased memory. */
export const erasureByFact: Operation<[factRef: number, options?: CallOptions], Pending<types.ErasureByFactReply>> = {
  id: 'erasure.by_fact',
  method: 'GET',
  path: '/v1/erasure/fact/{fact_ref}',
}

/** Returns one certificate. */
export const erasureGet: Operation<[certificateId: string, query?: types.ErasureGetQuery, options?: CallOptions], Pending<types.ErasureGetReply> | Pending<FileReply>> = {
  id: 'erasure.get',
  method: 'GET',
  path: '/v1/erasure/{certificate_id}',
  takes: 'query',
  formats: { pdf: file },
}

/** Erases a memory from every copy and returns a signed certificate. */
export const erasureIssue: Operation<[body: types.ErasureIssueBody, options?: CallOptions], Pending<types.ErasureIssueReply>> = {
  id: 'erasure.issue',
  method: 'POST',
  path: '/v1/erasure/issue',
  takes: 'body',
  idempotent: true,
}

/** Lists certificates, newest first. */
export const erasureList: Operation<[query?: types.ErasureListQuery, options?: CallOptions], Pending<types.ErasureListReply>> = {
  id: 'erasure.list',
  method: 'GET',
  path: '/v1/erasure',
  takes: 'query',
  items: 'certificates',
}

/** Counts certificates by outcome. */
export const erasureStats: Operation<[options?: CallOptions], Pending<types.ErasureStatsReply>> = {
  id: 'erasure.stats',
  method: 'GET',
  path: '/v1/erasure/stats',
}

/** Verifies a stored certificate and its signature against the published keys. */
export const erasureVerify: Operation<[certificateId: string, options?: CallOptions], Pending<types.ErasureVerifyReply>> = {
  id: 'erasure.verify',
  method: 'GET',
  path: '/v1/erasure/{certificate_id}/verify',
}

/** Lists the entries of the audit log, oldest first. */
export const gcrumbsBreadcrumbs: Operation<[query?: types.GcrumbsBreadcrumbsQuery, options?: CallOptions], Pending<types.GcrumbsBreadcrumbsReply>> = {
  id: 'gcrumbs.breadcrumbs',
  method: 'GET',
  path: '/v1/gcrumbs/breadcrumbs',
  takes: 'query',
  items: 'breadcrumbs',
}

/** Returns the last signed checkpoint with its cosignatures, as a signed note. */
export const gcrumbsCheckpoint: Operation<[options?: CallOptions], Pending<types.GcrumbsCheckpointReply>> = {
  id: 'gcrumbs.checkpoint',
  method: 'GET',
  path: '/v1/log/checkpoint',
}

/** Returns the proof that an earlier checkpoint is a prefix of this one. */
export const gcrumbsConsistency: Operation<[epochNumber: number, query: types.GcrumbsConsistencyQuery, options?: CallOptions], Pending<types.GcrumbsConsistencyReply>> = {
  id: 'gcrumbs.consistency',
  method: 'GET',
  path: '/v1/gcrumbs/epochs/{epoch_number}/consistency',
  takes: 'query',
}

/** Returns one signed checkpoint with its consistency proof. */
export const gcrumbsEpoch: Operation<[epochNumber: number, options?: CallOptions], Pending<types.GcrumbsEpochReply>> = {
  id: 'gcrumbs.epoch',
  method: 'GET',
  path: '/v1/gcrumbs/epochs/{epoch_number}',
}

/** Lists the signed checkpoints, oldest first. */
export const gcrumbsEpochs: Operation<[query?: types.GcrumbsEpochsQuery, options?: CallOptions], Pending<types.GcrumbsEpochsReply>> = {
  id: 'gcrumbs.epochs',
  method: 'GET',
  path: '/v1/gcrumbs/epochs',
  takes: 'query',
  items: 'epochs',
}

/** Returns the proof that an entry is in the audit log a checkpoint signs. */
export const gcrumbsProof: Operation<[epochNumber: number, query: types.GcrumbsProofQuery, options?: CallOptions], Pending<types.GcrumbsProofReply>> = {
  id: 'gcrumbs.proof',
  method: 'GET',
  path: '/v1/gcrumbs/epochs/{epoch_number}/proof',
  takes: 'query',
}

/** Returns the current key of the audit log and all signing keys. */
export const gcrumbsPublicKey: Operation<[query?: types.GcrumbsPublicKeyQuery, options?: CallOptions], Pending<types.GcrumbsPublicKeyReply>> = {
  id: 'gcrumbs.public_key',
  method: 'GET',
  path: '/v1/gcrumbs/public_key',
  takes: 'query',
}

/** Signs a checkpoint over the audit log. */
export const gcrumbsRoll: Operation<[body?: types.GcrumbsRollBody, options?: CallOptions], Pending<types.GcrumbsRollReply>> = {
  id: 'gcrumbs.roll',
  method: 'POST',
  path: '/v1/gcrumbs/roll',
  takes: 'body',
  idempotent: true,
}

/** Counts the entries and checkpoints of the audit log. */
export const gcrumbsStats: Operation<[options?: CallOptions], Pending<types.GcrumbsStatsReply>> = {
  id: 'gcrumbs.stats',
  method: 'GET',
  path: '/v1/gcrumbs/stats',
}

/** Returns one tile of the audit log in the form of C2SP tlog-tiles. */
export const gcrumbsTile: Operation<[tile: string, options?: CallOptions], Pending<FileReply>> = {
  id: 'gcrumbs.tile',
  method: 'GET',
  path: '/v1/log/tile/{tile}',
  answer: file,
}

/** Recomputes the audit log from its entries and verifies every checkpoint. */
export const gcrumbsVerify: Operation<[query?: types.GcrumbsVerifyQuery, options?: CallOptions], Pending<types.GcrumbsVerifyReply>> = {
  id: 'gcrumbs.verify',
  method: 'GET',
  path: '/v1/gcrumbs/verify',
  takes: 'query',
}

/** Verifies a proof, checkpoint, certificate, decision, receipt or list of entries. */
export const gcrumbsVerifyEnvelope: Operation<[body: types.GcrumbsVerifyEnvelopeBody, options?: CallOptions], Pending<types.GcrumbsVerifyEnvelopeReply>> = {
  id: 'gcrumbs.verify_envelope',
  method: 'POST',
  path: '/v1/gcrumbs/verify',
  takes: 'body',
  safe: true,
}

/** Returns the current key of receipts in hexadecimal and base64. */
export const gcrumbsVerifyKey: Operation<[options?: CallOptions], Pending<types.GcrumbsVerifyKeyReply>> = {
  id: 'gcrumbs.verify_key',
  method: 'GET',
  path: '/v1/gcrumbs/verify/key',
}

/** Creates a policy, which applies to the next request on every process. */
export const governanceCreatePolicy: Operation<[body: types.GovernanceCreatePolicyBody, options?: CallOptions], Pending<types.GovernanceCreatePolicyReply>> = {
  id: 'governance.create_policy',
  method: 'POST',
  path: '/v1/governance/policies',
  takes: 'body',
  idempotent: true,
}

/** Deletes a policy; its versions remain readable. */
export const governanceDeletePolicy: Operation<[policyId: string, options?: CallOptions], Pending<types.GovernanceDeletePolicyReply>> = {
  id: 'governance.delete_policy',
  method: 'DELETE',
  path: '/v1/governance/policies/{policy_id}',
}

/** Evaluates every enabled policy for an operation and says whether it may run. */
export const governanceEvaluate: Operation<[body: types.GovernanceEvaluateBody, options?: CallOptions], Pending<types.GovernanceEvaluateReply>> = {
  id: 'governance.evaluate',
  method: 'POST',
  path: '/v1/governance/evaluate',
  takes: 'body',
  idempotent: true,
}

/** Returns a policy with its versions. */
export const governanceGetPolicy: Operation<[policyId: string, query?: types.GovernanceGetPolicyQuery, options?: CallOptions], Pending<types.GovernanceGetPolicyReply>> = {
  id: 'governance.get_policy',
  method: 'GET',
  path: '/v1/governance/policies/{policy_id}',
  takes: 'query',
}

/** Lists policies in the order of evaluation. */
export const governanceListPolicies: Operation<[query?: types.GovernanceListPoliciesQuery, options?: CallOptions], Pending<types.GovernanceListPoliciesReply>> = {
  id: 'governance.list_policies',
  method: 'GET',
  path: '/v1/governance/policies',
  takes: 'query',
  items: 'policies',
}

/** Lists results of policies, newest first. */
export const governanceLogs: Operation<[query?: types.GovernanceLogsQuery, options?: CallOptions], Pending<types.GovernanceLogsReply>> = {
  id: 'governance.logs',
  method: 'GET',
  path: '/v1/governance/logs',
  takes: 'query',
  items: 'logs',
}

/** Lists the types of policies with the JSON Schema of their configurations. */
export const governancePolicyTypes: Operation<[options?: CallOptions], Pending<types.GovernancePolicyTypesReply>> = {
  id: 'governance.policy_types',
  method: 'GET',
  path: '/v1/governance/policy-types',
}

/** Creates the default policies that do not exist yet, all or none. */
export const governanceSeedDefaults: Operation<[body?: types.GovernanceSeedDefaultsBody, options?: CallOptions], Pending<types.GovernanceSeedDefaultsReply>> = {
  id: 'governance.seed_defaults',
  method: 'POST',
  path: '/v1/governance/seed-defaults',
  takes: 'body',
  idempotent: true,
}

/** Counts policies and the results of their evaluation. */
export const governanceStats: Operation<[options?: CallOptions], Pending<types.GovernanceStatsReply>> = {
  id: 'governance.stats',
  method: 'GET',
  path: '/v1/governance/stats',
}

/** Changes a policy and adds a version. */
export const governanceUpdatePolicy: Operation<[policyId: string, body: types.GovernanceUpdatePolicyBody, options?: CallOptions], Pending<types.GovernanceUpdatePolicyReply>> = {
  id: 'governance.update_policy',
  method: 'PUT',
  path: '/v1/governance/policies/{policy_id}',
  takes: 'body',
}

/** Takes an invitation and begins a session of the person. */
export const identityAccept: Operation<[body: types.IdentityAcceptBody, options?: CallOptions], Pending<types.IdentityAcceptReply>> = {
  id: 'identity.accept',
  method: 'POST',
  path: '/v1/portal/invitation',
  takes: 'body',
}

/** Ends the sessions that a logout token of a provider names. */
export const identityBackchannel: Operation<[body: Uint8Array | string, query: types.IdentityBackchannelQuery, options?: CallOptions], Pending<types.IdentityBackchannelReply>> = {
  id: 'identity.backchannel',
  method: 'POST',
  path: '/v1/portal/sso/backchannel-logout',
  takes: 'both',
  raw: true,
}

/** Connects the tenant to an OpenID provider, as `identity.create_connection` does. */
export const identityConfigure: Operation<[body: types.IdentityConfigureBody, options?: CallOptions], Pending<types.IdentityConfigureReply>> = {
  id: 'identity.configure',
  method: 'POST',
  path: '/v1/portal/sso/configure',
  takes: 'body',
}

/** Returns a connection. */
export const identityConnection: Operation<[connectionId: string, options?: CallOptions], Pending<types.IdentityConnectionReply>> = {
  id: 'identity.connection',
  method: 'GET',
  path: '/v1/portal/sso/connections/{connection_id}',
}

/** Lists the connections of the tenant, oldest first. */
export const identityConnections: Operation<[query?: types.IdentityConnectionsQuery, options?: CallOptions], Pending<types.IdentityConnectionsReply>> = {
  id: 'identity.connections',
  method: 'GET',
  path: '/v1/portal/sso/connections',
  takes: 'query',
  items: 'connections',
}

/** Connects the tenant to an OpenID provider. */
export const identityCreateConnection: Operation<[body: types.IdentityCreateConnectionBody, options?: CallOptions], Pending<types.IdentityCreateConnectionReply>> = {
  id: 'identity.create_connection',
  method: 'POST',
  path: '/v1/portal/sso/connections',
  takes: 'body',
}

/** Deletes a connection: its sessions end, its secret is destroyed. */
export const identityDeleteConnection: Operation<[connectionId: string, options?: CallOptions], Pending<types.IdentityDeleteConnectionReply>> = {
  id: 'identity.delete_connection',
  method: 'DELETE',
  path: '/v1/portal/sso/connections/{connection_id}',
}

/** Removes an e-mail domain from a connection. */
export const identityDropDomain: Operation<[connectionId: string, domain: string, options?: CallOptions], Pending<types.IdentityDropDomainReply>> = {
  id: 'identity.drop_domain',
  method: 'DELETE',
  path: '/v1/portal/sso/connections/{connection_id}/domains/{domain}',
}

/** Exchanges the one-time code of a sign-in for a session. */
export const identityExchange: Operation<[body: types.IdentityExchangeBody, options?: CallOptions], Pending<types.IdentityExchangeReply>> = {
  id: 'identity.exchange',
  method: 'POST',
  path: '/v1/portal/sso/exchange',
  takes: 'body',
}

/** Invites a person to the tenant. */
export const identityInvite: Operation<[tenantId: string, body: types.IdentityInviteBody, options?: CallOptions], Pending<types.IdentityInviteReply>> = {
  id: 'identity.invite',
  method: 'POST',
  path: '/v1/cloud/tenants/{tenant_id}/users',
  takes: 'body',
}

/** Ends the session of this request and removes its cookie. */
export const identityLogout: Operation<[options?: CallOptions], Pending<types.IdentityLogoutReply>> = {
  id: 'identity.logout',
  method: 'POST',
  path: '/v1/portal/logout',
}

/** Returns the identity and rights of the caller. */
export const identityMe: Operation<[options?: CallOptions], Pending<types.IdentityMeReply>> = {
  id: 'identity.me',
  method: 'GET',
  path: '/v1/portal/me',
}

/** Lists the providers that people of a tenant can sign in with. */
export const identityProviders: Operation<[query: types.IdentityProvidersQuery, options?: CallOptions], Pending<types.IdentityProvidersReply>> = {
  id: 'identity.providers',
  method: 'GET',
  path: '/v1/portal/sso/providers',
  takes: 'query',
}

/** Removes a person: sessions end, name and address are destroyed. */
export const identityRemoveUser: Operation<[userId: string, query?: types.IdentityRemoveUserQuery, options?: CallOptions], Pending<types.IdentityRemoveUserReply>> = {
  id: 'identity.remove_user',
  method: 'DELETE',
  path: '/v1/portal/users/{user_id}',
  takes: 'query',
}

/** Ends a session with immediate effect. */
export const identityRevokeSession: Operation<[sessionId: string, options?: CallOptions], Pending<types.IdentityRevokeSessionReply>> = {
  id: 'identity.revoke_session',
  method: 'DELETE',
  path: '/v1/portal/sessions/{session_id}',
}

/** Lists the sessions that have not ended, newest first. */
export const identitySessions: Operation<[query?: types.IdentitySessionsQuery, options?: CallOptions], Pending<types.IdentitySessionsReply>> = {
  id: 'identity.sessions',
  method: 'GET',
  path: '/v1/portal/sessions',
  takes: 'query',
  items: 'sessions',
}

/** Confirms that domains of e-mail addresses belong to a connection. */
export const identitySetDomains: Operation<[tenantId: string, connectionId: string, body: types.IdentitySetDomainsBody, options?: CallOptions], Pending<types.IdentitySetDomainsReply>> = {
  id: 'identity.set_domains',
  method: 'PUT',
  path: '/v1/cloud/tenants/{tenant_id}/sso/connections/{connection_id}/domains',
  takes: 'body',
}

/** Begins a session of a browser with an API key. */
export const identitySignIn: Operation<[body: types.IdentitySignInBody, options?: CallOptions], Pending<types.IdentitySignInReply>> = {
  id: 'identity.sign_in',
  method: 'POST',
  path: '/v1/portal/session',
  takes: 'body',
}

/** Reads the discovery document and the keys of the provider, and says what is wrong. */
export const identityTest: Operation<[connectionId: string, options?: CallOptions], Pending<types.IdentityTestReply>> = {
  id: 'identity.test',
  method: 'POST',
  path: '/v1/portal/sso/connections/{connection_id}/test',
  safe: true,
}

/** Changes a connection. */
export const identityUpdateConnection: Operation<[connectionId: string, body: types.IdentityUpdateConnectionBody, options?: CallOptions], Pending<types.IdentityUpdateConnectionReply>> = {
  id: 'identity.update_connection',
  method: 'PUT',
  path: '/v1/portal/sso/connections/{connection_id}',
  takes: 'body',
}

/** Changes the roles or the name of a person. */
export const identityUpdateUser: Operation<[userId: string, body: types.IdentityUpdateUserBody, options?: CallOptions], Pending<types.IdentityUpdateUserReply>> = {
  id: 'identity.update_user',
  method: 'PUT',
  path: '/v1/portal/users/{user_id}',
  takes: 'body',
}

/** Lists the people of the tenant, oldest first. */
export const identityUsers: Operation<[query?: types.IdentityUsersQuery, options?: CallOptions], Pending<types.IdentityUsersReply>> = {
  id: 'identity.users',
  method: 'GET',
  path: '/v1/portal/users',
  takes: 'query',
  items: 'users',
}

/** Confirms a domain of e-mail addresses by a TXT record that only its owner can publish. */
export const identityVerifyDomain: Operation<[connectionId: string, body: types.IdentityVerifyDomainBody, options?: CallOptions], Pending<types.IdentityVerifyDomainReply>> = {
  id: 'identity.verify_domain',
  method: 'POST',
  path: '/v1/portal/sso/connections/{connection_id}/verify-domain',
  takes: 'body',
}

/** Runs up to 100 operations on items. */
export const itemsBatch: Operation<[storeId: string, body: types.ItemsBatchBody, options?: CallOptions], Pending<types.ItemsBatchReply>> = {
  id: 'items.batch',
  method: 'POST',
  path: '/v1/stores/{store_id}/items/batch',
  takes: 'body',
  idempotent: true,
}

/** Erases every version of an item and certifies each. */
export const itemsDelete: Operation<[storeId: string, body: types.ItemsDeleteBody, options?: CallOptions], Pending<types.ItemsDeleteReply>> = {
  id: 'items.delete',
  method: 'POST',
  path: '/v1/stores/{store_id}/items/delete',
  takes: 'body',
  idempotent: true,
}

/** Returns the item of a name. */
export const itemsGet: Operation<[storeId: string, body: types.ItemsGetBody, options?: CallOptions], Pending<types.ItemsGetReply>> = {
  id: 'items.get',
  method: 'POST',
  path: '/v1/stores/{store_id}/items/get',
  takes: 'body',
  safe: true,
}

/** Lists the namespaces that have an item, in alphabetical order. */
export const itemsNamespaces: Operation<[storeId: string, body: types.ItemsNamespacesBody, options?: CallOptions], Pending<types.ItemsNamespacesReply>> = {
  id: 'items.namespaces',
  method: 'POST',
  path: '/v1/stores/{store_id}/items/namespaces',
  takes: 'body',
  safe: true,
}

/** Puts a JSON value under a name. */
export const itemsPut: Operation<[storeId: string, body: types.ItemsPutBody, options?: CallOptions], Pending<types.ItemsPutReply>> = {
  id: 'items.put',
  method: 'PUT',
  path: '/v1/stores/{store_id}/items',
  takes: 'body',
  idempotent: true,
}

/** Searches the current items of the namespaces with a prefix. */
export const itemsSearch: Operation<[storeId: string, body: types.ItemsSearchBody, options?: CallOptions], Pending<types.ItemsSearchReply>> = {
  id: 'items.search',
  method: 'POST',
  path: '/v1/stores/{store_id}/items/search',
  takes: 'body',
  safe: true,
}

/** Cancels a queued or running job and discards its work. */
export const jobsCancel: Operation<[jobId: string, options?: CallOptions], Pending<types.JobsCancelReply>> = {
  id: 'jobs.cancel',
  method: 'DELETE',
  path: '/v1/jobs/{job_id}',
}

/** Returns the state and progress of a job. */
export const jobsGet: Operation<[jobId: string, options?: CallOptions], Pending<types.JobsGetReply>> = {
  id: 'jobs.get',
  method: 'GET',
  path: '/v1/jobs/{job_id}',
}

/** Creates an API key and shows it once. */
export const keysCreate: Operation<[body?: types.KeysCreateBody, options?: CallOptions], Pending<types.KeysCreateReply>> = {
  id: 'keys.create',
  method: 'POST',
  path: '/v1/keys',
  takes: 'body',
  idempotent: true,
}

/** Creates a short-lived token for one store and namespace, and shows it once. */
export const keysCreateToken: Operation<[body: types.KeysCreateTokenBody, options?: CallOptions], Pending<types.KeysCreateTokenReply>> = {
  id: 'keys.create_token',
  method: 'POST',
  path: '/v1/keys/tokens',
  takes: 'body',
  idempotent: true,
}

/** Returns what the calling credential may do. */
export const keysCurrent: Operation<[options?: CallOptions], Pending<types.KeysCurrentReply>> = {
  id: 'keys.current',
  method: 'GET',
  path: '/v1/keys/current',
}

/** Lists the keys of the tenant, oldest first, including revoked ones. */
export const keysList: Operation<[query?: types.KeysListQuery, options?: CallOptions], Pending<types.KeysListReply>> = {
  id: 'keys.list',
  method: 'GET',
  path: '/v1/keys',
  takes: 'query',
  items: 'keys',
}

/** Revokes a key with immediate effect. */
export const keysRevoke: Operation<[keyId: string, options?: CallOptions], Pending<types.KeysRevokeReply>> = {
  id: 'keys.revoke',
  method: 'DELETE',
  path: '/v1/keys/{key_id}',
}

/** Approves a landing certificate that waits for an approval, and issues it. */
export const landingApprove: Operation<[certificateId: string, body: types.LandingApproveBody, options?: CallOptions], Pending<types.LandingApproveReply>> = {
  id: 'landing.approve',
  method: 'POST',
  path: '/v1/landing/{certificate_id}/approve',
  takes: 'body',
  idempotent: true,
}

/** Checks an artifact, its data and an authority without storing anything. */
export const landingConformance: Operation<[body: types.LandingConformanceBody, options?: CallOptions], Pending<types.LandingConformanceReply>> = {
  id: 'landing.conformance',
  method: 'POST',
  path: '/v1/landing/conformance',
  takes: 'body',
  safe: true,
}

/** Returns one landing certificate of any status. */
export const landingGet: Operation<[certificateId: string, options?: CallOptions], Pending<types.LandingGetReply>> = {
  id: 'landing.get',
  method: 'GET',
  path: '/v1/landing/{certificate_id}',
}

/** Issues a signed landing certificate, or waits for an approval. */
export const landingIssue: Operation<[body: types.LandingIssueBody, options?: CallOptions], Pending<types.LandingIssueReply | types.LandingIssueAccepted>> = {
  id: 'landing.issue',
  method: 'POST',
  path: '/v1/landing/issue',
  takes: 'body',
  idempotent: true,
}

/** Lists landing certificates of every status, newest first. */
export const landingList: Operation<[query?: types.LandingListQuery, options?: CallOptions], Pending<types.LandingListReply>> = {
  id: 'landing.list',
  method: 'GET',
  path: '/v1/landing',
  takes: 'query',
  items: 'certificates',
}

/** Rejects a landing certificate that waits for an approval. */
export const landingReject: Operation<[certificateId: string, body: types.LandingRejectBody, options?: CallOptions], Pending<types.LandingRejectReply>> = {
  id: 'landing.reject',
  method: 'POST',
  path: '/v1/landing/{certificate_id}/reject',
  takes: 'body',
  idempotent: true,
}

/** Counts landing certificates by status. */
export const landingStats: Operation<[options?: CallOptions], Pending<types.LandingStatsReply>> = {
  id: 'landing.stats',
  method: 'GET',
  path: '/v1/landing/stats',
}

/** Verifies the signed document of a landing certificate and everything derived in it. */
export const landingVerify: Operation<[certificateId: string, options?: CallOptions], Pending<types.LandingVerifyReply>> = {
  id: 'landing.verify',
  method: 'GET',
  path: '/v1/landing/{certificate_id}/verify',
}

/** Configures who answers for a model; replaces what was configured for it. */
export const llmCreateProvider: Operation<[body: types.LlmCreateProviderBody, options?: CallOptions], Pending<types.LlmCreateProviderReply>> = {
  id: 'llm.create_provider',
  method: 'POST',
  path: '/v1/llm/providers',
  takes: 'body',
  idempotent: true,
}

/** Defines a tool for managed runs; replaces the one of that name. */
export const llmCreateTool: Operation<[body: types.LlmCreateToolBody, options?: CallOptions], Pending<types.LlmCreateToolReply>> = {
  id: 'llm.create_tool',
  method: 'POST',
  path: '/v1/llm/tools',
  takes: 'body',
  idempotent: true,
}

/** Deletes what is configured for a model; its key is destroyed. */
export const llmDeleteProvider: Operation<[modelId: string, options?: CallOptions], Pending<types.LlmDeleteProviderReply>> = {
  id: 'llm.delete_provider',
  method: 'DELETE',
  path: '/v1/llm/providers/{model_id}',
}

/** Deletes a tool and destroys its headers. */
export const llmDeleteTool: Operation<[toolName: string, options?: CallOptions], Pending<types.LlmDeleteToolReply>> = {
  id: 'llm.delete_tool',
  method: 'DELETE',
  path: '/v1/llm/tools/{tool_name}',
}

/** Lists the models that managed runs may ask, oldest first. */
export const llmListProviders: Operation<[query?: types.LlmListProvidersQuery, options?: CallOptions], Pending<types.LlmListProvidersReply>> = {
  id: 'llm.list_providers',
  method: 'GET',
  path: '/v1/llm/providers',
  takes: 'query',
  items: 'providers',
}

/** Lists the tools, oldest first. */
export const llmListTools: Operation<[query?: types.LlmListToolsQuery, options?: CallOptions], Pending<types.LlmListToolsReply>> = {
  id: 'llm.list_tools',
  method: 'GET',
  path: '/v1/llm/tools',
  takes: 'query',
  items: 'tools',
}

/** Creates the tools of memories that are not there: retrieve, write and supersede. */
export const llmSeedBuiltins: Operation<[body?: types.LlmSeedBuiltinsBody, options?: CallOptions], Pending<types.LlmSeedBuiltinsReply>> = {
  id: 'llm.seed_builtins',
  method: 'POST',
  path: '/v1/llm/tools/seed-builtins',
  takes: 'body',
  idempotent: true,
}

/** Discards the cached maps of the tenant in this process. */
export const manifoldClearCache: Operation<[options?: CallOptions], Pending<types.ManifoldClearCacheReply>> = {
  id: 'manifold.clear_cache',
  method: 'POST',
  path: '/v1/manifold/clear_cache',
}

/** Returns the map in hexagonal cells, as ids and numbers without text. */
export const manifoldExport: Operation<[query?: types.ManifoldExportQuery, options?: CallOptions], Pending<types.ManifoldExportReply>> = {
  id: 'manifold.export',
  method: 'GET',
  path: '/v1/manifold/export',
  takes: 'query',
}

/** Returns a map of decisions with the field of their outcomes and the agents. */
export const manifoldField: Operation<[query?: types.ManifoldFieldQuery, options?: CallOptions], Pending<types.ManifoldFieldReply>> = {
  id: 'manifold.field',
  method: 'GET',
  path: '/v1/manifold/field',
  takes: 'query',
}

/** Returns the position of a decision on the map. */
export const manifoldLocate: Operation<[stepId: string, query?: types.ManifoldLocateQuery, options?: CallOptions], Pending<types.ManifoldLocateReply>> = {
  id: 'manifold.locate',
  method: 'GET',
  path: '/v1/manifold/locate/{step_id}',
  takes: 'query',
}

/** Returns the map as an SVG picture. */
export const manifoldPicture: Operation<[query?: types.ManifoldPictureQuery, options?: CallOptions], Pending<types.ManifoldPictureReply>> = {
  id: 'manifold.picture',
  method: 'GET',
  path: '/v1/manifold/field.svg',
  takes: 'query',
}

/** Lists every memory of a store by number, superseded ones included. */
export const memoryAudit: Operation<[storeId: string, query?: types.MemoryAuditQuery, options?: CallOptions], Pending<types.MemoryAuditReply>> = {
  id: 'memory.audit',
  method: 'GET',
  path: '/v1/stores/{store_id}/audit',
  takes: 'query',
  items: 'memories',
}

/** Lists the capabilities of a store in alphabetical order. */
export const memoryCapabilities: Operation<[storeId: string, options?: CallOptions], Pending<types.MemoryCapabilitiesReply>> = {
  id: 'memory.capabilities',
  method: 'GET',
  path: '/v1/stores/{store_id}/capabilities',
}

/** Creates a store. */
export const memoryCreateStore: Operation<[body?: types.MemoryCreateStoreBody, options?: CallOptions], Pending<types.MemoryCreateStoreReply>> = {
  id: 'memory.create_store',
  method: 'POST',
  path: '/v1/stores',
  takes: 'body',
  idempotent: true,
}

/** Erases one memory from every copy and certifies it. */
export const memoryDelete: Operation<[storeId: string, body: types.MemoryDeleteBody, options?: CallOptions], Pending<types.MemoryDeleteReply>> = {
  id: 'memory.delete',
  method: 'POST',
  path: '/v1/stores/{store_id}/delete',
  takes: 'body',
  idempotent: true,
}

/** Starts a job that erases every memory of a store, then the store. */
export const memoryDeleteStore: Operation<[storeId: string, options?: CallOptions], Pending<types.MemoryDeleteStoreReply>> = {
  id: 'memory.delete_store',
  method: 'DELETE',
  path: '/v1/stores/{store_id}',
}

/** Streams a header line and then every memory of a store by number, as NDJSON. */
export const memoryExport: Operation<[storeId: string, options?: CallOptions], Lines<types.MemoryExportReply>> = {
  id: 'memory.export',
  method: 'GET',
  path: '/v1/stores/{store_id}/export',
  answer: lines,
}

/** Waits until all earlier writes to a store are durable and visible. */
export const memoryFlush: Operation<[storeId: string, body?: types.MemoryFlushBody, options?: CallOptions], Pending<types.MemoryFlushReply>> = {
  id: 'memory.flush',
  method: 'POST',
  path: '/v1/stores/{store_id}/flush',
  takes: 'body',
  safe: true,
}

/** Returns one store with its number of memories. */
export const memoryGetStore: Operation<[storeId: string, options?: CallOptions], Pending<types.MemoryGetStoreReply>> = {
  id: 'memory.get_store',
  method: 'GET',
  path: '/v1/stores/{store_id}',
}

/** Lists the versions of a memory, oldest first. */
export const memoryHistory: Operation<[storeId: string, ref: number, query?: types.MemoryHistoryQuery, options?: CallOptions], Pending<types.MemoryHistoryReply>> = {
  id: 'memory.history',
  method: 'GET',
  path: '/v1/stores/{store_id}/memories/{ref}/history',
  takes: 'query',
  items: 'versions',
}

/** Imports memories from NDJSON with their numbers, times and version history. */
export const memoryImport: Operation<[storeId: string, lines: LineSource<types.MemoryImportBody>, query?: types.MemoryImportQuery, options?: CallOptions], Pending<types.MemoryImportReply>> = {
  id: 'memory.import',
  method: 'POST',
  path: '/v1/stores/{store_id}/import',
  takes: 'both',
  idempotent: true,
  send: sendLines,
}

/** Remembers the turns of a conversation, all or none. */
export const memoryIngest: Operation<[storeId: string, body: types.MemoryIngestBody, options?: CallOptions], Pending<types.MemoryIngestReply>> = {
  id: 'memory.ingest',
  method: 'POST',
  path: '/v1/stores/{store_id}/ingest',
  takes: 'body',
  idempotent: true,
}

/** Returns counts of the writes to a store and of their batches. */
export const memoryIngestionStats: Operation<[storeId: string, options?: CallOptions], Pending<types.MemoryIngestionStatsReply>> = {
  id: 'memory.ingestion_stats',
  method: 'GET',
  path: '/v1/stores/{store_id}/ingestion/stats',
}

/** Lists the stores that the credential may use, oldest first. */
export const memoryListStores: Operation<[query?: types.MemoryListStoresQuery, options?: CallOptions], Pending<types.MemoryListStoresReply>> = {
  id: 'memory.list_stores',
  method: 'GET',
  path: '/v1/stores',
  takes: 'query',
  items: 'stores',
}

/** Lists the memories of a store by number, superseded ones included. */
export const memoryMemories: Operation<[storeId: string, query?: types.MemoryMemoriesQuery, options?: CallOptions], Pending<types.MemoryMemoriesReply>> = {
  id: 'memory.memories',
  method: 'GET',
  path: '/v1/stores/{store_id}/memories',
  takes: 'query',
  items: 'memories',
}

/** Returns one memory. */
export const memoryMemory: Operation<[storeId: string, ref: number, options?: CallOptions], Pending<types.MemoryMemoryReply>> = {
  id: 'memory.memory',
  method: 'GET',
  path: '/v1/stores/{store_id}/memories/{ref}',
}

/** Starts a job that computes the missing vectors of a store. */
export const memoryReembed: Operation<[storeId: string, body?: types.MemoryReembedBody, options?: CallOptions], Pending<types.MemoryReembedReply>> = {
  id: 'memory.reembed',
  method: 'POST',
  path: '/v1/stores/{store_id}/reembed',
  takes: 'body',
}

/** Returns the memories most relevant to a query within a token budget. */
export const memoryRetrieve: Operation<[storeId: string, body: types.MemoryRetrieveBody, options?: CallOptions], Pending<types.MemoryRetrieveReply>> = {
  id: 'memory.retrieve',
  method: 'POST',
  path: '/v1/stores/{store_id}/retrieve',
  takes: 'body',
  safe: true,
}

/** Returns counts of a store, its search index and its writes. */
export const memoryStats: Operation<[storeId: string, options?: CallOptions], Pending<types.MemoryStatsReply>> = {
  id: 'memory.stats',
  method: 'GET',
  path: '/v1/stores/{store_id}/stats',
}

/** Replaces the current version of a memory and keeps the old one in its history. */
export const memorySupersede: Operation<[storeId: string, body: types.MemorySupersedeBody, options?: CallOptions], Pending<types.MemorySupersedeReply>> = {
  id: 'memory.supersede',
  method: 'POST',
  path: '/v1/stores/{store_id}/supersede',
  takes: 'body',
  idempotent: true,
}

/** Writes one memory. */
export const memoryWrite: Operation<[storeId: string, body: types.MemoryWriteBody, options?: CallOptions], Pending<types.MemoryWriteReply>> = {
  id: 'memory.write',
  method: 'POST',
  path: '/v1/stores/{store_id}/write',
  takes: 'body',
  idempotent: true,
}

/** Writes up to 1,000 memories, all or none. */
export const memoryWriteBatch: Operation<[storeId: string, body: types.MemoryWriteBatchBody, options?: CallOptions], Pending<types.MemoryWriteBatchReply>> = {
  id: 'memory.write_batch',
  method: 'POST',
  path: '/v1/stores/{store_id}/write_batch',
  takes: 'body',
  idempotent: true,
}

/** Returns counts for the calling tenant, or for all tenants to an operator. */
export const monitoringStats: Operation<[options?: CallOptions], Pending<types.MonitoringStatsReply>> = {
  id: 'monitoring.stats',
  method: 'GET',
  path: '/v1/monitoring/stats',
}

/** Off-boards a tenant: destroys all its keys permanently and issues a certificate. */
export const offboardingDestroyKey: Operation<[tenantId: string, body: types.OffboardingDestroyKeyBody, options?: CallOptions], Pending<types.OffboardingDestroyKeyReply>> = {
  id: 'offboarding.destroy_key',
  method: 'POST',
  path: '/v1/admin/tenants/{tenant_id}/destroy-key',
  takes: 'body',
}

/** Returns the certificate of an off-boarded tenant and the state of the removal. */
export const offboardingDestruction: Operation<[tenantId: string, options?: CallOptions], Pending<types.OffboardingDestructionReply>> = {
  id: 'offboarding.destruction',
  method: 'GET',
  path: '/v1/admin/tenants/{tenant_id}/destruction',
}

/** Approves a waiting step or call, exactly as it was proposed. */
export const orchestratorApproveAction: Operation<[actionId: string, body: types.OrchestratorApproveActionBody, options?: CallOptions], Pending<types.OrchestratorApproveActionReply>> = {
  id: 'orchestrator.approve_action',
  method: 'POST',
  path: '/v1/orchestrator/actions/{action_id}/approve',
  takes: 'body',
  idempotent: true,
}

/** Permits one question to a model: retrieves, asks the policies, reserves budget. */
export const orchestratorBeginStep: Operation<[runId: string, body: types.OrchestratorBeginStepBody, options?: CallOptions], Pending<types.OrchestratorBeginStepReply | types.OrchestratorBeginStepAccepted>> = {
  id: 'orchestrator.begin_step',
  method: 'POST',
  path: '/v1/orchestrator/runs/{run_id}/steps',
  takes: 'body',
  idempotent: true,
}

/** Streams everything that proves a run, for `custos verify`. */
export const orchestratorBundle: Operation<[runId: string, options?: CallOptions], Lines<types.OrchestratorBundleReply>> = {
  id: 'orchestrator.bundle',
  method: 'GET',
  path: '/v1/orchestrator/runs/{run_id}/bundle',
  answer: lines,
}

/** Permits one call of a tool: asks the policies, records the intent. */
export const orchestratorCallTool: Operation<[runId: string, stepId: string, body: types.OrchestratorCallToolBody, options?: CallOptions], Pending<types.OrchestratorCallToolReply | types.OrchestratorCallToolAccepted>> = {
  id: 'orchestrator.call_tool',
  method: 'POST',
  path: '/v1/orchestrator/runs/{run_id}/steps/{step_id}/calls',
  takes: 'body',
  idempotent: true,
}

/** Ends a run: from then on it gets no permit and nothing of it is executed. */
export const orchestratorCancelRun: Operation<[runId: string, body?: types.OrchestratorCancelRunBody, options?: CallOptions], Pending<types.OrchestratorCancelRunReply>> = {
  id: 'orchestrator.cancel_run',
  method: 'POST',
  path: '/v1/orchestrator/runs/{run_id}/cancel',
  takes: 'body',
}

/** Completes a step: checks its output, logs the decision, signs the receipt. */
export const orchestratorCompleteStep: Operation<[runId: string, stepId: string, body: types.OrchestratorCompleteStepBody, options?: CallOptions], Pending<types.OrchestratorCompleteStepReply>> = {
  id: 'orchestrator.complete_step',
  method: 'POST',
  path: '/v1/orchestrator/runs/{run_id}/steps/{step_id}/complete',
  takes: 'body',
  idempotent: true,
}

/** Creates an agent. */
export const orchestratorCreateAgent: Operation<[body: types.OrchestratorCreateAgentBody, options?: CallOptions], Pending<types.OrchestratorCreateAgentReply>> = {
  id: 'orchestrator.create_agent',
  method: 'POST',
  path: '/v1/orchestrator/agents',
  takes: 'body',
  idempotent: true,
}

/** Deletes an agent that has no run under way; its words are destroyed. */
export const orchestratorDeleteAgent: Operation<[agentId: string, options?: CallOptions], Pending<types.OrchestratorDeleteAgentReply>> = {
  id: 'orchestrator.delete_agent',
  method: 'DELETE',
  path: '/v1/orchestrator/agents/{agent_id}',
}

/** Returns one action; with `decisions:read` its text too. */
export const orchestratorGetAction: Operation<[actionId: string, options?: CallOptions], Pending<types.OrchestratorGetActionReply>> = {
  id: 'orchestrator.get_action',
  method: 'GET',
  path: '/v1/orchestrator/actions/{action_id}',
}

/** Returns one agent. */
export const orchestratorGetAgent: Operation<[agentId: string, options?: CallOptions], Pending<types.OrchestratorGetAgentReply>> = {
  id: 'orchestrator.get_agent',
  method: 'GET',
  path: '/v1/orchestrator/agents/{agent_id}',
}

/** Returns one call; with `decisions:read` its tool, arguments and result too. */
export const orchestratorGetCall: Operation<[runId: string, callId: string, options?: CallOptions], Pending<types.OrchestratorGetCallReply>> = {
  id: 'orchestrator.get_call',
  method: 'GET',
  path: '/v1/orchestrator/runs/{run_id}/calls/{call_id}',
}

/** Returns the receipt of one step of any run. */
export const orchestratorGetReceipt: Operation<[receiptId: string, options?: CallOptions], Pending<types.OrchestratorGetReceiptReply>> = {
  id: 'orchestrator.get_receipt',
  method: 'GET',
  path: '/v1/orchestrator/receipts/{receipt_id}',
}

/** Returns one run with its steps. */
export const orchestratorGetRun: Operation<[runId: string, options?: CallOptions], Pending<types.OrchestratorGetRunReply>> = {
  id: 'orchestrator.get_run',
  method: 'GET',
  path: '/v1/orchestrator/runs/{run_id}',
}

/** Returns one step; with `decisions:read` its input and memory too. */
export const orchestratorGetStep: Operation<[runId: string, stepId: string, options?: CallOptions], Pending<types.OrchestratorGetStepReply>> = {
  id: 'orchestrator.get_step',
  method: 'GET',
  path: '/v1/orchestrator/runs/{run_id}/steps/{step_id}',
}

/** Lists the actions that waited for a person, newest first. */
export const orchestratorListActions: Operation<[query?: types.OrchestratorListActionsQuery, options?: CallOptions], Pending<types.OrchestratorListActionsReply>> = {
  id: 'orchestrator.list_actions',
  method: 'GET',
  path: '/v1/orchestrator/actions',
  takes: 'query',
  items: 'actions',
}

/** Lists the agents, oldest first. */
export const orchestratorListAgents: Operation<[query?: types.OrchestratorListAgentsQuery, options?: CallOptions], Pending<types.OrchestratorListAgentsReply>> = {
  id: 'orchestrator.list_agents',
  method: 'GET',
  path: '/v1/orchestrator/agents',
  takes: 'query',
  items: 'agents',
}

/** Lists the roles that an agent can have. */
export const orchestratorListRoles: Operation<[options?: CallOptions], Pending<types.OrchestratorListRolesReply>> = {
  id: 'orchestrator.list_roles',
  method: 'GET',
  path: '/v1/orchestrator/roles',
}

/** Lists the runs, newest first. */
export const orchestratorListRuns: Operation<[query?: types.OrchestratorListRunsQuery, options?: CallOptions], Pending<types.OrchestratorListRunsReply>> = {
  id: 'orchestrator.list_runs',
  method: 'GET',
  path: '/v1/orchestrator/runs',
  takes: 'query',
  items: 'runs',
}

/** Lists the steps of a run, oldest first; with `decisions:read` their texts too. */
export const orchestratorListSteps: Operation<[runId: string, options?: CallOptions], Pending<types.OrchestratorListStepsReply>> = {
  id: 'orchestrator.list_steps',
  method: 'GET',
  path: '/v1/orchestrator/runs/{run_id}/steps',
}

/** Proposes one call of a tool for an agent; policies, or a person, say whether it may. */
export const orchestratorPropose: Operation<[agentId: string, body: types.OrchestratorProposeBody, options?: CallOptions], Pending<types.OrchestratorProposeReply>> = {
  id: 'orchestrator.propose',
  method: 'POST',
  path: '/v1/orchestrator/agents/{agent_id}/propose',
  takes: 'body',
}

/** Lists the receipts of a run, oldest first. */
export const orchestratorReceipts: Operation<[runId: string, options?: CallOptions], Pending<types.OrchestratorReceiptsReply>> = {
  id: 'orchestrator.receipts',
  method: 'GET',
  path: '/v1/orchestrator/runs/{run_id}/receipts',
}

/** Rejects a waiting step or call; its run is denied. */
export const orchestratorRejectAction: Operation<[actionId: string, body: types.OrchestratorRejectActionBody, options?: CallOptions], Pending<types.OrchestratorRejectActionReply>> = {
  id: 'orchestrator.reject_action',
  method: 'POST',
  path: '/v1/orchestrator/actions/{action_id}/reject',
  takes: 'body',
  idempotent: true,
}

/** Repeats the model call of a decision of a managed run and compares the answers. */
export const orchestratorReplay: Operation<[decisionId: string, body?: types.OrchestratorReplayBody, options?: CallOptions], Pending<types.OrchestratorReplayReply>> = {
  id: 'orchestrator.replay',
  method: 'POST',
  path: '/v1/orchestrator/replay/{decision_id}',
  takes: 'body',
}

/** Reports what a call of a `client` tool answered; the run goes on. */
export const orchestratorReportCall: Operation<[runId: string, callId: string, body: types.OrchestratorReportCallBody, options?: CallOptions], Pending<types.OrchestratorReportCallReply>> = {
  id: 'orchestrator.report_call',
  method: 'POST',
  path: '/v1/orchestrator/runs/{run_id}/calls/{call_id}/report',
  takes: 'body',
  idempotent: true,
}

/** Says whether an uncertain call of a `once` tool has acted; the run goes on. */
export const orchestratorResolveCall: Operation<[runId: string, callId: string, body: types.OrchestratorResolveCallBody, options?: CallOptions], Pending<types.OrchestratorResolveCallReply>> = {
  id: 'orchestrator.resolve_call',
  method: 'POST',
  path: '/v1/orchestrator/runs/{run_id}/calls/{call_id}/resolve',
  takes: 'body',
}

/** Starts a run; its steps are executed by the caller or by this service. */
export const orchestratorStartRun: Operation<[body: types.OrchestratorStartRunBody, options?: CallOptions], Pending<types.OrchestratorStartRunReply>> = {
  id: 'orchestrator.start_run',
  method: 'POST',
  path: '/v1/orchestrator/runs',
  takes: 'body',
  idempotent: true,
}

/** Counts agents, runs, steps and calls, and the total use of all runs. */
export const orchestratorStats: Operation<[options?: CallOptions], Pending<types.OrchestratorStatsReply>> = {
  id: 'orchestrator.stats',
  method: 'GET',
  path: '/v1/orchestrator/stats',
}

/** Changes an agent and returns its next version. */
export const orchestratorUpdateAgent: Operation<[agentId: string, body: types.OrchestratorUpdateAgentBody, options?: CallOptions], Pending<types.OrchestratorUpdateAgentReply>> = {
  id: 'orchestrator.update_agent',
  method: 'PUT',
  path: '/v1/orchestrator/agents/{agent_id}',
  takes: 'body',
}

/** Checks the receipts of a run and everything its bundle proves. */
export const orchestratorVerify: Operation<[runId: string, options?: CallOptions], Pending<types.OrchestratorVerifyReply>> = {
  id: 'orchestrator.verify',
  method: 'GET',
  path: '/v1/orchestrator/runs/{run_id}/verify',
}

/** Reports that the service answers. */
export const platformHealth: Operation<[options?: CallOptions], Pending<types.PlatformHealthReply>> = {
  id: 'platform.health',
  method: 'GET',
  path: '/health',
}

/** Reports liveness and uptime. */
export const platformHealthz: Operation<[options?: CallOptions], Pending<types.PlatformHealthzReply>> = {
  id: 'platform.healthz',
  method: 'GET',
  path: '/healthz',
}

/** Reports readiness, with the state of each part. */
export const platformReadyz: Operation<[options?: CallOptions], Pending<types.PlatformReadyzReply>> = {
  id: 'platform.readyz',
  method: 'GET',
  path: '/readyz',
}

/** Returns the `data_provenance` of a corpus for a landing certificate. */
export const provenanceBlock: Operation<[corpusId: string, options?: CallOptions], Pending<types.ProvenanceBlockReply>> = {
  id: 'provenance.block',
  method: 'GET',
  path: '/v1/provenance/corpora/{corpus_id}/block',
}

/** Returns one corpus. */
export const provenanceGet: Operation<[corpusId: string, options?: CallOptions], Pending<types.ProvenanceGetReply>> = {
  id: 'provenance.get',
  method: 'GET',
  path: '/v1/provenance/corpora/{corpus_id}',
}

/** Lists corpora, newest first. */
export const provenanceList: Operation<[query?: types.ProvenanceListQuery, options?: CallOptions], Pending<types.ProvenanceListReply>> = {
  id: 'provenance.list',
  method: 'GET',
  path: '/v1/provenance/corpora',
  takes: 'query',
  items: 'corpora',
}

/** Returns the proof that a source is in a corpus. */
export const provenanceProof: Operation<[corpusId: string, query: types.ProvenanceProofQuery, options?: CallOptions], Pending<types.ProvenanceProofReply>> = {
  id: 'provenance.proof',
  method: 'GET',
  path: '/v1/provenance/corpora/{corpus_id}/proof',
  takes: 'query',
}

/** Seals the sources of a corpus under one Merkle root. */
export const provenanceRegister: Operation<[body: types.ProvenanceRegisterBody, options?: CallOptions], Pending<types.ProvenanceRegisterReply>> = {
  id: 'provenance.register',
  method: 'POST',
  path: '/v1/provenance/corpora',
  takes: 'body',
  idempotent: true,
}

/** Counts corpora by status. */
export const provenanceStats: Operation<[options?: CallOptions], Pending<types.ProvenanceStatsReply>> = {
  id: 'provenance.stats',
  method: 'GET',
  path: '/v1/provenance/stats',
}

/** Verifies the signed document of a corpus and everything derived in it. */
export const provenanceVerify: Operation<[corpusId: string, options?: CallOptions], Pending<types.ProvenanceVerifyReply>> = {
  id: 'provenance.verify',
  method: 'GET',
  path: '/v1/provenance/corpora/{corpus_id}/verify',
}

/** Deletes the content of a report; that it existed stays on record. */
export const reportsDelete: Operation<[reportId: string, options?: CallOptions], Pending<types.ReportsDeleteReply>> = {
  id: 'reports.delete',
  method: 'DELETE',
  path: '/v1/reports/{report_id}',
}

/** Returns one report as a file: JSON, HTML, PDF or OSCAL. */
export const reportsDownload: Operation<[reportId: string, query?: types.ReportsDownloadQuery, options?: CallOptions], Pending<FileReply>> = {
  id: 'reports.download',
  method: 'GET',
  path: '/v1/reports/{report_id}/download',
  takes: 'query',
  answer: file,
}

/** Returns one report as a file of the format in the path. */
export const reportsDownloadFormat: Operation<[reportId: string, format: 'json' | 'html' | 'pdf' | 'oscal', options?: CallOptions], Pending<FileReply>> = {
  id: 'reports.download_format',
  method: 'GET',
  path: '/v1/reports/{report_id}/download/{format}',
  answer: file,
}

/** Lists the frameworks with their articles, dates, sources and kinds of evidence. */
export const reportsFrameworks: Operation<[options?: CallOptions], Pending<types.ReportsFrameworksReply>> = {
  id: 'reports.frameworks',
  method: 'GET',
  path: '/v1/reports/frameworks',
}

/** Generates and signs a report on the evidence in a period. */
export const reportsGenerate: Operation<[body?: types.ReportsGenerateBody, options?: CallOptions], Pending<types.ReportsGenerateReply | types.ReportsGenerateAccepted>> = {
  id: 'reports.generate',
  method: 'POST',
  path: '/v1/reports/generate',
  takes: 'body',
  idempotent: true,
}

/** Returns one report with its content. */
export const reportsGet: Operation<[reportId: string, options?: CallOptions], Pending<types.ReportsGetReply>> = {
  id: 'reports.get',
  method: 'GET',
  path: '/v1/reports/{report_id}',
}

/** Lists reports, newest first. */
export const reportsList: Operation<[query?: types.ReportsListQuery, options?: CallOptions], Pending<types.ReportsListReply>> = {
  id: 'reports.list',
  method: 'GET',
  path: '/v1/reports',
  takes: 'query',
  items: 'reports',
}

/** Counts reports. */
export const reportsStats: Operation<[options?: CallOptions], Pending<types.ReportsStatsReply>> = {
  id: 'reports.stats',
  method: 'GET',
  path: '/v1/reports/stats',
}

/** Returns how long a store keeps its memories, and how many are due for erasure. */
export const retentionGet: Operation<[storeId: string, options?: CallOptions], Pending<types.RetentionGetReply>> = {
  id: 'retention.get',
  method: 'GET',
  path: '/v1/stores/{store_id}/retention',
}

/** Lists the legal holds of a store, newest first, including released ones. */
export const retentionHolds: Operation<[storeId: string, query?: types.RetentionHoldsQuery, options?: CallOptions], Pending<types.RetentionHoldsReply>> = {
  id: 'retention.holds',
  method: 'GET',
  path: '/v1/stores/{store_id}/holds',
  takes: 'query',
  items: 'holds',
}

/** Places a legal hold: nothing in the store is erased while it is in force. */
export const retentionPlaceHold: Operation<[storeId: string, body: types.RetentionPlaceHoldBody, options?: CallOptions], Pending<types.RetentionPlaceHoldReply>> = {
  id: 'retention.place_hold',
  method: 'POST',
  path: '/v1/stores/{store_id}/holds',
  takes: 'body',
  idempotent: true,
}

/** Releases a legal hold. */
export const retentionReleaseHold: Operation<[storeId: string, holdId: string, body?: types.RetentionReleaseHoldBody, options?: CallOptions], Pending<types.RetentionReleaseHoldReply>> = {
  id: 'retention.release_hold',
  method: 'DELETE',
  path: '/v1/stores/{store_id}/holds/{hold_id}',
  takes: 'body',
}

/** Starts a job that erases the memories past the retention of a store. */
export const retentionRun: Operation<[storeId: string, options?: CallOptions], Pending<types.RetentionRunReply>> = {
  id: 'retention.run',
  method: 'POST',
  path: '/v1/stores/{store_id}/retention/run',
}

/** Sets how long a store keeps its memories. */
export const retentionSet: Operation<[storeId: string, body: types.RetentionSetBody, options?: CallOptions], Pending<types.RetentionSetReply>> = {
  id: 'retention.set',
  method: 'PUT',
  path: '/v1/stores/{store_id}/retention',
  takes: 'body',
}

/** Streams the entries of the audit log as server-sent events. */
export const streamsEvents: Operation<[query?: types.StreamsEventsQuery & { readonly signal?: AbortSignal }, options?: CallOptions], EventFrames<types.StreamsEventsReply>> = {
  id: 'streams.events',
  method: 'GET',
  path: '/v1/events/stream',
  takes: 'query',
  answer: eventFrames,
}

/** Streams what happens in a run, from its first event to its end. */
export const streamsRun: Operation<[runId: string, query?: types.StreamsRunQuery & { readonly signal?: AbortSignal }, options?: CallOptions], EventFrames<types.StreamsRunReply>> = {
  id: 'streams.run',
  method: 'GET',
  path: '/v1/orchestrator/runs/{run_id}/stream',
  takes: 'query',
  answer: eventFrames,
}

/** Makes a ticket that opens one event stream. */
export const streamsTicket: Operation<[body: types.StreamsTicketBody, options?: CallOptions], Pending<types.StreamsTicketReply>> = {
  id: 'streams.ticket',
  method: 'POST',
  path: '/v1/events/tickets',
  takes: 'body',
}

/** Streams the events of the newest run of a workflow, from the first to the last. */
export const streamsWorkflow: Operation<[workflowId: string, query?: types.StreamsWorkflowQuery & { readonly signal?: AbortSignal }, options?: CallOptions], EventFrames<types.StreamsWorkflowReply>> = {
  id: 'streams.workflow',
  method: 'GET',
  path: '/v1/orchestrator/workflows/{workflow_id}/stream',
  takes: 'query',
  answer: eventFrames,
}

/** Returns everything held about a person: NDJSON, JSON, HTML or PDF. */
export const subjectsAccess: Operation<[body: types.SubjectsAccessBody, query?: types.SubjectsAccessQuery, options?: CallOptions], Lines<types.SubjectsAccessReply> | Pending<FileReply>> = {
  id: 'subjects.access',
  method: 'POST',
  path: '/v1/erasure/subject/access',
  takes: 'both',
  answer: lines,
  formats: { json: file, html: file, pdf: file },
}

/** Starts a job that erases everything about a person, with a manifest of certificates. */
export const subjectsErase: Operation<[body: types.SubjectsEraseBody, options?: CallOptions], Pending<types.SubjectsEraseReply | types.SubjectsErasePreview>> = {
  id: 'subjects.erase',
  method: 'POST',
  path: '/v1/erasure/subject',
  takes: 'body',
  idempotent: true,
}

/** Extends the due date by two months (GDPR Article 12(3)). */
export const subjectsExtend: Operation<[requestId: string, body: types.SubjectsExtendBody, options?: CallOptions], Pending<types.SubjectsExtendReply>> = {
  id: 'subjects.extend',
  method: 'POST',
  path: '/v1/erasure/subject/{request_id}/extend',
  takes: 'body',
}

/** Returns one request of a data subject. */
export const subjectsGet: Operation<[requestId: string, options?: CallOptions], Pending<types.SubjectsGetReply>> = {
  id: 'subjects.get',
  method: 'GET',
  path: '/v1/erasure/subject/{request_id}',
}

/** Lists requests of data subjects, newest first. */
export const subjectsList: Operation<[query?: types.SubjectsListQuery, options?: CallOptions], Pending<types.SubjectsListReply>> = {
  id: 'subjects.list',
  method: 'GET',
  path: '/v1/erasure/subject',
  takes: 'query',
  items: 'requests',
}

/** Returns the signed manifest of a finished erasure. */
export const subjectsManifest: Operation<[requestId: string, query?: types.SubjectsManifestQuery, options?: CallOptions], Pending<types.SubjectsManifestReply> | Lines<unknown> | Pending<FileReply>> = {
  id: 'subjects.manifest',
  method: 'GET',
  path: '/v1/erasure/subject/{request_id}/manifest',
  takes: 'query',
  formats: { bundle: lines, pdf: file },
}

/** Registers all types of a template in the world model, or none. */
export const templatesInstall: Operation<[body: types.TemplatesInstallBody, options?: CallOptions], Pending<types.TemplatesInstallReply>> = {
  id: 'templates.install',
  method: 'POST',
  path: '/v1/templates/install',
  takes: 'body',
  idempotent: true,
}

/** Lists the templates that can be installed. */
export const templatesList: Operation<[query?: types.TemplatesListQuery, options?: CallOptions], Pending<types.TemplatesListReply>> = {
  id: 'templates.list',
  method: 'GET',
  path: '/v1/templates',
  takes: 'query',
  items: 'templates',
}

/** Creates a tenant with its first API key. */
export const tenantsCreate: Operation<[body?: types.TenantsCreateBody, options?: CallOptions], Pending<types.TenantsCreateReply>> = {
  id: 'tenants.create',
  method: 'POST',
  path: '/v1/cloud/tenants',
  takes: 'body',
  idempotent: true,
}

/** Returns the usage of the calling tenant in the current period. */
export const tenantsCurrentUsage: Operation<[options?: CallOptions], Pending<types.TenantsCurrentUsageReply>> = {
  id: 'tenants.current_usage',
  method: 'GET',
  path: '/v1/usage/current',
}

/** Returns one tenant. */
export const tenantsGet: Operation<[tenantId: string, options?: CallOptions], Pending<types.TenantsGetReply>> = {
  id: 'tenants.get',
  method: 'GET',
  path: '/v1/cloud/tenants/{tenant_id}',
}

/** Lists every tenant, oldest first, as a plain array. */
export const tenantsList: Operation<[options?: CallOptions], Pending<types.TenantsListReply>> = {
  id: 'tenants.list',
  method: 'GET',
  path: '/v1/cloud/tenants',
}

/** Revokes the tenant's keys and issues a new one. */
export const tenantsRotateKey: Operation<[tenantId: string, options?: CallOptions], Pending<types.TenantsRotateKeyReply>> = {
  id: 'tenants.rotate_key',
  method: 'POST',
  path: '/v1/cloud/tenants/{tenant_id}/rotate-key',
  idempotent: true,
}

/** Changes the name, the plan or the limits of a tenant. */
export const tenantsUpdate: Operation<[tenantId: string, body: types.TenantsUpdateBody, options?: CallOptions], Pending<types.TenantsUpdateReply>> = {
  id: 'tenants.update',
  method: 'PUT',
  path: '/v1/cloud/tenants/{tenant_id}',
  takes: 'body',
}

/** Returns a tenant's operations and bytes of one period. */
export const tenantsUsage: Operation<[tenantId: string, query?: types.TenantsUsageQuery, options?: CallOptions], Pending<types.TenantsUsageReply>> = {
  id: 'tenants.usage',
  method: 'GET',
  path: '/v1/cloud/tenants/{tenant_id}/usage',
  takes: 'query',
}

/** Creates an endpoint that log entries are sent to. */
export const webhooksCreate: Operation<[body: types.WebhooksCreateBody, options?: CallOptions], Pending<types.WebhooksCreateReply>> = {
  id: 'webhooks.create',
  method: 'POST',
  path: '/v1/webhooks',
  takes: 'body',
  idempotent: true,
}

/** Deletes an endpoint with its deliveries; its URL and secrets are destroyed. */
export const webhooksDelete: Operation<[webhookId: string, options?: CallOptions], Pending<types.WebhooksDeleteReply>> = {
  id: 'webhooks.delete',
  method: 'DELETE',
  path: '/v1/webhooks/{webhook_id}',
}

/** Lists deliveries of the last 30 days, newest first. */
export const webhooksDeliveries: Operation<[webhookId: string, query?: types.WebhooksDeliveriesQuery, options?: CallOptions], Pending<types.WebhooksDeliveriesReply>> = {
  id: 'webhooks.deliveries',
  method: 'GET',
  path: '/v1/webhooks/{webhook_id}/deliveries',
  takes: 'query',
  items: 'deliveries',
}

/** Lists the names of events. */
export const webhooksEventTypes: Operation<[options?: CallOptions], Pending<types.WebhooksEventTypesReply>> = {
  id: 'webhooks.event_types',
  method: 'GET',
  path: '/v1/webhooks/events/types',
}

/** Returns one endpoint. */
export const webhooksGet: Operation<[webhookId: string, options?: CallOptions], Pending<types.WebhooksGetReply>> = {
  id: 'webhooks.get',
  method: 'GET',
  path: '/v1/webhooks/{webhook_id}',
}

/** Lists the endpoints, oldest first. */
export const webhooksList: Operation<[query?: types.WebhooksListQuery, options?: CallOptions], Pending<types.WebhooksListReply>> = {
  id: 'webhooks.list',
  method: 'GET',
  path: '/v1/webhooks',
  takes: 'query',
  items: 'webhooks',
}

/** Starts a job that sends a part of the audit log again. */
export const webhooksReplay: Operation<[webhookId: string, body: types.WebhooksReplayBody, options?: CallOptions], Pending<types.WebhooksReplayReply>> = {
  id: 'webhooks.replay',
  method: 'POST',
  path: '/v1/webhooks/{webhook_id}/replay',
  takes: 'body',
}

/** Sends an entry again, as a new delivery. */
export const webhooksRetry: Operation<[webhookId: string, deliveryId: string, options?: CallOptions], Pending<types.WebhooksRetryReply>> = {
  id: 'webhooks.retry',
  method: 'POST',
  path: '/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/retry',
}

/** Replaces the secret; both sign until the overlap ends. */
export const webhooksRotateSecret: Operation<[webhookId: string, body?: types.WebhooksRotateSecretBody, options?: CallOptions], Pending<types.WebhooksRotateSecretReply>> = {
  id: 'webhooks.rotate_secret',
  method: 'POST',
  path: '/v1/webhooks/{webhook_id}/rotate-secret',
  takes: 'body',
}

/** Sends a test event and waits up to 10 seconds for the answer. */
export const webhooksTest: Operation<[webhookId: string, options?: CallOptions], Pending<types.WebhooksTestReply>> = {
  id: 'webhooks.test',
  method: 'POST',
  path: '/v1/webhooks/{webhook_id}/test',
}

/** Changes an endpoint. */
export const webhooksUpdate: Operation<[webhookId: string, body: types.WebhooksUpdateBody, options?: CallOptions], Pending<types.WebhooksUpdateReply>> = {
  id: 'webhooks.update',
  method: 'PUT',
  path: '/v1/webhooks/{webhook_id}',
  takes: 'body',
}

/** Creates a workflow: agents that take turns in the runs of it. */
export const workflowsCreate: Operation<[body: types.WorkflowsCreateBody, options?: CallOptions], Pending<types.WorkflowsCreateReply>> = {
  id: 'workflows.create',
  method: 'POST',
  path: '/v1/orchestrator/workflows',
  takes: 'body',
  idempotent: true,
}

/** Deletes a workflow; its runs stay. */
export const workflowsDelete: Operation<[workflowId: string, options?: CallOptions], Pending<types.WorkflowsDeleteReply>> = {
  id: 'workflows.delete',
  method: 'DELETE',
  path: '/v1/orchestrator/workflows/{workflow_id}',
}

/** Returns one step of any run; with `decisions:read` its texts too. */
export const workflowsFindStep: Operation<[stepId: string, options?: CallOptions], Pending<types.WorkflowsFindStepReply>> = {
  id: 'workflows.find_step',
  method: 'GET',
  path: '/v1/orchestrator/steps/{step_id}',
}

/** Returns one workflow with the steps of its newest run. */
export const workflowsGet: Operation<[workflowId: string, options?: CallOptions], Pending<types.WorkflowsGetReply>> = {
  id: 'workflows.get',
  method: 'GET',
  path: '/v1/orchestrator/workflows/{workflow_id}',
}

/** Lists the workflows, newest first. */
export const workflowsList: Operation<[query?: types.WorkflowsListQuery, options?: CallOptions], Pending<types.WorkflowsListReply>> = {
  id: 'workflows.list',
  method: 'GET',
  path: '/v1/orchestrator/workflows',
  takes: 'query',
  items: 'workflows',
}

/** Lists the receipts of the newest run, oldest first. */
export const workflowsReceipts: Operation<[workflowId: string, options?: CallOptions], Pending<types.WorkflowsReceiptsReply>> = {
  id: 'workflows.receipts',
  method: 'GET',
  path: '/v1/orchestrator/workflows/{workflow_id}/receipts',
}

/** Approves or rejects what the newest run waits for. */
export const workflowsResume: Operation<[workflowId: string, body: types.WorkflowsResumeBody, options?: CallOptions], Pending<types.WorkflowsResumeReply>> = {
  id: 'workflows.resume',
  method: 'POST',
  path: '/v1/orchestrator/workflows/{workflow_id}/resume',
  takes: 'body',
}

/** Starts a run of a workflow and waits until it ends. */
export const workflowsRun: Operation<[workflowId: string, body: types.WorkflowsRunBody, options?: CallOptions], Pending<types.WorkflowsRunReply | types.WorkflowsRunAccepted>> = {
  id: 'workflows.run',
  method: 'POST',
  path: '/v1/orchestrator/workflows/{workflow_id}/run',
  takes: 'body',
  idempotent: true,
}

/** Asks one agent once: a managed run that ends with its answer. */
export const workflowsRunStep: Operation<[body: types.WorkflowsRunStepBody, options?: CallOptions], Pending<types.WorkflowsRunStepReply | types.WorkflowsRunStepAccepted>> = {
  id: 'workflows.run_step',
  method: 'POST',
  path: '/v1/orchestrator/step',
  takes: 'body',
  idempotent: true,
}

/** Ends the newest run of a workflow. */
export const workflowsTerminate: Operation<[workflowId: string, options?: CallOptions], Pending<types.WorkflowsTerminateReply>> = {
  id: 'workflows.terminate',
  method: 'POST',
  path: '/v1/orchestrator/workflows/{workflow_id}/terminate',
}

/** Checks the receipts of the newest run and everything its bundle proves. */
export const workflowsVerifyChain: Operation<[workflowId: string, options?: CallOptions], Pending<types.WorkflowsVerifyChainReply>> = {
  id: 'workflows.verify_chain',
  method: 'GET',
  path: '/v1/orchestrator/workflows/{workflow_id}/verify-chain',
}

/** Counts types by kind and actions by status. */
export const worldModelActionStats: Operation<[options?: CallOptions], Pending<types.WorldModelActionStatsReply>> = {
  id: 'world_model.action_stats',
  method: 'GET',
  path: '/v1/world-model/actions/stats',
}

/** Approves an action that waits for an approval, and signs it. */
export const worldModelApproveAction: Operation<[actionId: string, body: types.WorldModelApproveActionBody, options?: CallOptions], Pending<types.WorldModelApproveActionReply>> = {
  id: 'world_model.approve_action',
  method: 'POST',
  path: '/v1/world-model/actions/{action_id}/approve',
  takes: 'body',
  idempotent: true,
}

/** Returns one action. */
export const worldModelGetAction: Operation<[actionId: string, options?: CallOptions], Pending<types.WorldModelGetActionReply>> = {
  id: 'world_model.get_action',
  method: 'GET',
  path: '/v1/world-model/actions/{action_id}',
}

/** Returns one version of a type. */
export const worldModelGetType: Operation<[typeId: string, query?: types.WorldModelGetTypeQuery, options?: CallOptions], Pending<types.WorldModelGetTypeReply>> = {
  id: 'world_model.get_type',
  method: 'GET',
  path: '/v1/world-model/types/{type_id}',
  takes: 'query',
}

/** Checks an action against its type, trust tier and policies, and records it. */
export const worldModelInvoke: Operation<[body: types.WorldModelInvokeBody, options?: CallOptions], Pending<types.WorldModelInvokeReply | types.WorldModelInvokeAccepted>> = {
  id: 'world_model.invoke',
  method: 'POST',
  path: '/v1/world-model/actions/invoke',
  takes: 'body',
  idempotent: true,
}

/** Lists actions, newest first, including refused ones. */
export const worldModelListActions: Operation<[query?: types.WorldModelListActionsQuery, options?: CallOptions], Pending<types.WorldModelListActionsReply>> = {
  id: 'world_model.list_actions',
  method: 'GET',
  path: '/v1/world-model/actions',
  takes: 'query',
  items: 'invocations',
}

/** Lists the newest version of each type, by kind and name. */
export const worldModelListTypes: Operation<[query?: types.WorldModelListTypesQuery, options?: CallOptions], Pending<types.WorldModelListTypesReply>> = {
  id: 'world_model.list_types',
  method: 'GET',
  path: '/v1/world-model/types',
  takes: 'query',
  items: 'types',
}

/** Registers a type, or the next version of a type of the same kind and name. */
export const worldModelRegisterType: Operation<[body: types.WorldModelRegisterTypeBody, options?: CallOptions], Pending<types.WorldModelRegisterTypeReply>> = {
  id: 'world_model.register_type',
  method: 'POST',
  path: '/v1/world-model/types',
  takes: 'body',
  idempotent: true,
}

/** Rejects an action that waits for an approval. */
export const worldModelRejectAction: Operation<[actionId: string, body: types.WorldModelRejectActionBody, options?: CallOptions], Pending<types.WorldModelRejectActionReply>> = {
  id: 'world_model.reject_action',
  method: 'POST',
  path: '/v1/world-model/actions/{action_id}/reject',
  takes: 'body',
  idempotent: true,
}

/** Validates a link between two types, and between two objects. */
export const worldModelValidateLink: Operation<[body: types.WorldModelValidateLinkBody, options?: CallOptions], Pending<types.WorldModelValidateLinkReply>> = {
  id: 'world_model.validate_link',
  method: 'POST',
  path: '/v1/world-model/validate/link',
  takes: 'body',
  safe: true,
}

/** Validates an object against its type. */
export const worldModelValidateObject: Operation<[body: types.WorldModelValidateObjectBody, options?: CallOptions], Pending<types.WorldModelValidateObjectReply>> = {
  id: 'world_model.validate_object',
  method: 'POST',
  path: '/v1/world-model/validate/object',
  takes: 'body',
  safe: true,
}

/** Verifies the signed document of an action and everything derived in it. */
export const worldModelVerifyAction: Operation<[actionId: string, options?: CallOptions], Pending<types.WorldModelVerifyActionReply>> = {
  id: 'world_model.verify_action',
  method: 'GET',
  path: '/v1/world-model/actions/{action_id}/verify',
}

/** Verifies the signed document of a type and everything derived in it. */
export const worldModelVerifyType: Operation<[typeId: string, query?: types.WorldModelVerifyTypeQuery, options?: CallOptions], Pending<types.WorldModelVerifyTypeReply>> = {
  id: 'world_model.verify_type',
  method: 'GET',
  path: '/v1/world-model/types/{type_id}/verify',
  takes: 'query',
}

// A list: the names of a namespace object would be a tenth of what a browser loads.
/** Every row, in the order of the ids. */
export const OPERATIONS: readonly object[] = [
  approvalsApprover,
  approvalsApprovers,
  approvalsAttest,
  approvalsChangeSettings,
  approvalsEnroll,
  approvalsRequest,
  approvalsRequests,
  approvalsRevoke,
  approvalsSettings,
  approvalsUpdateApprover,
  approvalsVerify,
  artifactsApprove,
  artifactsCertify,
  artifactsGet,
  artifactsIntegrity,
  artifactsList,
  artifactsRegister,
  artifactsReject,
  artifactsStats,
  artifactsVerify,
  assuranceBaseline,
  assuranceCaptureBaseline,
  assuranceCreateSchedule,
  assuranceDeleteSchedule,
  assuranceDrift,
  assuranceGetRun,
  assuranceRun,
  assuranceRuns,
  assuranceSchedules,
  assuranceStats,
  assuranceUpdateSchedule,
  billingCancel,
  billingCheckout,
  billingPortal,
  billingSubscription,
  billingWebhook,
  cgrAttest,
  cgrAttestation,
  cgrAttestations,
  cgrChangeSettings,
  cgrDecide,
  cgrIssuer,
  cgrOutcome,
  cgrOutcomes,
  cgrReview,
  cgrReviews,
  cgrRotate,
  cgrRotations,
  cgrScore,
  cgrScores,
  cgrSettings,
  cgrVerifyBatch,
  complianceBadgeJson,
  complianceBadgeSvg,
  complianceHistory,
  complianceStatus,
  compositionsApprove,
  compositionsArtifact,
  compositionsCompose,
  compositionsGet,
  compositionsList,
  compositionsReject,
  compositionsStats,
  compositionsVerify,
  decisionsExport,
  decisionsGet,
  decisionsList,
  decisionsLog,
  decisionsRedact,
  decisionsReplay,
  decisionsScrub,
  decisionsStats,
  erasureByFact,
  erasureGet,
  erasureIssue,
  erasureList,
  erasureStats,
  erasureVerify,
  gcrumbsBreadcrumbs,
  gcrumbsCheckpoint,
  gcrumbsConsistency,
  gcrumbsEpoch,
  gcrumbsEpochs,
  gcrumbsProof,
  gcrumbsPublicKey,
  gcrumbsRoll,
  gcrumbsStats,
  gcrumbsTile,
  gcrumbsVerify,
  gcrumbsVerifyEnvelope,
  gcrumbsVerifyKey,
  governanceCreatePolicy,
  governanceDeletePolicy,
  governanceEvaluate,
  governanceGetPolicy,
  governanceListPolicies,
  governanceLogs,
  governancePolicyTypes,
  governanceSeedDefaults,
  governanceStats,
  governanceUpdatePolicy,
  identityAccept,
  identityBackchannel,
  identityConfigure,
  identityConnection,
  identityConnections,
  identityCreateConnection,
  identityDeleteConnection,
  identityDropDomain,
  identityExchange,
  identityInvite,
  identityLogout,
  identityMe,
  identityProviders,
  identityRemoveUser,
  identityRevokeSession,
  identitySessions,
  identitySetDomains,
  identitySignIn,
  identityTest,
  identityUpdateConnection,
  identityUpdateUser,
  identityUsers,
  identityVerifyDomain,
  itemsBatch,
  itemsDelete,
  itemsGet,
  itemsNamespaces,
  itemsPut,
  itemsSearch,
  jobsCancel,
  jobsGet,
  keysCreate,
  keysCreateToken,
  keysCurrent,
  keysList,
  keysRevoke,
  landingApprove,
  landingConformance,
  landingGet,
  landingIssue,
  landingList,
  landingReject,
  landingStats,
  landingVerify,
  llmCreateProvider,
  llmCreateTool,
  llmDeleteProvider,
  llmDeleteTool,
  llmListProviders,
  llmListTools,
  llmSeedBuiltins,
  manifoldClearCache,
  manifoldExport,
  manifoldField,
  manifoldLocate,
  manifoldPicture,
  memoryAudit,
  memoryCapabilities,
  memoryCreateStore,
  memoryDelete,
  memoryDeleteStore,
  memoryExport,
  memoryFlush,
  memoryGetStore,
  memoryHistory,
  memoryImport,
  memoryIngest,
  memoryIngestionStats,
  memoryListStores,
  memoryMemories,
  memoryMemory,
  memoryReembed,
  memoryRetrieve,
  memoryStats,
  memorySupersede,
  memoryWrite,
  memoryWriteBatch,
  monitoringStats,
  offboardingDestroyKey,
  offboardingDestruction,
  orchestratorApproveAction,
  orchestratorBeginStep,
  orchestratorBundle,
  orchestratorCallTool,
  orchestratorCancelRun,
  orchestratorCompleteStep,
  orchestratorCreateAgent,
  orchestratorDeleteAgent,
  orchestratorGetAction,
  orchestratorGetAgent,
  orchestratorGetCall,
  orchestratorGetReceipt,
  orchestratorGetRun,
  orchestratorGetStep,
  orchestratorListActions,
  orchestratorListAgents,
  orchestratorListRoles,
  orchestratorListRuns,
  orchestratorListSteps,
  orchestratorPropose,
  orchestratorReceipts,
  orchestratorRejectAction,
  orchestratorReplay,
  orchestratorReportCall,
  orchestratorResolveCall,
  orchestratorStartRun,
  orchestratorStats,
  orchestratorUpdateAgent,
  orchestratorVerify,
  platformHealth,
  platformHealthz,
  platformReadyz,
  provenanceBlock,
  provenanceGet,
  provenanceList,
  provenanceProof,
  provenanceRegister,
  provenanceStats,
  provenanceVerify,
  reportsDelete,
  reportsDownload,
  reportsDownloadFormat,
  reportsFrameworks,
  reportsGenerate,
  reportsGet,
  reportsList,
  reportsStats,
  retentionGet,
  retentionHolds,
  retentionPlaceHold,
  retentionReleaseHold,
  retentionRun,
  retentionSet,
  streamsEvents,
  streamsRun,
  streamsTicket,
  streamsWorkflow,
  subjectsAccess,
  subjectsErase,
  subjectsExtend,
  subjectsGet,
  subjectsList,
  subjectsManifest,
  templatesInstall,
  templatesList,
  tenantsCreate,
  tenantsCurrentUsage,
  tenantsGet,
  tenantsList,
  tenantsRotateKey,
  tenantsUpdate,
  tenantsUsage,
  webhooksCreate,
  webhooksDelete,
  webhooksDeliveries,
  webhooksEventTypes,
  webhooksGet,
  webhooksList,
  webhooksReplay,
  webhooksRetry,
  webhooksRotateSecret,
  webhooksTest,
  webhooksUpdate,
  workflowsCreate,
  workflowsDelete,
  workflowsFindStep,
  workflowsGet,
  workflowsList,
  workflowsReceipts,
  workflowsResume,
  workflowsRun,
  workflowsRunStep,
  workflowsTerminate,
  workflowsVerifyChain,
  worldModelActionStats,
  worldModelApproveAction,
  worldModelGetAction,
  worldModelGetType,
  worldModelInvoke,
  worldModelListActions,
  worldModelListTypes,
  worldModelRegisterType,
  worldModelRejectAction,
  worldModelValidateLink,
  worldModelValidateObject,
  worldModelVerifyAction,
  worldModelVerifyType,
]
