// Words that count as a word of a query, by the bundled model.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findSimilarTerms } from './similar-terms.ts'

test('other requests run while the words of the model are read', async () => {
  let ran = false
  setImmediate(() => {
    ran = true
  })
  await findSimilarTerms('car')
  assert.equal(ran, true)
})

test('a word of a query counts under terms that mean much the same', async () => {
  const found = await findSimilarTerms('Which car did Ana buy?')
  assert.deepEqual(found.get('car')?.slice(0, 2), ['automobil', 'vehicl'])
  assert.deepEqual(found.get('buy'), ['purchas'])
})

test('a word that the model does not know counts as itself alone', async () => {
  assert.deepEqual([...(await findSimilarTerms('zqxvkj'))], [])
})
