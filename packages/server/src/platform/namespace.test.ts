// Namespaces are parsed from the form in which they are shown.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatNamespace, parseNamespace } from './namespace.ts'

const name = fc.string({ minLength: 1, maxLength: 128 })

test('the tenant_id that a memory shows names its namespace', () => {
  fc.assert(
    fc.property(fc.option(name), (namespace) => {
      const tenant_id = formatNamespace('T', namespace)
      assert.equal(parseNamespace('T', { tenant_id }), namespace)
      assert.equal(parseNamespace('T', { tenant_id, namespace: tenant_id }), namespace)
    }),
  )
})

test('absent and null mean the root, and two different names are refused', () => {
  for (const names of [undefined, {}, { tenant_id: null }, { tenant_id: 'T' }])
    assert.equal(parseNamespace('T', names), null)
  assert.throws(() => parseNamespace('T', { tenant_id: 'a', namespace: 'b' }), { code: 'rejected' })
  assert.throws(() => parseNamespace('T', { namespace: 'n'.repeat(129) }), { code: 'rejected' })
})
