// Deciding what waits: bound to what was proposed, by somebody else, exactly once.

import {
  type ApprovalMember,
  type Attestation,
  canonicalize,
  foldName,
  type JsonObject,
  type RecordKind,
} from '@custos/proof'
import type { Call } from '../../platform/call.ts'
import { formatTime } from '../../platform/clock.ts'
import { findPolicySet } from '../../platform/db/control.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import { Refusal } from '../../platform/refusal.ts'
import { validationDetail } from '../../platform/validation.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { gate } from '../governance/index.ts'
import { meter } from '../tenants/index.ts'
import { refusalOfGate } from './answers.ts'
import {
  type ApprovalContent,
  approvalOwner,
  contextOf,
  escalationsOf,
  settingsOf,
} from './approval-request.ts'
import { type ApprovalRow, findApproval, findSettings, updateDecided } from './approvals.sql.ts'
import { principalLabel, principalOf } from './authority.ts'
import { expireRequest } from './expire-requests.ts'
import { findRecord } from './find-records.ts'
import {
  kindOf,
  type OpenRecord,
  type RecordContent,
  recordOwner,
  toOpenRecord,
} from './open-record.ts'
import { appendRecordEvent } from './record-events.ts'
import { type RecordRow, updateStatus } from './records.sql.ts'
import type { AdmittedProposal, RecordEffect, Registry } from './registry.ts'
import { openSealed, sealAgain } from './sealed-record.ts'
import { deriveIds, documentDigest, signDocument, signRecord } from './sign-record.ts'

export interface ApprovalDecision {
  readonly decision: 'approve' | 'deny'
  /** A name as given, or that of an enrolled approver. */
  readonly approver: string
  readonly reason?: string | undefined
  /** Of an enrolled approver, already verified. */
  readonly attested?: { readonly approver_id: string; readonly attestation: Attestation }
  /** In the unit that decides, before anything is written. */
  readonly require?: (tx: Tx) => Promise<void>
}

/** Nothing but these members of a body says who decides what. */
export const readDecision = (
  decision: 'approve' | 'deny',
  { approver, reason }: { readonly approver: string; readonly reason?: string | undefined },
): ApprovalDecision => ({ decision, approver, reason })

/** The record as decided. Refuses what does not wait, who may not decide, what policies deny. */
export async function applyDecision<Q extends JsonObject>(
  call: Call,
  registry: Registry<Q>,
  record_id: string,
  decision: ApprovalDecision,
): Promise<OpenRecord> {
  const { kernel, tenant_id } = call
  const record = await findRecord(kernel, tenant_id, { kind: registry.kind, record_id })
  if (!record) throw new Refusal(registry.not_found)
  if (await wasDecidedBefore(call, record)) return record
  const asked = await loadOpenApproval(call, record)
  const deciding = { record, asked, decision }
  await requireOtherPerson(call, deciding)
  requireUnchanged(tenant_id, deciding)
  if (decision.decision === 'deny') return deny(call, registry, deciding)
  return untilPoliciesHold(() => approve(call, registry, deciding))
}

/** The policies changed between their evaluation and the unit. */
class PoliciesChanged extends Error {}

const ATTEMPTS_MAX = 5

async function untilPoliciesHold<T>(act: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await act()
    } catch (error) {
      if (!(error instanceof PoliciesChanged)) throw error
      if (attempt === ATTEMPTS_MAX)
        throw new Refusal('unavailable', 'the policies are being changed', { retry_after_s: 1 })
    }
  }
}

/** A retry of what was decided under the same key is told of the record as it is. */
async function wasDecidedBefore(call: Call, { row }: OpenRecord): Promise<boolean> {
  if (row.status === 'waiting_hitl' || call.idempotency_key === null) return false
  return call.once<boolean>({
    run: async () => {
      throw new Refusal(row.status === 'expired' ? 'approval_expired' : 'not_waiting')
    },
    replay: async () => true,
  })
}

interface OpenApproval {
  readonly row: ApprovalRow
  readonly content: ApprovalContent
}

interface PendingDecision {
  readonly record: OpenRecord
  readonly asked: OpenApproval
  readonly decision: ApprovalDecision
}

async function loadOpenApproval(call: Call, { row }: OpenRecord): Promise<OpenApproval> {
  const { kernel, tenant_id } = call
  const { request_id } = row
  if (request_id === null || row.status === 'denied') throw new Refusal('not_waiting')
  const approval = await kernel.db.read(tenant_id, (db) => findApproval(db, request_id))
  if (!approval) throw new Refusal('unavailable')
  if (approval.state === 'expired') throw new Refusal('approval_expired')
  if (approval.state !== 'pending') throw new Refusal('not_waiting')
  if (await expireRequest(kernel, tenant_id, approval)) throw new Refusal('approval_expired')
  return { row: approval, content: await openApprovalContent(call, approval) }
}

/** The words of a request for an approval. */
export async function openApprovalContent(
  { kernel, tenant_id }: Pick<Call, 'kernel' | 'tenant_id'>,
  row: ApprovalRow,
): Promise<ApprovalContent> {
  const owner = approvalOwner(tenant_id, kindOf(row), row.request_id)
  const sealed = { owner, secret_no: row.secret_no, sealed: row.sealed }
  const [content = null] = await openSealed<ApprovalContent>(kernel, tenant_id, [sealed])
  if (!content) throw new Refusal('unavailable', 'the request cannot be opened')
  return content
}

/**
 * Four eyes: neither the principal of the request nor the key that asked, however it is written.
 */
async function requireOtherPerson(
  call: Call,
  { record, asked, decision }: PendingDecision,
): Promise<void> {
  const { kernel, tenant_id } = call
  const { approver, attested } = decision
  const { requested_by } = asked.row
  const names = [approver, attested?.approver_id ?? ''].map(foldName)
  if (names[0] === '')
    throw validationDetail(['body', 'approver'], 'has nothing that can be read', 'value_error')
  if (names.includes(foldName(requested_by))) throw new Refusal('self_approval')
  const { principal_label } = record.content
  if (principal_label === null) return
  for (const name of names)
    if ((await principalLabel(kernel, tenant_id, name)) === principal_label)
      throw new Refusal('self_approval')
}

/** What the tenant demands of whoever decides, as it stands in the unit that decides. */
async function requireSettings(
  tx: Tx,
  call: Call,
  { asked, decision }: PendingDecision,
): Promise<void> {
  const settings = settingsOf(await findSettings(tx))
  if (settings.attestation_required && !decision.attested) throw new Refusal('attestation_required')
  if (settings.different_credential && call.principal.key_id === asked.row.requested_by)
    throw new Refusal('self_approval', 'the tenant demands the credential of somebody else')
}

async function approve<Q extends JsonObject>(
  call: Call,
  registry: Registry<Q>,
  deciding: PendingDecision,
): Promise<OpenRecord> {
  const { kernel, tenant_id } = call
  const { record, asked } = deciding
  const { row, content } = record
  // Proposed through the same registry.
  const request = record.request as Q
  const policy_set = await admitApproved(call, registry, { request, asked, before: row.policy_set })
  const decided = await signDecision(call, deciding)
  const proposed: AdmittedProposal<Q> = {
    ...{ kernel, tenant_id, principal: call.principal, request },
    ceiling: content.ceiling,
    record_id: row.record_id,
    created_us: row.created_us,
    version: row.version,
    series_id: row.series_id,
  }
  const document = await signRecord({
    ...{ registry, proposed, policy_set },
    identified: { ...row, request, nonce: content.nonce },
    requested_by: row.requested_by,
    evaluation_id: content.evaluation_id,
    approval: decided.member,
    issued_us: decided.decided_us,
  })
  const effect = (await registry.effect?.(proposed)) ?? null
  const after: RecordContent = { ...content, document, approval: decided.member }
  const to = registry.standing
  return storeDecision(call, registry.kind, { deciding, decided, after, to, effect, policy_set })
}

async function deny<Q extends JsonObject>(
  call: Call,
  { kind }: Registry<Q>,
  deciding: PendingDecision,
): Promise<OpenRecord> {
  const { record } = deciding
  const decided = await signDecision(call, deciding)
  const reason = deciding.decision.reason ?? 'rejected by a person'
  const after: RecordContent = { ...record.content, approval: decided.member, reason }
  const { policy_set } = record.row
  const ending = { to: 'denied' as const, effect: null, policy_set }
  return storeDecision(call, kind, { deciding, decided, after, ...ending })
}

/**
 * What is signed is what was proposed: the digest is made again from the stored request, and the
 * row of the request for an approval says what was sealed when it was asked for.
 */
function requireUnchanged(tenant_id: string, { record, asked }: PendingDecision): void {
  const { row, content } = record
  const { created_us } = row
  const { request, nonce } = content
  const { proposal_digest } = deriveIds({
    tenant_id,
    kind: kindOf(row),
    request,
    created_us,
    nonce,
  })
  const { operation, context } = asked.content
  const principal = principalOf(request)
  const shown = contextOf(asked.row, tenant_id, { operation, principal })
  const same = proposal_digest === row.proposal_digest && proposal_digest === shown.proposal_digest
  if (same && canonicalize(shown) === canonicalize(context)) return
  throw new Refusal('unavailable', 'what was proposed does not match its digest')
}

/** The policies of now: those that asked are answered, everything else holds. */
async function admitApproved<Q extends JsonObject>(
  call: Call,
  registry: Registry<Q>,
  { request, asked, before }: { request: Q; asked: OpenApproval; before: number },
): Promise<number> {
  const { record_id } = asked.row
  const met = escalationsOf(asked.row)
  // Not as of when the credential was looked up: the unit compares the number with that of then.
  const { kernel, tenant_id } = call
  const asking = { kernel, tenant_id, principal: {} }
  const context = registry.context(request)
  const gated = await gate(asking, registry.operation(request), context, { met })
  if (gated.verdict !== 'allowed') throw refusalOfGate(registry, gated, record_id)
  // What a person approved is signed as it is, or not at all. Under the same policies whatever they
  // take out was taken out before it was shown.
  const takes = Object.keys(gated.redactions[0] ?? {}).length > 0
  if (takes && gated.policy_set !== before)
    throw new Refusal('policy_denied', 'a policy made since takes out what was approved')
  return gated.policy_set
}

interface SignedDecision {
  readonly member: ApprovalMember
  readonly record: JsonObject
  readonly decided_us: number
}

/** The approval record: who, when and why, signed. */
async function signDecision(call: Call, deciding: PendingDecision): Promise<SignedDecision> {
  const { kernel, principal } = call
  const { asked, decision } = deciding
  const { attested, approver, reason = null } = decision
  // Another process may be ahead: nothing is decided before it was asked for.
  const decided_us = Math.max(kernel.clock.now(), asked.row.issued_us + 1)
  const made = {
    approver,
    approver_id: attested?.approver_id ?? null,
    decided_by: principal.key_id,
    decided_at: formatTime(decided_us),
    reason,
  }
  const document: JsonObject = {
    ...asked.content.context,
    decision: decision.decision,
    ...made,
    attestation: attested ? { ...attested.attestation } : null,
  }
  const { request_id, proposal_digest } = asked.row
  const member = { request_id, proposal_digest, ...made }
  return { member, record: await signDocument(kernel, 'approval', document), decided_us }
}

interface DecidedRecord {
  readonly deciding: PendingDecision
  readonly decided: SignedDecision
  readonly after: RecordContent
  readonly to: Registry['standing']
  readonly effect: RecordEffect | null
  readonly policy_set: number
}

async function storeDecision(
  call: Call,
  kind: RecordKind,
  settling: DecidedRecord,
): Promise<OpenRecord> {
  const { kernel, tenant_id, operation } = call
  const { deciding, decided, after } = settling
  const { record, asked } = deciding
  const { row } = record
  const owner = recordOwner(tenant_id, kind, row.record_id)
  const sealed = await sealAgain(kernel, owner, row.secret_no, after)
  const request = approvalOwner(tenant_id, kind, asked.row.request_id)
  const content: ApprovalContent = { ...asked.content, record: decided.record }
  const sealedRequest = await sealAgain(kernel, request, asked.row.secret_no, content)
  const keys = await kernel.keyring.tenant(tenant_id)
  const { approver, approver_id } = decided.member
  const label = keys.label(`approver\n${approver_id ?? approver}`)
  const moved = { ...row, status: settling.to, policy_set: settling.policy_set, sealed }
  const replayed = await call.once<boolean>({
    async run(tx) {
      await requireSettings(tx, call, deciding)
      await deciding.decision.require?.(tx)
      await writeDecision(tx, { ...settling, sealedRequest, label, moved })
      meter(tx, operation.id)
      return { reply: false, ids: { record_id: row.record_id } }
    },
    replay: async () => true,
  })
  if (!replayed) return toOpenRecord(moved, after)
  const now = await findRecord(kernel, tenant_id, { kind, record_id: row.record_id })
  if (!now) throw new Refusal('unavailable')
  return now
}

interface SealedDecision extends DecidedRecord {
  readonly sealedRequest: Uint8Array
  readonly label: string
  readonly moved: RecordRow
}

async function writeDecision(tx: Tx, unit: SealedDecision): Promise<void> {
  const { deciding, decided, after, to, effect, sealedRequest, label, moved } = unit
  const { asked } = deciding
  if (to !== 'denied' && (await findPolicySet(tx)) !== moved.policy_set) throw new PoliciesChanged()
  const { approver_id, decided_by } = decided.member
  const kind = kindOf(asked.row)
  const state = to === 'denied' ? 'denied' : 'approved'
  const { request_id, record_id, proposal_digest } = asked.row
  const { decided_us } = decided
  const row = { request_id, state, decided_us, decided_by, approver_id, sealed: sealedRequest }
  if (!(await updateDecided(tx, { ...row, state }))) throw new Refusal('not_waiting')
  const change = { record_id, from: 'waiting_hitl', to, live: to === 'denied' ? 0 : 1 } as const
  const { sealed, policy_set } = moved
  if (!(await updateStatus(tx, change, { sealed, policy_set }))) throw new Refusal('not_waiting')
  if (effect) await effect(tx, record_id)
  await appendCrumb(tx, {
    event_type: `approval.${state}`,
    subject: request_id,
    payload: {
      ...{ record_kind: kind, record_id, proposal_digest, decided_by },
      approver_label: label,
      record_digest: documentDigest('approval', decided.record),
    },
  })
  const { document, evaluation_id } = after
  const reason = to === 'denied' ? 'rejected_by_person' : null
  await appendRecordEvent(tx, { kind, status: to, row: moved, document, evaluation_id, reason })
}
