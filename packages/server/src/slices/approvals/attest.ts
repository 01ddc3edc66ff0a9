// Decides a request with an enrolled approver's signature, and verifies the record of a decision.

import assert from 'node:assert/strict'
import type { approvals as contract, InputOf } from '@custos/contract'
import {
  type ApprovalMember,
  approvalContext,
  attestationBytes,
  attestedBy,
  type Check,
  canonicalize,
  isText,
  type JsonObject,
  type RecordKind,
  verifyApproval,
  verifyEd25519,
} from '@custos/proof'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import { Refusal } from '../../platform/refusal.ts'
import { artifactRegistry } from '../artifacts/index.ts'
import { compositionRegistry } from '../compositions/index.ts'
import { landingRegistry } from '../landing/index.ts'
import { agentActionRegistry } from '../orchestrator/index.ts'
import {
  applyDecision,
  contextOf,
  findRecord,
  kindOf,
  type OpenApproval,
  type Registry,
  statusOf,
} from '../records/index.ts'
import { actionRegistry } from '../world-model/index.ts'
import { contextHex, loadRequest, signedRecordOf, stateOf } from './approval-requests.ts'
import { openApprovers } from './approver.ts'
import { findApprover } from './approvers.sql.ts'

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
