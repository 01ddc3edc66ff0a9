// An artifact that waits for an approval, and an enrolled approver's signature under it.

import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { operationOf } from './table.ts'
import type { Tenant } from './tenant.ts'

export interface Approver {
  readonly approver_id: string
  /** Hex, over what the request says is to be signed. */
  sign(request_id: string, decision?: 'approve' | 'deny'): Promise<string>
}

export const newPublicKey = (): string => makeKey().public_key

function makeKey() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  return { public_key: spki.subarray(-32).toString('hex'), privateKey }
}

export async function enroll(tenant: Tenant, word: string): Promise<Approver> {
  const { public_key, privateKey } = makeKey()
  const body = { name: word, role: `${word} approves`, public_key }
  const { approver_id } = await tenant.ok('approvals.enroll', { body })
  return {
    approver_id,
    async sign(request_id, decision = 'approve') {
      const { signing_input } = await tenant.ok('approvals.request', { params: { request_id } })
      const message = Buffer.from(signing_input[decision], 'base64')
      return sign(null, message, privateKey).toString('hex')
    },
  }
}

/** The id of the request that an example waits with, under a policy that is gone afterwards. */
export async function letWait(
  tenant: Tenant,
  { id, gate, body }: { id: string; gate: string; body: unknown },
): Promise<string> {
  const config = { operations: [gate] }
  const policy = { name: 'a person first', policy_type: 'hitl_required', config }
  const { policy_id } = await tenant.ok('governance.create_policy', { body: policy })
  const { status, body: answered, text } = await tenant.ask(id, { body })
  assert.ok(operationOf(id).accepted && status === 202, text)
  await tenant.ok('governance.delete_policy', { params: { policy_id } })
  return answered.detail.request_id
}

/** What the sweeps ask for by id. */
export async function askApproval(tenant: Tenant, word: string) {
  const approver = await enroll(tenant, word)
  const body = {
    artifact_ref: `${word}/waiting`,
    base_model_ref: word,
    layers: [{ digest: tenant.service.kernel.ids.hex(32) }],
    metadata: { owner: word },
  }
  const gate = 'artifacts.register'
  const request_id = await letWait(tenant, { id: 'artifacts.register', gate, body })
  const attestation = await approver.sign(request_id)
  const { record_id } = await tenant.ok('approvals.request', { params: { request_id } })
  const { approver_id } = approver
  return { request_id, approver_id, attestation, waiting_artifact_id: record_id }
}
