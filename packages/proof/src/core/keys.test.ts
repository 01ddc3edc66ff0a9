// The published key list: which key counts, for what and when.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { publish, seededKey } from '../testing/fixtures.ts'
import { findKey, isValidAt, type PublishedKey, readKeys, toMicroseconds } from './keys.ts'

const key: PublishedKey = {
  ...publish(seededKey(1), 'erasure'),
  valid_from: '2026-01-01T00:00:00.000001+00:00',
  retired_at: '2026-02-01T00:00:00.000001+00:00',
}
const { public_key } = key

test('a key is found by its bytes, purpose and time, or the reason is named', () => {
  const at = '2026-01-15T00:00:00Z'
  const found = { public_key, purpose: 'erasure' }
  assert.equal(findKey([key], { ...found, at }), key)
  assert.equal(findKey([key], { ...found, key_id: key.key_id }), key)
  assert.equal(findKey([key], found), key)
  assert.equal(findKey([], found), 'unknown_key')
  assert.equal(findKey([key], { ...found, key_id: '0'.repeat(16) }), 'unknown_key')
  assert.equal(findKey([key], { ...found, public_key: '00'.repeat(32) }), 'unknown_key')
  assert.equal(findKey([key], { ...found, purpose: 'decision' }), 'wrong_purpose')
  assert.equal(findKey([key], { ...found, at: '2027-01-01T00:00:00Z' }), 'not_valid_then')
  assert.equal(findKey([key], { ...found, at: 'yesterday' }), 'not_valid_then')
})

test('validity holds to the microsecond, both ends included', () => {
  assert.ok(isValidAt(key, '2026-01-01T00:00:00.000001+00:00'))
  assert.ok(!isValidAt(key, '2026-01-01T00:00:00+00:00'))
  assert.ok(isValidAt(key, '2026-02-01T01:00:00.000001+01:00'))
  assert.ok(!isValidAt(key, '2026-02-01T00:00:00.000002Z'))
  assert.ok(isValidAt({ ...key, retired_at: null }, '2100-01-01T00:00:00Z'))
})

test('times are read to the microsecond for any zone', () => {
  const moment = fc.date({ min: new Date(0), max: new Date('2200-01-01'), noInvalidDate: true })
  fc.assert(
    fc.property(moment, fc.nat(999), (date, micros) => {
      const text = date.toISOString().replace('Z', `${String(micros).padStart(3, '0')}+00:00`)
      assert.equal(toMicroseconds(text), date.getTime() * 1000 + micros)
    }),
  )
  for (const odd of ['', '2026-01-01', '2026-01-01T00:00:00', '2026-13-01T00:00:00Z']) {
    assert.ok(Number.isNaN(toMicroseconds(odd)), odd)
  }
})

test('an entry that is not a whole key is no key', () => {
  const { retired_at: _, ...partial } = key
  assert.deepEqual(readKeys([key, partial, null, 'x', { ...key, public_key: 1 }]), [key])
  assert.deepEqual(readKeys(undefined), [])
})
