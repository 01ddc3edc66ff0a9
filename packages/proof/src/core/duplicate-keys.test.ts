// A key that occurs twice is found wherever it stands, and nothing else is taken for one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { hasDuplicateKey, locateDuplicateKey } from './duplicate-keys.ts'

const locate = (text: string) =>
  hasDuplicateKey(text, JSON.parse(text)) ? locateDuplicateKey(text) : null

test('a key that occurs twice is located, also written with an escape', () => {
  assert.deepEqual(locate('{"a":1,"a":1}'), ['a'])
  assert.deepEqual(locate('{"a":1,"\\u0061":2}'), ['a'])
  assert.deepEqual(locate('{"x":[0,{"b" : {"c":1},"b":2}]}'), ['x', 1, 'b'])
  assert.deepEqual(locate('{"a\\\\":1,"a\\\\":2}'), ['a\\'])
})

test('no text without such a key is found to have one', () => {
  assert.equal(locate('{"a":{"a":[":","a",{"a":"\\":"}]},"b":"a"}'), null)
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(0, 2), (text, spaces) => {
      const value: unknown = JSON.parse(text)
      assert.equal(hasDuplicateKey(JSON.stringify(value, null, spaces), value), false)
    }),
  )
})

test('a text that is nested a hundred thousand levels deep is read', () => {
  const depth = 100_000
  const text = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
  assert.equal(hasDuplicateKey(text, JSON.parse(text)), false)
})
