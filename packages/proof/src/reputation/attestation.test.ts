// Attestations: bytes as published, and every way one can fail.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Json, JsonObject } from '../core/canonical.ts'
import { fromHex, toHex } from '../core/encoding.ts'
import type { PublishedKey } from '../core/keys.ts'
import { keyIdOf } from '../core/signature.ts'
import { detectEnvelope } from '../envelope.ts'
import { findPublicVectors, readJson, readVector, seededKey } from '../testing/fixtures.ts'
import { verifyEnvelope } from '../verify.ts'
import {
  ATTESTATION_PURPOSE,
  cgrAttestationBytes,
  cgrAttestationFingerprint,
  verifyCgrAttestation,
} from './attestation.ts'
import { didKeyOf } from './identity.ts'

type Vectors = {
  issuer: string
  attestations: { body: string; fingerprint: string; attestation: JsonObject }[]
  rotations: { link: JsonObject }[]
}

const { issuer, attestations, rotations } = readVector<Vectors>('reputation-identity.json')
const links = rotations.map(({ link }) => link)
const published = (key: string): PublishedKey => ({
  key_id: keyIdOf(fromHex(key)),
  purpose: ATTESTATION_PURPOSE,
  public_key: key,
  valid_from: '2026-01-01T00:00:00Z',
  retired_at: null,
})
const keys = [published(issuer)]
const [v1, v2] = attestations.map(({ attestation }) => attestation)
assert.ok(v1 !== undefined && v2 !== undefined)

const seal = (body: JsonObject): JsonObject => ({
  ...body,
  signature: toHex(seededKey(0x51).sign(cgrAttestationBytes(body))),
})

const failed = async (attestation: unknown, given: readonly Json[] | null = links) => {
  const { valid, checks } = await verifyCgrAttestation(attestation, keys, given)
  const names = checks.filter(({ ok }) => !ok).map(({ name }) => name)
  assert.equal(valid, names.length === 0)
  return names
}

test('vectors: body, signature and fingerprint of both versions', async () => {
  for (const { body, fingerprint, attestation } of attestations) {
    assert.equal(new TextDecoder().decode(cgrAttestationBytes(attestation)), body)
    assert.equal(cgrAttestationFingerprint(attestation), fingerprint)
    assert.equal(seal(attestation)['signature'], attestation['signature'])
    assert.deepEqual(await failed(attestation), [])
  }
})

test('published fixtures of both versions come out byte for byte and verify', async (t) => {
  const folder = findPublicVectors('reference')
  if (folder === null) return void t.diagnostic('no public vectors beside the project')
  type Fixture = { canonical_body_utf8: string; issuer_key_id: string; attestation: JsonObject }
  const rotated = readJson<{ proofs: Json[] }>(join(folder, 'cgr_rotation_chain_jcs.golden.json'))
  for (const [version, length] of [
    ['v1', 413],
    ['v2', 567],
  ] as const) {
    const name = `cgr_attestation_${version}_jcs.golden.json`
    const fixture: Fixture = readJson<Fixture>(join(folder, name))
    const bytes = cgrAttestationBytes(fixture.attestation)
    assert.equal(new TextDecoder().decode(bytes), fixture.canonical_body_utf8)
    assert.equal(bytes.length, length)
    const signature = toHex(seededKey(0x11).sign(bytes))
    assert.equal(signature, fixture.attestation['signature'])
    const trusted = [published(fixture.issuer_key_id)]
    const verdict = await verifyCgrAttestation(fixture.attestation, trusted, rotated.proofs)
    assert.equal(verdict.valid, true, verdict.reason)
  }
})

test('evidence_ref is not signed; changing or removing anything else is noticed', async () => {
  for (const attestation of [v1, v2])
    for (const name of Object.keys(attestation)) {
      const { [name]: _, ...without } = attestation
      const expected = name === 'evidence_ref'
      for (const one of [{ ...attestation, [name]: 'changed' }, without])
        assert.equal((await failed(one)).length === 0, expected, name)
    }
})

const SEALED: Readonly<Record<string, readonly [JsonObject, string[]]>> = {
  'a better band': [{ ...v2, tier: 'gold' }, ['band']],
  'another rationale': [{ ...v2, rationale: 'trust me' }, ['rationale']],
  'a score of another band': [{ ...v2, cgr_score: 0.5 }, ['band', 'rationale']],
  'a time before its key': [{ ...v2, as_of: '2025-01-01T00:00:00Z' }, ['key_known', 'subject']],
  'a time that is none': [{ ...v2, as_of: 'now' }, ['key_known', 'subject']],
  'another schema': [{ ...v2, schema: 'cgr.attestation.v3' }, ['malformed']],
  'the schema of the first version': [{ ...v2, schema: 'cgr.attestation.v1' }, ['malformed']],
  'no subject in the second': [{ ...v1, schema: 'cgr.attestation.v2' }, ['malformed']],
  'a key without its did': [{ ...v2, subject_did: null }, ['subject']],
  'a did without its key': [{ ...v2, subject_key: null }, ['subject']],
  'a score above one': [{ ...v2, cgr_score: 1.5 }, ['malformed']],
}
for (const [about, [body, names]] of Object.entries(SEALED))
  test(`signed by the issuer, ${about} still fails`, async () => {
    assert.deepEqual(await failed(seal(body)), names)
  })

test('an issuer that is not published, for another purpose, or retired before', async () => {
  const [key] = keys
  assert.ok(key !== undefined)
  const others = [
    [],
    [{ ...key, purpose: 'record' }],
    [{ ...key, retired_at: '2026-04-30T00:00:00Z' }],
  ]
  for (const given of others) {
    const { checks } = await verifyCgrAttestation(v2, given, links)
    assert.deepEqual(
      checks.filter(({ ok }) => !ok).map(({ name }) => name),
      ['key_known'],
    )
  }
})

test('the succession of the subject is shown by its links, else named as not checked', async () => {
  const open = await verifyCgrAttestation(v2, keys)
  assert.equal(open.valid, true)
  assert.match(open.not_checked.join(), /needs the links/)
  assert.deepEqual(await failed(v2, links.slice(0, 1)), ['subject'])
  assert.deepEqual(await failed(v2, []), ['subject'])
  assert.deepEqual(await failed(seal({ ...v2, as_of: '2026-03-15T00:00:00Z' })), ['subject'])
  const midway = didKeyOf(String(links[1]?.['prev_key']))
  assert.deepEqual(await failed(seal({ ...v2, subject_did: midway })), ['subject'])
  const unkeyed = seal({ ...v2, subject_key: null, subject_did: null })
  assert.deepEqual(await failed(unkeyed, null), [])
})

test('an attestation is recognised bare, in a page and in an envelope with its links', async () => {
  assert.deepEqual(detectEnvelope(v2), { type: 'attestation', attestation: v2 })
  const page = detectEnvelope({ attestations: [v1, v2], count: 2, issuer: 'custos' })
  assert.equal(page?.type, 'list')
  const envelopes = [page, { type: 'attestation', attestation: v2, rotations: links }]
  for (const envelope of envelopes)
    assert.equal((await verifyEnvelope(envelope, { keys })).valid, true)
})

test('what is no attestation at all is refused, never thrown', async () => {
  for (const one of [null, 7, [], {}, { ...v2, agent_handle: '\ud800' }])
    assert.deepEqual(await failed(one), ['malformed'])
})
