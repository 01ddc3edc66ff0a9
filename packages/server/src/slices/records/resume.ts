// Deciding what waits: bound to what was proposed, by somebody else, exactly once.

import type { ApprovalMember, Attestation, JsonObject, RecordKind } from '@custos/proof'
import type { Call } from '../../platform/call.ts'
import { formatTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { gate } from '../governance/index.ts'
import { meter } from '../tenants/index.ts'
import {
  type ApprovalContent,
  approvalOwner,
  contextOf,
  escalationsOf,
  loadSettings,
} from './approval-request.ts'
import { type ApprovalRow, decideApproval, findApproval } from './approvals.sql.ts'
import { refusalOfGate } from './denial.ts'
import { expireRequest } from './expire.ts'
import { findRecord } from './find-records.ts'
import { type OpenRecord, openedRecord, ownerOf, type RecordContent } from './open-record.ts'
import { logRecord } from './record-events.ts'
import { moveRecord, type RecordRow } from './records.sql.ts'
import type { Effect, Proposed, Registry } from './registry.ts'
import { kindOf } from './row-words.ts'
import { openSealed, sealAgain } from './sealed-record.ts'
import { digestOf, idsOf, sign, signRecord } from './sign-record.ts'

export interface Decision {
  readonly decision: 'approve' | 'deny'
  /** A name as given, or that of an enrolled approver. */
  readonly approver: string
  readonly reason?: string | undefined
  /** Of an enrolled approver, already verified. */
  readonly attested?: { readonly approver_id: string; readonly attestation: Attestation }
}

/** The record as decided. Refuses what does not wait, who may not decide, what policies deny. */
export async function resume<Q extends JsonObject>(
  call: Call,
  registry: Registry<Q>,
  record_id: string,
  decision: Decision,
): Promise<OpenRecord> {
  const { kernel, tenant_id } = call
  const record = await findRecord(kernel, tenant_id, { kind: registry.kind, record_id })
  if (!record) throw new Refusal(registry.not_found)
  if (await isAnswered(call, record)) return record
  const asked = await findAsked(call, record)
  await requireOther(call, { record, asked, decision })
  if (decision.decision === 'deny') return deny(call, registry, { record, asked, decision })
  return approve(call, registry, { record, asked, decision })
}

/** A retry of what was decided under the same key is told of the record as it is. */
async function isAnswered(call: Call, { row }: OpenRecord): Promise<boolean> {
  if (row.status === 'waiting_hitl' || call.idempotency_key === null) return false
  return call.once<boolean>({
    run: async () => {
      throw new Refusal(row.status === 'expired' ? 'approval_expired' : 'not_waiting')
    },
    replay: async () => true,
  })
}

interface Asked {
  readonly row: ApprovalRow
  readonly content: ApprovalContent
}

interface Deciding {
  readonly record: OpenRecord
  readonly asked: Asked
  readonly decision: Decision
}

async function findAsked(call: Call, { row }: OpenRecord): Promise<Asked> {
  const { kernel, tenant_id } = call
  const { request_id } = row
  if (request_id === null || row.status === 'denied') throw new Refusal('not_waiting')
  const approval = await kernel.db.read(tenant_id, (db) => findApproval(db, request_id))
  if (!approval) throw new Refusal('unavailable')
  if (approval.state === 'expired') throw new Refusal('approval_expired')
  if (approval.state !== 'pending') throw new Refusal('not_waiting')
  if (await expireRequest(kernel, tenant_id, approval)) throw new Refusal('approval_expired')
  return { row: approval, content: await openRequest(call, approval) }
}

/** The words of a request for an approval. */
export async function openRequest(
  { kernel, tenant_id }: Pick<Call, 'kernel' | 'tenant_id'>,
  row: ApprovalRow,
): Promise<ApprovalContent> {
  const owner = approvalOwner(tenant_id, kindOf(row), row.request_id)
  const sealed = { owner, secret_no: row.secret_no, sealed: row.sealed }
  const [content = null] = await openSealed<ApprovalContent>(kernel, tenant_id, [sealed])
  if (!content) throw new Refusal('unavailable', 'the request cannot be opened')
  return content
}

const folded = (name: string): string => name.normalize('NFKC').trim().toLowerCase()

/** Four eyes: neither the principal of the request nor, where demanded, its credential. */
async function requireOther(call: Call, { record, asked, decision }: Deciding): Promise<void> {
  const { kernel, tenant_id, principal } = call
  const settings = await loadSettings(kernel, tenant_id)
  const { requested_by } = asked.row
  const { attested, approver } = decision
  if (settings.attestation_required && !attested) throw new Refusal('attestation_required')
  if (settings.different_credential && principal.key_id === requested_by)
    throw new Refusal('self_approval', 'the tenant demands the credential of somebody else')
  const names = [requested_by, humanOf(record.request) ?? ''].map(folded)
  const who = [approver, attested?.approver_id ?? ''].map(folded)
  if (who.some((name) => name !== '' && names.includes(name))) throw new Refusal('self_approval')
}

function humanOf({ authority }: JsonObject): string | null {
  if (typeof authority !== 'object' || authority === null) return null
  const human = 'human_principal' in authority ? authority['human_principal'] : null
  return typeof human === 'string' ? human : null
}

async function approve<Q extends JsonObject>(
  call: Call,
  registry: Registry<Q>,
  deciding: Deciding,
): Promise<OpenRecord> {
  const { kernel, tenant_id } = call
  const { record, asked } = deciding
  const { row, content } = record
  requireUnchanged(tenant_id, record, asked.row)
  // Proposed through the same registry.
  const request = record.request as Q
  const policy_set = await admitAgain(call, registry, { request, asked })
  const decided = await signDecision(call, deciding)
  const proposed: Proposed<Q> = {
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
  return settle(call, registry.kind, { record, asked, decided, after, to, effect, policy_set })
}

async function deny<Q extends JsonObject>(
  call: Call,
  { kind }: Registry<Q>,
  deciding: Deciding,
): Promise<OpenRecord> {
  const { record, asked } = deciding
  const decided = await signDecision(call, deciding)
  const reason = deciding.decision.reason ?? 'rejected by a person'
  const after: RecordContent = { ...record.content, approval: decided.member, reason }
  const { policy_set } = record.row
  const ending = { to: 'denied' as const, effect: null, policy_set }
  return settle(call, kind, { record, asked, decided, after, ...ending })
}

/** What is signed is what was proposed: the digest is made again from the stored request. */
function requireUnchanged(tenant_id: string, { row, content }: OpenRecord, asked: ApprovalRow) {
  const { created_us } = row
  const { request, nonce } = content
  const kind = kindOf(row)
  const { proposal_digest } = idsOf({ tenant_id, kind, request, created_us, nonce })
  if (proposal_digest === row.proposal_digest && proposal_digest === asked.proposal_digest) return
  throw new Refusal('unavailable', 'what was proposed does not match its digest')
}

/** The policies of now: those that asked are answered, everything else holds. */
async function admitAgain<Q extends JsonObject>(
  call: Call,
  registry: Registry<Q>,
  { request, asked }: { request: Q; asked: Asked },
): Promise<number> {
  const { record_id } = asked.row
  const met = escalationsOf(asked.row)
  const gated = await gate(call, registry.operation(request), registry.context(request), { met })
  if (gated.verdict !== 'allowed') throw refusalOfGate(registry, gated, record_id)
  // What a person approved is signed as it is, or not at all.
  if (Object.keys(gated.redactions[0] ?? {}).length > 0)
    throw new Refusal('policy_denied', 'a policy made since takes out what was approved')
  return gated.policy_set
}

interface Decided {
  readonly member: ApprovalMember
  readonly record: JsonObject
  readonly decided_us: number
}

/** The approval record: who, when and why, signed. */
async function signDecision(call: Call, deciding: Deciding): Promise<Decided> {
  const { kernel, tenant_id, principal } = call
  const { asked, decision } = deciding
  const { attested, approver, reason = null } = decision
  const decided_us = kernel.clock.now()
  const made = {
    approver,
    approver_id: attested?.approver_id ?? null,
    decided_by: principal.key_id,
    decided_at: formatTime(decided_us),
    reason,
  }
  const document: JsonObject = {
    ...contextOf(asked.row, tenant_id, asked.content.operation),
    decision: decision.decision,
    ...made,
    attestation: attested ? { ...attested.attestation } : null,
  }
  const { request_id, proposal_digest } = asked.row
  const member = { request_id, proposal_digest, ...made }
  return { member, record: await sign(kernel, 'approval', document), decided_us }
}

interface Settling {
  readonly record: OpenRecord
  readonly asked: Asked
  readonly decided: Decided
  readonly after: RecordContent
  readonly to: Registry['standing']
  readonly effect: Effect | null
  readonly policy_set: number
}

async function settle(call: Call, kind: RecordKind, settling: Settling): Promise<OpenRecord> {
  const { kernel, tenant_id, operation } = call
  const { record, asked, decided, after } = settling
  const { row } = record
  const owner = ownerOf(tenant_id, kind, row.record_id)
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
      await decide(tx, { ...settling, sealedRequest, label, moved })
      meter(tx, operation.id)
      return { reply: false, ids: { record_id: row.record_id } }
    },
    replay: async () => true,
  })
  if (!replayed) return openedRecord(moved, after)
  const now = await findRecord(kernel, tenant_id, { kind, record_id: row.record_id })
  if (!now) throw new Refusal('unavailable')
  return now
}

interface Unit extends Settling {
  readonly sealedRequest: Uint8Array
  readonly label: string
  readonly moved: RecordRow
}

async function decide(tx: Tx, unit: Unit): Promise<void> {
  const { asked, decided, after, to, effect, sealedRequest, label, moved } = unit
  const { approver_id, decided_by } = decided.member
  const kind = kindOf(asked.row)
  const state = to === 'denied' ? 'denied' : 'approved'
  const { request_id, record_id, proposal_digest } = asked.row
  const { decided_us } = decided
  const row = { request_id, state, decided_us, decided_by, approver_id, sealed: sealedRequest }
  if (!(await decideApproval(tx, { ...row, state }))) throw new Refusal('not_waiting')
  const change = { record_id, from: 'waiting_hitl', to, live: to === 'denied' ? 0 : 1 } as const
  const { sealed, policy_set } = moved
  if (!(await moveRecord(tx, change, { sealed, policy_set }))) throw new Refusal('not_waiting')
  if (effect) await effect(tx, record_id)
  await appendCrumb(tx, {
    event_type: `approval.${state}`,
    subject: request_id,
    payload: {
      ...{ record_kind: kind, record_id, proposal_digest, decided_by },
      approver_label: label,
      record_digest: digestOf('approval', decided.record),
    },
  })
  const { document, evaluation_id } = after
  const reason = to === 'denied' ? 'rejected_by_person' : null
  await logRecord(tx, { kind, status: to, row: moved, document, evaluation_id, reason })
}
