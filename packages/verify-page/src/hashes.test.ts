// The page's own hashes give what the library gives, of any bytes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blake2b128, blake2b256, sha256 as librarySha256, toHex } from '@custos/proof'
import fc from 'fast-check'
import { blake2b, sha256 } from './hashes.ts'

const bytes = fc.uint8Array({ maxLength: 400 })
const agrees = (given: Uint8Array): void => {
  assert.equal(toHex(sha256(given)), toHex(librarySha256(given)))
  assert.equal(toHex(blake2b(given, { dkLen: 16 })), toHex(blake2b128(given)))
  assert.equal(toHex(blake2b(given, { dkLen: 32 })), toHex(blake2b256(given)))
}

test('bytes of every length up to three blocks have the hashes of the library', () => {
  for (let length = 0; length <= 400; length += 1)
    agrees(Uint8Array.from({ length }, (_, i) => (i * 7 + length) & 0xff))
})

test('any bytes have the hashes of the library', () => {
  fc.assert(fc.property(bytes, agrees), { numRuns: 500 })
})

test('the published examples have the published hashes', () => {
  const abc = new TextEncoder().encode('abc')
  // FIPS 180-4 and RFC 7693, appendix A.
  assert.match(toHex(sha256(abc)), /^ba7816bf8f01cfea414140de5dae2223/)
  assert.match(toHex(blake2b(abc, { dkLen: 64 })), /^ba80a53f981c4d0d6a2797b69f12f6e9/)
})
