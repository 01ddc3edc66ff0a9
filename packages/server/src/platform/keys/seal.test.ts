// Sealing: round trips, refusals, and the published AES-GCM vectors.

import assert from 'node:assert/strict'
import { createSecretKey, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { open, openWithNonce, SEAL_OVERHEAD_BYTES, SealError, seal, sealWithNonce } from './seal.ts'

const key = createSecretKey(randomBytes(32))
const bytes = fc.uint8Array({ maxLength: 600 })

test('what was sealed opens to the same bytes, and is 28 bytes longer', () => {
  fc.assert(
    fc.property(bytes, bytes, (aad, plaintext) => {
      const sealed = seal(key, aad, plaintext)
      assert.equal(sealed.length, plaintext.length + SEAL_OVERHEAD_BYTES)
      assert.deepEqual(open(key, aad, sealed), Buffer.from(plaintext))
    }),
  )
})

test('one changed bit anywhere, other associated data or another key never opens', () => {
  fc.assert(
    fc.property(bytes, bytes, fc.nat(), (aad, plaintext, at) => {
      const sealed = seal(key, aad, plaintext)
      assert.throws(() => open(createSecretKey(randomBytes(32)), aad, sealed), SealError)
      assert.throws(() => open(key, Buffer.concat([aad, Buffer.of(1)]), sealed), SealError)
      const bit = at % (sealed.length * 8)
      sealed[bit >> 3] = (sealed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      assert.throws(() => open(key, aad, sealed), SealError)
    }),
  )
})

test('fewer bytes than a nonce and a tag are refused like any other forgery', () => {
  for (const length of [0, 11, 12, 27])
    assert.throws(() => open(key, Buffer.alloc(0), Buffer.alloc(length)), SealError)
})

test('two thousand seals of one text share no nonce', () => {
  const nonces = Array.from({ length: 2000 }, () => {
    return seal(key, Buffer.alloc(0), Buffer.alloc(1)).subarray(0, 12).toString('hex')
  })
  assert.equal(new Set(nonces).size, nonces.length)
})

interface Vector {
  readonly tcId: number
  readonly key: string
  readonly iv: string
  readonly aad: string
  readonly msg: string
  readonly ct: string
  readonly tag: string
  readonly result: 'valid' | 'invalid'
}

interface Group {
  readonly ivSize: number
  readonly keySize: number
  readonly tagSize: number
  readonly tests: readonly Vector[]
}

function findVectors(): string | undefined {
  let at = dirname(fileURLToPath(import.meta.url))
  while (dirname(at) !== at) {
    const path = join(at, '..', 'shared', 'vectors', 'wycheproof', 'aes_gcm_test.json')
    if (existsSync(path)) return path
    at = dirname(at)
  }
  return undefined
}

function checkVector(vector: Vector): void {
  const hex = (name: 'key' | 'iv' | 'aad' | 'msg' | 'ct' | 'tag') =>
    Buffer.from(vector[name], 'hex')
  const inputs = { key: createSecretKey(hex('key')), aad: hex('aad'), nonce: hex('iv') }
  const body = Buffer.concat([hex('ct'), hex('tag')])
  if (vector.result === 'invalid') {
    assert.throws(() => openWithNonce(inputs, body), SealError, `case ${vector.tcId}`)
    return
  }
  assert.deepEqual(openWithNonce(inputs, body), hex('msg'), `case ${vector.tcId}`)
  const sealed = sealWithNonce(inputs, hex('msg'))
  assert.deepEqual(sealed, Buffer.concat([hex('iv'), body]), `case ${vector.tcId}`)
}

test('AES-256-GCM agrees with every Wycheproof case of its sizes', (t) => {
  const path = findVectors()
  if (!path) return t.diagnostic('shared vectors are not here: nothing compared')
  // The file is published data of a fixed shape.
  const { testGroups } = JSON.parse(readFileSync(path, 'utf8')) as { testGroups: Group[] }
  const ours = testGroups.filter(
    ({ keySize, ivSize, tagSize }) => keySize === 256 && ivSize === 96 && tagSize === 128,
  )
  const cases = ours.flatMap((group) => group.tests)
  assert.ok(cases.length >= 60)
  for (const vector of cases) checkVector(vector)
})
