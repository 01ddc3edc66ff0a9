// The bundled model as an embedder: its space, and vectors of the size and length all must have.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { spaceOf } from './embedder.ts'
import { createStaticEmbedder } from './static-embedder.ts'

const dot = (left: Int8Array, right: Int8Array) =>
  left.reduce((sum, value, at) => sum + value * (right[at] ?? 0), 0)

test('the bundled model puts like meanings near, in a space of its own name', async () => {
  const embedder = createStaticEmbedder()
  assert.equal(spaceOf(embedder), 'custos-static/1/256')
  const [cat, kitten, tax] = await embedder.embed([
    'the cat sleeps on the sofa',
    'a kitten naps on the couch',
    'the tax return is due in April',
  ])
  assert.ok(cat && kitten && tax)
  assert.ok([cat, kitten, tax].every((vector) => vector.length === embedder.dimensions))
  assert.ok(dot(cat, cat) <= 127 * 127)
  assert.ok(dot(cat, kitten) > 2 * dot(cat, tax), `${dot(cat, kitten)} ${dot(cat, tax)}`)
})
