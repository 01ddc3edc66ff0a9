// The form of an API key.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CREDENTIAL_CLASSES } from '@custos/contract'
import fc from 'fast-check'
import { systemIds } from '../../platform/ids.ts'
import { hashApiKey, isApiKey, keyPrefix, mintApiKey } from './api-key.ts'

test('a minted key has its class, the documented form and a valid checksum', () => {
  const codes = { tenant: 't', read_only: 'r', service: 's', operator: 'o', token: 'n' }
  for (const credentialClass of CREDENTIAL_CLASSES) {
    const key = mintApiKey(systemIds, credentialClass)
    assert.match(key, new RegExp(`^cst_${codes[credentialClass]}_[0-9A-Za-z]{36}$`))
    assert.ok(isApiKey(key))
    assert.equal(keyPrefix(key), key.slice(0, 10))
  }
})

test('the checksum is the CRC32 of what precedes it, in base62', () => {
  // Computed with another implementation of CRC32 (zlib of Python).
  assert.ok(isApiKey('cst_t_0000000000000000000000000000004fmx2t'))
})

test('a key with any one character changed is refused without a look-up', () => {
  const key = mintApiKey(systemIds, 'tenant')
  const change = fc.record({
    at: fc.nat(key.length - 1),
    to: fc.constantFrom(...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-'),
  })
  fc.assert(
    fc.property(change, ({ at, to }) => {
      const changed = key.slice(0, at) + to + key.slice(at + 1)
      return changed === key || !isApiKey(changed)
    }),
  )
})

test('any text is taken without an error, and only keys pass', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !isApiKey(text)))
})

test('what is stored is the SHA-256 of the header’s bytes', () => {
  // SHA-256 of "abc" (FIPS 180-4).
  assert.equal(
    hashApiKey('abc').toString('hex'),
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  )
})
