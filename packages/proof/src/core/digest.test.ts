// Identities and commitments against vectors.
import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { readVector } from '../testing/fixtures.ts'
import {
  blake2b128,
  commitment,
  type DecisionIdentity,
  decisionId,
  decisionIdPreimage,
  factId,
  sha256,
} from './digest.ts'
import { toHex, utf8 } from './encoding.ts'

type Vectors = {
  blake2b128: { text: string; digest: string }[]
  decision_ids: { fields: DecisionIdentity; preimage: string; decision_id: string }[]
  same_id: { a: DecisionIdentity; b: DecisionIdentity }
  fact_ids: { content: string; tenant_value: string | null; fact_id: string }[]
}
const vectors = readVector<Vectors>('decision-id.json')

test('BLAKE2b-128 of abc is the published digest', () => {
  for (const { text, digest } of vectors.blake2b128) {
    assert.equal(toHex(blake2b128(utf8(text))), digest)
  }
  assert.equal(toHex(blake2b128(utf8('abc'))), 'cf4ab791c62b8d2b2109c90275287816')
})

test('a decision id is the hash of five fields, concatenated in order', () => {
  for (const { fields, preimage, decision_id } of vectors.decision_ids) {
    assert.equal(toHex(decisionIdPreimage(fields)), preimage)
    assert.equal(decisionId(fields), decision_id)
  }
  const ids = new Set(vectors.decision_ids.map(({ decision_id }) => decision_id))
  assert.equal(ids.size, vectors.decision_ids.length)
})

test('nothing stands between the fields of a decision id, as its format fixes', () => {
  assert.equal(decisionId(vectors.same_id.a), decisionId(vectors.same_id.b))
})

test('a fact id is the content-store identity of GMP', () => {
  for (const { content, tenant_value, fact_id } of vectors.fact_ids) {
    assert.equal(toHex(factId(content, tenant_value)), fact_id)
  }
  assert.deepEqual(factId('x\u001fA', 'B'), factId('x', 'A\u001fB'))
})

test('SHA-256 and the salted commitment agree with the platform', () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.string(), (bytes, text) => {
      assert.equal(toHex(sha256(bytes)), createHash('sha256').update(bytes).digest('hex'))
      const expected = createHmac('sha256', bytes).update(text).digest('hex')
      assert.equal(commitment(bytes, text), expected)
    }),
  )
})
