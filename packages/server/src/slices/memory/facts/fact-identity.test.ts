// Fact ids are those that verifiers compute; commitments depend on content and salt.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commitment, factId, toHex } from '@custos/proof'
import fc from 'fast-check'
import { computeCommitment, computeCommitmentsRoot, computeFactId } from './fact-identity.ts'

const text = fc.string({ unit: 'grapheme', maxLength: 60 })

test('the fact id of a known content is that of the test vectors', () => {
  assert.equal(
    computeFactId('Aria lives in Rome', 'A').toString('hex'),
    '2862d73972ff536a2b338bde3c6f92c3',
  )
  assert.equal(
    computeFactId('Aria lives in Rome', '').toString('hex'),
    'a069c0837d64199082d2bc83c3254b71',
  )
  assert.equal(computeFactId('', '').toString('hex'), '01d40548a78e70851885ebb185b56016')
})

test('every fact id equals the one a verifier computes', () => {
  fc.assert(
    fc.property(text, text, (content, tenant) => {
      assert.equal(computeFactId(content, tenant).toString('hex'), toHex(factId(content, tenant)))
    }),
  )
  const long = 'long '.repeat(50_000)
  assert.equal(computeFactId(long, 'T').toString('hex'), toHex(factId(long, 'T')))
})

test('a commitment is the published HMAC, and a root changes with any of its commitments', () => {
  const salt = Buffer.alloc(32, 7)
  assert.equal(computeCommitment('content', salt).toString('hex'), commitment(salt, 'content'))
  const leaves = ['a', 'b', 'c'].map((content) => computeCommitment(content, salt))
  const roots = [leaves, leaves.slice(0, 2), [...leaves].reverse()].map(computeCommitmentsRoot)
  assert.equal(new Set(roots).size, 3)
})
