// Execution receipts: ids as other implementations compute them, and every way one can fail.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json, JsonObject } from '../core/canonical.ts'
import { fromBase64, fromHex, toBase64 } from '../core/encoding.ts'
import type { PublishedKey } from '../core/keys.ts'
import { detectEnvelope } from '../envelope.ts'
import { readVector, seededKey, withFields } from '../testing/fixtures.ts'
import { verifyEnvelope } from '../verify.ts'
import {
  checkReceipts,
  previousReceiptHash,
  pythonJson,
  receiptId,
  textHash,
  verifyReceipt,
} from './receipt.ts'

type ReceiptVectors = {
  keys: PublishedKey[]
  sample: { receipt: JsonObject; receipt_id: string }
  json: [Json, string][]
  times: [string, string, string][]
  context: JsonObject
  raw_output: string
  receipt: JsonObject & { receipt_id: string; signature: string; public_key: string }
  positive: { variation: string; set: object }[]
  negative: { mutation: string; set: object; fails: string[]; keys?: PublishedKey[] }[]
}
const { keys, receipt, sample, ...vectors } = readVector<ReceiptVectors>('receipt.json')
const KEY = fromBase64(receipt.public_key)

test('ids come out as in the vectors, which another implementation computed', () => {
  assert.equal(receiptId(sample.receipt), sample.receipt_id)
  assert.equal(receiptId(receipt), receipt.receipt_id)
  for (const [completed_at, , id] of vectors.times)
    assert.equal(receiptId({ ...receipt, completed_at }), id, completed_at)
})

test('texts that are hashed come out as Python writes them', () => {
  for (const [value, text] of vectors.json) assert.equal(pythonJson(value), text)
  assert.equal(textHash(pythonJson(vectors.context)), receipt['input_hash'])
  assert.equal(textHash(vectors.raw_output), receipt['output_hash'])
  assert.equal(previousReceiptHash(sample.receipt_id), receipt['previous_receipt_hash'])
})

test('the signature is over the sixteen bytes of the id', () => {
  const signature = seededKey(0x71).sign(fromHex(receipt.receipt_id))
  assert.equal(toBase64(signature), receipt.signature)
})

test('a genuine receipt verifies, alone and as the answer of the service', async () => {
  for (const json of [receipt, { decision_record: {}, execution_receipt: receipt }, [receipt]]) {
    const verdict = await verifyEnvelope(detectEnvelope(json), { keys })
    assert.equal(verdict.valid, true, verdict.reason)
    assert.deepEqual(verdict.valid_with, [receipt['key_id']])
  }
})

for (const { variation, set } of vectors.positive) {
  test(`a receipt ${variation} still verifies`, async () => {
    const verdict = await verifyReceipt(withFields(receipt, set), keys)
    assert.equal(verdict.valid, true, verdict.reason)
  })
}

for (const { mutation, set, fails, ...given } of vectors.negative) {
  test(`a receipt with ${mutation} fails: ${fails.join(', ')}`, async () => {
    const mutated = withFields(receipt, set)
    const published = given.keys ?? keys
    const verdict = await verifyReceipt(mutated, published)
    assert.equal(verdict.valid, false)
    const failed = verdict.checks.filter((check) => !check.ok).map((check) => check.name)
    assert.deepEqual(failed, fails)
    const [result] = await checkReceipts([mutated], null, published)
    assert.equal(result?.valid, false)
  })
}

test('a list of receipts says whose key signed each', async () => {
  const { set = {} } = vectors.negative.find(({ mutation }) => mutation === 'self-signed') ?? {}
  const forged = withFields(receipt, set)
  const signers = async (supplied: Uint8Array | null, published: PublishedKey[]) =>
    (await checkReceipts([receipt, forged], supplied, published)).map(
      ({ valid, signed_by, key_id }) => [valid, signed_by, key_id],
    )
  const key_id = receipt['key_id']
  const refused = [false, null, null]
  assert.deepEqual(await signers(null, keys), [
    [true, 'published', key_id],
    [false, 'self_signed', null],
  ])
  assert.deepEqual(await signers(KEY, keys), [[true, 'supplied', key_id], refused])
  assert.deepEqual(await signers(KEY, []), [[true, 'supplied', null], refused])
  const other = seededKey(0x72).publicKey
  assert.deepEqual(await signers(other, keys), [refused, [true, 'supplied', null]])
})

test('what is no receipt is reported, not thrown', async () => {
  const strange = [null, 7, 'x', [], {}, { receipt_id: 'x' }, { ...receipt, public_key: 7 }]
  for (const value of strange) {
    assert.equal((await verifyReceipt(value, keys)).valid, false)
    const [result] = await checkReceipts([value], null, keys)
    assert.equal(result?.valid, false)
  }
})
