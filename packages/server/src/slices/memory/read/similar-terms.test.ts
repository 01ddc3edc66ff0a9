// Words that count as a word of a query, by the bundled model.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findSimilarTerms } from './similar-terms.ts'

/** Of no other test: their similar words are not in the cache. */
const UNUSUAL = `
  anchor apricot attic bamboo barley beacon bishop blossom canyon cello chimney cinnamon comet
  copper dolphin falcon fern flute galaxy garlic glacier granite harp hazel hedge heron ivory
  juniper kettle lagoon lantern lilac lobster magnet mango maple meadow moss nectar oak oyster
  pearl pebble pepper pigeon plum quartz raven saddle saffron sparrow spruce thistle thunder
  tulip turtle`

test('other requests run while many words of a query are compared with the model', async () => {
  let ran = false
  // By then the words of the model are read, in this process or an earlier test of it.
  await findSimilarTerms('car')
  setImmediate(() => {
    ran = true
  })
  await findSimilarTerms(UNUSUAL)
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
