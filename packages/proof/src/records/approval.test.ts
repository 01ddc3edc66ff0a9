// Approvals: what is signed, and every way the record of a decision can fail.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../core/canonical.ts'
import { toBase64 } from '../core/encoding.ts'
import { keyIdOf, signedBytes } from '../core/signature.ts'
import { publish, seededKey, withFields } from '../testing/fixtures.ts'
import {
  type ApprovalDecision,
  approvalContext,
  attestationBytes,
  verifyApproval,
} from './approval.ts'

const service = seededKey(0x21)
const approver = seededKey(0x22)
const keys = [publish(service, 'record')]

const CONTEXT = {
  request_id: '0123456789abcdef01234567',
  tenant_id: 't-1',
  record_kind: 'artifact',
  record_id: 'ab'.repeat(16),
  operation: 'artifact.register',
  proposal_digest: 'cd'.repeat(32),
  policy_set: 3,
  escalations: [{ policy_id: 'ef'.repeat(12), version: 2 }],
  requested_by: 'key-1',
  principal: 'Ada Ng',
  issued_at: '2026-02-01T10:00:00.000000Z',
  expires_at: '2026-02-02T10:00:00.000000Z',
  nonce: '00'.repeat(16),
}

const attest = (context: JsonObject, decision: ApprovalDecision, key = approver) => ({
  signature: toBase64(key.sign(attestationBytes(context, decision))),
  public_key: toBase64(key.publicKey),
})

/** Signed by the service as it stands, whatever it says. */
function seal(members: JsonObject): JsonObject {
  const message = signedBytes('approval', members)
  return {
    ...members,
    signed_bytes: toBase64(message),
    signature: toBase64(service.sign(message)),
    public_key: toBase64(service.publicKey),
    key_id: keyIdOf(service.publicKey),
  }
}

const MEMBERS = {
  ...CONTEXT,
  decision: 'approve',
  approver: 'Ana',
  approver_id: 'a1',
  decided_by: 'key-2',
  decided_at: '2026-02-01T11:00:00.000000Z',
  reason: 'looked at it',
  attestation: attest(CONTEXT, 'approve'),
}
const BY_NAME = { ...MEMBERS, approver_id: null, attestation: null }

const failed = async (approval: unknown): Promise<string[]> => {
  const { valid, checks } = await verifyApproval(approval, keys)
  const names = checks.filter(({ ok }) => !ok).map(({ name }) => name)
  assert.equal(valid, names.length === 0)
  return names
}

test('what an approver signs: the domain, a line feed, the context with the decision', () => {
  const text = new TextDecoder().decode(attestationBytes(CONTEXT, 'deny'))
  const [domain, json = '', ...rest] = text.split('\n')
  assert.equal(domain, 'custos/attestation/v1')
  assert.deepEqual(rest, [])
  assert.deepEqual(JSON.parse(json), { ...CONTEXT, decision: 'deny' })
  assert.deepEqual(Object.keys(JSON.parse(json)), [...Object.keys(JSON.parse(json))].sort())
})

test('the context of a decided request is that of the request', () => {
  assert.deepEqual(approvalContext(seal(MEMBERS)), CONTEXT)
})

test('a decision with an attestation verifies; the enrolment is not checked', async () => {
  const verdict = await verifyApproval(seal(MEMBERS), keys)
  assert.equal(verdict.valid, true, verdict.reason)
  assert.deepEqual(verdict.valid_with, [keyIdOf(service.publicKey)])
  assert.equal(verdict.checks.find(({ name }) => name === 'attestation')?.ok, true)
  assert.match(verdict.not_checked.join(), /enrolled/)
})

test('a decision under a name verifies, and says that the name is as given', async () => {
  const verdict = await verifyApproval(seal(BY_NAME), keys)
  assert.equal(verdict.valid, true, verdict.reason)
  assert.match(verdict.not_checked.join(), /a name as given/)
})

const ATTESTATIONS: Readonly<Record<string, JsonObject>> = {
  'of the other decision': attest(CONTEXT, 'deny'),
  'of another request': attest({ ...CONTEXT, request_id: 'ff'.repeat(12) }, 'approve'),
  'of another proposal': attest({ ...CONTEXT, proposal_digest: 'ff'.repeat(32) }, 'approve'),
  'of another expiry': attest({ ...CONTEXT, expires_at: '2027-01-01T00:00:00Z' }, 'approve'),
  'by a key that is not the one beside it': {
    ...attest(CONTEXT, 'approve', seededKey(0x23)),
    public_key: toBase64(approver.publicKey),
  },
  'that is not base64': { ...MEMBERS.attestation, signature: 'é' },
  'without a key': { signature: MEMBERS.attestation.signature },
}
for (const [about, attestation] of Object.entries(ATTESTATIONS))
  test(`an attestation ${about} fails, although the service has signed the record`, async () => {
    assert.deepEqual(await failed(seal({ ...MEMBERS, attestation })), ['attestation'])
  })

const SEALED: Readonly<Record<string, readonly [JsonObject, string[]]>> = {
  'an approver who has not signed': [{ ...BY_NAME, approver_id: 'a1' }, ['attestation']],
  'a signature of nobody': [{ ...MEMBERS, approver_id: null }, ['attestation']],
  'a decision after the expiry': [
    { ...MEMBERS, decided_at: '2026-02-03T10:00:00.000000Z' },
    ['decided_in_time'],
  ],
  'a decision before the request': [
    { ...MEMBERS, decided_at: '2026-01-31T10:00:00.000000Z' },
    ['decided_in_time'],
  ],
  'a time that is none': [{ ...BY_NAME, expires_at: 'never' }, ['decided_in_time']],
  'who asked as the approver': [{ ...BY_NAME, approver: 'key-1' }, ['not_self_approved']],
  'a decision that is none': [{ ...BY_NAME, decision: 'maybe' }, ['malformed']],
}
for (const [about, [members, names]] of Object.entries(SEALED))
  test(`a signed record with ${about} fails`, async () => {
    assert.deepEqual(await failed(seal(members)), names)
  })

test('changing any signed field breaks the record, with or without signed_bytes', async () => {
  for (const members of [MEMBERS, BY_NAME]) {
    const genuine = seal(members)
    for (const name of Object.keys(members)) {
      for (const signed_bytes of [null, genuine['signed_bytes']]) {
        const changed = withFields(genuine, { [name]: 'changed', signed_bytes })
        assert.notDeepEqual(await failed(changed), [], name)
        const { [name]: _, ...without } = changed
        assert.notDeepEqual(await failed(without), [], `without ${name}`)
      }
    }
  }
})

test('signed by a key that is not published, for another purpose or not yet valid', async () => {
  const approval = seal(MEMBERS)
  const late = keys.map((key) => ({ ...key, valid_from: '2026-02-01T11:00:00.000001Z' }))
  for (const given of [[], [publish(service, 'erasure')], late]) {
    const verdict = await verifyApproval(approval, given)
    assert.equal(verdict.reason?.split(':')[0], 'key_known')
  }
})

test('what is no approval at all is refused, never thrown', async () => {
  for (const value of [null, 7, [], {}, { ...seal(MEMBERS), reason: '\ud800' }])
    assert.deepEqual(await failed(value), ['malformed'])
})
