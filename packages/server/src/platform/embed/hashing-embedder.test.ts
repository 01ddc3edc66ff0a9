// The hashing embedder: same text, same vector, on every machine; near spellings are near.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { assertLinear } from '../../testing/growth.ts'
import { createHashingEmbedder } from './hashing-embedder.ts'

const embedder = createHashingEmbedder()

function dot(left: Int8Array, right: Int8Array): number {
  return left.reduce((sum, value, at) => sum + value * (right[at] ?? 0), 0)
}

test('a text has one vector, whatever it is embedded with', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary' }), fc.string(), async (text, other) => {
      const [first] = await embedder.embed([text])
      const [, second] = await embedder.embed([other, text])
      assert.deepEqual(first, second)
      assert.equal(first?.length, embedder.dimensions)
    }),
    { numRuns: 50 },
  )
})

test('the vectors of version 1 never change', async () => {
  const vectors = await embedder.embed(['Caroline moved to Sweden in May 2023', '東京 naïve', ''])
  const digest = createHash('sha256')
  for (const vector of vectors) digest.update(vector)
  assert.equal(
    digest.digest('hex'),
    'b621dc0ad8270a21b5c52f341f2d6cffc726cba837631adaa7d926f2d68baeee',
  )
})

test('no vector is longer than 127, so a dot product stays a bounded cosine', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme' }), async (text) => {
      const [vector] = await embedder.embed([text])
      assert(vector !== undefined && dot(vector, vector) <= 127 * 127)
    }),
    { numRuns: 100 },
  )
})

test('a text without letters or digits has the zero vector', async () => {
  const [empty, symbols] = await embedder.embed(['', ' ?! '])
  assert(empty?.every((value) => value === 0) && symbols?.every((value) => value === 0))
})

test('a text is nearer to its own inflection than to an unrelated one', async () => {
  const [query, near, far] = await embedder.embed([
    'painting sunrises',
    'she painted a sunrise',
    'the meeting is about taxes',
  ])
  assert(query && near && far)
  assert(dot(query, near) > dot(query, far))
})

test('256 KiB without separators is embedded in time linear in it', () => {
  for (const unit of ['x', 'a ']) {
    // The embedder works before it returns: the promise is there for those that call out.
    assertLinear(256 * 1024, (size) => void embedder.embed([unit.repeat(size / unit.length)]), unit)
  }
})
