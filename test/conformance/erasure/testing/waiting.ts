// Records that a policy makes wait, refuses, and approvers who sign what they decide.

import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import type { Answer, Sent } from '../../../crash/testing/client.ts'
import { answered, marks, type SendParts, twice } from './send-parts.ts'

export interface Asked {
  /** As policies name it. */
  readonly action: string
  readonly path: string
}

/** Under a policy that is gone afterwards; its words stay in what it asked for. */
async function underPolicy<T>(
  parts: SendParts,
  policy: { readonly action: 'deny' | 'escalate'; readonly name: string; readonly gate: string },
  act: () => Promise<T>,
): Promise<T> {
  const { client } = parts
  const { action, name, gate } = policy
  const config = { operations: [gate] }
  const body = { name, policy_type: 'hitl_required', action, config }
  const { policy_id } = await client.ok('POST', '/v1/governance/policies', { body })
  const answer = await act()
  await client.ok('DELETE', `/v1/governance/policies/${policy_id}`)
  return answer
}

/** The 202 of a record that waits. */
export async function letWait(
  parts: SendParts,
  { action: gate, path }: Asked,
  sent: Sent,
): Promise<Answer['body']> {
  const name = marks(parts, 'governance.create_policy').word('body.name')
  return underPolicy(parts, { action: 'escalate', name, gate }, async () => {
    const { detail } = await answered(parts, { status: 202, path }, sent)
    parts.made.kept.push({ request_id: detail.request_id })
    return detail
  })
}

/** A record that a policy denies: where it is kept, it is kept as denied. */
export async function letDeny(
  parts: SendParts,
  { action: gate, path }: Asked,
  sent: Sent,
): Promise<void> {
  // The answer says which policy it was: that name is no canary, and nothing else is in it.
  const { status, text } = await underPolicy(parts, { action: 'deny', name: 'not now', gate }, () =>
    parts.client.ask('POST', path, sent),
  )
  assert.ok(status === 403 || status === 422, `${path}: ${status} ${text}`)
  assert.deepEqual(parts.canaries.foundIn(text), [], `${path} repeats: ${text}`)
}

/** Approves one waiting record and rejects another, by name, each asked twice. */
export async function decideBoth(
  parts: SendParts,
  ids: { readonly approved: string; readonly rejected: string },
  { path, approve, reject }: { path: string; approve: string; reject: string },
): Promise<void> {
  for (const [operation, id] of [
    [approve, ids.approved],
    [reject, ids.rejected],
  ] as const) {
    const { text, headers } = marks(parts, operation)
    const body = { approver: text('body.approver'), reason: text('body.reason') }
    const way = operation === approve ? 'approve' : 'reject'
    const sent = { body, headers: headers() }
    await twice(parts, { status: 200, path: `${path}/${id}/${way}` }, sent)
  }
}

export interface Signer {
  readonly approver_id: string
  sign(request_id: string, decision: 'approve' | 'deny'): Promise<string>
}

export async function enroll(parts: SendParts): Promise<Signer> {
  const { client, made } = parts
  const { text, headers } = marks(parts, 'approvals.enroll')
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const public_key = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex')
  const body = { name: text('body.name'), role: text('body.role'), public_key }
  const sent = { body, headers: headers() }
  const path = '/v1/hitl/approvers'
  const { approver_id } = await twice(parts, { status: 201, path }, sent)
  made.kept.push({ approver_id })
  return {
    approver_id,
    async sign(request_id, decision) {
      const { signing_input } = await client.ok('GET', `/v1/hitl/requests/${request_id}`)
      return sign(null, Buffer.from(signing_input[decision], 'base64'), privateKey).toString('hex')
    },
  }
}

/** Both decisions of an enrolled approver, and one of nobody. */
export async function attestBoth(
  parts: SendParts,
  ids: { readonly approve: string; readonly deny: string },
): Promise<void> {
  const { client, canaries } = parts
  const { text, word } = marks(parts, 'approvals.attest')
  const signer = await enroll(parts)
  const signer_id = word('body.signer_id')
  for (const decision of ['approve', 'deny'] as const) {
    const path = `/v1/hitl/requests/${ids[decision]}/attest`
    const signature = await signer.sign(ids[decision], decision)
    const body = { decision, signature, reason: text('body.reason') }
    const nobodys = await client.ask('POST', path, { body: { ...body, signer_id } })
    assert.equal(nobodys.status, 404, nobodys.text)
    assert.deepEqual(canaries.foundIn(nobodys.text), [])
    const own = { ...body, signer_id: signer.approver_id }
    await answered(parts, { status: 200, path }, { body: own })
  }
  // One who keeps the words of the enrolment.
  await enroll(parts)
  const update = marks(parts, 'approvals.update_approver')
  const body = { name: update.text('body.name'), role: update.text('body.role') }
  await client.ok('PUT', `/v1/hitl/approvers/${signer.approver_id}`, { body })
}
