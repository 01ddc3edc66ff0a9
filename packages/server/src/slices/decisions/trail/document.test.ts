// The sealed bytes of a decision: head in clear, document bound to it.

import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { SealError } from '../../../platform/keys/seal.ts'
import { type DecisionDocument, openDocument, readSealed, sealDocument } from './document.ts'

const key = createSecretKey(Buffer.alloc(32, 1))
const owner = { tenant_id: 't-1', decision_id: '00'.repeat(16) }

const document: DecisionDocument = {
  query: 'q',
  output: 'ö',
  session_id: 's',
  parameters: { a: [1] },
  refs: [3],
  contents: [true],
  scores: [],
  known: [3],
  gone: [],
  scrubbed: [],
  redactions: [],
  commitment_salt: null,
  record_digest: '',
  signature: '',
  public_key: '',
  key_id: '',
}

describe('sealDocument', () => {
  it('opens to the same document and shows its head without a key', () => {
    const ref = fc.maxSafeNat()
    const heads = fc.record({
      secret_no: ref,
      revision: fc.nat({ max: 2 ** 32 - 1 }),
      bound: fc.array(ref, { maxLength: 1000 }),
    })
    fc.assert(
      fc.property(heads, (head) => {
        const { head: read, box } = readSealed(sealDocument({ owner, head, key }, document))
        assert.deepEqual(read, { ...head })
        assert.deepEqual(openDocument({ owner, head: read, key }, box), document)
      }),
      { numRuns: 50 },
    )
  })

  it('does not open as another decision, another tenant, or under a changed head', () => {
    const head = { secret_no: 1, revision: 0, bound: [3] }
    const { box } = readSealed(sealDocument({ owner, head, key }, document))
    const others = [
      { owner: { ...owner, decision_id: '01'.repeat(16) }, head, key },
      { owner: { ...owner, tenant_id: 't-2' }, head, key },
      { owner, head: { ...head, revision: 1 }, key },
      { owner, head: { ...head, secret_no: 2 }, key },
      { owner, head: { ...head, bound: [] }, key },
      { owner, head, key: createSecretKey(Buffer.alloc(32, 2)) },
    ]
    for (const other of others) assert.throws(() => openDocument(other, box), SealError)
  })

  it('refuses bytes it did not write', () => {
    assert.throws(() => readSealed(Buffer.alloc(3)), /unknown version/)
    assert.throws(() => readSealed(Buffer.alloc(40, 9)), /unknown version/)
  })
})
