// Applies a person's decision to a waiting record: once, by somebody other than the proposer, and
// to exactly what was proposed.

import { type Attestation, canonicalize, foldName, type JsonObject } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import { Conflict, retryOnConflict } from '../../platform/concurrency.ts'
import { findPolicySet } from '../../platform/db/control.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import { actorOf, type Call } from '../../platform/kernel/call.ts'
import { REDACTED_SECRET } from '../../platform/kernel/sealed-column.ts'
import { Refusal } from '../../platform/refusal.ts'
import { validationDetail } from '../../platform/validation.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { gate } from '../governance/index.ts'
import { meter } from '../tenants/index.ts'
import { refusalOfGate } from './answers.ts'
import {
  approvalColumn,
  contextOf,
  escalationsOf,
  type OpenApproval,
  openApprovals,
  settingsOf,
} from './approval-request.ts'
import { findApproval, findSettings, updateDecided } from './approvals.sql.ts'
import { principalLabel, principalOf } from './authority.ts'
import { expireRequest } from './ended-records.ts'
import { findRecord } from './find-records.ts'
import {
  kindOf,
  type OpenRecord,
  type RecordContent,
  recordColumn,
  toOpenRecord,
} from './open-record.ts'
import { appendRecordEvent } from './record-events.ts'
import { type RecordRow, updateStatus } from './records.sql.ts'
import type { RecordEffect, Registry } from './registry.ts'
import { deriveIds, documentDigest, signDocument, signRecord } from './sign-record.ts'

export interface ApprovalDecision {
  readonly decision: 'approve' | 'deny'
  /** The given name, or the name of an enrolled approver. */
  readonly approver: string
  readonly reason?: string | undefined
  /** The attestation of an enrolled approver, already verified. */
  readonly attested?: { readonly approver_id: string; readonly attestation: Attestation }
  /** Runs in the unit of work before anything is written. May refuse. */
  readonly require?: (tx: Tx) => Promise<void>
}

/** The policies may change between their evaluation and the unit of work. */
const POLICY_RETRY = {
  on: 'policies',
  attempts: 5,
  message: 'the policies are being changed',
} as const

/** The effect of an approval may write to a store, whose settings may change meanwhile. */
const STORE_RETRY = {
  on: 'store',
  attempts: 5,
  message: 'the store keeps changing',
} as const

/**
 * Returns the decided record. Refuses a record that does not wait, a person who may not decide it,
 * and what the current policies deny.
 */
export async function applyDecision<Q extends JsonObject>(
  call: Call,
  registry: Registry<Q>,
  record_id: string,
  decision: ApprovalDecision,
): Promise<OpenRecord> {
  const { kernel, tenant_id } = call
  const record = await findRecord(kernel, tenant_id, { kind: registry.kind, record_id })
  if (!record) return call.refuse(registry.not_found)
  if (await wasDecidedBefore(call, record)) return record
  const approval = await loadPendingApproval(call, record)
  const pending = { record, approval, decision }
  await requireOtherPerson(call, pending)
  requireUnchanged(tenant_id, pending)
  // Proposals of this registry have this type.
  const request = record.request as Q
  if (decision.decision === 'deny')
    return deny(call, pending, registry.onRejection?.(request, kernel) ?? null)
  const act = () => approve(call, registry, { ...pending, request })
  return retryOnConflict(() => retryOnConflict(act, POLICY_RETRY), STORE_RETRY)
}

/** Whether this Idempotency-Key made the decision. Refuses a record decided by another request. */
async function wasDecidedBefore(call: Call, { row }: OpenRecord): Promise<boolean> {
  if (row.status === 'waiting_hitl' || call.idempotency_key === null) return false
  return call.once<boolean>({
    run: async () => {
      if (row.status === 'expired') await loadPendingApproval(call, { row })
      return call.refuse('not_waiting')
    },
    replay: async () => true,
  })
}

interface PendingDecision {
  readonly record: OpenRecord
  readonly approval: OpenApproval
  readonly decision: ApprovalDecision
}

async function loadPendingApproval(
  call: Call,
  { row }: Pick<OpenRecord, 'row'>,
): Promise<OpenApproval> {
  const { kernel, tenant_id } = call
  const { request_id, secret_no } = row
  if (request_id === null || row.status === 'denied' || secret_no === REDACTED_SECRET)
    return call.refuse('not_waiting')
  const approval = await kernel.db.read(tenant_id, (db) => findApproval(db, request_id))
  if (!approval) return call.refuse('unavailable')
  // A request marked as expired before its time was withdrawn, because its purpose has ended.
  if (approval.state === 'expired')
    return call.refuse(
      approval.expires_us > kernel.clock.now() ? 'not_waiting' : 'approval_expired',
    )
  if (approval.state !== 'pending' || approval.secret_no === REDACTED_SECRET)
    return call.refuse('not_waiting')
  if (await expireRequest(kernel, tenant_id, approval)) return call.refuse('approval_expired')
  const [opened] = await openApprovals(kernel, tenant_id, [approval])
  return opened ?? call.refuse('unavailable')
}

/** Refuses the proposing principal and credential, in any spelling. */
async function requireOtherPerson(
  call: Call,
  { record, approval, decision }: PendingDecision,
): Promise<void> {
  const { kernel, tenant_id } = call
  const { approver, attested } = decision
  const { requested_by } = approval.row
  const names = [approver, attested?.approver_id ?? ''].map(foldName)
  if (names[0] === '')
    throw validationDetail(['body', 'approver'], 'has nothing that can be read', 'value_error')
  if (names.includes(foldName(requested_by))) return call.refuse('self_approval')
  const { principal_label } = record.content
  if (principal_label === null) return
  for (const name of names)
    if ((await principalLabel(kernel, tenant_id, name)) === principal_label)
      call.refuse('self_approval')
}

/** Applies the tenant's settings as they are in the unit of work. */
async function requireSettings(
  tx: Tx,
  call: Call,
  { approval, decision }: PendingDecision,
): Promise<void> {
  const settings = settingsOf(await findSettings(tx))
  if (settings.attestation_required && !decision.attested) call.refuse('attestation_required')
  const { principal } = call
  // A signed-in user counts as one person, whichever credential they use.
  const others = settings.different_credential || principal.user_id !== undefined
  if (others && actorOf(principal) === approval.row.requested_by)
    call.refuse('self_approval', 'the tenant requires another credential to decide')
}

async function approve<Q extends JsonObject>(
  call: Call,
  registry: Registry<Q>,
  pending: PendingDecision & { readonly request: Q },
): Promise<OpenRecord> {
  const { kernel, tenant_id } = call
  const { record, approval, request } = pending
  const { row, content } = record
  const policy_set = await evaluateAgain(call, registry, {
    request,
    approval,
    policy_set: row.policy_set,
  })
  const signed = await signDecision(call, pending)
  const { record_id, proposal_digest, created_us, version, series_id } = row
  const { nonce, ceiling, evaluation_id } = content
  const { document, effect } = await signRecord({
    registry,
    proposal: {
      kernel,
      tenant_id,
      request,
      record_id,
      proposal_digest,
      created_us,
      nonce,
      ceiling,
      version,
      series_id,
    },
    policy_set,
    requested_by: row.requested_by,
    evaluation_id,
    approval: signed.member,
    issued_us: signed.decided_us,
  })
  return storeDecision(call, pending, {
    signed,
    status: registry.issued_status,
    content: { ...content, document, approval: signed.member },
    effect,
    policy_set,
  })
}

async function deny(
  call: Call,
  pending: PendingDecision,
  effect: RecordEffect | null,
): Promise<OpenRecord> {
  const { row, content } = pending.record
  const signed = await signDecision(call, pending)
  const reason = pending.decision.reason ?? 'rejected by a person'
  return storeDecision(call, pending, {
    signed,
    status: 'denied',
    content: { ...content, approval: signed.member, reason },
    effect,
    policy_set: row.policy_set,
  })
}

/**
 * Requires that what is signed is what was proposed: the digest is derived from the stored request,
 * and the row of the approval request agrees with its sealed content.
 */
function requireUnchanged(tenant_id: string, { record, approval }: PendingDecision): void {
  const { row, content } = record
  const { created_us } = row
  const { request, nonce } = content
  const kind = kindOf(row)
  const { proposal_digest } = deriveIds({ tenant_id, kind, request, created_us, nonce })
  const { operation, context } = approval.content
  const principal = principalOf(request)
  const shown = contextOf(approval.row, tenant_id, { operation, principal })
  const same = proposal_digest === row.proposal_digest && proposal_digest === shown.proposal_digest
  if (same && canonicalize(shown) === canonicalize(context)) return
  throw new Refusal('unavailable', 'what was proposed does not match its digest')
}

/**
 * Evaluates the current policies. Those that escalated the proposal are satisfied by the approval.
 * Returns the version of the policy set.
 */
async function evaluateAgain<Q extends JsonObject>(
  { kernel, tenant_id }: Call,
  registry: Registry<Q>,
  proposed: { request: Q; approval: OpenApproval; policy_set: number },
): Promise<number> {
  const { request, approval } = proposed
  const met = escalationsOf(approval.row)
  // Omits the stale policy set number of the credential: the unit of work checks the one returned.
  const caller = { kernel, tenant_id, principal: {} }
  const { context_origins } = approval.content
  const context = {
    ...(await registry.context(request, { kernel, tenant_id })),
    ...(context_origins && { context_origins }),
  }
  const gated = await gate(caller, registry.operation(request), context, { met })
  if (gated.verdict !== 'allowed') throw refusalOfGate(registry, gated, approval.row.record_id)
  // What a person approved is signed unchanged or not at all. Redactions by the same policies were
  // made before the person saw it.
  const redacts = Object.keys(gated.redactions[0] ?? {}).length > 0
  if (redacts && gated.policy_set !== proposed.policy_set)
    throw new Refusal('policy_denied', 'a newer policy redacts what was approved')
  return gated.policy_set
}

/** Signs the approval record: who decided, when and why. */
async function signDecision(call: Call, pending: PendingDecision) {
  const { kernel, principal } = call
  const { approval, decision } = pending
  const { attested, approver, reason = null } = decision
  // A decision is always later than its request, even if another process's clock is ahead.
  const decided_us = Math.max(kernel.clock.now(), approval.row.issued_us + 1)
  const made = {
    approver,
    approver_id: attested?.approver_id ?? null,
    decided_by: actorOf(principal),
    decided_at: formatTime(decided_us),
    reason,
  }
  const document: JsonObject = {
    ...approval.content.context,
    decision: decision.decision,
    ...made,
    attestation: attested ? { ...attested.attestation } : null,
  }
  const { request_id, proposal_digest } = approval.row
  const member = { request_id, proposal_digest, ...made }
  return { member, record: await signDocument(kernel, 'approval', document), decided_us }
}

interface DecidedRecord {
  readonly signed: Awaited<ReturnType<typeof signDecision>>
  readonly status: Registry['issued_status']
  readonly content: RecordContent
  readonly effect: RecordEffect | null
  readonly policy_set: number
}

async function storeDecision(
  call: Call,
  pending: PendingDecision,
  decided: DecidedRecord,
): Promise<OpenRecord> {
  const { kernel, tenant_id, operation } = call
  const { record, approval } = pending
  const { signed, status, content, policy_set } = decided
  const { record_id } = record.row
  const kind = kindOf(record.row)
  const sealed = await recordColumn.sealAgain(kernel, tenant_id, record.row, content)
  const sealedApproval = await approvalColumn.sealAgain(kernel, tenant_id, approval.row, {
    ...approval.content,
    record: signed.record,
  })
  if (!sealed || !sealedApproval) return call.refuse('unavailable')
  const row = { ...record.row, status, policy_set, sealed }
  const keys = await kernel.keyring.tenant(tenant_id)
  const { approver, approver_id } = signed.member
  const approver_label = keys.label(`approver\n${approver_id ?? approver}`)
  const replayed = await call.once<boolean>({
    async run(tx) {
      await requireSettings(tx, call, pending)
      await pending.decision.require?.(tx)
      await writeDecision(tx, { ...decided, row, approval, sealedApproval, approver_label })
      meter(tx, operation.id)
      return { reply: false, ids: { record_id } }
    },
    replay: async () => true,
  })
  if (!replayed) return toOpenRecord(row, content)
  return (await findRecord(kernel, tenant_id, { kind, record_id })) ?? call.refuse('unavailable')
}

interface SealedDecision extends DecidedRecord {
  /** The row after the decision. */
  readonly row: RecordRow
  /** The approval request before the decision. */
  readonly approval: OpenApproval
  readonly sealedApproval: Uint8Array
  readonly approver_label: string
}

async function writeDecision(tx: Tx, decided: SealedDecision): Promise<void> {
  const { signed, status, content, effect, row, sealedApproval, approver_label } = decided
  const { request_id, record_id, proposal_digest } = decided.approval.row
  const { sealed, policy_set, secret_no } = row
  const denied = status === 'denied'
  if (!denied && (await findPolicySet(tx)) !== policy_set) throw new Conflict('policies')
  const { approver_id, decided_by } = signed.member
  const state = denied ? 'denied' : 'approved'
  const updated = await updateDecided(tx, {
    request_id,
    secret_no: decided.approval.row.secret_no,
    state,
    decided_us: signed.decided_us,
    decided_by,
    approver_id,
    sealed: sealedApproval,
  })
  if (!updated) throw new Refusal('not_waiting')
  const live = denied ? 0 : 1
  const change = { record_id, secret_no, from: 'waiting_hitl', to: status, live } as const
  if (!(await updateStatus(tx, change, { sealed, policy_set }))) throw new Refusal('not_waiting')
  if (effect) await effect(tx, record_id)
  const kind = kindOf(row)
  await appendCrumb(tx, {
    event_type: `approval.${state}`,
    subject: request_id,
    payload: {
      record_kind: kind,
      record_id,
      proposal_digest,
      decided_by,
      approver_label,
      record_digest: documentDigest('approval', signed.record),
    },
  })
  const { document, evaluation_id } = content
  const reason = denied ? 'rejected_by_person' : null
  await appendRecordEvent(tx, { kind, status, row, document, evaluation_id, reason })
}
