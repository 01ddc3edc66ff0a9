// A cache keeps what it may weigh at most, and drops what was unused for longest.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LruCache } from './lru-cache.ts'

test('the entry unused for longest is dropped; a get is a use, a peek is not', () => {
  const cache = new LruCache<string, number>({ max: 2 })
  assert.equal(cache.set('a', 1), 1)
  cache.set('b', 2)
  assert.equal(cache.get('a'), 1)
  assert.equal(cache.peek('b'), 2)
  cache.set('c', 3)
  assert.deepEqual([cache.get('a'), cache.get('b'), cache.get('c')], [1, undefined, 3])
  cache.set('c', 4)
  assert.deepEqual(
    [...cache.entries()],
    [
      ['a', 1],
      ['c', 4],
    ],
  )
})

test('entries that are weighed are dropped until the rest weighs little enough', () => {
  const cache = new LruCache<string, string>({ max: 10, weigh: (text) => text.length })
  cache.set('a', 'four')
  cache.set('b', 'five5')
  cache.set('c', 'seven77')
  assert.deepEqual(
    [cache.has('a'), cache.has('b'), cache.has('c'), cache.size],
    [false, false, true, 1],
  )
  cache.set('d', 'heavier than the whole cache')
  assert.deepEqual([cache.has('c'), cache.has('d')], [true, false])
  assert.equal(cache.delete('c'), true)
  cache.set('a', 'ten letter')
  assert.equal(cache.has('a'), true)
  cache.clear()
  assert.equal(cache.size, 0)
})
