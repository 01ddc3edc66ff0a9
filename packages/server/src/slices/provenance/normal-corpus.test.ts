// The normal form of a corpus: one spelling for one meaning, and no member is lost.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalizeCorpus } from './normal-corpus.ts'

const HEX = 'ab'.repeat(32)

test('a digest has one spelling, and an absent value has one form', () => {
  const bare = normalizeCorpus({ name: 'c', sources: [{ id: 'a', license: 'MIT' }] })
  assert.deepEqual(bare, {
    name: 'c',
    sources: [{ id: 'a', license: 'MIT' }],
    attestations: {},
    processing: [],
    metadata: {},
  })
  const nulls = { lawful_basis: null, content_hash: null, record_count: null }
  const spelled = normalizeCorpus({
    name: 'c',
    sources: [{ id: 'a', license: 'MIT', ...nulls }],
    attestations: null,
    processing: null,
    metadata: null,
  })
  assert.deepEqual(spelled, bare)
  for (const content_hash of [HEX, HEX.toUpperCase(), `sha256:${HEX}`]) {
    const { sources } = normalizeCorpus({ name: 'c', sources: [{ id: 'a', content_hash }] })
    assert.deepEqual(sources, [{ id: 'a', content_hash: HEX }])
  }
})

test('members outside the contract are recorded unchanged, null ones too', () => {
  const source = {
    id: 'a',
    license: 'MIT',
    record_count: 0,
    region: null,
    collected: { by: ['x'] },
  }
  assert.deepEqual(normalizeCorpus({ name: 'c', sources: [source] }).sources, [source])
})
