// A loaded index answers as the one that was saved, and as one that is rebuilt.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { fact, replay, request, type Step, step } from '../testing/index-steps.ts'
import { makeAnalyser } from '../text/analysis.ts'
import type { SearchOptions } from './ranking.ts'
import { ANALYSIS, IndexLoader, OtherIndex, originOf, saveIndex } from './saved-index.ts'
import { StoreIndex } from './store-index.ts'

const STORE = { secret_no: 7, tokenizer: 'o200k_base' }
const ORIGIN = originOf(STORE, ['en'])

/** Copies of the pieces; `between` is called after each. */
function save(index: StoreIndex, between: () => void = () => {}): Buffer[] | null {
  const pieces: Buffer[] = []
  const saving = saveIndex(index, { origin: ORIGIN, head_seq: 0, entry: '' })
  for (;;) {
    const { done, value } = saving.next()
    if (done) return value ? pieces : null
    pieces.push(Buffer.from(value))
    between()
  }
}

function load(pieces: readonly Buffer[], origin = ORIGIN): StoreIndex {
  const loader = new IndexLoader(origin, ['en'])
  for (const piece of pieces) loader.load(piece)
  return loader.finish()
}

function assertAlike(one: StoreIndex, other: StoreIndex, requests: readonly SearchOptions[]): void {
  for (const each of requests) {
    const found = one.search(each)
    assert.deepEqual(other.search(each), found)
    const refs = found.map(({ ref }) => ref)
    assert.deepEqual(other.explain(each, refs), one.explain(each, refs))
  }
  assert.equal(other.size, one.size)
  assert.deepEqual([...other.terms()].sort(), [...one.terms()].sort())
}

const steps = fc.array(step, { maxLength: 60 })
/** Puts of other refs, and changes of validity: what may happen while an index is saved. */
const meanwhile = fc.array(
  fc.oneof(
    fact.map((put): Step => ({ put: { ...put, ref: put.ref + 100 } })),
    fc.record({ close: fc.nat(140), until: fc.option(fc.nat(30)) }),
  ),
  { maxLength: 12 },
)

test('a loaded index answers bit for bit as the saved and a rebuilt one', async () => {
  await fc.assert(
    fc.asyncProperty(
      steps,
      meanwhile,
      steps,
      fc.array(request),
      async (first, during, later, all) => {
        const { index, facts } = replay(first)
        const left = [...during]
        const pieces = save(index, () => {
          const next = left.shift()
          if (next !== undefined) replay([next], index, facts)
        })
        const refs = during.flatMap((one) => ('put' in one ? [one.put.ref] : []))
        const isPutTwice = new Set(refs).size < refs.length
        if (pieces === null) {
          assert(isPutTwice, 'only a fact that is put again is removed meanwhile')
          return
        }
        const loaded = load(pieces)
        // What came after the position of the copy is read again, in one go.
        replay(during, loaded)
        replay(left, index, facts)
        assertAlike(index, loaded, all)
        replay(later, index, facts)
        replay(later, loaded)
        assertAlike(index, loaded, all)
        const rebuilt = new StoreIndex(new Uint8Array(32))
        for (const ref of [...facts.keys()].sort((a, b) => a - b)) {
          const row = facts.get(ref)
          if (row) rebuilt.put(row)
        }
        assertAlike(rebuilt, loaded, all)
        const pace = () => undefined
        const near = await loaded.countNearDuplicates(15, pace)
        assert.deepEqual(near, await rebuilt.countNearDuplicates(15, pace))
        for (const { content, namespace } of facts.values())
          assert.equal(
            loaded.findDuplicate(content, namespace, 15),
            rebuilt.findDuplicate(content, namespace, 15),
          )
        for (const ref of facts.keys()) loaded.remove(ref)
        assert.equal(loaded.bytes(), 0)
      },
    ),
    { numRuns: 300 },
  )
})

test('a save ends when a fact is removed or the vectors are dropped meanwhile', () => {
  const at = { namespace: null, metadata: {}, valid_from_us: 0, valid_until_us: null }
  const index = new StoreIndex(new Uint8Array(16))
  const fill = () => {
    for (let ref = 1; ref < 9; ref++)
      index.put({ ...at, ref, content: `walk ${ref}`, token_count: 2, vector: new Int8Array(4) })
  }
  fill()
  assert.equal(
    save(index, () => index.remove(4)),
    null,
  )
  fill()
  assert.equal(
    save(index, () => index.enterSpace('other')),
    null,
  )
  assert.notEqual(save(index), null)
})

test('postings of many facts, frequent words and wide letters are saved in several pieces', () => {
  const index = new StoreIndex(new Uint8Array(16).fill(2))
  const often = 'river '.repeat(20)
  for (let ref = 0; ref < 150_000; ref++)
    index.put({
      ref: ref * 3,
      namespace: null,
      content: ref % 1_000 === 0 ? `${often}東京 walk Ελλάδα ${ref}` : `walk ${ref % 100}`,
      metadata: ref % 10_000 === 0 ? { session_id: `s${ref}`, speaker: 'Ana' } : {},
      valid_from_us: ref,
      valid_until_us: null,
      token_count: 3,
      vector: null,
    })
  const pieces = save(index)
  assert(pieces !== null)
  const loaded = load(pieces)
  for (const query of ['walk', 'river 東京', 'ελλαδα 7', 'ana said'])
    assertAlike(index, loaded, [{ ...REQUEST, query }])
})

const REQUEST: SearchOptions = {
  query: '',
  vector: null,
  similar: null,
  namespace: null,
  at_us: 1_000_000,
  now_us: 1_000_000,
  filter: null,
  visible: null,
  limit: 300,
  min_score: null,
  min_confidence: 0,
}

test('an index of another store, tokenizer, language or version is refused', () => {
  const index = new StoreIndex(new Uint8Array(16))
  const pieces = save(index) ?? []
  assert.equal(load(pieces).size, 0)
  const others = [
    originOf({ ...STORE, secret_no: 8 }, ['en']),
    originOf({ ...STORE, tokenizer: 'other' }, ['en']),
    originOf(STORE, ['en', 'de']),
    ORIGIN.replace('[2,', '[1,'),
  ]
  for (const other of others) assert.throws(() => load(pieces, other), OtherIndex)
})

const CORPUS = [
  'Ana: I was painting in Oslo on 7 May 2023?',
  '[2023-05-07] Bo: my sister is called Bea, call me Bobby',
  'Les chats dorment à la maison le 3 avril; die Kätzchen schliefen in Häusern',
  '東京タワー ภาษาไทย 3.4.2021 running missed studies 12,500.75',
]

test('what is derived from a fact changes only with the version of saved indexes', () => {
  const index = new StoreIndex(new Uint8Array(16), makeAnalyser(['en', 'de', 'fr', 'es', 'pt']))
  for (const [ref, content] of CORPUS.entries())
    index.put({
      ref,
      namespace: null,
      content,
      metadata: { session_id: 's', tags: ['a', { b: 1 }], message_id: `m${ref}` },
      valid_from_us: 1_700_000_000_000_000,
      valid_until_us: null,
      token_count: 9,
      vector: null,
    })
  const digest = createHash('sha256')
  const [, ...pieces] = save(index) ?? []
  for (const piece of pieces) digest.update(piece)
  assert.deepEqual(
    { ANALYSIS, digest: digest.digest('hex') },
    { ANALYSIS: 1, digest: 'f1be9cac5af0a0744cc5ea051f41594f599318eaab43d3362d2c8a4c99e0c48b' },
    'raise ANALYSIS in saved-index.ts, and write the new digest here',
  )
})
