// Domain signatures, and Ed25519 against Wycheproof.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findPublicVectors, readJson, seededKey } from '../testing/fixtures.ts'
import { sha256 } from './digest.ts'
import { fromHex, toHex, utf8 } from './encoding.ts'
import { keyIdOf, signedBytes, verifyEd25519 } from './signature.ts'

type Wycheproof = {
  numberOfTests: number
  testGroups: {
    publicKey: { pk: string }
    tests: { tcId: number; comment: string; msg: string; sig: string; result: string }[]
  }[]
}

test('every Wycheproof Ed25519 case is judged as published', async (t) => {
  const folder = findPublicVectors('wycheproof')
  if (folder === null) return t.diagnostic('no public vectors beside the project')
  const suite = readJson<Wycheproof>(join(folder, 'ed25519_test.json'))
  let count = 0
  for (const { publicKey, tests } of suite.testGroups) {
    for (const { tcId, comment, msg, sig, result } of tests) {
      const ok = await verifyEd25519(fromHex(publicKey.pk), fromHex(msg), fromHex(sig))
      assert.equal(ok, result === 'valid', `${tcId} ${comment}`)
      count++
    }
  }
  assert.equal(count, suite.numberOfTests)
})

test('the signature of eddsa-jcs-2022 verifies over its combined hash', async (t) => {
  const folder = findPublicVectors('eddsa-jcs-2022')
  if (folder === null) return t.diagnostic('no public vectors beside the project')
  const text = (name: string) => fromHex(readFileSync(join(folder, name), 'utf8').trim())
  const pair = readJson<{ publicKeyMultibase: string }>(join(folder, 'keyPair.json'))
  // Multibase z (base58btc) around the multicodec prefix 0xed01 and the 32 bytes of the key.
  const publicKey = fromBase58(pair.publicKeyMultibase.slice(1)).slice(2)
  const [message, signature] = [text('combinedHashJCS.txt'), text('sigHexJCS.txt')]
  assert.equal(await verifyEd25519(publicKey, message, signature), true)
})

function fromBase58(text: string): Uint8Array {
  const digits = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
  let value = 0n
  for (const digit of text) value = value * 58n + BigInt(digits.indexOf(digit))
  return fromHex(value.toString(16))
}

test('keys and signatures of the wrong length or off the curve are false, not errors', async () => {
  const key = seededKey(7)
  const message = utf8('m')
  const signature = key.sign(message)
  assert.equal(await verifyEd25519(key.publicKey, message, signature), true)
  assert.equal(await verifyEd25519(key.publicKey.slice(1), message, signature), false)
  assert.equal(await verifyEd25519(new Uint8Array(32).fill(0xff), message, signature), false)
  assert.equal(await verifyEd25519(key.publicKey, message, signature.slice(1)), false)
  assert.equal(await verifyEd25519(key.publicKey, message, new Uint8Array(65)), false)
  assert.equal(await verifyEd25519(key.publicKey, utf8('n'), signature), false)
})

test('the signed bytes are the domain, a newline and the record without its signature', () => {
  const signed = { b: 1, signature: 's', public_key: 'p', key_id: 'k', signed_bytes: 'x', a: 'é' }
  const text = new TextDecoder().decode(signedBytes('erasure', signed))
  assert.equal(text, 'custos/erasure/v1\n{"a":"é","b":1}')
})

test('two kinds never sign the same bytes', () => {
  assert.notDeepEqual(signedBytes('erasure', {}), signedBytes('key_list', {}))
})

test('fields of the same name deeper in the record stay under the signature', () => {
  const text = new TextDecoder().decode(signedBytes('key_list', { keys: [{ public_key: 'p' }] }))
  assert.equal(text, 'custos/key_list/v1\n{"keys":[{"public_key":"p"}]}')
})

test('a key id is the start of the hash of the key', () => {
  const { publicKey } = seededKey(1)
  assert.equal(keyIdOf(publicKey), toHex(sha256(publicKey)).slice(0, 16))
  assert.match(keyIdOf(publicKey), /^[0-9a-f]{16}$/)
})
