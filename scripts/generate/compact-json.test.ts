// The JSON of generated files is valid and in lines that can be read.

import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { compactJson } from './compact-json.ts'

test('what is written reads back as the same value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const plain = JSON.parse(JSON.stringify(value))
      assert.deepEqual(JSON.parse(compactJson(plain)), plain)
    }),
  )
})

test('what fits on a line is on one; lists of values fill their lines', () => {
  assert.equal(compactJson({ a: [1, { b: null }] }), '{"a":[1,{"b":null}]}')
  const lines = compactJson(Array.from({ length: 100 }, (_, i) => `item ${i}`)).split('\n')
  assert.ok(lines.every((line) => line.length <= 200) && lines.length < 14)
})
