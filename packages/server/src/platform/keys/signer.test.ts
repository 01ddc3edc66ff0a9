// Ed25519 keys made from a seed: the vector of the standard.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signingKeyOf } from './signer.ts'

test('a seed gives the public key of RFC 8032 section 7.1, test 1', () => {
  const seed = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'
  const key = signingKeyOf(Buffer.from(seed, 'hex'))
  const expected = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'
  assert.equal(key.public_key.toString('hex'), expected)
})
