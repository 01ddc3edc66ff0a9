// Lists and shows approval requests, and reads and changes the approval settings of the tenant. A
// decision by the signature of an enrolled approver, and the record of a decision recomputed.

import assert from 'node:assert/strict'
import {
  APPROVAL_SECONDS,
  type ApprovalRequest,
  type ApprovalRequestWithContext,
  type ApprovalSettings,
  type approvals as contract,
  type InputOf,
  limits,
} from '@custos/contract'
import {
  type ApprovalMember,
  approvalContext,
  attestationBytes,
  attestedBy,
  type Check,
  canonicalBytes,
  canonicalize,
  isText,
  type JsonObject,
  type RecordKind,
  signedBytes,
  toBase64,
  toHex,
  verifyApproval,
  verifyEd25519,
} from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import { REDACTED_SECRET } from '../../platform/kernel/sealed-column.ts'
import { pageOf } from '../../platform/page.ts'
import { Refusal } from '../../platform/refusal.ts'
import { artifactRegistry } from '../artifacts/index.ts'
import { compositionRegistry } from '../compositions/index.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { landingRegistry } from '../landing/index.ts'
import { agentActionRegistry } from '../orchestrator/index.ts'
import {
  applyDecision,
  contextOf,
  escalationsOf,
  findApproval,
  findRecord,
  findSettings,
  kindOf,
  listApprovals,
  loadSettings,
  type OpenApproval,
  type OpenRecord,
  openApprovals,
  type Registry,
  statusOf,
  upsertSettings,
} from '../records/index.ts'
import { meter } from '../tenants/index.ts'
import { actionRegistry } from '../world-model/index.ts'
import { openApprovers } from './approver.ts'
import { findApprover } from './approvers.sql.ts'

/** GET /v1/hitl/requests: the queue. */
export const requests: Handler<typeof contract.requests> = async (call, { query }) => {
  const { kernel, tenant_id } = call
  const page = pageOf(query, limits.records_page.default, call.operation.id)
  const now_us = kernel.clock.now()
  const filter = { state: query.status ?? 'pending', now_us, ...page }
  const rows = await call.read((db) => listApprovals(db, filter))
  const opened = await openApprovals(kernel, tenant_id, rows)
  const last = rows.at(-1)
  return page.envelope(
    'requests',
    opened.map((request) => showRequest(request, now_us)),
    last ? { at: last.issued_us, id: last.request_id } : null,
  )
}

/** Loads a request. Refuses `request_not_found`. */
async function loadRequest(call: Call, request_id: string): Promise<OpenApproval> {
  const { kernel, tenant_id } = call
  const row = await kernel.db.read(tenant_id, (db) => findApproval(db, request_id))
  const [opened] = row ? await openApprovals(kernel, tenant_id, [row]) : []
  return opened ?? call.refuse('request_not_found')
}

/** The bytes that an approver signs together with the decision, as hex. */
const contextHex = ({ content }: OpenApproval): string => toHex(canonicalBytes(content.context))

/** The signed record of the decision with its signed bytes, or `null` before the decision. */
function signedRecordOf({ content: { record } }: OpenApproval): JsonObject | null {
  if (record === null) return null
  return { ...record, signed_bytes: toBase64(signedBytes('approval', record)) }
}

/** GET /v1/hitl/requests/{request_id}: a request with what an approver signs. */
export const request: Handler<typeof contract.request> = async (call, { params }) => {
  const opened = await loadRequest(call, params.request_id)
  const { row, content } = opened
  const { context } = content
  const { record_id } = row
  const record = await findRecord(call.kernel, call.tenant_id, { kind: kindOf(row), record_id })
  if (!record) return call.refuse('request_not_found')
  return {
    ...showRequest(opened, call.kernel.clock.now()),
    context,
    context_bytes_hex: contextHex(opened),
    signing_input: {
      approve: toBase64(attestationBytes(context, 'approve')),
      deny: toBase64(attestationBytes(context, 'deny')),
    },
    request: { ...record.request },
    proposal: proposalOf(call.tenant_id, record),
    policies: policiesOf(opened),
    record: signedRecordOf(opened),
  }
}

/** The proposal as shown; `proposal_digest` is the SHA-256 of its RFC 8785 bytes. */
function proposalOf(tenant_id: string, { row, content, request }: OpenRecord) {
  const created_at = formatTime(row.created_us)
  return { tenant_id, kind: row.kind, request: { ...request }, created_at, nonce: content.nonce }
}

function policiesOf({ row, content }: OpenApproval): ApprovalRequestWithContext['policies'] {
  const reasons = new Map(content.reasons.map((one) => [one.policy_id, one]))
  return escalationsOf(row).map(({ policy_id, version }) => {
    const { name = '', reason = '' } = reasons.get(policy_id) ?? {}
    return { policy_id, version, name, reason }
  })
}

/** The state of a request. Past its deadline it is expired, whatever its row says. */
function stateOf(
  { state, expires_us }: OpenApproval['row'],
  now_us: number,
): ApprovalRequest['status'] {
  switch (state) {
    case 'approved':
    case 'denied':
    case 'expired':
      return state
    default:
      return expires_us <= now_us ? 'expired' : 'pending'
  }
}

function showRequest({ row, content }: OpenApproval, now_us: number): ApprovalRequest {
  return {
    redacted: row.secret_no === REDACTED_SECRET,
    request_id: row.request_id,
    kind: row.kind,
    record_id: row.record_id,
    action: content.operation,
    resource: row.record_id,
    issued_at: formatTime(row.issued_us),
    expires_at: formatTime(row.expires_us),
    status: stateOf(row, now_us),
    requested_by: row.requested_by,
    proposal_digest: row.proposal_digest,
    policy_set: row.policy_set,
    escalations: escalationsOf(row).map((one) => ({ ...one })),
  }
}

/** GET /v1/hitl/settings */
export const settings: Handler<typeof contract.settings> = async (call) => ({
  ...(await loadSettings(call.kernel, call.tenant_id)),
})

/** PUT /v1/hitl/settings: what the tenant requires of approvals. */
export const changeSettings: Handler<typeof contract.change_settings> = (call, { body }) =>
  // Units of work of a tenant run one after another, so nothing changes between read and write.
  call.transact(async (tx) => {
    const before = await findSettings(tx)
    const changed: ApprovalSettings = {
      different_credential: body.different_credential ?? before?.different_credential === 1,
      attestation_required: body.attestation_required ?? before?.attestation_required === 1,
      expires_after_seconds:
        body.expires_after_seconds ?? before?.expires_after_s ?? APPROVAL_SECONDS.default,
    }
    const changed_by = call.principal.key_id
    await upsertSettings(tx, {
      different_credential: changed.different_credential ? 1 : 0,
      attestation_required: changed.attestation_required ? 1 : 0,
      expires_after_s: changed.expires_after_seconds,
      changed_us: tx.now(),
      changed_by,
    })
    meter(tx, call.operation.id)
    await appendCrumb(tx, {
      event_type: 'approval.settings_changed',
      subject: tx.tenant_id,
      payload: { ...changed, changed_by },
    })
    return changed
  })

/** POST /v1/hitl/requests/{request_id}/attest */
export const attest: Handler<typeof contract.attest> = async (call, { params, body }) => {
  const opened = await loadRequest(call, params.request_id)
  const attested = await readAttestation(call, opened, body)
  const { row } = opened
  const kind = kindOf(row)
  const { decision, reason } = body
  const { name: approver, ...approved } = attested
  const record = await applyDecision(call, registryOf(kind), row.record_id, {
    decision,
    approver,
    attested: approved,
    reason: reason ?? undefined,
    require: requireActive(body.signer_id),
  })
  return {
    request_id: row.request_id,
    status: decision === 'approve' ? 'approved' : 'denied',
    kind,
    record_id: row.record_id,
    record_status: statusOf(record.row),
  }
}

/** Refuses an approver who was revoked meanwhile. Runs in the unit of work. */
const requireActive = (approver_id: string) => async (tx: Tx) => {
  const row = await findApprover(tx, approver_id)
  if (row?.active !== 1) throw new Refusal('approver_not_found')
}

/** Verifies the signature of an active approver over this request and decision. */
async function readAttestation(
  { kernel, tenant_id }: Call,
  { content: { context } }: OpenApproval,
  { decision, signer_id, signature }: InputOf<typeof contract.attest>['body'],
) {
  const row = await kernel.db.read(tenant_id, (db) => findApprover(db, signer_id))
  if (row?.active !== 1) throw new Refusal('approver_not_found')
  const bytes = Buffer.from(signature, HEX.test(signature) ? 'hex' : 'base64')
  const message = attestationBytes(context, decision)
  if (!(await verifyEd25519(row.public_key, message, bytes)))
    throw new Refusal('attestation_invalid')
  const [opened] = await openApprovers(kernel, tenant_id, [row])
  if (!opened) throw new Refusal('approver_not_found')
  return {
    name: opened.content.name,
    approver_id: signer_id,
    attestation: {
      signature: bytes.toString('base64'),
      public_key: Buffer.from(row.public_key).toString('base64'),
    },
  }
}

const HEX = /^[0-9a-fA-F]{128}$/

const REGISTRIES: Readonly<Partial<Record<RecordKind, Registry>>> = {
  action: actionRegistry,
  agent_action: agentActionRegistry,
  artifact: artifactRegistry,
  composition: compositionRegistry,
  landing: landingRegistry,
}

/** The registry of a kind of record that can wait. */
export function registryOf(kind: RecordKind): Registry {
  const registry = REGISTRIES[kind]
  assert(registry, `a ${kind} never waits`)
  return registry
}

/** GET /v1/hitl/requests/{request_id}/verify: verifies the record of a decision. */
export const verify: Handler<typeof contract.verify> = async (call, { params }) => {
  const opened = await loadRequest(call, params.request_id)
  const { row } = opened
  const record = signedRecordOf(opened)
  const { checks, not_checked } = await verifyDecision(call, opened)
  const signer = record === null ? null : attestedBy(record)
  return {
    request_id: row.request_id,
    status: stateOf(row, call.kernel.clock.now()),
    passed: checks.every(({ ok }) => ok),
    checks: checks.map((check) => ({ ...check })),
    record,
    signer_id: signer?.approver_id ?? null,
    signature: signer?.signature ?? null,
    context_bytes_hex: contextHex(opened),
    not_checked: [...not_checked],
  }
}

async function verifyDecision(
  call: Call,
  opened: OpenApproval,
): Promise<{ readonly checks: readonly Check[]; readonly not_checked: readonly string[] }> {
  const record = signedRecordOf(opened)
  if (record === null)
    return { checks: [refuted('decided', 'nothing was decided')], not_checked: [] }
  const { checks, not_checked } = await verifyApproval(record, call.kernel.keyring.publishedKeys())
  const own = [
    checkRequest(call.tenant_id, opened, record),
    ...(await checkIssued(call, opened, record)),
  ]
  return { checks: [...checks, ...own, ...(await checkKey(call, record))], not_checked }
}

const refuted = (name: string, detail: string): Check => ({ name, ok: false, detail })

const checked = (name: string, ok: boolean, detail: string): Check =>
  ok ? { name, ok } : refuted(name, detail)

/** Whether the row, the sealed request and the signed record agree. */
function checkRequest(
  tenant_id: string,
  { row, content }: OpenApproval,
  record: JsonObject,
): Check {
  const { context } = content
  const principal = context['principal']
  const names = { ...content, principal: isText(principal) ? principal : null }
  const said = [contextOf(row, tenant_id, names), context, approvalContext(record)]
  const same = new Set(said.map((one) => canonicalize(one))).size === 1
  const decision = record['decision'] === 'approve' ? 'approved' : 'denied'
  return checked('request', same && decision === row.state, 'is not what the record decides')
}

/** The members of the decision that a registry's record repeats. */
const MEMBERS = [
  'request_id',
  'approver',
  'approver_id',
  'decided_by',
  'decided_at',
  'reason',
  'proposal_digest',
] as const satisfies readonly (keyof ApprovalMember)[]

/** Whether the issued record is the one that was approved, and names this decision. */
async function checkIssued(
  { kernel, tenant_id }: Call,
  { row }: OpenApproval,
  record: JsonObject,
): Promise<Check[]> {
  if (row.state !== 'approved') return []
  const { record_id } = row
  const issued = await findRecord(kernel, tenant_id, { kind: kindOf(row), record_id })
  const document = issued?.document
  const member = Object.fromEntries(MEMBERS.map((name) => [name, record[name] ?? null]))
  const same =
    document?.['proposal_digest'] === record['proposal_digest'] &&
    canonicalize(document?.['approval'] ?? null) === canonicalize(member)
  return [checked('issued_record', same, 'is not the one that was approved')]
}

/** Whether the signature was made with the approver's enrolled key. */
async function checkKey({ kernel, tenant_id }: Call, record: JsonObject): Promise<Check[]> {
  const signer = attestedBy(record)
  if (signer === null) return []
  const row = await kernel.db.read(tenant_id, (db) => findApprover(db, signer.approver_id))
  const known = row && Buffer.from(row.public_key).toString('base64') === signer.public_key
  return [checked('approver_key', known === true, 'is not the one the approver is enrolled with')]
}
