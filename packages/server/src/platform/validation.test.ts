// Which declared name is suggested for a misspelt one.

import assert from 'node:assert/strict'
import test from 'node:test'
import { findNearestName } from './validation.ts'

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
