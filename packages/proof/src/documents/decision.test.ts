// Decisions: identity, signature and the digest the log carries.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromHex, toBase64 } from '../core/encoding.ts'
import type { Verdict } from '../core/verdict.ts'
import { publish, readVector, seededKey } from '../testing/fixtures.ts'
import {
  type CommittedDecision,
  type DecisionDigestRecord,
  decisionDigestRecord,
  recordDigest,
  verifyDecision,
} from './decision.ts'

type Vectors = {
  record_digest: {
    salt: string
    decision: CommittedDecision
    digest_record: DecisionDigestRecord
    record_digest: string
  }
}
const { salt, decision, ...vector } = readVector<Vectors>('decision-id.json').record_digest
const key = seededKey(0x22)
const keys = [publish(key, 'decision')]
const signed = {
  ...decision,
  signature: toBase64(key.sign(fromHex(decision.decision_id))),
  public_key: toBase64(key.publicKey),
}
const failed = (verdict: Verdict) =>
  verdict.checks.filter((check) => !check.ok).map((check) => check.name)

test('the digest record and its hash come out as in the vectors', () => {
  const built = decisionDigestRecord(decision, fromHex(salt))
  assert.deepEqual(built, vector.digest_record)
  assert.equal(recordDigest(built), vector.record_digest)
})

test('the digest record shows no content', () => {
  const text = JSON.stringify(decisionDigestRecord(decision, fromHex(salt)))
  for (const content of [decision.query, decision.output, ...decision.retrieved_contents]) {
    assert.ok(!text.includes(content), content)
  }
})

test('every committed field moves the digest', () => {
  const changes: Partial<CommittedDecision>[] = [
    { query: 'x' },
    { output: 'x' },
    { session_id: 's' },
    { parameters: null },
    { retrieved_refs: [42, 8] },
    { retrieved_scores: [0.75, 0.6] },
    { retrieved_contents: ['Invoice 7 is due', 'x'] },
    { token_count: null },
    { latency_ms: 4 },
    { memory_seq: 10 },
  ]
  const digest = (d: CommittedDecision) => recordDigest(decisionDigestRecord(d, fromHex(salt)))
  const digests = changes.map((change) => digest({ ...decision, ...change }))
  assert.equal(new Set([digest(decision), ...digests]).size, changes.length + 1)
})

test('a signed decision verifies; its other fields are named as not checked', async () => {
  const verdict = await verifyDecision(signed, keys)
  assert.equal(verdict.valid, true)
  assert.deepEqual(verdict.valid_with, [keys[0]?.key_id])
  assert.equal(verdict.not_checked.length, 1)
})

test('a changed query, time, model, store or tenant no longer has this identity', async () => {
  for (const field of ['query', 'timestamp', 'model_id', 'store_id', 'tenant_id']) {
    const verdict = await verifyDecision({ ...signed, [field]: 'other' }, keys)
    assert.ok(failed(verdict).includes('decision_id'), field)
  }
})

test('a redacted query leaves the identity unconfirmed, and the verdict says so', async () => {
  const query = 'What is [REDACTED — GDPR Article 17]?'
  const verdict = await verifyDecision({ ...signed, query }, keys)
  assert.equal(verdict.valid, true)
  assert.ok(!verdict.checks.some((check) => check.name === 'decision_id'))
  assert.ok(verdict.not_checked.some((text) => text.startsWith('decision_id')))
})

test('no signature, a foreign one, or a key for other things is not valid', async () => {
  const unsigned = { ...signed, signature: null, public_key: null }
  assert.deepEqual(failed(await verifyDecision(unsigned, keys)), ['signature'])
  const moved = { ...signed, signature: toBase64(key.sign(new Uint8Array(16))) }
  assert.deepEqual(failed(await verifyDecision(moved, keys)), ['signature'])
  assert.deepEqual(failed(await verifyDecision(signed, [])), ['key_known'])
  const elsewhere = [publish(key, 'provenance')]
  assert.deepEqual(failed(await verifyDecision(signed, elsewhere)), ['key_known'])
})
