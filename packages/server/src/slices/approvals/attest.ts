// POST /v1/hitl/requests/{request_id}/attest: a decision by an enrolled approver's signature.

import assert from 'node:assert/strict'
import type { approvals as contract, InputOf } from '@custos/contract'
import { attestationBytes, type RecordKind, verifyEd25519 } from '@custos/proof'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import { Refusal } from '../../platform/refusal.ts'
import { artifactRegistry } from '../artifacts/index.ts'
import { compositionRegistry } from '../compositions/index.ts'
import { landingRegistry } from '../landing/index.ts'
import { agentActionRegistry } from '../orchestrator/index.ts'
import {
  applyDecision,
  kindOf,
  type OpenApproval,
  type Registry,
  statusOf,
} from '../records/index.ts'
import { actionRegistry } from '../world-model/index.ts'
import { loadRequest } from './approval-requests.ts'
import { openApprovers } from './approver.ts'
import { findApprover } from './approvers.sql.ts'

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

/** Refuses, in the unit of work, an approver who was revoked meanwhile. */
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

/** The registry of a kind of record that waits. */
export function registryOf(kind: RecordKind): Registry {
  const registry = REGISTRIES[kind]
  assert(registry, `a ${kind} never waits`)
  return registry
}
