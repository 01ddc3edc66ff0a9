// Tolerated names are dropped where they are named, and nowhere else.

import assert from 'node:assert/strict'
import test from 'node:test'
import { compileDropper } from './tolerated-names.ts'

test('tolerated names are dropped at their place and nothing else is', () => {
  const drop = compileDropper(
    ['query.limit', 'body.app', 'body.options.app', 'body.items[].a.b'],
    'body',
  )
  assert.ok(drop)
  const body = {
    app: 1,
    limit: 2,
    options: { app: 3, kept: 4 },
    items: [{ a: { b: 5, app: 6 } }, { a: null }, 7],
  }
  drop(body)
  assert.deepEqual(body, {
    limit: 2,
    options: { kept: 4 },
    items: [{ a: { app: 6 } }, { a: null }, 7],
  })
  for (const other of [null, 'text', [], { options: 'text', items: {} }]) drop(other)
})

test('items of a body that is a list are reached; a place without names has no function', () => {
  const drop = compileDropper(['body[].notes'], 'body')
  const body = [{ notes: 1, kept: 2 }]
  drop?.(body)
  assert.deepEqual(body, [{ kept: 2 }])
  assert.equal(compileDropper(['body[].notes'], 'query'), null)
  assert.equal(compileDropper(undefined, 'body'), null)
})
