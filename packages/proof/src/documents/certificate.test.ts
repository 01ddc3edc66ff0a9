// Erasure certificates: what is signed, and every way one can fail.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromHex, toBase64 } from '../core/encoding.ts'
import type { PublishedKey } from '../core/keys.ts'
import { readVector, seededKey, withFields } from '../testing/fixtures.ts'
import { verifyEnvelope } from '../verify.ts'
import {
  certificateBytes,
  contentHash,
  type ErasureCertificate,
  verifyCertificate,
} from './certificate.ts'

type Case = { set: object; keys?: PublishedKey[] }
type Vectors = {
  keys: PublishedKey[]
  content: string
  content_salt: string
  message: string
  certificate: ErasureCertificate
  positive: (Case & { variation: string })[]
  negative: (Case & { mutation: string; fails: string[] })[]
}
const { keys, certificate, ...vectors } = readVector<Vectors>('certificate.json')

test('the message and the signature come out byte for byte as in the vectors', () => {
  const message = certificateBytes(certificate)
  assert.equal(new TextDecoder().decode(message), vectors.message)
  assert.equal(toBase64(seededKey(0x11).sign(message)), certificate.signature)
  assert.equal(toBase64(message), certificate.signed_bytes)
})

test('a genuine certificate verifies and names the key', async () => {
  const verdict = await verifyCertificate(certificate, keys)
  assert.equal(verdict.valid, true)
  assert.deepEqual(verdict.valid_with, [certificate.key_id])
})

for (const { variation, set } of vectors.positive) {
  test(`a certificate ${variation} still verifies`, async () => {
    const verdict = await verifyCertificate(withFields(certificate, set), keys)
    assert.equal(verdict.valid, true, verdict.reason)
  })
}

for (const { mutation, set, fails, ...given } of vectors.negative) {
  test(`a certificate with ${mutation} fails: ${fails.join(', ')}`, async () => {
    const changed = withFields(certificate, set)
    const verdict = await verifyCertificate(changed, given.keys ?? keys)
    assert.equal(verdict.valid, false)
    const failed = verdict.checks.filter((check) => !check.ok).map((check) => check.name)
    assert.deepEqual(failed, fails)
    assert.ok(verdict.reason?.startsWith(fails[0] ?? ''))
    assert.deepEqual(verdict.valid_with, [])
  })
}

const texts = readVector<Omit<Vectors, 'positive' | 'content'>>('certificate-text.json')

test('a certificate of another record is signed under version 2 of the domain', async () => {
  const message = certificateBytes(texts.certificate)
  assert.equal(new TextDecoder().decode(message), texts.message)
  assert.match(texts.message, /^custos\/erasure\/v2\n/)
  assert.equal(toBase64(seededKey(0x11).sign(message)), texts.certificate.signature)
  assert.equal((await verifyCertificate(texts.certificate, texts.keys)).valid, true)
})

for (const { mutation, set, fails, ...given } of texts.negative) {
  test(`a certificate of another record with ${mutation} fails: ${fails.join(', ')}`, async () => {
    const changed = withFields(texts.certificate, set)
    const verdict = await verifyCertificate(changed, given.keys ?? texts.keys)
    assert.equal(verdict.valid, false)
    const failed = verdict.checks.filter((check) => !check.ok).map((check) => check.name)
    assert.deepEqual(failed, fails)
  })
}

test('changing any signed field at all breaks the certificate', async () => {
  const outside = ['signed_bytes', 'public_key', 'key_id', 'signature']
  const fields = Object.keys(certificate).filter((field) => !outside.includes(field))
  for (const field of fields) {
    const changed = withFields(certificate, { [field]: 'changed', signed_bytes: null })
    assert.equal((await verifyCertificate(changed, keys)).valid, false, field)
  }
  assert.equal(fields.length, 17 - 1)
})

test('the content hash can be confirmed with the salt, and only with it', () => {
  const salt = fromHex(vectors.content_salt)
  assert.equal(contentHash(salt, vectors.content), certificate.fact_content_hash)
  assert.notEqual(contentHash(new Uint8Array(32), vectors.content), certificate.fact_content_hash)
})

test('a certificate given as a signed record of its kind is judged by the same rules', async () => {
  const shown = { ...certificate, verified: true }
  const envelope = { type: 'record', kind: 'erasure', record: shown }
  assert.equal((await verifyEnvelope(envelope, { keys })).valid, true)
})
