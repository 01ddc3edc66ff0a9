// Keys that occur twice: found at any depth, located, and never seen where there are none.

import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { findJsonProblem } from './json-text.ts'

const check = (text: string) => findJsonProblem(text, JSON.parse(text))

test('a key that occurs twice is found at any depth, and its place is named', () => {
  const texts: [text: string, loc: (string | number)[]][] = [
    ['{"a":1,"a":1}', ['a']],
    ['{"a" : 1 , "\\u0061" : 2}', ['a']],
    ['{"x":{"b":[{"c":1},{"c":[],"d":"\\"","c":{}}]}}', ['x', 'b', 1, 'c']],
    ['[1,[2,{"a":{},"a":{}}]]', [1, 1, 'a']],
    ['{"":1,"":2}', ['']],
    ['{"a":"}","b":{"a\\\\":1,"a\\\\":2}}', ['b', 'a\\']],
    [`{"${'k'.repeat(200)}":1,"${'k'.repeat(200)}":2}`, ['k'.repeat(100)]],
  ]
  for (const [text, loc] of texts)
    assert.deepEqual(
      check(text),
      { loc, msg: 'This key occurs twice', type: 'duplicate_key' },
      text,
    )
})

test('texts that look like keys, and equal keys of different objects, are no duplicates', () => {
  for (const text of [
    '{"a":"a\\":1,\\"a","b":"\\\\"}',
    '{"a":{"a":{"a":1}},"b":{"a":1}}',
    '[{"a":1},{"a":2}]',
    '{"constructor":1,"toString":2}',
    '["a","a",":"]',
    '":"',
    '{}',
    '0',
  ])
    assert.equal(check(text), null, text)
})

test('no text that a serializer writes has a duplicate, and one added is found', () => {
  const json = fc.dictionary(
    fc.string({ unit: 'grapheme' }).filter((key) => key !== '__proto__'),
    fc.oneof(fc.string({ unit: 'binary-ascii' }), fc.boolean(), fc.array(fc.nat())),
    { minKeys: 1 },
  )
  fc.assert(
    fc.property(json, fc.nat(3), (object, space) => {
      const text = JSON.stringify(object, null, space)
      if (text.includes('\\u0000')) return
      assert.equal(check(text), null)
      const [key = ''] = Object.keys(object)
      const twice = check(`[{${JSON.stringify(key)}:0,${text.trim().slice(1)}]`)
      assert.equal(twice?.type, 'duplicate_key')
      assert.equal(twice?.loc[0], 0)
    }),
  )
})
