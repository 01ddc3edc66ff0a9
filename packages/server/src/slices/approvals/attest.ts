// POST /v1/hitl/requests/{request_id}/attest: a decision by an enrolled approver's signature.

import assert from 'node:assert/strict'
import { type approvals as contract, RECORD_STATUSES } from '@custos/contract'
import { attestationBytes, verifyEd25519 } from '@custos/proof'
import type { Call, Handler } from '../../platform/call.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import { Refusal } from '../../platform/refusal.ts'
import { applyDecision, type OpenRecord } from '../records/index.ts'
import { openApprovers } from './approver.ts'
import { findApprover } from './approvers.sql.ts'
import { kindOf, type OpenRequest } from './open-request.ts'
import { loadRequest } from './reads.ts'
import { registryOf } from './registries.ts'

export const attest: Handler<typeof contract.attest> = async (call, { params, body }) => {
  const opened = await loadRequest(call, params.request_id)
  const attested = await readAttestation(call, opened, body)
  const { row } = opened
  const kind = kindOf(row)
  const { decision, reason } = body
  const { name: approver, ...approved } = attested
  const record = await applyDecision(call, registryOf(kind), row.record_id, {
    ...{ decision, approver, attested: approved },
    reason: reason ?? undefined,
    require: requireActive(body.signer_id),
  })
  return {
    request_id: row.request_id,
    status: decision === 'approve' ? 'approved' : 'denied',
    kind,
    record_id: row.record_id,
    record_status: statusOf(record),
  }
}

/** Whoever was revoked meanwhile decides nothing, in the unit that decides. */
const requireActive = (approver_id: string) => async (tx: Tx) => {
  const row = await findApprover(tx, approver_id)
  if (row?.active !== 1) throw new Refusal('approver_not_found')
}

function statusOf({ row }: OpenRecord) {
  const status = RECORD_STATUSES.find((known) => known === row.status)
  assert(status !== undefined, 'a record has a status of the contract')
  return status
}

interface AttestationBody {
  readonly decision: 'approve' | 'deny'
  readonly signer_id: string
  readonly signature: string
}

/** By the key of an approver who is active now, over exactly this request and decision. */
async function readAttestation(
  { kernel, tenant_id }: Call,
  { context }: OpenRequest,
  { decision, signer_id, signature }: AttestationBody,
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
    name: opened.words.name,
    approver_id: signer_id,
    attestation: {
      signature: bytes.toString('base64'),
      public_key: Buffer.from(row.public_key).toString('base64'),
    },
  }
}

const HEX = /^[0-9a-fA-F]{128}$/
