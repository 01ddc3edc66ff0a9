// Removing memories from a document, without a database.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DecisionDocument } from './document.ts'
import { MARKER } from './redact-text.ts'
import { isScrubbed, scrubDocument } from './scrub-document.ts'

const FACT = 'Anna lives in Bern'

const document: DecisionDocument = {
  query: `Where does she live? ${FACT}`,
  output: 'Bern',
  session_id: null,
  parameters: { note: `because ${FACT}` },
  refs: [5, 6, 5],
  contents: [true, `quoting: ${FACT}`, 'Anna lives in Berne'],
  scores: [0.9, 0.8, 0.1],
  known: [5],
  gone: [],
  scrubbed: [],
  redactions: [],
  commitment_salt: 'AAAA',
  record_digest: 'digest',
  signature: 'signature',
  public_key: 'key',
  key_id: 'key id',
}

describe('scrubDocument', () => {
  it('replaces every position of the ref and every repetition of its content', () => {
    const scrubbed = scrubDocument(document, [{ ref: 5, content: FACT }])
    assert.ok(scrubbed)
    assert.deepEqual(scrubbed.document, {
      ...document,
      query: `Where does she live? ${MARKER}`,
      parameters: { note: `because ${MARKER}` },
      contents: [MARKER, `quoting: ${MARKER}`, MARKER],
      scrubbed: [5],
      redactions: [
        { field: 'retrieved_contents', count: 3, ref: 5 },
        { field: 'query', count: 1, ref: 5 },
        { field: 'parameters', count: 1, ref: 5 },
      ],
      commitment_salt: null,
    })
    assert.deepEqual(scrubbed.redactions, [
      { field: 'retrieved_contents', count: 3 },
      { field: 'query', count: 1 },
      { field: 'parameters', count: 1 },
    ])
  })

  it('keeps identity, digest, signature, refs and scores', () => {
    const after = scrubDocument(document, [{ ref: 5, content: FACT }])?.document
    for (const key of ['record_digest', 'signature', 'key_id', 'refs', 'scores', 'known'] as const)
      assert.equal(after?.[key], document[key])
  })

  it('removes what the record gives as the content of a ref that is no fact', () => {
    const given = { ...document, query: 'She said: quoting: Anna lives in Bern.' }
    const after = scrubDocument(given, [{ ref: 6, content: null }])?.document
    assert.equal(after?.query, `She said: ${MARKER}.`)
    assert.deepEqual(after?.contents, [true, MARKER, 'Anna lives in Berne'])
  })

  it('finds nothing to do twice, and nothing for a ref that was not used', () => {
    const once = scrubDocument(document, [{ ref: 5, content: FACT }])
    assert.ok(once)
    assert.equal(scrubDocument(once.document, [{ ref: 5, content: FACT }]), null)
    assert.equal(scrubDocument(document, [{ ref: 7, content: FACT }]), null)
  })

  it('comes back to a scrubbed record when the content has become known since', () => {
    const blind = scrubDocument(document, [{ ref: 5, content: null }])
    assert.ok(blind)
    assert.ok(blind.document.query.includes(FACT))
    const seen = scrubDocument(blind.document, [{ ref: 5, content: FACT }])
    assert.equal(seen?.document.query.includes(FACT), false)
    assert.deepEqual(seen?.document.scrubbed, [5])
  })

  it('removes several facts in one go', () => {
    const subjects = [
      { ref: 5, content: FACT },
      { ref: 6, content: null },
    ]
    const after = scrubDocument(document, subjects)?.document
    assert.deepEqual(after?.contents, [MARKER, MARKER, MARKER])
    assert.deepEqual(after?.scrubbed, [5, 6])
  })

  it('finds nothing to do where the ref had been erased before the decision', () => {
    const later = { ...document, query: 'q', parameters: null, refs: [5], contents: [MARKER] }
    assert.equal(scrubDocument({ ...later, gone: [5] }, [{ ref: 5, content: FACT }]), null)
  })

  it('marks a record that names a ref without its content as scrubbed, with no redaction', () => {
    const bare = { ...document, query: 'q', parameters: null, contents: [] }
    const after = scrubDocument(bare, [{ ref: 5, content: FACT }])
    assert.deepEqual(after?.redactions, [])
    assert.deepEqual(after?.document.scrubbed, [5])
  })
})

describe('isScrubbed', () => {
  it('holds only when the record says so and every position shows the marker', () => {
    const done = { refs: [5, 6, 5], scrubbed: [5], gone: [] }
    assert.equal(isScrubbed(done, [MARKER, 'x', MARKER], 5), true)
    assert.equal(isScrubbed(done, [], 5), true)
    assert.equal(isScrubbed(done, [MARKER, 'x', 'y'], 5), false)
    assert.equal(isScrubbed({ ...done, scrubbed: [] }, [MARKER, 'x', MARKER], 5), false)
    const later = { refs: [5], scrubbed: [], gone: [5] }
    assert.equal(isScrubbed(later, [MARKER], 5), true)
  })
})
