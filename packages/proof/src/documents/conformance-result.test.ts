// Signed results of the conformance suite: what is signed, and every way one can fail.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../core/canonical.ts'
import { toBase64 } from '../core/encoding.ts'
import type { PublishedKey } from '../core/keys.ts'
import { signedBytes } from '../core/signature.ts'
import { detectEnvelope } from '../envelope.ts'
import { readVector, seededKey, withFields } from '../testing/fixtures.ts'
import { verifyEnvelope } from '../verify.ts'
import { verifyConformanceResult } from './conformance-result.ts'

type Case = { set: object; keys?: PublishedKey[] }
type Vectors = {
  keys: PublishedKey[]
  message: string
  record: JsonObject & { signature: string; key_id: string; signed_bytes: string }
  positive: (Case & { variation: string })[]
  negative: (Case & { mutation: string; fails: string[] })[]
}
const { keys, record, ...vectors } = readVector<Vectors>('conformance-result.json')

test('message and signature of a result come out byte for byte as in the vectors', () => {
  const message = signedBytes('conformance_result', record)
  assert.equal(new TextDecoder().decode(message), vectors.message)
  assert.equal(toBase64(seededKey(0x61).sign(message)), record.signature)
  assert.equal(toBase64(message), record.signed_bytes)
})

test('a genuine result verifies, names the key, and says what it cannot show', async () => {
  const verdict = await verifyConformanceResult(record, keys)
  assert.equal(verdict.valid, true, verdict.reason)
  assert.deepEqual(verdict.valid_with, [record.key_id])
  assert.match(verdict.not_checked.join(), /run the suite again/)
})

for (const { variation, set } of vectors.positive) {
  test(`a result ${variation} still verifies`, async () => {
    const verdict = await verifyConformanceResult(withFields(record, set), keys)
    assert.equal(verdict.valid, true, verdict.reason)
  })
}

for (const { mutation, set, fails, ...given } of vectors.negative) {
  test(`a result with ${mutation} fails: ${fails.join(', ')}`, async () => {
    const verdict = await verifyConformanceResult(withFields(record, set), given.keys ?? keys)
    assert.equal(verdict.valid, false)
    const failed = verdict.checks.filter((check) => !check.ok).map((check) => check.name)
    assert.deepEqual(failed, fails)
  })
}

test('a result by an unknown key is said to be by nobody one knows', async () => {
  const verdict = await verifyConformanceResult(record, [])
  assert.match(verdict.reason ?? '', /key_known: unknown_key/)
  assert.match(verdict.not_checked.join(), /who signed/)
  assert.deepEqual(verdict.valid_with, [])
})

test('a saved result is recognised, alone and among others, and judged as one', async () => {
  const envelope = detectEnvelope(record)
  assert.deepEqual(envelope, { type: 'record', kind: 'conformance_result', record })
  assert.equal((await verifyEnvelope(envelope, { keys })).valid, true)
  const several = await verifyEnvelope(detectEnvelope([record, record]), { keys })
  assert.equal(several.valid, true, several.reason)
  const damaged = withFields(record, { capabilities: 'all' })
  const judged = await verifyEnvelope(detectEnvelope(damaged), { keys })
  assert.equal(judged.reason, 'malformed: capabilities')
})

for (const value of [null, [], 'text', { record_kind: 'conformance_result' }]) {
  test(`what is no result is judged, never thrown at: ${JSON.stringify(value)}`, async () => {
    const verdict = await verifyConformanceResult(value, keys)
    assert.equal(verdict.valid, false)
  })
}
