// Public keys of approvers: every generated key passes, and no point of another order does.

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { isSoundPublicKey } from './public-key.ts'

const P = 2n ** 255n - 19n

const madeKey = (): Buffer =>
  generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)

const encode = (y: bigint, odd: bigint): Buffer =>
  Buffer.from((y | (odd << 255n)).toString(16).padStart(64, '0'), 'hex').reverse()

const decode = (key: Buffer) => {
  const value = BigInt(`0x${Buffer.from(key).reverse().toString('hex')}`)
  return { y: value & (2n ** 255n - 1n), odd: value >> 255n }
}

test('generated keys are accepted, and the one of RFC 8032 7.1', () => {
  const known = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'
  assert.equal(isSoundPublicKey(Buffer.from(known, 'hex')), true)
  for (let i = 0; i < 20; i++) assert.equal(isSoundPublicKey(madeKey()), true)
})

test('points of small order are refused, in every encoding', () => {
  const y8 = [
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  ].map((hex) => decode(Buffer.from(hex, 'hex')).y)
  for (const y of [0n, 1n, P - 1n, P, P + 1n, ...y8])
    for (const odd of [0n, 1n]) assert.equal(isSoundPublicKey(encode(y, odd)), false, `${y}`)
})

test('a generated key plus a point of order two is refused', () => {
  for (let i = 0; i < 5; i++) {
    const { y, odd } = decode(madeKey())
    assert.equal(isSoundPublicKey(encode(P - y, 1n - odd)), false)
    // The same key with the other sign is that of the negated secret.
    assert.equal(isSoundPublicKey(encode(y, 1n - odd)), true)
  }
})

test('bytes that are not a point, or not 32, are refused', () => {
  for (const length of [0, 31, 33]) assert.equal(isSoundPublicKey(Buffer.alloc(length, 9)), false)
  assert.equal(isSoundPublicKey(Buffer.alloc(32, 0xff)), false)
  // y = 2: (y² - 1)/(dy² + 1) has no root.
  assert.equal(isSoundPublicKey(encode(2n, 0n)), false)
})
