// What is said about invalid requests, and which name is suggested for a misspelt one.

import assert from 'node:assert/strict'
import test from 'node:test'
import { items, memory } from '@custos/contract'
import { findNearestName, Shape } from './validation.ts'

const NAMES = ['preview', 'allowed_stores', 'expires_at', 'enabled', 'until', 'find', 'limit', 'to']

test('a misspelt name is recognised by inserted, missing, wrong and swapped characters', () => {
  const misspelt = {
    preveiw: 'preview',
    allowed_store: 'allowed_stores',
    allowedStores: 'allowed_stores',
    expire_at: 'expires_at',
    enabeld: 'enabled',
    untl: 'until',
    Limit: 'limit',
    fnid: 'find',
    limits: 'limit',
  }
  for (const [name, meant] of Object.entries(misspelt))
    assert.equal(findNearestName(name, NAMES), meant, name)
})

test('nothing is suggested for a name that is far from all', () => {
  for (const name of ['', 'x', 'namespace', 'view_pre', '__proto__', 'x'.repeat(10_000)])
    assert.equal(findNearestName(name, NAMES), null, name)
  assert.equal(findNearestName('preview', []), null)
})

test('the nearest of several near names is suggested', () => {
  assert.equal(findNearestName('valid_untl', ['valid_from', 'valid_until']), 'valid_until')
  assert.equal(findNearestName('store_id', ['store_ids', 'store']), 'store_ids')
})

test('a time that is out of range is told the range', () => {
  const shape = new Shape(memory.retrieve.body, 'body')
  const problems = shape.findProblems({ query: 'q', as_of: '9999-12-31T23:59:59Z' })
  assert.match(problems[0]?.msg ?? '', /from 1700 to 2254/)
})

test('of several kinds of members, the one that is named is explained, and no other', () => {
  const shape = new Shape(items.batch.body, 'body')
  const problemsOf = (...given: object[]) =>
    shape
      .findProblems({ operations: given })
      .map(({ loc, msg }) => `${loc.slice(3).join('.')}: ${msg}`)
  const search = { op: 'search', namespace_prefix: ['users'], offset: 0 }
  assert.deepEqual(problemsOf({ ...search, limit: 0 }), ['limit: must be >= 1'])
  assert.deepEqual(problemsOf({ ...search, limit: 0, filter: 5, offset: -1, limti: 1 }), [
    'limti: there is no such property; did you mean `limit`?',
    'filter: must be object',
    'limit: must be >= 1',
    'offset: must be >= 0',
  ])
  const many = Array.from({ length: 100 }, () => ({ op: 'put', key: 'k', value: {} }))
  assert.deepEqual([...new Set(problemsOf(...many))], ['namespace: Field required'])
})
