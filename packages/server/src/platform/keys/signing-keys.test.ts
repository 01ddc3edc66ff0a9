// Signing keys: one per purpose, published for ever, silent once retired.

import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import { signingKeyOf } from './signer.ts'
import { SIGNING_PURPOSES } from './signing-key-rows.ts'
import { openKeyring, tempDirectory } from './testing/temp-keyring.ts'

const LATER = '2027-01-01T00:00:00.000000Z'
const LATEST = '2027-01-01T00:00:00.000001Z'

function verifies(public_key: string, message: Buffer, signature: Buffer): boolean {
  const x = Buffer.from(public_key, 'hex').toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return verify(null, message, key, signature)
}

test('a seed gives the public key and signature of RFC 8032 section 7.1, test 1', () => {
  const seed = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'
  const key = signingKeyOf(Buffer.from(seed, 'hex'))
  const expected = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'
  assert.equal(key.public_key.toString('hex'), expected)
})

test('each purpose has its own key from the first open on, and it signs', async (t) => {
  const dir = tempDirectory(t)
  const keyring = await openKeyring(t, { dir })
  const published = keyring.publishedKeys()
  assert.deepEqual(published.map((key) => key.purpose).sort(), [...SIGNING_PURPOSES].sort())
  assert.equal(new Set(published.map((key) => key.public_key)).size, SIGNING_PURPOSES.length)
  const message = Buffer.from('message')
  for (const { purpose, public_key, key_id, valid_from, retired_at } of published) {
    const signer = keyring.signer(SIGNING_PURPOSES.find((one) => one === purpose) ?? 'erasure')
    assert.equal(signer.key_id, key_id)
    assert.equal(signer.public_key.toString('hex'), public_key)
    assert.ok(verifies(public_key, message, signer.sign(message)))
    assert.match(valid_from, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    assert.equal(retired_at, null)
  }
  keyring.close()
  assert.deepEqual((await openKeyring(t, { dir })).publishedKeys(), published)
})

test('after a rotation the new key signs, the old one is listed and signs no more', async (t) => {
  const dir = tempDirectory(t)
  const keyring = await openKeyring(t, { dir })
  const old = keyring.signer('checkpoint')
  const other = keyring.signer('erasure')
  const fresh = await keyring.rotateSigningKey('checkpoint', LATER)
  assert.equal(keyring.signer('checkpoint').key_id, fresh.key_id)
  assert.notEqual(fresh.key_id, old.key_id)
  assert.throws(() => old.sign(Buffer.from('m')), { code: 'signing_key_retired' })
  assert.ok(other.sign(Buffer.from('m')))
  const listed = keyring.publishedKeys().filter((key) => key.purpose === 'checkpoint')
  assert.deepEqual(
    listed.map(({ key_id, valid_from, retired_at }) => [key_id, valid_from, retired_at]).slice(1),
    [[fresh.key_id, LATER, null]],
  )
  assert.equal(listed[0]?.retired_at, LATER)
  keyring.close()
  const again = await openKeyring(t, { dir })
  assert.equal(again.signer('checkpoint').key_id, fresh.key_id)
})

test('a purpose retired without successor stays without a key until it is rotated', async (t) => {
  const dir = tempDirectory(t)
  const keyring = await openKeyring(t, { dir })
  await keyring.retireSigningKey('erasure', LATER)
  await keyring.retireSigningKey('erasure', LATER)
  assert.throws(() => keyring.signer('erasure'), { code: 'no_signing_key' })
  keyring.close()
  const again = await openKeyring(t, { dir })
  assert.throws(() => again.signer('erasure'), { code: 'no_signing_key' })
  const fresh = await again.rotateSigningKey('erasure', LATEST)
  assert.equal(again.signer('erasure').key_id, fresh.key_id)
})

test('a change of keys is dated in full and never before the last one', async (t) => {
  const keyring = await openKeyring(t, { dir: tempDirectory(t) })
  await keyring.rotateSigningKey('decision', LATEST)
  for (const at of [LATER, '2028-01-01', '2028-01-01T00:00:00Z'])
    await assert.rejects(keyring.rotateSigningKey('decision', at), { code: 'bad_argument' })
})
