// The fast identity and digest are the published ones.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import {
  type DecisionIdentity,
  decisionDigestRecord,
  decisionId,
  recordDigest,
} from '@custos/proof'
import fc from 'fast-check'
import { decisionIdBytes, recordDigestOf } from './identity.ts'

const vectorUrl = new URL('../../../../../../test/vectors/decision-id.json', import.meta.url)

describe('decisionIdBytes', () => {
  it('answers the published vectors', () => {
    // The project's own file, in the shape this test reads.
    const { decision_ids } = JSON.parse(readFileSync(vectorUrl, 'utf8')) as {
      decision_ids: { fields: DecisionIdentity; decision_id: string }[]
    }
    assert.ok(decision_ids.length > 0)
    for (const { fields, decision_id } of decision_ids)
      assert.equal(decisionIdBytes(fields).toString('hex'), decision_id)
  })

  it('is what @custos/proof computes, for any text', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 300 })
    const fields = fc.record({
      tenant_id: text,
      store_id: text,
      model_id: text,
      query: text,
      timestamp: text,
    })
    fc.assert(
      fc.property(fields, (f) => {
        assert.equal(decisionIdBytes(f).toString('hex'), decisionId(f))
      }),
    )
  })
})

describe('recordDigestOf', () => {
  it('is what @custos/proof computes, with and without the optional parts', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 40 })
    const count = fc.option(fc.nat())
    const finite = fc.double({ noNaN: true, noDefaultInfinity: true })
    const record = fc.record({
      decision_id: text,
      tenant_id: text,
      store_id: text,
      session_id: fc.option(text),
      model_id: text,
      timestamp: text,
      query: text,
      output: text,
      parameters: fc.option(
        fc.dictionary(
          text.filter((key) => key !== '__proto__'),
          fc.oneof(text, finite),
        ),
      ),
      refs: fc.array(fc.maxSafeNat(), { maxLength: 4 }),
      scores: fc.array(finite, { maxLength: 4 }),
      contents: fc.array(text, { maxLength: 4 }),
      token_count: count,
      latency_ms: fc.option(finite),
      memory_seq: fc.nat(),
    })
    const salt = Buffer.alloc(32, 7)
    fc.assert(
      fc.property(record, (r) => {
        const committed = {
          ...r,
          retrieved_refs: r.refs,
          retrieved_scores: r.scores,
          retrieved_contents: r.contents,
        }
        assert.equal(recordDigestOf(r, salt), recordDigest(decisionDigestRecord(committed, salt)))
      }),
    )
  })
})
