// The methods of the client: one group for each prefix of the operation ids. Generated from the contract by `npm run generate`.

import { Client } from '../client.ts'
import type { ClientOptions } from '../client.ts'
import { addGroups } from '../group.ts'
import type { CallOptions } from '../exchange.ts'
import type { PagedMethod } from '../page-iterators.ts'
import type { Pending } from '../call-result.ts'
import type { EventFrames } from '../reply-events.ts'
import type { FileReply } from '../reply-file.ts'
import type { Lines, LineSource } from '../reply-lines.ts'
import type { WaitOptions } from '../waits.ts'
import type * as types from './types.ts'

/** The operations `approvals.*`. */
export interface ApprovalsGroup {
  /**
   * Returns one approver.
   *
   * Use it to find out who signed a decision.
   */
  approver(approverId: string, options?: CallOptions): Pending<types.ApprovalsApproverReply>
  /**
   * Lists approvers, newest first, including revoked ones.
   *
   * Use it to review who may sign decisions.
   */
  readonly approvers: PagedMethod<[query?: types.ApprovalsApproversQuery, options?: CallOptions], types.ApprovalsApproversReply, types.ApprovalsApproversReply['approvers'][number]>
  /**
   * Approves or denies a request with an enrolled approver's signature.
   *
   * Use it where decisions must be provable. `signature` is Ed25519, by the key of the approver
   * `signer_id`, over the bytes that `signing_input` of the request gives for this decision. On an
   * approval the policies are evaluated again.
   */
  attest(requestId: string, body: types.ApprovalsAttestBody, options?: CallOptions): Pending<types.ApprovalsAttestReply>
  /**
   * Changes what the tenant requires of approvals.
   *
   * Use it to require another key, or a signature, for decisions. Fields that are absent or null
   * stay the same.
   */
  changeSettings(body: types.ApprovalsChangeSettingsBody, options?: CallOptions): Pending<types.ApprovalsChangeSettingsReply>
  /**
   * Enrols an approver with an Ed25519 key.
   *
   * Use it once for each person who signs decisions; the person keeps the key.
   */
  enroll(body: types.ApprovalsEnrollBody, options?: CallOptions): Pending<types.ApprovalsEnrollReply>
  /**
   * Returns an approval request with the full proposal and the bytes to sign.
   *
   * Use it to show an approver the proposal.
   */
  request(requestId: string, options?: CallOptions): Pending<types.ApprovalsRequestReply>
  /**
   * Lists approval requests, newest first.
   *
   * Use it to show the queue of what waits for a person.
   */
  readonly requests: PagedMethod<[query?: types.ApprovalsRequestsQuery, options?: CallOptions], types.ApprovalsRequestsReply, types.ApprovalsRequestsReply['requests'][number]>
  /**
   * Revokes an approver with immediate effect.
   *
   * Use it when a person leaves or a key may have leaked.
   */
  revoke(approverId: string, options?: CallOptions): Pending<types.ApprovalsRevokeReply>
  /**
   * Returns what the tenant requires of approvals.
   *
   * Use it to find out how a request has to be decided.
   */
  settings(options?: CallOptions): Pending<types.ApprovalsSettingsReply>
  /**
   * Changes the name, the role or the state of an approver.
   *
   * Use it when a person changes roles. Fields that are absent or null stay the same. The key
   * cannot be changed: enrol a new approver.
   */
  updateApprover(approverId: string, body: types.ApprovalsUpdateApproverBody, options?: CallOptions): Pending<types.ApprovalsUpdateApproverReply>
  /**
   * Verifies the signed record of a decision and the approver’s signature in it.
   *
   * Use it to check who decided and what exactly was decided.
   */
  verify(requestId: string, options?: CallOptions): Pending<types.ApprovalsVerifyReply>
  /** Waits until a request is approved; throws NotCompletedError when it is not. */
  wait(requestId: string, options?: WaitOptions): Promise<types.ApprovalsRequestReply>
}

/** The operations `artifacts.*`. */
export interface ArtifactsGroup {
  /**
   * Approves an artifact that waits for an approval.
   *
   * Use it to release an escalated registration. The policies are evaluated again.
   */
  approve(artifactId: string, body: types.ArtifactsApproveBody, options?: CallOptions): Pending<types.ArtifactsApproveReply>
  /**
   * Marks an artifact as certified by an issued landing certificate of the same artifact.
   *
   * Use it when the certificate was issued before the artifact was registered.
   */
  certify(artifactId: string, body: types.ArtifactsCertifyBody, options?: CallOptions): Pending<types.ArtifactsCertifyReply>
  /**
   * Returns one artifact.
   *
   * Use it to read an artifact with its signed document.
   */
  get(artifactId: string, options?: CallOptions): Pending<types.ArtifactsGetReply>
  /**
   * Compares digests of layers with the registered ones, in order and number.
   *
   * Use it when an artifact is loaded, to check that it is the registered one.
   */
  integrity(artifactId: string, body: types.ArtifactsIntegrityBody, options?: CallOptions): Pending<types.ArtifactsIntegrityReply>
  /**
   * Lists artifacts, newest first.
   *
   * Use it to browse the registry. A document larger than 64 KiB is null in the list; read the
   * artifact by its id.
   */
  readonly list: PagedMethod<[query?: types.ArtifactsListQuery, options?: CallOptions], types.ArtifactsListReply, types.ArtifactsListReply['artifacts'][number]>
  /**
   * Registers an artifact.
   *
   * Use it before an artifact is deployed. Registering the same artifact again returns the existing
   * record. The policies of the tenant are evaluated as `artifacts.register`: if one escalates, the
   * artifact waits for an approval (202); if one denies, the artifact is recorded as denied.
   */
  register(body: types.ArtifactsRegisterBody, options?: CallOptions): Pending<types.ArtifactsRegisterReply | types.ArtifactsRegisterAccepted>
  /**
   * Rejects an artifact that waits for an approval.
   *
   * Use it to end an escalated registration.
   */
  reject(artifactId: string, body: types.ArtifactsRejectBody, options?: CallOptions): Pending<types.ArtifactsRejectReply>
  /**
   * Counts artifacts by status.
   *
   * Use it for an overview of the registry.
   */
  stats(options?: CallOptions): Pending<types.ArtifactsStatsReply>
  /**
   * Verifies the signed document of an artifact and everything derived in it.
   *
   * Use it before relying on an artifact.
   */
  verify(artifactId: string, options?: CallOptions): Pending<types.ArtifactsVerifyReply>
}

/** The operations `assurance.*`. */
export interface AssuranceGroup {
  /**
   * Returns the newest baseline.
   *
   * Use it to see what runs are compared with.
   */
  baseline(options?: CallOptions): Pending<types.AssuranceBaselineReply>
  /**
   * Checks the tenant and stores its state as the baseline of later runs.
   *
   * Use it when the tenant is known to be sound. It is refused if a check fails.
   */
  captureBaseline(options?: CallOptions): Pending<types.AssuranceCaptureBaselineReply | types.AssuranceCaptureBaselineAccepted>
  /**
   * Creates a schedule that runs checks at an interval.
   *
   * Use it to have the service check itself regularly. The first run is due after one interval;
   * after a downtime a single run replaces all that were missed. `conformance` requires an interval
   * of at least an hour, because it writes to stores of its own. To be told of results, create a
   * webhook for `assurance.drift` and `assurance.fail`.
   */
  createSchedule(body?: types.AssuranceCreateScheduleBody, options?: CallOptions): Pending<types.AssuranceCreateScheduleReply>
  /**
   * Deletes a schedule; its runs remain readable.
   *
   * Use it when a schedule is no longer needed.
   */
  deleteSchedule(scheduleId: string, options?: CallOptions): Pending<types.AssuranceDeleteScheduleReply>
  /**
   * Lists differences from the baseline that runs found, newest first.
   *
   * Use it to notice that something has changed or stopped working.
   */
  drift(query?: types.AssuranceDriftQuery, options?: CallOptions): Pending<types.AssuranceDriftReply>
  /**
   * Returns one run with its results.
   *
   * Use it to wait for a run, or to see what failed.
   */
  getRun(runId: string, options?: CallOptions): Pending<types.AssuranceGetRunReply>
  /**
   * Checks the tenant now and compares the results with the baseline.
   *
   * Use it after an incident or before an audit. The reply is the finished run; after 60 seconds,
   * or at once with `background`, it is a 202 with the id of the run. A tenant has one run at a
   * time. The audit log is verified from its first entry; of more than 2000 memories or decisions,
   * a sample selected by `seed` is decrypted. A key limited to some stores is refused.
   */
  run(body?: types.AssuranceRunBody, options?: CallOptions): Pending<types.AssuranceRunReply | types.AssuranceRunAccepted>
  /**
   * Lists runs, newest first.
   *
   * Use it to see how checks went over time.
   */
  readonly runs: PagedMethod<[query?: types.AssuranceRunsQuery, options?: CallOptions], types.AssuranceRunsReply, types.AssuranceRunsReply['runs'][number]>
  /**
   * Lists the schedules, oldest first, up to 100.
   *
   * Use it to review what is checked and how often.
   */
  schedules(options?: CallOptions): Pending<types.AssuranceSchedulesReply>
  /**
   * Counts the stored runs by result.
   *
   * Use it for an overview of the checks.
   */
  stats(options?: CallOptions): Pending<types.AssuranceStatsReply>
  /**
   * Changes a schedule.
   *
   * Use it to pause a schedule or change its interval; the next run is then due one new interval
   * from now. Absent fields stay the same.
   */
  updateSchedule(scheduleId: string, body: types.AssuranceUpdateScheduleBody, options?: CallOptions): Pending<types.AssuranceUpdateScheduleReply>
}

/** The operations `billing.*`. */
export interface BillingGroup {
  /**
   * Cancels the subscription of a tenant.
   *
   * Use it to end a paid plan. Data stay; the limits of `starter` hold afterwards.
   */
  cancel(tenantId: string, body?: types.BillingCancelBody, options?: CallOptions): Pending<types.BillingCancelReply>
  /**
   * Opens a checkout page of the payment provider for a plan.
   *
   * Use it to begin a paid plan. The plan changes once the provider was paid.
   */
  checkout(body?: types.BillingCheckoutBody, options?: CallOptions): Pending<types.BillingCheckoutReply>
  /**
   * Opens the page of the payment provider for invoices and cards.
   *
   * Use it to let a tenant see invoices and change how it pays.
   */
  portal(tenantId: string, options?: CallOptions): Pending<types.BillingPortalReply>
  /**
   * Returns the subscription of a tenant.
   *
   * Use it to show plan, state and period. Without one the status is `none`.
   */
  subscription(tenantId: string, options?: CallOptions): Pending<types.BillingSubscriptionReply>
  /**
   * Takes an event of the payment provider.
   *
   * The provider calls it, with `Payment-Signature` or `Stripe-Signature`: `t=<unix
   * seconds>,v1=<hex HMAC-SHA256 of "<t>.<body>">`. An event is a hint to fetch what it is about.
   */
  webhook(body: Uint8Array | string, options?: CallOptions): Pending<types.BillingWebhookReply>
}

/** The operations `cgr.*`. */
export interface CgrGroup {
  /**
   * Signs the current score of an agent.
   *
   * Use it to present the score to third parties. If nothing has changed since the latest
   * attestation of the same day, that attestation is returned.
   */
  attest(body: types.CgrAttestBody, options?: CallOptions): Pending<types.CgrAttestReply>
  /**
   * Returns the newest attestation of an agent.
   *
   * Use it to read an attestation without issuing a new one.
   */
  attestation(agentHandle: string, query?: types.CgrAttestationQuery, options?: CallOptions): Pending<types.CgrAttestationReply>
  /**
   * Lists issued attestations, newest first.
   *
   * Use it to review what was attested. It signs nothing.
   */
  readonly attestations: PagedMethod<[query?: types.CgrAttestationsQuery, options?: CallOptions], types.CgrAttestationsReply, types.CgrAttestationsReply['attestations'][number]>
  /**
   * Changes what the tenant requires of judgments, outcomes and reviews.
   *
   * Use it to make scores harder to manipulate. Absent fields stay the same.
   */
  changeSettings(body: types.CgrChangeSettingsBody, options?: CallOptions): Pending<types.CgrChangeSettingsReply>
  /**
   * Records a governed decision of an agent.
   *
   * Use it when an agent certifies or rejects something. One judgment counts per agent and
   * referent: the same decision again returns the existing record with `idempotent`, another one
   * replaces it, with `judgments_final` of `PUT /v1/cgr/settings` only until the referent is `paid`
   * or `default`. Signed by `agent_key`, the decision counts for the key; without the signature it
   * counts for a separate unproven agent, so that nobody can add to the record of a key they do not
   * have. The reply carries a signed receipt, which `POST /v1/gcrumbs/verify` and the offline
   * verifier check.
   */
  decide(body: types.CgrDecideBody, options?: CallOptions): Pending<types.CgrDecideReply>
  /**
   * Returns the issuer of attestations and its key.
   *
   * Use it to verify attestations.
   */
  issuer(options?: CallOptions): Pending<types.CgrIssuerReply>
  /**
   * Records the outcome of a referent.
   *
   * Use it when the outcome of a decision is known. Of two records the later arrival counts; its
   * date is stored as data. Reviews and outcomes are joined to decisions of the same `dimension` by
   * `invoice_ref`, which is stored and returned only as a pseudonym. `paid` and `default` resolve
   * the decisions on it; `disputed`, `late` and `written_off` leave them pending and are counted as
   * `n_unscored`.
   */
  outcome(body: types.CgrOutcomeBody, options?: CallOptions): Pending<types.CgrOutcomeReply>
  /**
   * Records up to 10,000 outcomes, all or none.
   *
   * Use it to load outcomes from another system. Of two records the later arrival counts; its date
   * is stored as data. Reviews and outcomes are joined to decisions of the same `dimension` by
   * `invoice_ref`, which is stored and returned only as a pseudonym. Of several items for one
   * referent the last one is recorded.
   */
  outcomes(body: types.CgrOutcomesBody, options?: CallOptions): Pending<types.CgrOutcomesReply>
  /**
   * Records a review of the decisions on a referent.
   *
   * Use it when a reviewer rates a decision. Of two records the later arrival counts; its date is
   * stored as data. Reviews and outcomes are joined to decisions of the same `dimension` by
   * `invoice_ref`, which is stored and returned only as a pseudonym. It influences the score until
   * the referent has an outcome; afterwards it shows how well the reviewer rates.
   */
  review(body: types.CgrReviewBody, options?: CallOptions): Pending<types.CgrReviewReply>
  /**
   * Records up to 10,000 reviews, all or none.
   *
   * Use it to load reviews from another system. Of two records the later arrival counts; its date
   * is stored as data. Reviews and outcomes are joined to decisions of the same `dimension` by
   * `invoice_ref`, which is stored and returned only as a pseudonym. Of several items for one
   * referent and reviewer the last one is recorded.
   */
  reviews(body: types.CgrReviewsBody, options?: CallOptions): Pending<types.CgrReviewsReply>
  /**
   * Records that a key of an agent is replaced by another, signed by the old key.
   *
   * Use it when an agent changes its key and should keep its reputation. Rotations are recorded in
   * order: with the next number, from the current key of the chain, to a key without a record of
   * its own, and not before the previous rotation. From `not_before` on only the new key may
   * decide; all keys count as one agent.
   */
  rotate(body: types.CgrRotateBody, options?: CallOptions): Pending<types.CgrRotateReply>
  /**
   * Lists rotations of keys, oldest first.
   *
   * Use it to follow the keys of an agent.
   */
  readonly rotations: PagedMethod<[query?: types.CgrRotationsQuery, options?: CallOptions], types.CgrRotationsReply, types.CgrRotationsReply['rotations'][number]>
  /**
   * Returns the score of one agent by its handle.
   *
   * Use it before relying on an agent. If several agents share the handle, it returns the proven
   * one that used it first, or the one of `subject_key`; `same_handle` counts the others.
   */
  score(agentHandle: string, query?: types.CgrScoreQuery, options?: CallOptions): Pending<types.CgrScoreReply>
  /**
   * Lists the scores of all agents in a dimension, highest first.
   *
   * Use it to compare agents. `limit` and `offset` page the agents; each score counts all records.
   */
  readonly scores: PagedMethod<[query?: types.CgrScoresQuery, options?: CallOptions], types.CgrScoresReply, types.CgrScoresReply['scores'][number]>
  /**
   * Returns what the tenant requires of judgments, outcomes and reviews.
   *
   * Use it to find out which records are refused.
   */
  settings(options?: CallOptions): Pending<types.CgrSettingsReply>
  /**
   * Checks up to 500 invoices by rules and records a governed decision for each.
   *
   * Use it to certify invoices by fixed rules: the amount within the purchase order, the approval
   * of the debtor, no duplicate in the batch. The decisions are recorded atomically, with the tag
   * `rule`, which earns no reputation; each has a signed receipt. An invoice with the same earlier
   * decision of the agent keeps its record.
   */
  verifyBatch(body: types.CgrVerifyBatchBody, options?: CallOptions): Pending<types.CgrVerifyBatchReply>
}

/** The operations `compliance.*`. */
export interface ComplianceGroup {
  /**
   * Returns the content of the conformance badge as JSON.
   *
   * Use it with a service that draws badges.
   */
  badgeJson(tenantId: string, options?: CallOptions): Pending<types.ComplianceBadgeJsonReply>
  /**
   * Returns the conformance badge as an SVG picture.
   *
   * Use it on a web page. A tenant that does not exist looks like one that was not audited.
   */
  badgeSvg(tenantId: string, options?: CallOptions): Pending<types.ComplianceBadgeSvgReply>
  /**
   * Lists the conformance audits of a tenant, newest first, as a plain array.
   *
   * Use it to show that the capabilities of the stores were tested. An audit is made by a run of
   * the check `conformance`: `POST /v1/assurance/run`.
   */
  history(tenantId: string, query?: types.ComplianceHistoryQuery, options?: CallOptions): Pending<types.ComplianceHistoryReply>
  /**
   * Lists the newest conformance audit of each tenant that has one.
   *
   * Use it for an overview of all tenants. The pages are pages of tenants: one may contain fewer
   * audits than `limit`, and `next_cursor` says whether there are more tenants.
   */
  readonly status: PagedMethod<[query?: types.ComplianceStatusQuery, options?: CallOptions], types.ComplianceStatusReply, types.ComplianceStatusReply['tenants'][number]>
}

/** The operations `compositions.*`. */
export interface CompositionsGroup {
  /**
   * Approves a composition that waits for an approval, and signs it.
   *
   * Use it to release an escalated composition. Everything is checked again.
   */
  approve(compositionId: string, body: types.CompositionsApproveBody, options?: CallOptions): Pending<types.CompositionsApproveReply>
  /**
   * Returns the artifact to register for the composed result.
   *
   * Use it after a composition is governed. The fields are null while it is not governed.
   */
  artifact(compositionId: string, options?: CallOptions): Pending<types.CompositionsArtifactReply>
  /**
   * Checks members, licences, trust tier and policies of a composition and signs it.
   *
   * Use it before combined artifacts and data are released. Members in the registries of the tenant
   * are looked up, and a claim that contradicts the record is refused; other members are recorded
   * as claimed and listed as `unverified_members`. Licences stated by records of members apply
   * besides the claimed ones. At most 64 KiB of licences and 256 KiB of signed content. 422
   * `rejected` lists every reason; 202 means that a policy asks for an approval.
   */
  compose(body: types.CompositionsComposeBody, options?: CallOptions): Pending<types.CompositionsComposeReply | types.CompositionsComposeAccepted>
  /**
   * Returns one composition.
   *
   * Use it to read a composition with its signed document.
   */
  get(compositionId: string, options?: CallOptions): Pending<types.CompositionsGetReply>
  /**
   * Lists compositions, newest first.
   *
   * Use it to browse the registry. If a document is larger than 64 KiB, it and the verdict are null
   * and `members` is empty in the list; read the composition by its id.
   */
  readonly list: PagedMethod<[query?: types.CompositionsListQuery, options?: CallOptions], types.CompositionsListReply, types.CompositionsListReply['compositions'][number]>
  /**
   * Rejects a composition that waits for an approval.
   *
   * Use it to end an escalated composition.
   */
  reject(compositionId: string, body: types.CompositionsRejectBody, options?: CallOptions): Pending<types.CompositionsRejectReply>
  /**
   * Counts compositions by status.
   *
   * Use it for an overview of the registry.
   */
  stats(options?: CallOptions): Pending<types.CompositionsStatsReply>
  /**
   * Verifies the signed document of a composition and everything derived in it.
   *
   * Use it before relying on a composition.
   */
  verify(compositionId: string, options?: CallOptions): Pending<types.CompositionsVerifyReply>
}

/** The operations `decisions.*`. */
export interface DecisionsGroup {
  /**
   * Streams every decision as NDJSON, oldest first.
   *
   * Use it to download the decision trail. The reply is sent as a file.
   */
  export(query?: types.DecisionsExportQuery, options?: CallOptions): Lines<types.DecisionsExportReply>
  /**
   * Returns one decision.
   *
   * Use it to read a decision whose id is known.
   */
  get(decisionId: string, options?: CallOptions): Pending<types.DecisionsGetReply>
  /**
   * Lists decisions, newest first.
   *
   * Use it to review decisions of a store, session, model or period. A page of very large decisions
   * may have fewer items than `limit`; `next_cursor` continues it.
   */
  readonly list: PagedMethod<[query?: types.DecisionsListQuery, options?: CallOptions], types.DecisionsListReply, types.DecisionsListReply['decisions'][number]>
  /**
   * Records one decision, encrypted and signed, with its digest on the audit log.
   *
   * Use it after each decision of an agent that should be explainable later.
   */
  log(body: types.DecisionsLogBody, options?: CallOptions): Pending<types.DecisionsLogReply>
  /**
   * Erases the text of a decision and certifies it.
   *
   * Use it when a decision itself contains personal data. It erases query, output, parameters,
   * session id and contents that are not stored memories; the memories it used are erased
   * separately.
   */
  redact(decisionId: string, body?: types.DecisionsRedactBody, options?: CallOptions): Pending<types.DecisionsRedactReply>
  /**
   * Returns a decision with the memories that were on record at the time.
   *
   * Use it to explain why an agent decided as it did, and to see which of the memories it used have
   * been superseded or erased since, or have expired.
   */
  replay(decisionId: string, options?: CallOptions): Pending<types.DecisionsReplayReply>
  /**
   * Redacts the content of a memory in every decision that used it.
   *
   * Use it to remove copies of a memory from decisions while the memory itself is kept; an erasure
   * does this by itself.
   */
  scrub(factRef: number, options?: CallOptions): Pending<types.DecisionsScrubReply>
  /**
   * Returns totals over all decisions.
   *
   * Use it for reports on the use of models.
   */
  stats(options?: CallOptions): Pending<types.DecisionsStatsReply>
}

/** The operations `erasure.*`. */
export interface ErasureGroup {
  /**
   * Returns the certificate of an erased memory.
   *
   * Use it when the number of the memory is known and the certificate is not.
   */
  byFact(factRef: number, options?: CallOptions): Pending<types.ErasureByFactReply>
  /**
   * Returns one certificate.
   *
   * Use it to give a certificate to the person who requested the erasure. `pdf` is a human-readable
   * rendering with id and digest; only `json` is signed.
   */
  get(certificateId: string, query: types.ErasureGetQuery & { format: 'pdf' }, options?: CallOptions): Pending<FileReply>
  /**
   * Returns one certificate.
   *
   * Use it to give a certificate to the person who requested the erasure. `pdf` is a human-readable
   * rendering with id and digest; only `json` is signed.
   */
  get(certificateId: string, query?: types.ErasureGetQuery, options?: CallOptions): Pending<types.ErasureGetReply>
  /**
   * Erases a memory from every copy and returns a signed certificate.
   *
   * Use it to forget one memory with proof. A repeated request returns the first certificate with
   * `deleted: false`. A number that only decisions name has their copies redacted
   * (`already_absent`); one that nothing names is certified as `nothing_found`. With `store_id` the
   * memory must be in that store.
   */
  issue(body: types.ErasureIssueBody, options?: CallOptions): Pending<types.ErasureIssueReply>
  /**
   * Lists certificates, newest first.
   *
   * Use it to review which erasures took place.
   */
  readonly list: PagedMethod<[query?: types.ErasureListQuery, options?: CallOptions], types.ErasureListReply, types.ErasureListReply['certificates'][number]>
  /**
   * Counts certificates by outcome.
   *
   * Use it for reports on erasures. Self-tests are counted apart.
   */
  stats(options?: CallOptions): Pending<types.ErasureStatsReply>
  /**
   * Verifies a stored certificate and its signature against the published keys.
   *
   * Use it for a quick check. To verify without trusting the service, use `custos verify`.
   */
  verify(certificateId: string, options?: CallOptions): Pending<types.ErasureVerifyReply>
}

/** The operations `gcrumbs.*`. */
export interface GcrumbsGroup {
  /**
   * Lists the entries of the audit log, oldest first.
   *
   * Use it to follow or copy the audit log.
   */
  readonly breadcrumbs: PagedMethod<[query?: types.GcrumbsBreadcrumbsQuery, options?: CallOptions], types.GcrumbsBreadcrumbsReply, types.GcrumbsBreadcrumbsReply['breadcrumbs'][number]>
  /**
   * Returns the last signed checkpoint with its cosignatures, as a signed note.
   *
   * Use it with `/v1/log` as the prefix of a C2SP tlog-tiles log, to follow the audit log with any
   * monitor. See `docs/witnesses.md`.
   */
  checkpoint(options?: CallOptions): Pending<types.GcrumbsCheckpointReply>
  /**
   * Returns the proof that an earlier checkpoint is a prefix of this one.
   *
   * Use it to check that nothing before a checkpoint you hold was changed.
   */
  consistency(epochNumber: number, query: types.GcrumbsConsistencyQuery, options?: CallOptions): Pending<types.GcrumbsConsistencyReply>
  /**
   * Returns one signed checkpoint with its consistency proof.
   *
   * Use it to keep a checkpoint outside the service.
   */
  epoch(epochNumber: number, options?: CallOptions): Pending<types.GcrumbsEpochReply>
  /**
   * Lists the signed checkpoints, oldest first.
   *
   * Use it to find the checkpoint that covers a point in time.
   */
  readonly epochs: PagedMethod<[query?: types.GcrumbsEpochsQuery, options?: CallOptions], types.GcrumbsEpochsReply, types.GcrumbsEpochsReply['epochs'][number]>
  /**
   * Returns the proof that an entry is in the audit log a checkpoint signs.
   *
   * Use it to show somebody else that an event was recorded.
   */
  proof(epochNumber: number, query: types.GcrumbsProofQuery, options?: CallOptions): Pending<types.GcrumbsProofReply>
  /**
   * Returns the current key of the audit log and all signing keys.
   *
   * Use it to verify signatures independently of the service. Retired keys are included.
   */
  publicKey(query?: types.GcrumbsPublicKeyQuery, options?: CallOptions): Pending<types.GcrumbsPublicKeyReply>
  /**
   * Signs a checkpoint over the audit log.
   *
   * Use it to fix the state of the log at a point in time, for example before an audit. When
   * nothing was added it returns the current checkpoint.
   */
  roll(body?: types.GcrumbsRollBody, options?: CallOptions): Pending<types.GcrumbsRollReply>
  /**
   * Counts the entries and checkpoints of the audit log.
   *
   * Use it to see whether the last checkpoint covers the latest entries.
   */
  stats(options?: CallOptions): Pending<types.GcrumbsStatsReply>
  /**
   * Returns one tile of the audit log in the form of C2SP tlog-tiles.
   *
   * Use it to recompute roots and proofs from hashes (`tile/<L>/<N>`) and to read entries
   * (`tile/entries/<N>`), 256 in a tile; a part of one ends in `.p/<W>`. Only what a checkpoint
   * signs is there. An entry is the canonical JSON of which its leaf is the hash.
   */
  tile(tile: string, options?: CallOptions): Pending<FileReply>
  /**
   * Recomputes the audit log from its entries and verifies every checkpoint.
   *
   * Use it to check that the log was not tampered with. It starts at the last verified position
   * unless `full` is set.
   */
  verify(query?: types.GcrumbsVerifyQuery, options?: CallOptions): Pending<types.GcrumbsVerifyReply>
  /**
   * Verifies a proof, checkpoint, certificate, decision, receipt or list of entries.
   *
   * Use it to verify a record that somebody else holds. It is public and stores nothing. Execution
   * receipts are sent as `{"receipts": [...], "public_key_b64": "..."}`: without a key each is
   * verified with the key that it names, which has to be a published one.
   */
  verifyEnvelope(body: types.GcrumbsVerifyEnvelopeBody, options?: CallOptions): Pending<types.GcrumbsVerifyEnvelopeReply>
  /**
   * Returns the current key of receipts in hexadecimal and base64.
   *
   * Use it to verify execution receipts with `POST /v1/gcrumbs/verify`. The key of the audit log,
   * for witnesses, is that of `GET /v1/gcrumbs/public_key`.
   */
  verifyKey(options?: CallOptions): Pending<types.GcrumbsVerifyKeyReply>
}

/** The operations `governance.*`. */
export interface GovernanceGroup {
  /**
   * Creates a policy, which applies to the next request on every process.
   *
   * Use it to restrict what agents may do.
   */
  createPolicy(body: types.GovernanceCreatePolicyBody, options?: CallOptions): Pending<types.GovernanceCreatePolicyReply>
  /**
   * Deletes a policy; its versions remain readable.
   *
   * Use it when a policy should no longer apply.
   */
  deletePolicy(policyId: string, options?: CallOptions): Pending<types.GovernanceDeletePolicyReply>
  /**
   * Evaluates every enabled policy for an operation and says whether it may run.
   *
   * Use it before an agent does something outside the service, such as calling a tool. The result
   * is logged and counts towards rate limits unless `dry_run` is true; an operation that the
   * service gates itself, such as `memory.write`, counts only there. Unknown names are refused:
   * name an operation of your own `custom.<name>`. Of the context, only ids, lengths and keyed
   * hashes are stored.
   */
  evaluate(body: types.GovernanceEvaluateBody, options?: CallOptions): Pending<types.GovernanceEvaluateReply>
  /**
   * Returns a policy with its versions.
   *
   * Use it to see who changed a policy and when.
   */
  getPolicy(policyId: string, query?: types.GovernanceGetPolicyQuery, options?: CallOptions): Pending<types.GovernanceGetPolicyReply>
  /**
   * Lists policies in the order of evaluation.
   *
   * Use it to review which policies apply.
   */
  readonly listPolicies: PagedMethod<[query?: types.GovernanceListPoliciesQuery, options?: CallOptions], types.GovernanceListPoliciesReply, types.GovernanceListPoliciesReply['policies'][number]>
  /**
   * Lists results of policies, newest first.
   *
   * Use it to find out why an operation was denied.
   */
  readonly logs: PagedMethod<[query?: types.GovernanceLogsQuery, options?: CallOptions], types.GovernanceLogsReply, types.GovernanceLogsReply['logs'][number]>
  /**
   * Lists the types of policies with the JSON Schema of their configurations.
   *
   * Use it before creating a policy, or to build a form for one.
   */
  policyTypes(options?: CallOptions): Pending<types.GovernancePolicyTypesReply>
  /**
   * Creates the default policies that do not exist yet, all or none.
   *
   * Use it to start with a reasonable set of policies.
   */
  seedDefaults(body?: types.GovernanceSeedDefaultsBody, options?: CallOptions): Pending<types.GovernanceSeedDefaultsReply>
  /**
   * Counts policies and the results of their evaluation.
   *
   * Use it to see how often policies deny or escalate.
   */
  stats(options?: CallOptions): Pending<types.GovernanceStatsReply>
  /**
   * Changes a policy and adds a version.
   *
   * Use it to adjust or disable a policy. Fields that are absent or null stay the same; the type
   * cannot be changed.
   */
  updatePolicy(policyId: string, body: types.GovernanceUpdatePolicyBody, options?: CallOptions): Pending<types.GovernanceUpdatePolicyReply>
}

/** The operations `identity.*`. */
export interface IdentityGroup {
  /**
   * Takes an invitation and begins a session of the person.
   *
   * Use it on the page where a person enters an invitation, which is taken once. Owners and admins
   * then make a key of their own to sign in with later; others come back through a provider.
   */
  accept(body: types.IdentityAcceptBody, options?: CallOptions): Pending<types.IdentityAcceptReply>
  /**
   * Ends the sessions that a logout token of a provider names.
   *
   * The back-channel logout URI of a connection (OpenID Connect Back-Channel Logout 1.0). It is
   * called by the provider; a token is taken once, and answered with 400 if it is not taken.
   */
  backchannel(body: Uint8Array | string, query: types.IdentityBackchannelQuery, options?: CallOptions): Pending<types.IdentityBackchannelReply>
  /**
   * Connects the tenant to an OpenID provider, as `identity.create_connection` does.
   *
   * Use `identity.create_connection`; existing clients know this path.
   */
  configure(body: types.IdentityConfigureBody, options?: CallOptions): Pending<types.IdentityConfigureReply>
  /**
   * Returns a connection.
   *
   * Use it to see what to register at the provider.
   */
  connection(connectionId: string, options?: CallOptions): Pending<types.IdentityConnectionReply>
  /**
   * Lists the connections of the tenant, oldest first.
   *
   * Use it to review how people sign in. Secrets are not shown.
   */
  readonly connections: PagedMethod<[query?: types.IdentityConnectionsQuery, options?: CallOptions], types.IdentityConnectionsReply, types.IdentityConnectionsReply['connections'][number]>
  /**
   * Connects the tenant to an OpenID provider.
   *
   * Use it once for each provider; a tenant has at most 20. Register the `redirect_uri` of the
   * reply at the provider, then run `identity.test`. Nobody maps to a role that may do more than
   * they may themselves. Issuer and client id cannot be changed later.
   */
  createConnection(body: types.IdentityCreateConnectionBody, options?: CallOptions): Pending<types.IdentityCreateConnectionReply>
  /**
   * Deletes a connection: its sessions end, its secret is destroyed.
   *
   * Use it when a provider is left. The people stay, and cannot sign in with it.
   */
  deleteConnection(connectionId: string, options?: CallOptions): Pending<types.IdentityDeleteConnectionReply>
  /**
   * Removes an e-mail domain from a connection.
   *
   * Use it when you give up the domain, or to verify it for another connection. Signing in no
   * longer accepts invitations to its addresses, and `identity.authorize` no longer finds the
   * connection by it. People who have signed in and their sessions stay.
   */
  dropDomain(connectionId: string, domain: string, options?: CallOptions): Pending<types.IdentityDropDomainReply>
  /**
   * Exchanges the one-time code of a sign-in for a session.
   *
   * Use it on a page of an origin in `CUSTOS_CONSOLE_ORIGINS` after `identity.authorize`. The code
   * is used once, within 60 seconds, with the verifier of its challenge.
   */
  exchange(body: types.IdentityExchangeBody, options?: CallOptions): Pending<types.IdentityExchangeReply>
  /**
   * Invites a person to the tenant.
   *
   * Use it to give a person an account; an operator invites the first owner. The invitation is
   * shown once, can be taken for 7 days, and is sent to the person by you. Nobody grants a role
   * that may do more than they may themselves.
   */
  invite(tenantId: string, body: types.IdentityInviteBody, options?: CallOptions): Pending<types.IdentityInviteReply>
  /**
   * Ends the session of this request and removes its cookie.
   *
   * Use it when a person leaves. A request without a session ends nothing.
   */
  logout(options?: CallOptions): Pending<types.IdentityLogoutReply>
  /**
   * Returns the identity and rights of the caller.
   *
   * Use it when a page loads, to check whether a user is signed in. In local mode it needs no
   * credential.
   */
  me(options?: CallOptions): Pending<types.IdentityMeReply>
  /**
   * Lists the providers that people of a tenant can sign in with.
   *
   * Use it on a sign-in page. Only connections that are configured and enabled are listed; a tenant
   * that does not exist has none.
   */
  providers(query: types.IdentityProvidersQuery, options?: CallOptions): Pending<types.IdentityProvidersReply>
  /**
   * Removes a person: sessions end, name and address are destroyed.
   *
   * Use it when somebody leaves. Their keys are revoked unless `keep_keys` says otherwise. The
   * audit log and approvals keep the id of the person.
   */
  removeUser(userId: string, query?: types.IdentityRemoveUserQuery, options?: CallOptions): Pending<types.IdentityRemoveUserReply>
  /**
   * Ends a session with immediate effect.
   *
   * Use it when a browser was left behind or its cookie may have leaked.
   */
  revokeSession(sessionId: string, options?: CallOptions): Pending<types.IdentityRevokeSessionReply>
  /**
   * Lists the sessions that have not ended, newest first.
   *
   * Use it to see who is signed in. A key limited to stores sees its own sessions.
   */
  readonly sessions: PagedMethod<[query?: types.IdentitySessionsQuery, options?: CallOptions], types.IdentitySessionsReply, types.IdentitySessionsReply['sessions'][number]>
  /**
   * Confirms that domains of e-mail addresses belong to a connection.
   *
   * Use it as an operator, after you have seen that the tenant owns them. An invitation to an
   * address of such a domain can be taken by signing in with this provider, which must say that it
   * has verified the address. A domain belongs to one connection.
   */
  setDomains(tenantId: string, connectionId: string, body: types.IdentitySetDomainsBody, options?: CallOptions): Pending<types.IdentitySetDomainsReply>
  /**
   * Begins a session of a browser with an API key.
   *
   * Use it for pages in a browser, which then need not keep the key. The reply sets a cookie that
   * scripts cannot read. A session may do what its key may do, and ends with the key, after 8 hours
   * without a request, and after 24 hours. Requests of a session that are not a GET need
   * `x-custos-csrf` and come from a page of the service itself.
   */
  signIn(body: types.IdentitySignInBody, options?: CallOptions): Pending<types.IdentitySignInReply>
  /**
   * Reads the discovery document and the keys of the provider, and says what is wrong.
   *
   * Use it after a connection was made. Nobody is signed in and nothing changes.
   */
  test(connectionId: string, options?: CallOptions): Pending<types.IdentityTestReply>
  /**
   * Changes a connection.
   *
   * Use it to map roles, to replace the client secret, or to switch the connection off, which ends
   * its sessions. Absent fields stay.
   */
  updateConnection(connectionId: string, body: types.IdentityUpdateConnectionBody, options?: CallOptions): Pending<types.IdentityUpdateConnectionReply>
  /**
   * Changes the roles or the name of a person.
   *
   * Use it when somebody takes on other work. With other roles the sessions of the person end, and
   * so do their keys that may do more than the new roles. Absent fields stay.
   */
  updateUser(userId: string, body: types.IdentityUpdateUserBody, options?: CallOptions): Pending<types.IdentityUpdateUserReply>
  /**
   * Lists the people of the tenant, oldest first.
   *
   * Use it to review who has access.
   */
  readonly users: PagedMethod<[query?: types.IdentityUsersQuery, options?: CallOptions], types.IdentityUsersReply, types.IdentityUsersReply['users'][number]>
  /**
   * Confirms a domain of e-mail addresses by a TXT record that only its owner can publish.
   *
   * Use it twice: the first reply names the record to publish, the next one finds it. The domain is
   * then that of the connection, as by `identity.set_domains`: an invitation to an address of it
   * can be taken by signing in. The caller may do what an `owner` may. It can be used 10 times a
   * minute.
   */
  verifyDomain(connectionId: string, body: types.IdentityVerifyDomainBody, options?: CallOptions): Pending<types.IdentityVerifyDomainReply>
}

/** The operations `items.*`. */
export interface ItemsGroup {
  /**
   * Runs up to 100 operations on items.
   *
   * Use it where several operations belong together. Reads see the items before the batch. Its puts
   * commit together with the hiding of what it deletes, or not at all. Of several puts and
   * deletions of one name the last one holds, and the others have its result or an empty one.
   */
  batch(storeId: string, body: types.ItemsBatchBody, options?: CallOptions): Pending<types.ItemsBatchReply>
  /**
   * Erases every version of an item and certifies each.
   *
   * Use it to forget an item. `deleted` is false, without certificates, if there is none of this
   * name.
   */
  delete(storeId: string, body: types.ItemsDeleteBody, options?: CallOptions): Pending<types.ItemsDeleteReply>
  /**
   * Returns the item of a name.
   *
   * Use it to read a value whose name is known. `known_at` returns the version that was on record
   * at that time, unless it has been erased since.
   */
  get(storeId: string, body: types.ItemsGetBody, options?: CallOptions): Pending<types.ItemsGetReply>
  /**
   * Lists the namespaces that have an item, in alphabetical order.
   *
   * Use it to see which users, sessions or topics a store has items of.
   */
  namespaces(storeId: string, body: types.ItemsNamespacesBody, options?: CallOptions): Pending<types.ItemsNamespacesReply>
  /**
   * Puts a JSON value under a name.
   *
   * Use it to keep state that is read by name, such as a profile. A put on a name that has an item
   * supersedes it: the old version stays in the history until the item is deleted. Each version is
   * a memory, with the JSON of the value as its content.
   */
  put(storeId: string, body: types.ItemsPutBody, options?: CallOptions): Pending<types.ItemsPutReply>
  /**
   * Searches the current items of the namespaces with a prefix.
   *
   * Use it to find items by what they say, by members of their values, or to list them. Only
   * current versions are found.
   */
  search(storeId: string, body: types.ItemsSearchBody, options?: CallOptions): Pending<types.ItemsSearchReply>
}

/** The operations `jobs.*`. */
export interface JobsGroup {
  /**
   * Cancels a queued or running job and discards its work.
   *
   * Use it to stop a report (`report.generate`); the key must not be limited to stores. The state
   * is `cancelled` in the reply, and the worker stops within about a second. Erasures cannot be
   * cancelled.
   */
  cancel(jobId: string, options?: CallOptions): Pending<types.JobsCancelReply>
  /**
   * Returns the state and progress of a job.
   *
   * Poll it after an operation that answered 202. Any key of the tenant may read a job, whatever
   * its scopes: the job holds only its kind, progress and ids of results.
   */
  get(jobId: string, options?: CallOptions): Pending<types.JobsGetReply>
  /** Waits until a job is done; throws NotCompletedError when it fails. */
  wait(jobId: string, options?: WaitOptions): Promise<types.JobsGetReply>
}

/** The operations `keys.*`. */
export interface KeysGroup {
  /**
   * Creates an API key and shows it once.
   *
   * Use it to give an application or a person a key with only the scopes and stores they need. The
   * new key can do nothing that the calling key cannot: class, scopes, stores, namespace, trust
   * tier and expiry are at most those of the calling key. A key with a namespace may call only
   * operations on memories, and sees that namespace and nothing else. An empty list of stores and a
   * null namespace are refused, because they would mean no limit. Only the hash of the key is
   * stored.
   */
  create(body?: types.KeysCreateBody, options?: CallOptions): Pending<types.KeysCreateReply>
  /**
   * Creates a short-lived token for one store and namespace, and shows it once.
   *
   * Use it to hand a front end or an agent access to the memories of one person. The token reads
   * and writes that namespace of that store and nothing else. It can do nothing that the calling
   * key cannot, ends no later, and ends at once when that key is revoked. A key has at most 10000
   * tokens that have not ended. Tokens are not listed; `DELETE /v1/keys/{key_id}` revokes one.
   */
  createToken(body: types.KeysCreateTokenBody, options?: CallOptions): Pending<types.KeysCreateTokenReply>
  /**
   * Returns what the calling credential may do.
   *
   * Use it at the start of an application to see that its key is accepted, and to offer only what
   * the key may do. It shows nothing of any other key.
   */
  current(options?: CallOptions): Pending<types.KeysCurrentReply>
  /**
   * Lists the keys of the tenant, oldest first, including revoked ones.
   *
   * Use it to review who has access. The keys themselves are never shown. Tokens are not listed,
   * and a key with a namespace leaves the list within ten minutes of its end.
   */
  readonly list: PagedMethod<[query?: types.KeysListQuery, options?: CallOptions], types.KeysListReply, types.KeysListReply['keys'][number]>
  /**
   * Revokes a key with immediate effect.
   *
   * Use it when a key or token is no longer needed or may have leaked. A key can revoke itself and
   * keys that can do no more than it. Tokens made with a key end with it.
   */
  revoke(keyId: string, options?: CallOptions): Pending<types.KeysRevokeReply>
}

/** The operations `landing.*`. */
export interface LandingGroup {
  /**
   * Approves a landing certificate that waits for an approval, and issues it.
   *
   * Use it to release an escalated certificate. Policies and conformance are evaluated again.
   */
  approve(certificateId: string, body: types.LandingApproveBody, options?: CallOptions): Pending<types.LandingApproveReply>
  /**
   * Checks an artifact, its data and an authority without storing anything.
   *
   * Use it before `issue`, which makes the same checks: it looks up the registered artifact with
   * this content and the sealed corpus with this root, and hashes the layers if they are sent. What
   * cannot be looked up is `not_checked`, never passed.
   */
  conformance(body: types.LandingConformanceBody, options?: CallOptions): Pending<types.LandingConformanceReply>
  /**
   * Returns one landing certificate of any status.
   *
   * Use it to read a certificate, or a request that waits or was denied.
   */
  get(certificateId: string, options?: CallOptions): Pending<types.LandingGetReply>
  /**
   * Issues a signed landing certificate, or waits for an approval.
   *
   * Use it before an artifact goes into production. The service computes conformance itself and
   * records the claimed one beside it. If a check fails, or the claim states or contradicts that,
   * nothing is issued or stored (422 `rejected`). A registered artifact of the same content becomes
   * `certified`.
   */
  issue(body: types.LandingIssueBody, options?: CallOptions): Pending<types.LandingIssueReply | types.LandingIssueAccepted>
  /**
   * Lists landing certificates of every status, newest first.
   *
   * Use it to browse the registry. A `document` larger than 64 KiB is null in the list, and a
   * `data_provenance` of that size comes without its sources; read the certificate by its id.
   */
  readonly list: PagedMethod<[query?: types.LandingListQuery, options?: CallOptions], types.LandingListReply, types.LandingListReply['certificates'][number]>
  /**
   * Rejects a landing certificate that waits for an approval.
   *
   * Use it to end an escalated certificate.
   */
  reject(certificateId: string, body: types.LandingRejectBody, options?: CallOptions): Pending<types.LandingRejectReply>
  /**
   * Counts landing certificates by status.
   *
   * Use it for an overview of the registry.
   */
  stats(options?: CallOptions): Pending<types.LandingStatsReply>
  /**
   * Verifies the signed document of a landing certificate and everything derived in it.
   *
   * Use it before relying on a certificate.
   */
  verify(certificateId: string, options?: CallOptions): Pending<types.LandingVerifyReply>
}

/** The operations `llm.*`. */
export interface LlmGroup {
  /**
   * Configures who answers for a model; replaces what was configured for it.
   *
   * Use it before a managed run. The address is checked here and at every request; private networks
   * are refused unless the operator allows them. The key is sealed and never shown.
   */
  createProvider(body: types.LlmCreateProviderBody, options?: CallOptions): Pending<types.LlmCreateProviderReply>
  /**
   * Defines a tool for managed runs; replaces the one of that name.
   *
   * Use it to let a model act. The address is fixed here: the model fills declared parameters only.
   * Each request carries `Idempotency-Key`, the id of the call. A `once` tool is never called twice
   * for one call, whatever fails. Tools of memories and of erasure have the schema and the effect
   * of their kind. Only `http` has an address.
   */
  createTool(body: types.LlmCreateToolBody, options?: CallOptions): Pending<types.LlmCreateToolReply>
  /**
   * Deletes what is configured for a model; its key is destroyed.
   *
   * Use it to stop managed runs from asking the model: their next step fails.
   */
  deleteProvider(modelId: string, options?: CallOptions): Pending<types.LlmDeleteProviderReply>
  /**
   * Deletes a tool and destroys its headers.
   *
   * Use it to prevent managed runs from calling the tool.
   */
  deleteTool(toolName: string, options?: CallOptions): Pending<types.LlmDeleteToolReply>
  /**
   * Lists the models that managed runs may ask, oldest first.
   *
   * Use it to see addresses and prices. Keys are never shown.
   */
  readonly listProviders: PagedMethod<[query?: types.LlmListProvidersQuery, options?: CallOptions], types.LlmListProvidersReply, types.LlmListProvidersReply['providers'][number]>
  /**
   * Lists the tools, oldest first.
   *
   * Use it to see what models may have done. Values of headers are never shown.
   */
  readonly listTools: PagedMethod<[query?: types.LlmListToolsQuery, options?: CallOptions], types.LlmListToolsReply, types.LlmListToolsReply['tools'][number]>
  /**
   * Creates the tools of memories that are not there: retrieve, write and supersede.
   *
   * Use it to let models use memory by themselves. The tools are `memory_retrieve`, `memory_write`
   * and `memory_supersede`; they do what the key of the run may do, in the stores of its agent.
   * Agents name them, or have no list of `tools`.
   */
  seedBuiltins(body?: types.LlmSeedBuiltinsBody, options?: CallOptions): Pending<types.LlmSeedBuiltinsReply>
}

/** The operations `manifold.*`. */
export interface ManifoldGroup {
  /**
   * Discards the cached maps of the tenant in this process.
   *
   * Use it to free memory. Replies never depend on it: a cached map is discarded whenever a
   * decision is logged, erased or redacted.
   */
  clearCache(options?: CallOptions): Pending<types.ManifoldClearCacheReply>
  /**
   * Returns the map in hexagonal cells, as ids and numbers without text.
   *
   * Use it to draw the map in another tool. The map shows the newest 20,000 decisions: those of the
   * decision trail, and those of `/v1/governed/decisions` that count in the dimension. A key
   * limited to some stores sees the decisions of these stores and no governed decisions, which
   * belong to no store.
   */
  export(query?: types.ManifoldExportQuery, options?: CallOptions): Pending<types.ManifoldExportReply>
  /**
   * Returns a map of decisions with the field of their outcomes and the agents.
   *
   * Use it to see where decisions go well or badly. The map shows the newest 20,000 decisions:
   * those of the decision trail, and those of `/v1/governed/decisions` that count in the dimension.
   * A key limited to some stores sees the decisions of these stores and no governed decisions,
   * which belong to no store. The plane is that of the first two principal components of the
   * embeddings; the field is the mean of a Beta(1, 1) posterior under a Gaussian kernel.
   */
  field(query?: types.ManifoldFieldQuery, options?: CallOptions): Pending<types.ManifoldFieldReply>
  /**
   * Returns the position of a decision on the map.
   *
   * Use it to find a decision on the map. `step_id` is the id of a decision.
   */
  locate(stepId: string, query?: types.ManifoldLocateQuery, options?: CallOptions): Pending<types.ManifoldLocateReply>
  /**
   * Returns the map as an SVG picture.
   *
   * Use it in reports. It is readable in black and white: grey is the expected share of `paid`,
   * hatching means that there is no data.
   */
  picture(query?: types.ManifoldPictureQuery, options?: CallOptions): Pending<types.ManifoldPictureReply>
}

/** The operations `memory.*`. */
export interface MemoryGroup {
  /**
   * Lists every memory of a store by number, superseded ones included.
   *
   * Use it to audit a store that declares the capability `audit`. Without `limit` it returns
   * everything in one reply.
   */
  readonly audit: PagedMethod<[storeId: string, query?: types.MemoryAuditQuery, options?: CallOptions], types.MemoryAuditReply, types.MemoryAuditReply['memories'][number]>
  /**
   * Lists the capabilities of a store in alphabetical order.
   *
   * Use it before calling an operation that needs a capability.
   */
  capabilities(storeId: string, options?: CallOptions): Pending<types.MemoryCapabilitiesReply>
  /**
   * Creates a store.
   *
   * Use it to separate memories by application or agent, or to choose other settings than those of
   * the store `default`. Of these only the embedder can be changed later, by `reembed`. An embedder
   * that the service is not configured with is refused.
   */
  createStore(body?: types.MemoryCreateStoreBody, options?: CallOptions): Pending<types.MemoryCreateStoreReply>
  /**
   * Erases one memory from every copy and certifies it.
   *
   * Use it to forget a memory of a known store; `POST /v1/erasure/issue` also returns the
   * certificate. `deleted` is false with no certificate id if the store lacks the memory (or, for a
   * key limited to a namespace, it has expired), or with one if it was erased before.
   */
  delete(storeId: string, body: types.MemoryDeleteBody, options?: CallOptions): Pending<types.MemoryDeleteReply>
  /**
   * Starts a job that erases every memory of a store, then the store.
   *
   * Use it when a store is no longer needed. While the job is open the reply names that job.
   */
  deleteStore(storeId: string, options?: CallOptions): Pending<types.MemoryDeleteStoreReply>
  /**
   * Streams a header line and then every memory of a store by number, as NDJSON.
   *
   * Use it to move a store elsewhere with `import`, or to keep a copy. It has no digests.
   */
  export(storeId: string, options?: CallOptions): Lines<types.MemoryExportReply>
  /**
   * Waits until all earlier writes to a store are durable and visible.
   *
   * Use it as a barrier between writers and readers. It deletes nothing.
   */
  flush(storeId: string, body?: types.MemoryFlushBody, options?: CallOptions): Pending<types.MemoryFlushReply>
  /**
   * Returns one store with its number of memories.
   *
   * Use it to read the settings of a store, or how many memories a deletion still has to erase.
   */
  getStore(storeId: string, options?: CallOptions): Pending<types.MemoryGetStoreReply>
  /**
   * Lists the versions of a memory, oldest first.
   *
   * Use it to see how a memory changed: each version with when it was written and when it is valid.
   * Any version names the same history. An erased version is listed without its content, at the
   * place it had; its own number still leads to the history. Of a history of over 10000 versions,
   * those nearest the named one are listed.
   */
  readonly history: PagedMethod<[storeId: string, ref: number, query?: types.MemoryHistoryQuery, options?: CallOptions], types.MemoryHistoryReply, types.MemoryHistoryReply['versions'][number]>
  /**
   * Imports memories from NDJSON with their numbers, times and version history.
   *
   * Use it to load an export or memories of another system. A number is kept where it is free,
   * otherwise `refs_mapped` names the new one; the number of an erased memory is refused. Original
   * times are kept in `source.original_written_at`. A line with the content, namespace and original
   * time of a memory in the store, or of an earlier line, is left out and counted, so that
   * importing a file twice adds nothing. Up to 8 MiB nothing is written unless every line is valid.
   * A larger import is committed as it arrives, and a refusal says how many memories were kept; a
   * retry with the Idempotency-Key of an import that broke off gets the same refusal and does not
   * start again.
   */
  import(storeId: string, lines: LineSource<types.MemoryImportBody>, query?: types.MemoryImportQuery, options?: CallOptions): Pending<types.MemoryImportReply>
  /**
   * Remembers the turns of a conversation, all or none.
   *
   * Use it at the end of a turn or a session. Each message becomes one memory, word for word, with
   * who said it and when in its metadata: `role`, `speaker`, `timestamp`, `message_id`,
   * `session_id`. In a store with `bi_temporal` it is valid from its time, unless that is to come.
   * Exact duplicates are stored and reported. With `extract` a model also says which facts the
   * turns hold: each is compared with the store and remembered with the turns it is from. The key
   * then also needs `memory:read` and `orchestrator:run`.
   */
  ingest(storeId: string, body: types.MemoryIngestBody, options?: CallOptions): Pending<types.MemoryIngestReply>
  /**
   * Returns counts of the writes to a store and of their batches.
   *
   * Use it to see whether writes are keeping up.
   */
  ingestionStats(storeId: string, options?: CallOptions): Pending<types.MemoryIngestionStatsReply>
  /**
   * Lists the stores that the credential may use, oldest first.
   *
   * Use it to find the id of a store, or to show all stores of the tenant. The store `default` is
   * listed last until its first write.
   */
  readonly listStores: PagedMethod<[query?: types.MemoryListStoresQuery, options?: CallOptions], types.MemoryListStoresReply, types.MemoryListStoresReply['stores'][number]>
  /**
   * Lists the memories of a store by number, superseded ones included.
   *
   * Use it to browse a store page by page; to answer a question, use `retrieve`.
   */
  readonly memories: PagedMethod<[storeId: string, query?: types.MemoryMemoriesQuery, options?: CallOptions], types.MemoryMemoriesReply, types.MemoryMemoriesReply['memories'][number]>
  /**
   * Returns one memory.
   *
   * Use it to read a memory whose number is known, whether or not it is current.
   */
  memory(storeId: string, ref: number, options?: CallOptions): Pending<types.MemoryMemoryReply>
  /**
   * Starts a job that computes the missing vectors of a store.
   *
   * Use it to switch the embedder of a store, or after the embedder was unavailable. Switching the
   * embedder re-embeds every memory; until the job ends, memories without a vector are found by
   * lexical search. If such a job is already open, the reply has its id. The job starts
   * automatically after writes during which the embedder failed.
   */
  reembed(storeId: string, body?: types.MemoryReembedBody, options?: CallOptions): Pending<types.MemoryReembedReply>
  /**
   * Returns the memories most relevant to a query within a token budget.
   *
   * Use it to fill the context of a model. Memories come in the order of their scores; one that
   * does not fit into the rest of the budget is skipped. Memories with exactly the same content are
   * returned once, as the best ranked of them.
   */
  retrieve(storeId: string, body: types.MemoryRetrieveBody, options?: CallOptions): Pending<types.MemoryRetrieveReply>
  /**
   * Returns counts of a store, its search index and its writes.
   *
   * Use it to monitor a store, for example how many memories lack a vector.
   */
  stats(storeId: string, options?: CallOptions): Pending<types.MemoryStatsReply>
  /**
   * Replaces the current version of a memory and keeps the old one in its history.
   *
   * Use it when something has changed, so that the old version stays available for audits and for
   * retrieval as of an earlier time. Only the current version can be superseded: otherwise 409
   * names it as `head`. The new version is valid from now unless `valid_from` is given, and stays
   * in the namespace of the old one unless another is given. It does not expire unless it is given
   * an expiry of its own. An unknown or expired `old_ref` makes this a plain write with a warning.
   */
  supersede(storeId: string, body: types.MemorySupersedeBody, options?: CallOptions): Pending<types.MemorySupersedeReply>
  /**
   * Writes one memory.
   *
   * Use it whenever an agent should remember something. Once the reply arrives the memory is
   * durable and can be retrieved. Exact duplicates are stored; see `duplicate_of`. From its expiry
   * on a memory is hidden; within ten minutes, or when a legal hold ends, it is erased.
   */
  write(storeId: string, body: types.MemoryWriteBody, options?: CallOptions): Pending<types.MemoryWriteReply>
  /**
   * Writes up to 1,000 memories, all or none.
   *
   * Use it when several memories arise at once; it is much faster than single writes. Exact
   * duplicates of current memories, and of earlier items of the batch, are stored and reported.
   */
  writeBatch(storeId: string, body: types.MemoryWriteBatchBody, options?: CallOptions): Pending<types.MemoryWriteBatchReply>
}

/** The operations `monitoring.*`. */
export interface MonitoringGroup {
  /**
   * Returns counts for the calling tenant, or for all tenants to an operator.
   *
   * Use it to feed a dashboard. A key limited to some stores sees only those, and null where a
   * number belongs to the tenant as a whole.
   */
  stats(options?: CallOptions): Pending<types.MonitoringStatsReply>
}

/** The operations `offboarding.*`. */
export interface OffboardingGroup {
  /**
   * Off-boards a tenant: destroys all its keys permanently and issues a certificate.
   *
   * Use it when a customer leaves. Afterwards nobody can read the data of the tenant, not even from
   * restored backups, provided that they are started with the erasure ledger. It cannot be undone.
   * A repeated request returns the same certificate.
   */
  destroyKey(tenantId: string, body: types.OffboardingDestroyKeyBody, options?: CallOptions): Pending<types.OffboardingDestroyKeyReply>
  /**
   * Returns the certificate of an off-boarded tenant and the state of the removal.
   *
   * Use it to check whether the rows of the tenant have been removed.
   */
  destruction(tenantId: string, options?: CallOptions): Pending<types.OffboardingDestructionReply>
}

/** The operations `orchestrator.*`. */
export interface OrchestratorGroup {
  /**
   * Approves a waiting step or call, exactly as it was proposed.
   *
   * Use it to decide by name. The permit is given in the same transaction.
   */
  approveAction(actionId: string, body: types.OrchestratorApproveActionBody, options?: CallOptions): Pending<types.OrchestratorApproveActionReply>
  /**
   * Permits one question to a model: retrieves, asks the policies, reserves budget.
   *
   * Use it before every call of a model. 202 where a person has to approve: then read the step
   * until it has its permit. `input_text` is bound to every memory that earlier steps of the run
   * used; `input_from` only to those of that step.
   */
  beginStep(runId: string, body: types.OrchestratorBeginStepBody, options?: CallOptions): Pending<types.OrchestratorBeginStepReply | types.OrchestratorBeginStepAccepted>
  /**
   * Streams everything that proves a run, for `custos verify`.
   *
   * Use it to check a run without this service: log entries with proofs, receipts, approvals, and
   * texts with their salts while they exist.
   */
  bundle(runId: string, options?: CallOptions): Lines<types.OrchestratorBundleReply>
  /**
   * Permits one call of a tool: asks the policies, records the intent.
   *
   * Use it before a tool acts. Send `call_id` as the idempotency key of the tool. 202 where a
   * person has to approve: act only once the call is `intended`.
   */
  callTool(runId: string, stepId: string, body: types.OrchestratorCallToolBody, options?: CallOptions): Pending<types.OrchestratorCallToolReply | types.OrchestratorCallToolAccepted>
  /**
   * Ends a run: from then on it gets no permit and nothing of it is executed.
   *
   * Use it to stop. What open permits had reserved counts as spent. With `compensate` what the
   * tools of a managed run did is undone first. A run that is `compensating` ends only with
   * `compensate: false`: what is not undone then is listed in `undone`.
   */
  cancelRun(runId: string, body?: types.OrchestratorCancelRunBody, options?: CallOptions): Pending<types.OrchestratorCancelRunReply>
  /**
   * Completes a step: checks its output, logs the decision, signs the receipt.
   *
   * Use it after the model has answered. Unreported calls end as `failed`, those of `once` tools as
   * `uncertain`. A denied output is not stored.
   */
  completeStep(runId: string, stepId: string, body: types.OrchestratorCompleteStepBody, options?: CallOptions): Pending<types.OrchestratorCompleteStepReply>
  /**
   * Creates an agent.
   *
   * Use it once for each part that a model plays. Its words are sealed.
   */
  createAgent(body: types.OrchestratorCreateAgentBody, options?: CallOptions): Pending<types.OrchestratorCreateAgentReply>
  /**
   * Deletes an agent that has no run under way; its words are destroyed.
   *
   * Use it when nobody starts runs of it any longer. While a run of it is under way it is refused:
   * cancel the run, or disable the agent. Ended runs and their receipts stay.
   */
  deleteAgent(agentId: string, options?: CallOptions): Pending<types.OrchestratorDeleteAgentReply>
  /**
   * Returns one action; with `decisions:read` its text too.
   *
   * Use it to read the text to approve.
   */
  getAction(actionId: string, options?: CallOptions): Pending<types.OrchestratorGetActionReply>
  /**
   * Returns one agent.
   *
   * Use it to see its model, prompt and stores.
   */
  getAgent(agentId: string, options?: CallOptions): Pending<types.OrchestratorGetAgentReply>
  /**
   * Returns one call; with `decisions:read` its tool, arguments and result too.
   *
   * Use it to learn what a call of a `client` tool is to do.
   */
  getCall(runId: string, callId: string, options?: CallOptions): Pending<types.OrchestratorGetCallReply>
  /**
   * Returns the receipt of one step of any run.
   *
   * Use it where only the step is known. A step has its receipt once it has ended.
   */
  getReceipt(receiptId: string, options?: CallOptions): Pending<types.OrchestratorGetReceiptReply>
  /**
   * Returns one run with its steps.
   *
   * Use it to follow a run.
   */
  getRun(runId: string, options?: CallOptions): Pending<types.OrchestratorGetRunReply>
  /**
   * Returns one step; with `decisions:read` its input and memory too.
   *
   * Use it to fetch the permit of a step that waited for a person.
   */
  getStep(runId: string, stepId: string, options?: CallOptions): Pending<types.OrchestratorGetStepReply>
  /**
   * Lists the actions that waited for a person, newest first.
   *
   * Use it to find what waits. Texts are left out: get one action to read its text.
   */
  readonly listActions: PagedMethod<[query?: types.OrchestratorListActionsQuery, options?: CallOptions], types.OrchestratorListActionsReply, types.OrchestratorListActionsReply['actions'][number]>
  /**
   * Lists the agents, oldest first.
   *
   * Use it to find the id of an agent.
   */
  readonly listAgents: PagedMethod<[query?: types.OrchestratorListAgentsQuery, options?: CallOptions], types.OrchestratorListAgentsReply, types.OrchestratorListAgentsReply['agents'][number]>
  /**
   * Lists the roles that an agent can have.
   *
   * Use it to offer a choice. A role gives no rights.
   */
  listRoles(options?: CallOptions): Pending<types.OrchestratorListRolesReply>
  /**
   * Lists the runs, newest first.
   *
   * Use it to find runs that wait for a person.
   */
  readonly listRuns: PagedMethod<[query?: types.OrchestratorListRunsQuery, options?: CallOptions], types.OrchestratorListRunsReply, types.OrchestratorListRunsReply['runs'][number]>
  /**
   * Lists the steps of a run, oldest first; with `decisions:read` their texts too.
   *
   * Use it to read what was asked and answered.
   */
  listSteps(runId: string, options?: CallOptions): Pending<types.OrchestratorListStepsReply>
  /**
   * Proposes one call of a tool for an agent; policies, or a person, say whether it may.
   *
   * Use it where an agent of your own wants to act once. It starts a run of one step with this
   * call, and executes nothing: act once the call is `intended`, then complete the step with the
   * result and `final`. What policies deny is answered with `denied`, what a person has to approve
   * with `escalated` and its `action_id`.
   */
  propose(agentId: string, body: types.OrchestratorProposeBody, options?: CallOptions): Pending<types.OrchestratorProposeReply>
  /**
   * Lists the receipts of a run, oldest first.
   *
   * Use it to keep what a run did. Receipts hold no text.
   */
  receipts(runId: string, options?: CallOptions): Pending<types.OrchestratorReceiptsReply>
  /**
   * Rejects a waiting step or call; its run is denied.
   *
   * Use it to refuse what an agent proposes.
   */
  rejectAction(actionId: string, body: types.OrchestratorRejectActionBody, options?: CallOptions): Pending<types.OrchestratorRejectActionReply>
  /**
   * Repeats the model call of a decision of a managed run and compares the answers.
   *
   * Use it to check whether a decision can be reproduced. The prompt is rebuilt from the original
   * texts and memories; if one is erased, or agent, tools or provider have changed since, the
   * status is `impossible` and nothing is sent. The provider charges for the call, and policies are
   * evaluated as for a step. The answer is not stored, and no tool is called.
   */
  replay(decisionId: string, body?: types.OrchestratorReplayBody, options?: CallOptions): Pending<types.OrchestratorReplayReply>
  /**
   * Reports what a call of a `client` tool answered; the run goes on.
   *
   * Use it after acting on a call of a run that is `waiting_client`. The model is told the result
   * as data. The receipt says that it is only claimed.
   */
  reportCall(runId: string, callId: string, body: types.OrchestratorReportCallBody, options?: CallOptions): Pending<types.OrchestratorReportCallReply>
  /**
   * Says whether an uncertain call of a `once` tool has acted; the run goes on.
   *
   * Use it after looking at the receiver: a process died while it called the tool, which is never
   * called again. The model is told what you say. Once the step of the call has ended, its receipt
   * is signed, and nothing is changed any more.
   */
  resolveCall(runId: string, callId: string, body: types.OrchestratorResolveCallBody, options?: CallOptions): Pending<types.OrchestratorResolveCallReply>
  /**
   * Starts a run; its steps are executed by the caller or by this service.
   *
   * Use it before the first step. No policy is asked yet: each step is. A run of the caller ends
   * when a step is completed with `final`, when it is cancelled, or at its deadline. A `managed`
   * run answers `input_text` by itself: read it until it has ended. It needs a key, with
   * `memory:read` too, whose rights are looked up at every permit.
   */
  startRun(body: types.OrchestratorStartRunBody, options?: CallOptions): Pending<types.OrchestratorStartRunReply>
  /**
   * Counts agents, runs, steps and calls, and the total use of all runs.
   *
   * Use it for an overview. The numbers are counted from stored rows.
   */
  stats(options?: CallOptions): Pending<types.OrchestratorStatsReply>
  /**
   * Changes an agent and returns its next version.
   *
   * Use it to change the fields you send; null and absent fields stay unchanged. Active runs
   * continue, with the new version from their next step on. A disabled agent begins no step. One
   * that is redacted needs its name, model, tools and stores again.
   */
  updateAgent(agentId: string, body: types.OrchestratorUpdateAgentBody, options?: CallOptions): Pending<types.OrchestratorUpdateAgentReply>
  /**
   * Checks the receipts of a run and everything its bundle proves.
   *
   * Use it to see whether anything of a run was changed in the database. Those who do not trust the
   * service verify the bundle offline: these are the same checks.
   */
  verify(runId: string, options?: CallOptions): Pending<types.OrchestratorVerifyReply>
}

/** The operations `platform.*`. */
export interface PlatformGroup {
  /**
   * Reports that the service answers.
   *
   * Use it for simple availability checks. It checks only that the process answers.
   */
  health(options?: CallOptions): Pending<types.PlatformHealthReply>
  /**
   * Reports liveness and uptime.
   *
   * Use it as the liveness probe of an orchestrator: restart on failure.
   */
  healthz(options?: CallOptions): Pending<types.PlatformHealthzReply>
  /**
   * Reports readiness, with the state of each part.
   *
   * Use it as the readiness probe of an orchestrator. It writes a row and reads it back, at most
   * once a second. While a check fails the status is 503, with the same `checks`: `storage_full`
   * when the disk is full, otherwise `unavailable`. A clock that is behind the times in the audit
   * log is reported and fails nothing.
   */
  readyz(options?: CallOptions): Pending<types.PlatformReadyzReply>
}

/** The operations `provenance.*`. */
export interface ProvenanceGroup {
  /**
   * Returns the `data_provenance` of a corpus for a landing certificate.
   *
   * Use it when issuing a landing certificate for a model trained on the corpus.
   */
  block(corpusId: string, options?: CallOptions): Pending<types.ProvenanceBlockReply>
  /**
   * Returns one corpus.
   *
   * Use it to read a corpus with its signed document.
   */
  get(corpusId: string, options?: CallOptions): Pending<types.ProvenanceGetReply>
  /**
   * Lists corpora, newest first.
   *
   * Use it to browse the registry. A document larger than 64 KiB is null in the list; read the
   * corpus by its id.
   */
  readonly list: PagedMethod<[query?: types.ProvenanceListQuery, options?: CallOptions], types.ProvenanceListReply, types.ProvenanceListReply['corpora'][number]>
  /**
   * Returns the proof that a source is in a corpus.
   *
   * Use it to show somebody who does not have the corpus that a source is in it.
   */
  proof(corpusId: string, query: types.ProvenanceProofQuery, options?: CallOptions): Pending<types.ProvenanceProofReply>
  /**
   * Seals the sources of a corpus under one Merkle root.
   *
   * Use it before a model is trained on the corpus. 422 `rejected` lists every reason: a source
   * without `license` and `lawful_basis`, attestations without `representativeness` or
   * `bias_examination`, or a policy that denies. The same content again returns the existing
   * corpus.
   */
  register(body: types.ProvenanceRegisterBody, options?: CallOptions): Pending<types.ProvenanceRegisterReply>
  /**
   * Counts corpora by status.
   *
   * Use it for an overview of the registry.
   */
  stats(options?: CallOptions): Pending<types.ProvenanceStatsReply>
  /**
   * Verifies the signed document of a corpus and everything derived in it.
   *
   * Use it before relying on a corpus.
   */
  verify(corpusId: string, options?: CallOptions): Pending<types.ProvenanceVerifyReply>
}

/** The operations `reports.*`. */
export interface ReportsGroup {
  /**
   * Deletes the content of a report; that it existed stays on record.
   *
   * Use it when a report is no longer needed.
   */
  delete(reportId: string, options?: CallOptions): Pending<types.ReportsDeleteReply>
  /**
   * Returns one report as a file: JSON, HTML, PDF or OSCAL.
   *
   * Use it to hand a report to an auditor. `json` is the signed report, which `custos verify`
   * checks; `html` and `pdf` show the same with charts; `oscal` is an assessment-results document
   * of NIST OSCAL 1.1.3. The same report always gives the same bytes. Only `json` is signed.
   */
  download(reportId: string, query?: types.ReportsDownloadQuery, options?: CallOptions): Pending<FileReply>
  /**
   * Returns one report as a file of the format in the path.
   *
   * The same as `GET /v1/reports/{report_id}/download?format=`.
   */
  downloadFormat(reportId: string, format: 'json' | 'html' | 'pdf' | 'oscal', options?: CallOptions): Pending<FileReply>
  /**
   * Lists the frameworks with their articles, dates, sources and kinds of evidence.
   *
   * Use it to see what a report covers and what people still have to provide.
   */
  frameworks(options?: CallOptions): Pending<types.ReportsFrameworksReply>
  /**
   * Generates and signs a report on the evidence in a period.
   *
   * Use it to prepare an audit. The audit log is verified from its beginning, and its entries in
   * the period are counted. A finding says whether evidence is on record, never whether a law is
   * complied with. `content` depends only on tenant, framework, period and `log_seq`: the same
   * `from`, `to` and `log_seq` give the same bytes. A key limited to some stores is refused. With
   * `background` the reply is a 202 and a job `report.generate` produces the report: `GET
   * /v1/jobs/{job_id}` shows its progress and `DELETE` cancels it. Without it, closing the
   * connection stops the work.
   */
  generate(body?: types.ReportsGenerateBody, options?: CallOptions): Pending<types.ReportsGenerateReply | types.ReportsGenerateAccepted>
  /**
   * Returns one report with its content.
   *
   * Use it to read or verify a report.
   */
  get(reportId: string, options?: CallOptions): Pending<types.ReportsGetReply>
  /**
   * Lists reports, newest first.
   *
   * Use it to find a report.
   */
  readonly list: PagedMethod<[query?: types.ReportsListQuery, options?: CallOptions], types.ReportsListReply, types.ReportsListReply['reports'][number]>
  /**
   * Counts reports.
   *
   * Use it for an overview of the reports.
   */
  stats(options?: CallOptions): Pending<types.ReportsStatsReply>
}

/** The operations `retention.*`. */
export interface RetentionGroup {
  /**
   * Returns how long a store keeps its memories, and how many are due for erasure.
   *
   * Use it to check the retention of a store and the progress of a run.
   */
  get(storeId: string, options?: CallOptions): Pending<types.RetentionGetReply>
  /**
   * Lists the legal holds of a store, newest first, including released ones.
   *
   * Use it to find out why a store cannot be erased.
   */
  readonly holds: PagedMethod<[storeId: string, query?: types.RetentionHoldsQuery, options?: CallOptions], types.RetentionHoldsReply, types.RetentionHoldsReply['holds'][number]>
  /**
   * Places a legal hold: nothing in the store is erased while it is in force.
   *
   * Use it when memories must be preserved for a legal matter. Writing and superseding continue,
   * since they keep earlier versions. A store that is being deleted cannot be held.
   */
  placeHold(storeId: string, body: types.RetentionPlaceHoldBody, options?: CallOptions): Pending<types.RetentionPlaceHoldReply>
  /**
   * Releases a legal hold.
   *
   * Use it when the legal matter is closed. A repeated request returns the hold as it was released.
   */
  releaseHold(storeId: string, holdId: string, body?: types.RetentionReleaseHoldBody, options?: CallOptions): Pending<types.RetentionReleaseHoldReply>
  /**
   * Starts a job that erases the memories past the retention of a store.
   *
   * Use it to erase at once rather than within the hour. While a run is in progress the reply names
   * that run.
   */
  run(storeId: string, options?: CallOptions): Pending<types.RetentionRunReply>
  /**
   * Sets how long a store keeps its memories.
   *
   * Use it to erase memories automatically after a number of days. Older memories are erased within
   * the hour, each with a certificate, or at once by `POST …/retention/run`. A run in progress
   * keeps the period it started with, unless the period was extended or removed. Nothing is erased
   * while a legal hold is in force.
   */
  set(storeId: string, body: types.RetentionSetBody, options?: CallOptions): Pending<types.RetentionSetReply>
}

/** The operations `streams.*`. */
export interface StreamsGroup {
  /**
   * Streams the entries of the audit log as server-sent events.
   *
   * Use it to react to what happens in a tenant: each entry is one frame with the id
   * `<generation>.<seq>`, in order and without gaps. A client that reconnects with `Last-Event-ID`
   * continues after that frame. A stream ends after an hour at most, when its credential ends, and
   * when its reader falls too far behind.
   */
  events(query?: types.StreamsEventsQuery & { readonly signal?: AbortSignal }, options?: CallOptions): EventFrames<types.StreamsEventsReply>
  /**
   * Streams what happens in a run, from its first event to its end.
   *
   * Use it to follow a run: each entry of the audit log about the run, its steps and its calls is
   * one frame, without texts. The stream ends after the end of the run; of a run that has ended
   * everything is sent. A client that reconnects with `Last-Event-ID` continues after that frame,
   * and gets 204 once there is nothing after it.
   */
  run(runId: string, query?: types.StreamsRunQuery & { readonly signal?: AbortSignal }, options?: CallOptions): EventFrames<types.StreamsRunReply>
  /**
   * Makes a ticket that opens one event stream.
   *
   * Use it for browsers, whose `EventSource` sends no API key: add `?ticket=` to the path. The
   * stream has the rights of the key that made the ticket and ends with that key.
   */
  ticket(body: types.StreamsTicketBody, options?: CallOptions): Pending<types.StreamsTicketReply>
  /**
   * Streams the events of the newest run of a workflow, from the first to the last.
   *
   * Use it when only the workflow id is known; the frames are those of `streams.run`. It does not
   * start a run.
   */
  workflow(workflowId: string, query?: types.StreamsWorkflowQuery & { readonly signal?: AbortSignal }, options?: CallOptions): EventFrames<types.StreamsWorkflowReply>
}

/** The operations `subjects.*`. */
export interface SubjectsGroup {
  /**
   * Returns everything held about a person: NDJSON, JSON, HTML or PDF.
   *
   * Use it for a request for access (GDPR Articles 15 and 20). The first line says what was
   * searched and what was not. Then follow memories with all versions, the decisions that used or
   * name them, other records by kind, and certificates of what was redacted; the last line counts
   * them. Contents are shown, so the key needs `memory:read` and `decisions:read` as well. `json`
   * holds the same lines as a list, `records`; `html` and `pdf` are readable documents with a cover
   * letter, of limited length.
   */
  access(body: types.SubjectsAccessBody, query: types.SubjectsAccessQuery & { format: 'json' }, options?: CallOptions): Pending<FileReply>
  /**
   * Returns everything held about a person: NDJSON, JSON, HTML or PDF.
   *
   * Use it for a request for access (GDPR Articles 15 and 20). The first line says what was
   * searched and what was not. Then follow memories with all versions, the decisions that used or
   * name them, other records by kind, and certificates of what was redacted; the last line counts
   * them. Contents are shown, so the key needs `memory:read` and `decisions:read` as well. `json`
   * holds the same lines as a list, `records`; `html` and `pdf` are readable documents with a cover
   * letter, of limited length.
   */
  access(body: types.SubjectsAccessBody, query: types.SubjectsAccessQuery & { format: 'html' }, options?: CallOptions): Pending<FileReply>
  /**
   * Returns everything held about a person: NDJSON, JSON, HTML or PDF.
   *
   * Use it for a request for access (GDPR Articles 15 and 20). The first line says what was
   * searched and what was not. Then follow memories with all versions, the decisions that used or
   * name them, other records by kind, and certificates of what was redacted; the last line counts
   * them. Contents are shown, so the key needs `memory:read` and `decisions:read` as well. `json`
   * holds the same lines as a list, `records`; `html` and `pdf` are readable documents with a cover
   * letter, of limited length.
   */
  access(body: types.SubjectsAccessBody, query: types.SubjectsAccessQuery & { format: 'pdf' }, options?: CallOptions): Pending<FileReply>
  /**
   * Returns everything held about a person: NDJSON, JSON, HTML or PDF.
   *
   * Use it for a request for access (GDPR Articles 15 and 20). The first line says what was
   * searched and what was not. Then follow memories with all versions, the decisions that used or
   * name them, other records by kind, and certificates of what was redacted; the last line counts
   * them. Contents are shown, so the key needs `memory:read` and `decisions:read` as well. `json`
   * holds the same lines as a list, `records`; `html` and `pdf` are readable documents with a cover
   * letter, of limited length.
   */
  access(body: types.SubjectsAccessBody, query?: types.SubjectsAccessQuery, options?: CallOptions): Lines<types.SubjectsAccessReply>
  /**
   * Starts a job that erases everything about a person, with a manifest of certificates.
   *
   * Use it for a request to be forgotten (GDPR Article 17); send `preview` first to see what would
   * be erased, and its `digest` as `expect_digest` with the request to erase. A preview changes and
   * stores nothing. Otherwise the reply is a 202: the list of what was found is fixed, each memory
   * on it is erased with a certificate, decisions and other records whose own text matches are
   * redacted, and up to five further searches find what was written meanwhile. What was searched
   * for is encrypted, and destroyed when the request is done. If nothing is found the request is
   * recorded all the same and its manifest says so.
   */
  erase(body: types.SubjectsEraseBody, options?: CallOptions): Pending<types.SubjectsEraseReply | types.SubjectsErasePreview>
  /**
   * Extends the due date by two months (GDPR Article 12(3)).
   *
   * Use it for a complex request, once and before it is due.
   */
  extend(requestId: string, body: types.SubjectsExtendBody, options?: CallOptions): Pending<types.SubjectsExtendReply>
  /**
   * Returns one request of a data subject.
   *
   * Use it to follow the progress of a request. What was searched for is shown until the request is
   * done.
   */
  get(requestId: string, options?: CallOptions): Pending<types.SubjectsGetReply>
  /**
   * Lists requests of data subjects, newest first.
   *
   * Use it to find requests that are overdue.
   */
  readonly list: PagedMethod<[query?: types.SubjectsListQuery, options?: CallOptions], types.SubjectsListReply, types.SubjectsListReply['requests'][number]>
  /**
   * Returns the signed manifest of a finished erasure.
   *
   * Use it to prove that a request was fulfilled. With `bundle` the manifest comes on the first
   * line and every certificate it lists on a line of its own, as `custos verify` reads them; `pdf`
   * is a rendering for people with id and digest.
   */
  manifest(requestId: string, query: types.SubjectsManifestQuery & { format: 'bundle' }, options?: CallOptions): Lines<unknown>
  /**
   * Returns the signed manifest of a finished erasure.
   *
   * Use it to prove that a request was fulfilled. With `bundle` the manifest comes on the first
   * line and every certificate it lists on a line of its own, as `custos verify` reads them; `pdf`
   * is a rendering for people with id and digest.
   */
  manifest(requestId: string, query: types.SubjectsManifestQuery & { format: 'pdf' }, options?: CallOptions): Pending<FileReply>
  /**
   * Returns the signed manifest of a finished erasure.
   *
   * Use it to prove that a request was fulfilled. With `bundle` the manifest comes on the first
   * line and every certificate it lists on a line of its own, as `custos verify` reads them; `pdf`
   * is a rendering for people with id and digest.
   */
  manifest(requestId: string, query?: types.SubjectsManifestQuery, options?: CallOptions): Pending<types.SubjectsManifestReply>
}

/** The operations `templates.*`. */
export interface TemplatesGroup {
  /**
   * Registers all types of a template in the world model, or none.
   *
   * Use it to set up a world model; send `dry_run` first to see what would be registered. Policies
   * are evaluated for each type. A type of the same kind and name with another spec is not
   * overwritten: 422 `rejected` lists it in `conflicts` and nothing is installed. Types that are
   * already registered with the same spec are left unchanged.
   */
  install(body: types.TemplatesInstallBody, options?: CallOptions): Pending<types.TemplatesInstallReply>
  /**
   * Lists the templates that can be installed.
   *
   * Use it to choose a template before installing it.
   */
  readonly list: PagedMethod<[query?: types.TemplatesListQuery, options?: CallOptions], types.TemplatesListReply, types.TemplatesListReply['templates'][number]>
}

/** The operations `tenants.*`. */
export interface TenantsGroup {
  /**
   * Creates a tenant with its first API key.
   *
   * Use it to onboard a customer. The reply is the only place that shows the key.
   */
  create(body?: types.TenantsCreateBody, options?: CallOptions): Pending<types.TenantsCreateReply>
  /**
   * Returns the usage of the calling tenant in the current period.
   *
   * Use it to show a tenant its own usage.
   */
  currentUsage(options?: CallOptions): Pending<types.TenantsCurrentUsageReply>
  /**
   * Returns one tenant.
   *
   * Use it to read the plan and the status of a tenant.
   */
  get(tenantId: string, options?: CallOptions): Pending<types.TenantsGetReply>
  /**
   * Lists every tenant, oldest first, as a plain array.
   *
   * Use it to administer the service.
   */
  list(options?: CallOptions): Pending<types.TenantsListReply>
  /**
   * Revokes the tenant's keys and issues a new one.
   *
   * Use it on a schedule, or when a key may have leaked. For an operator, or a tenant key without
   * restrictions, it replaces every key of class `tenant`; keys of other classes stay valid. A key
   * with any restriction replaces only itself, with the same class, scopes, stores, trust tier and
   * expiry. The replaced key cannot repeat the request: only an operator or another key sees the
   * replayed reply.
   */
  rotateKey(tenantId: string, options?: CallOptions): Pending<types.TenantsRotateKeyReply>
  /**
   * Changes the name, the plan or the limits of a tenant.
   *
   * Use it when a tenant changes its plan, or needs more for a while. Absent fields stay;
   * `overrides: null` restores the limits of the plan.
   */
  update(tenantId: string, body: types.TenantsUpdateBody, options?: CallOptions): Pending<types.TenantsUpdateReply>
  /**
   * Returns a tenant's operations and bytes of one period.
   *
   * Use it for reporting by operators or by the tenant itself.
   */
  usage(tenantId: string, query?: types.TenantsUsageQuery, options?: CallOptions): Pending<types.TenantsUsageReply>
}

/** The operations `webhooks.*`. */
export interface WebhooksGroup {
  /**
   * Creates an endpoint that log entries are sent to.
   *
   * Use it to be told instead of asking. Events need the scope that reads their records, or
   * `gcrumbs:read`. See docs/webhooks.md for verifying. A key limited to stores is refused.
   */
  create(body: types.WebhooksCreateBody, options?: CallOptions): Pending<types.WebhooksCreateReply>
  /**
   * Deletes an endpoint with its deliveries; its URL and secrets are destroyed.
   *
   * Use it when the receiver no longer exists.
   */
  delete(webhookId: string, options?: CallOptions): Pending<types.WebhooksDeleteReply>
  /**
   * Lists deliveries of the last 30 days, newest first.
   *
   * Use it to find failed deliveries. Neither payloads nor response bodies are stored.
   */
  readonly deliveries: PagedMethod<[webhookId: string, query?: types.WebhooksDeliveriesQuery, options?: CallOptions], types.WebhooksDeliveriesReply, types.WebhooksDeliveriesReply['deliveries'][number]>
  /**
   * Lists the names of events.
   *
   * Use it to choose the events of an endpoint.
   */
  eventTypes(options?: CallOptions): Pending<types.WebhooksEventTypesReply>
  /**
   * Returns one endpoint.
   *
   * Use it to see how far it is behind.
   */
  get(webhookId: string, options?: CallOptions): Pending<types.WebhooksGetReply>
  /**
   * Lists the endpoints, oldest first.
   *
   * Use it to see which endpoints fail.
   */
  readonly list: PagedMethod<[query?: types.WebhooksListQuery, options?: CallOptions], types.WebhooksListReply, types.WebhooksListReply['webhooks'][number]>
  /**
   * Starts a job that sends a part of the audit log again.
   *
   * Use it to fill a gap: at most 100000 entries a time.
   */
  replay(webhookId: string, body: types.WebhooksReplayBody, options?: CallOptions): Pending<types.WebhooksReplayReply>
  /**
   * Sends an entry again, as a new delivery.
   *
   * Use it after the receiver has been repaired. The `webhook-id` stays the same.
   */
  retry(webhookId: string, deliveryId: string, options?: CallOptions): Pending<types.WebhooksRetryReply>
  /**
   * Replaces the secret; both sign until the overlap ends.
   *
   * Use it when a secret may have leaked. At most five secrets sign at once: a sixth ends the
   * oldest before its time. Not available for `v1a`.
   */
  rotateSecret(webhookId: string, body?: types.WebhooksRotateSecretBody, options?: CallOptions): Pending<types.WebhooksRotateSecretReply>
  /**
   * Sends a test event and waits up to 10 seconds for the answer.
   *
   * Use it to check URL and signature. One at a time, 10 a minute.
   */
  test(webhookId: string, options?: CallOptions): Pending<types.WebhooksTestReply>
  /**
   * Changes an endpoint.
   *
   * Use it to pause or move an endpoint. Fields that are absent or null stay the same. Enabling
   * starts at the next log entry; a replay sends those before it.
   */
  update(webhookId: string, body: types.WebhooksUpdateBody, options?: CallOptions): Pending<types.WebhooksUpdateReply>
}

/** The operations `workflows.*`. */
export interface WorkflowsGroup {
  /**
   * Creates a workflow: agents that take turns in the runs of it.
   *
   * Use it once for each task of several agents. A workflow never changes.
   */
  create(body: types.WorkflowsCreateBody, options?: CallOptions): Pending<types.WorkflowsCreateReply>
  /**
   * Deletes a workflow; its runs stay.
   *
   * Use it for one that is no longer used. Refused while its newest run goes on.
   */
  delete(workflowId: string, options?: CallOptions): Pending<types.WorkflowsDeleteReply>
  /**
   * Returns one step of any run; with `decisions:read` its texts too.
   *
   * Use it where only the id of the step is known.
   */
  findStep(stepId: string, options?: CallOptions): Pending<types.WorkflowsFindStepReply>
  /**
   * Returns one workflow with the steps of its newest run.
   *
   * Use it to follow the newest run. Texts need `decisions:read`.
   */
  get(workflowId: string, options?: CallOptions): Pending<types.WorkflowsGetReply>
  /**
   * Lists the workflows, newest first.
   *
   * Use it to find the id of a workflow.
   */
  readonly list: PagedMethod<[query?: types.WorkflowsListQuery, options?: CallOptions], types.WorkflowsListReply, types.WorkflowsListReply['workflows'][number]>
  /**
   * Lists the receipts of the newest run, oldest first.
   *
   * Use it to keep what the run did. Receipts hold no text.
   */
  receipts(workflowId: string, options?: CallOptions): Pending<types.WorkflowsReceiptsReply>
  /**
   * Approves or rejects what the newest run waits for.
   *
   * Use it to decide by name, as `orchestrator.approve_action` does. Where several wait, name one.
   */
  resume(workflowId: string, body: types.WorkflowsResumeBody, options?: CallOptions): Pending<types.WorkflowsResumeReply>
  /**
   * Starts a run of a workflow and waits until it ends.
   *
   * Use it when the caller needs the result synchronously; `orchestrator.start_run` does not wait.
   * After `timeout_seconds`, or when approval is required, it returns 202 and the run continues.
   */
  run(workflowId: string, body: types.WorkflowsRunBody, options?: CallOptions): Pending<types.WorkflowsRunReply | types.WorkflowsRunAccepted>
  /**
   * Asks one agent once: a managed run that ends with its answer.
   *
   * Use it to try an agent. It waits at most `timeout_seconds`, and then answers 202: the run goes
   * on.
   */
  runStep(body: types.WorkflowsRunStepBody, options?: CallOptions): Pending<types.WorkflowsRunStepReply | types.WorkflowsRunStepAccepted>
  /**
   * Ends the newest run of a workflow.
   *
   * Use it to stop. Nothing of the run is executed afterwards.
   */
  terminate(workflowId: string, options?: CallOptions): Pending<types.WorkflowsTerminateReply>
  /**
   * Checks the receipts of the newest run and everything its bundle proves.
   *
   * Use it as `orchestrator.verify`. A workflow without a run is `empty`.
   */
  verifyChain(workflowId: string, options?: CallOptions): Pending<types.WorkflowsVerifyChainReply>
}

/** The operations `world_model.*`. */
export interface WorldModelGroup {
  /**
   * Counts types by kind and actions by status.
   *
   * Use it for an overview of the world model.
   */
  actionStats(options?: CallOptions): Pending<types.WorldModelActionStatsReply>
  /**
   * Approves an action that waits for an approval, and signs it.
   *
   * Use it to release an escalated action. Everything is checked again.
   */
  approveAction(actionId: string, body: types.WorldModelApproveActionBody, options?: CallOptions): Pending<types.WorldModelApproveActionReply>
  /**
   * Returns one action.
   *
   * Use it to read an action with its signed document.
   */
  getAction(actionId: string, options?: CallOptions): Pending<types.WorldModelGetActionReply>
  /**
   * Returns one version of a type.
   *
   * Use it to read the newest or an earlier version with its signed document.
   */
  getType(typeId: string, query?: types.WorldModelGetTypeQuery, options?: CallOptions): Pending<types.WorldModelGetTypeReply>
  /**
   * Checks an action against its type, trust tier and policies, and records it.
   *
   * Use it before an agent acts. A trust tier below the required one is refused with 403 and
   * recorded, as is a denial by a policy; 202 means that a policy asks for an approval.
   */
  invoke(body: types.WorldModelInvokeBody, options?: CallOptions): Pending<types.WorldModelInvokeReply | types.WorldModelInvokeAccepted>
  /**
   * Lists actions, newest first, including refused ones.
   *
   * Use it to review what agents did. `document` and `params` of a record larger than 16 KiB are
   * null in the list; read the action by its id.
   */
  readonly listActions: PagedMethod<[query?: types.WorldModelListActionsQuery, options?: CallOptions], types.WorldModelListActionsReply, types.WorldModelListActionsReply['invocations'][number]>
  /**
   * Lists the newest version of each type, by kind and name.
   *
   * Use it to browse the world model. The list has no signed documents, and no `spec` of a record
   * larger than 64 KiB; read the type by its id.
   */
  readonly listTypes: PagedMethod<[query?: types.WorldModelListTypesQuery, options?: CallOptions], types.WorldModelListTypesReply, types.WorldModelListTypesReply['types'][number]>
  /**
   * Registers a type, or the next version of a type of the same kind and name.
   *
   * Use it to define what objects, links and actions look like. The same spec again returns the
   * existing version. Earlier versions stay readable, and an action names the version it was
   * checked against.
   */
  registerType(body: types.WorldModelRegisterTypeBody, options?: CallOptions): Pending<types.WorldModelRegisterTypeReply>
  /**
   * Rejects an action that waits for an approval.
   *
   * Use it to end an escalated action.
   */
  rejectAction(actionId: string, body: types.WorldModelRejectActionBody, options?: CallOptions): Pending<types.WorldModelRejectActionReply>
  /**
   * Validates a link between two types, and between two objects.
   *
   * Use it before creating a link. Nothing is stored: the cardinality is checked among the links in
   * the request, the new one (`from_id`, `to_id`) and the existing ones (`existing`).
   */
  validateLink(body: types.WorldModelValidateLinkBody, options?: CallOptions): Pending<types.WorldModelValidateLinkReply>
  /**
   * Validates an object against its type.
   *
   * Use it before acting on an object. Nothing is stored.
   */
  validateObject(body: types.WorldModelValidateObjectBody, options?: CallOptions): Pending<types.WorldModelValidateObjectReply>
  /**
   * Verifies the signed document of an action and everything derived in it.
   *
   * Use it before relying on an action.
   */
  verifyAction(actionId: string, options?: CallOptions): Pending<types.WorldModelVerifyActionReply>
  /**
   * Verifies the signed document of a type and everything derived in it.
   *
   * Use it before relying on a type.
   */
  verifyType(typeId: string, query?: types.WorldModelVerifyTypeQuery, options?: CallOptions): Pending<types.WorldModelVerifyTypeReply>
}

/** A client with every operation as a method. */
export class Groups extends Client {
  declare readonly approvals: ApprovalsGroup
  declare readonly artifacts: ArtifactsGroup
  declare readonly assurance: AssuranceGroup
  declare readonly billing: BillingGroup
  declare readonly cgr: CgrGroup
  declare readonly compliance: ComplianceGroup
  declare readonly compositions: CompositionsGroup
  declare readonly decisions: DecisionsGroup
  declare readonly erasure: ErasureGroup
  declare readonly gcrumbs: GcrumbsGroup
  declare readonly governance: GovernanceGroup
  declare readonly identity: IdentityGroup
  declare readonly items: ItemsGroup
  declare readonly jobs: JobsGroup
  declare readonly keys: KeysGroup
  declare readonly landing: LandingGroup
  declare readonly llm: LlmGroup
  declare readonly manifold: ManifoldGroup
  declare readonly memory: MemoryGroup
  declare readonly monitoring: MonitoringGroup
  declare readonly offboarding: OffboardingGroup
  declare readonly orchestrator: OrchestratorGroup
  declare readonly platform: PlatformGroup
  declare readonly provenance: ProvenanceGroup
  declare readonly reports: ReportsGroup
  declare readonly retention: RetentionGroup
  declare readonly streams: StreamsGroup
  declare readonly subjects: SubjectsGroup
  declare readonly templates: TemplatesGroup
  declare readonly tenants: TenantsGroup
  declare readonly webhooks: WebhooksGroup
  declare readonly workflows: WorkflowsGroup
  declare readonly worldModel: WorldModelGroup

  constructor(options: ClientOptions) {
    super(options)
    addGroups(this, TABLE)
  }
}

// The rows of `operations.ts` in a third of their bytes: see `group.ts`.
const TABLE = `approvals
hitl/approvers POST enroll bi
hitl/approvers/{approver_id} DELETE revoke
hitl/approvers/{approver_id} GET approver
hitl/approvers/{approver_id} PUT update_approver b
hitl/requests/{request_id} GET request
hitl/requests/{request_id}~ GET verify
hitl/requests/{request_id}~ POST attest b
hitl/settings PUT change_settings b
hitl~ GET approvers q .approvers
hitl~ GET requests q .requests
hitl~ GET settings
artifacts
artifacts GET list q .artifacts
artifacts/{artifact_id} GET get
artifacts/{artifact_id}~ GET verify
artifacts/{artifact_id}~ POST approve bi
artifacts/{artifact_id}~ POST certify bi
artifacts/{artifact_id}~ POST integrity bs
artifacts/{artifact_id}~ POST reject bi
artifacts~ GET stats
artifacts~ POST register bi
assurance
assurance/baseline POST capture_baseline
assurance/runs/{run_id} GET get_run
assurance/schedules POST create_schedule bi
assurance/schedules/{schedule_id} DELETE delete_schedule
assurance/schedules/{schedule_id} PUT update_schedule b
assurance~ GET baseline
assurance~ GET drift q
assurance~ GET runs q .runs
assurance~ GET schedules
assurance~ GET stats
assurance~ POST run b
billing
cloud/billing/cancel/{tenant_id} POST cancel b
cloud/billing/portal/{tenant_id} POST portal
cloud/billing/subscription/{tenant_id} GET subscription
cloud/billing~ POST checkout b
cloud/billing~ POST webhook br
cgr
cgr/attestation/{agent_handle} GET attestation q
cgr/attestations POST attest bi
cgr/rotation POST rotate bi
cgr/scores/{agent_handle} GET score q
cgr/settings PUT change_settings b
cgr~ GET attestations q .attestations
cgr~ GET issuer
cgr~ GET rotations q .rotations
cgr~ GET scores q .scores
cgr~ GET settings
governed/decisions POST decide bi
governed/outcomes POST outcome bi
governed/outcomes/bulk POST outcomes bi
governed/reviews POST review bi
governed/reviews/bulk POST reviews bi
governed~ POST verify_batch bi
compliance
cloud/compliance/badge/{tenant_id}.json GET badge_json
cloud/compliance/badge/{tenant_id}.svg GET badge_svg
cloud/compliance~ GET status q .tenants
cloud/tenants/{tenant_id}/compliance GET history q
compositions
compositions GET list q .compositions
compositions POST compose bi
compositions/{composition_id} GET get
compositions/{composition_id}~ GET artifact
compositions/{composition_id}~ GET verify
compositions/{composition_id}~ POST approve bi
compositions/{composition_id}~ POST reject bi
compositions~ GET stats
decisions
decisions GET list q .decisions
decisions/scrub/{fact_ref} DELETE scrub
decisions/{decision_id} GET get
decisions/{decision_id}~ GET replay
decisions/{decision_id}~ POST redact bi
decisions~ GET export ql
decisions~ GET stats
decisions~ POST log bi
erasure
erasure GET list q .certificates
erasure/fact/{fact_ref} GET by_fact
erasure/{certificate_id} GET get q pdf=f
erasure/{certificate_id}~ GET verify
erasure~ GET stats
erasure~ POST issue bi
gcrumbs
gcrumbs/epochs/{epoch_number} GET epoch
gcrumbs/epochs/{epoch_number}~ GET consistency q
gcrumbs/epochs/{epoch_number}~ GET proof q
gcrumbs/public_key GET public_key q
gcrumbs/verify POST verify_envelope bs
gcrumbs/verify/key GET verify_key
gcrumbs~ GET breadcrumbs q .breadcrumbs
gcrumbs~ GET epochs q .epochs
gcrumbs~ GET stats
gcrumbs~ GET verify q
gcrumbs~ POST roll bi
log/tile/{tile} GET tile f
log~ GET checkpoint
governance
governance/policies GET list_policies q .policies
governance/policies POST create_policy bi
governance/policies/{policy_id} DELETE delete_policy
governance/policies/{policy_id} GET get_policy q
governance/policies/{policy_id} PUT update_policy b
governance~ GET logs q .logs
governance~ GET policy_types
governance~ GET stats
governance~ POST evaluate bi
governance~ POST seed_defaults bi
identity
cloud/tenants/{tenant_id}/sso/connections/{connection_id}/domains PUT set_domains b
cloud/tenants/{tenant_id}/users POST invite b
portal/invitation POST accept b
portal/session POST sign_in b
portal/sessions/{session_id} DELETE revoke_session
portal/sso/backchannel-logout POST backchannel 2r
portal/sso/connections POST create_connection b
portal/sso/connections/{connection_id} DELETE delete_connection
portal/sso/connections/{connection_id} GET connection
portal/sso/connections/{connection_id} PUT update_connection b
portal/sso/connections/{connection_id}/domains/{domain} DELETE drop_domain
portal/sso/connections/{connection_id}~ POST test s
portal/sso/connections/{connection_id}~ POST verify_domain b
portal/sso~ GET connections q .connections
portal/sso~ GET providers q
portal/sso~ POST configure b
portal/sso~ POST exchange b
portal/users/{user_id} DELETE remove_user q
portal/users/{user_id} PUT update_user b
portal~ GET me
portal~ GET sessions q .sessions
portal~ GET users q .users
portal~ POST logout
items
stores/{store_id}/items PUT put bi
stores/{store_id}/items~ POST batch bi
stores/{store_id}/items~ POST delete bi
stores/{store_id}/items~ POST get bs
stores/{store_id}/items~ POST namespaces bs
stores/{store_id}/items~ POST search bs
jobs
jobs/{job_id} DELETE cancel
jobs/{job_id} GET get
keys
keys GET list q .keys
keys POST create bi
keys/tokens POST create_token bi
keys/{key_id} DELETE revoke
keys~ GET current
landing
landing GET list q .certificates
landing/{certificate_id} GET get
landing/{certificate_id}~ GET verify
landing/{certificate_id}~ POST approve bi
landing/{certificate_id}~ POST reject bi
landing~ GET stats
landing~ POST conformance bs
landing~ POST issue bi
llm
llm/providers GET list_providers q .providers
llm/providers POST create_provider bi
llm/providers/{model_id} DELETE delete_provider
llm/tools GET list_tools q .tools
llm/tools POST create_tool bi
llm/tools/{tool_name} DELETE delete_tool
llm/tools~ POST seed_builtins bi
manifold
manifold/clear_cache POST clear_cache
manifold/field.svg GET picture q
manifold/locate/{step_id} GET locate q
manifold~ GET export q
manifold~ GET field q
memory
stores GET list_stores q .stores
stores POST create_store bi
stores/{store_id} DELETE delete_store
stores/{store_id} GET get_store
stores/{store_id}/ingestion/stats GET ingestion_stats
stores/{store_id}/memories/{ref} GET memory
stores/{store_id}/memories/{ref}~ GET history q .versions
stores/{store_id}/write_batch POST write_batch bi
stores/{store_id}~ GET audit q .memories
stores/{store_id}~ GET capabilities
stores/{store_id}~ GET export l
stores/{store_id}~ GET memories q .memories
stores/{store_id}~ GET stats
stores/{store_id}~ POST delete bi
stores/{store_id}~ POST flush bs
stores/{store_id}~ POST import 2in
stores/{store_id}~ POST ingest bi
stores/{store_id}~ POST reembed b
stores/{store_id}~ POST retrieve bs
stores/{store_id}~ POST supersede bi
stores/{store_id}~ POST write bi
monitoring
monitoring~ GET stats
offboarding
admin/tenants/{tenant_id}~ GET destruction
admin/tenants/{tenant_id}~ POST destroy_key b
orchestrator
orchestrator/actions GET list_actions q .actions
orchestrator/actions/{action_id} GET get_action
orchestrator/actions/{action_id}/approve POST approve_action bi
orchestrator/actions/{action_id}/reject POST reject_action bi
orchestrator/agents GET list_agents q .agents
orchestrator/agents POST create_agent bi
orchestrator/agents/{agent_id} DELETE delete_agent
orchestrator/agents/{agent_id} GET get_agent
orchestrator/agents/{agent_id} PUT update_agent b
orchestrator/agents/{agent_id}~ POST propose b
orchestrator/receipts/{receipt_id} GET get_receipt
orchestrator/replay/{decision_id} POST replay b
orchestrator/roles GET list_roles
orchestrator/runs GET list_runs q .runs
orchestrator/runs POST start_run bi
orchestrator/runs/{run_id} GET get_run
orchestrator/runs/{run_id}/calls/{call_id} GET get_call
orchestrator/runs/{run_id}/calls/{call_id}/report POST report_call bi
orchestrator/runs/{run_id}/calls/{call_id}/resolve POST resolve_call b
orchestrator/runs/{run_id}/cancel POST cancel_run b
orchestrator/runs/{run_id}/steps GET list_steps
orchestrator/runs/{run_id}/steps POST begin_step bi
orchestrator/runs/{run_id}/steps/{step_id} GET get_step
orchestrator/runs/{run_id}/steps/{step_id}/calls POST call_tool bi
orchestrator/runs/{run_id}/steps/{step_id}/complete POST complete_step bi
orchestrator/runs/{run_id}~ GET bundle l
orchestrator/runs/{run_id}~ GET receipts
orchestrator/runs/{run_id}~ GET verify
orchestrator~ GET stats
platform
~ GET health
~ GET healthz
~ GET readyz
provenance
provenance/corpora GET list q .corpora
provenance/corpora POST register bi
provenance/corpora/{corpus_id} GET get
provenance/corpora/{corpus_id}~ GET block
provenance/corpora/{corpus_id}~ GET proof q
provenance/corpora/{corpus_id}~ GET verify
provenance~ GET stats
reports
reports GET list q .reports
reports/{report_id} DELETE delete
reports/{report_id} GET get
reports/{report_id}/download/{format} GET download_format f
reports/{report_id}~ GET download qf
reports~ GET frameworks
reports~ GET stats
reports~ POST generate bi
retention
stores/{store_id}/holds POST place_hold bi
stores/{store_id}/holds/{hold_id} DELETE release_hold b
stores/{store_id}/retention GET get
stores/{store_id}/retention PUT set b
stores/{store_id}/retention~ POST run
stores/{store_id}~ GET holds q .holds
streams
events/stream GET events qe
events/tickets POST ticket b
orchestrator/runs/{run_id}/stream GET run qe
orchestrator/workflows/{workflow_id}/stream GET workflow qe
subjects
erasure/subject GET list q .requests
erasure/subject POST erase bi
erasure/subject/{request_id} GET get
erasure/subject/{request_id}~ GET manifest q bundle=l pdf=f
erasure/subject/{request_id}~ POST extend b
erasure/subject~ POST access 2l json=f html=f pdf=f
templates
templates GET list q .templates
templates~ POST install bi
tenants
cloud/tenants GET list
cloud/tenants POST create bi
cloud/tenants/{tenant_id} GET get
cloud/tenants/{tenant_id} PUT update b
cloud/tenants/{tenant_id}~ GET usage q
cloud/tenants/{tenant_id}~ POST rotate_key i
usage/current GET current_usage
webhooks
webhooks GET list q .webhooks
webhooks POST create bi
webhooks/events/types GET event_types
webhooks/{webhook_id} DELETE delete
webhooks/{webhook_id} GET get
webhooks/{webhook_id} PUT update b
webhooks/{webhook_id}/deliveries/{delivery_id}~ POST retry
webhooks/{webhook_id}~ GET deliveries q .deliveries
webhooks/{webhook_id}~ POST replay b
webhooks/{webhook_id}~ POST rotate_secret b
webhooks/{webhook_id}~ POST test
workflows
orchestrator/step POST run_step bi
orchestrator/steps/{step_id} GET find_step
orchestrator/workflows GET list q .workflows
orchestrator/workflows POST create bi
orchestrator/workflows/{workflow_id} DELETE delete
orchestrator/workflows/{workflow_id} GET get
orchestrator/workflows/{workflow_id}~ GET receipts
orchestrator/workflows/{workflow_id}~ GET verify_chain
orchestrator/workflows/{workflow_id}~ POST resume b
orchestrator/workflows/{workflow_id}~ POST run bi
orchestrator/workflows/{workflow_id}~ POST terminate
world_model
world-model/actions GET list_actions q .invocations
world-model/actions/stats GET action_stats
world-model/actions/{action_id} GET get_action
world-model/actions/{action_id}/approve POST approve_action bi
world-model/actions/{action_id}/reject POST reject_action bi
world-model/actions/{action_id}/verify GET verify_action
world-model/actions~ POST invoke bi
world-model/types GET list_types q .types
world-model/types POST register_type bi
world-model/types/{type_id} GET get_type q
world-model/types/{type_id}/verify GET verify_type q
world-model/validate/link POST validate_link bs
world-model/validate/object POST validate_object bs`
